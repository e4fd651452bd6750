/* Writes text, a symbol at a time.

     cc -O2 @path@.c -o @path@ -lm
     ./@path@ "Once " 500 0.8 7        a prompt, how much, a temperature, a seed
*/
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "@path@.h"

typedef struct {
  int size;
  const char *bytes;
} @name@_symbol;

static const @name@_symbol symbols[@NAME@_SYMBOLS] = {
@symbols@
};

/* The symbol at the beginning of a text, or -1. */
static int first_symbol(const char *text) {
  const size_t left = strlen(text);
  for (int n = 0; n < @NAME@_SYMBOLS; n++)
    if ((size_t)symbols[n].size <= left && !memcmp(text, symbols[n].bytes, (size_t)symbols[n].size))
      return n;
  return -1;
}

/* A number from 0 up to 1, by xorshift (Marsaglia, 2003). */
static double uniform(unsigned long long *seed) {
  *seed ^= *seed << 13;
  *seed ^= *seed >> 7;
  *seed ^= *seed << 17;
  return (double)(*seed >> 11) / 9007199254740992.0;
}

/* A number among the words of the command, at least 0 and at most `most`, or -1, which it says. */
static double argument(const char *word, const char *what, double most) {
  char *end = NULL;
  const double value = strtod(word, &end);
  if (end != word && !*end && value >= 0 && value <= most) return value;
  fprintf(stderr, "%s is a number from 0 to %.0f, got %s\n", what, most, word);
  return -1;
}

/* Draws from softmax(y / temperature); with a temperature of 0, the largest. */
static int drawn(const float *y, double temperature, unsigned long long *seed) {
  double weights[@NAME@_SYMBOLS], sum = 0;
  int best = 0;
  for (int n = 1; n < @NAME@_SYMBOLS; n++)
    if (y[n] > y[best]) best = n;
  if (temperature <= 0) return best;
  for (int n = 0; n < @NAME@_SYMBOLS; n++) {
    weights[n] = exp(((double)y[n] - (double)y[best]) / temperature);
    sum += weights[n];
  }
  double at = uniform(seed) * sum;
  for (int n = 0; n < @NAME@_SYMBOLS; n++) {
    at -= weights[n];
    if (at < 0) return n;
  }
  return best;
}

int main(int count, char **words) {
  const char *prompt = count > 1 ? words[1] : "";
  const double most = 9007199254740991.0; /* whole numbers up to here are exact */
  const double length = count > 2 ? argument(words[2], "how much", most) : 500;
  const double temperature = count > 3 ? argument(words[3], "the temperature", 1e6) : 0.8;
  const double number = count > 4 ? argument(words[4], "the seed", most) : 1;
  if (length < 0 || temperature < 0 || number < 0) return 2;
  if (count > 5) return fputs("after the seed there is nothing more to say\n", stderr), 2;
  unsigned long long seed = ((unsigned long long)number + 1) * 2685821657736338717ULL;
  static @name@_state state;
  static float y[@NAME@_OUTPUTS];
  @name@_start(&state);
  if (!*prompt) @name@_step(&state, @opening@, y);
  for (const char *rest = prompt; *rest;) {
    const int symbol = first_symbol(rest);
    if (symbol < 0) {
      fprintf(stderr, "the network does not know the character at: %.20s\n", rest);
      return 2;
    }
    @name@_step(&state, symbol, y);
    rest += symbols[symbol].size;
  }
  fputs(prompt, stdout);
  for (double n = 0; n < length; n++) {
    const int symbol = drawn(y, temperature, &seed);
    fwrite(symbols[symbol].bytes, 1, (size_t)symbols[symbol].size, stdout);
    @name@_step(&state, symbol, y);
  }
  putchar('\n');
  return 0;
}

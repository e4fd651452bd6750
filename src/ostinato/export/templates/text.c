/* Writes text, a symbol at a time.

     cc -O2 @name@.c -o @name@ -lm
     ./@name@ "Once " 500 0.8 7        a prompt, how much, a temperature, a seed
*/
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "@name@.h"

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
  const long length = count > 2 ? strtol(words[2], NULL, 10) : 500;
  const double temperature = count > 3 ? strtod(words[3], NULL) : 0.8;
  unsigned long long seed = count > 4 ? strtoull(words[4], NULL, 10) : 1;
  seed = (seed + 1) * 2685821657736338717ULL;
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
  for (long n = 0; n < length; n++) {
    const int symbol = drawn(y, temperature, &seed);
    fwrite(symbols[symbol].bytes, 1, (size_t)symbols[symbol].size, stdout);
    @name@_step(&state, symbol, y);
  }
  putchar('\n');
  return 0;
}

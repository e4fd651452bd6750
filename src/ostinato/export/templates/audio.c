/* Plays a sound through a learned effect.

     cc -O2 @path@.c -o @path@ -lm
     ./@path@ < dry.wav > wet.wav

   It reads a WAV file of @rate@ samples per second, PCM of 16, 24 or 32 bits or floats, each channel
   by itself, and writes one of floats. In a program of your own, call @name@_start, then @name@_sample for
   each sample as it comes.
*/
#include <stdio.h>
#include <string.h>

#include "@path@.h"

enum { RATE = @rate@, RESIDUAL = @residual@, CHANNELS = 32 };

/* One sample through the effect. */
static float @name@_sample(@name@_state *state, float x) {
  float y[@NAME@_OUTPUTS];
  @name@_step(state, &x, y);
  return RESIDUAL ? x + y[0] : y[0];
}

static unsigned long number(const unsigned char *bytes, int count) {
  unsigned long all = 0;
  for (int n = count - 1; n >= 0; n--) all = all << 8 | bytes[n];
  return all;
}

static void put(unsigned long all, int count) {
  for (int n = 0; n < count; n++) putchar((int)(all >> 8 * n & 255));
}

/* A sample of a file, from -1 to 1. */
static float decoded(const unsigned char *bytes, int width, int floats) {
  const unsigned long upper = number(bytes, width) << (32 - 8 * width) & 0xFFFFFFFFUL;
  if (floats) {
    const unsigned int same = (unsigned int)upper;
    float x;
    memcpy(&x, &same, sizeof x);
    return x;
  }
  return (float)(upper < 0x80000000UL ? (double)upper / 2147483648.0 : (double)upper / 2147483648.0 - 2.0);
}

static int wrong(const char *words) {
  fprintf(stderr, "%s\n", words);
  return 2;
}

int main(void) {
  static @name@_state states[CHANNELS];
  unsigned char form[40] = {0}, head[12];
  unsigned long size = 0;
  if (fread(head, 1, 12, stdin) != 12 || memcmp(head, "RIFF", 4) || memcmp(head + 8, "WAVE", 4))
    return wrong("this is not a WAV file");
  for (;;) {
    if (fread(head, 1, 8, stdin) != 8) return wrong("the file holds no sound");
    size = number(head + 4, 4);
    if (!memcmp(head, "data", 4)) break;
    for (unsigned long n = 0; n < size + size % 2; n++) {
      const int byte = getchar();
      if (byte == EOF) return wrong("the file ends too early");
      if (!memcmp(head, "fmt ", 4) && n < sizeof form) form[n] = (unsigned char)byte;
    }
  }
  const unsigned long kind = number(form, 2) == 0xFFFE ? number(form + 24, 2) : number(form, 2);
  const int channels = (int)number(form + 2, 2), width = (int)number(form + 14, 2) / 8;
  const int floats = kind == 3;
  if (!(kind == 1 && width >= 2 && width <= 4) && !(floats && width == 4))
    return wrong("samples must be PCM of 16, 24 or 32 bits, or floats of 32 bits");
  if (channels < 1 || channels > CHANNELS) return wrong("there are too many channels, or none");
  if (number(form + 4, 4) != RATE) return wrong("the effect needs @rate@ samples per second");
  const unsigned long frames = size / (unsigned long)(width * channels);
  if (!frames) return wrong("the file holds no sound");
  const unsigned long bytes = frames * (unsigned long)channels * 4;
  fwrite("RIFF", 1, 4, stdout);
  put(36 + bytes, 4);
  fwrite("WAVEfmt ", 1, 8, stdout);
  put(16, 4);
  put(3, 2);
  put((unsigned long)channels, 2);
  put(RATE, 4);
  put((unsigned long)RATE * (unsigned long)channels * 4, 4);
  put((unsigned long)channels * 4, 2);
  put(32, 2);
  fwrite("data", 1, 4, stdout);
  put(bytes, 4);
  for (int n = 0; n < channels; n++) @name@_start(&states[n]);
  for (unsigned long t = 0; t < frames; t++)
    for (int n = 0; n < channels; n++) {
      unsigned char raw[4];
      if (fread(raw, 1, (size_t)width, stdin) != (size_t)width) return wrong("the file ends too early");
      const float y = @name@_sample(&states[n], decoded(raw, width, floats));
      unsigned int same;
      memcpy(&same, &y, sizeof same);
      put(same, 4);
    }
  return 0;
}

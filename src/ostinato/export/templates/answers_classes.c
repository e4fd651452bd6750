
enum { SEVERAL = @several@ }; /* whether there are several labels at once */
static const char *const labels[ANSWERS] = {@labels@};

/* The probability of each label; returns the most probable one. */
static int @name@_answer(const float *y, double *shares) {
  int best = 0;
  double sum = 0;
  for (int n = 1; n < ANSWERS; n++)
    if (y[n] > y[best]) best = n;
  for (int n = 0; n < ANSWERS; n++)
    sum += shares[n] = SEVERAL ? 1 / (1 + exp(-(double)y[n])) : exp((double)y[n] - (double)y[best]);
  for (int n = 0; n < ANSWERS && !SEVERAL; n++) shares[n] /= sum;
  return best;
}

static void print_heads(void) {
  printf("answer");
  for (int n = 0; n < ANSWERS; n++) printf("\t%s", labels[n]);
  putchar('\n');
}

static void print_answer(const float *y) {
  double shares[ANSWERS];
  const int best = @name@_answer(y, shares);
  if (!SEVERAL) fputs(labels[best], stdout);
  for (int n = 0, more = 0; n < ANSWERS && SEVERAL; n++)
    if (y[n] > 0) printf(more++ ? ",%s" : "%s", labels[n]);
  for (int n = 0; n < ANSWERS; n++) printf("\t%.9g", shares[n]);
  putchar('\n');
}


static const double answer_shift[ANSWERS] = {@answer_shift@};
static const double answer_factor[ANSWERS] = {@answer_factor@};

/* The numbers, in the units of the data. */
static void @name@_answer(const float *y, double *numbers) {
  for (int n = 0; n < ANSWERS; n++) numbers[n] = (double)y[n] * answer_factor[n] + answer_shift[n];
}

static void print_heads(void) {}

static void print_answer(const float *y) {
  double numbers[ANSWERS];
  @name@_answer(y, numbers);
  for (int n = 0; n < ANSWERS; n++) printf(n ? ",%.9g" : "%.9g", numbers[n]);
  putchar('\n');
}

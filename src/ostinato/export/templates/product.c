
#ifdef __GNUC__
#define @name@_ALIGNED __attribute__((aligned(64)))
#else
#define @name@_ALIGNED
#endif

static inline void @name@_product(float *restrict y, const float *restrict x, const @kind@ *restrict w,
                                int rows, int wide, int narrow) {
  for (int n = 0; n < wide; n++, y += 32) {
#ifdef __SSE2__
@block@
    for (; k < rows; k++, w += 32)
      for (int j = 0; j < 32; j++) @name@_ADD(y[j], x[k], w[j]);
#else
    @registers@
#endif
  }
  for (int n = 0; n < narrow; n++, y += 8) {
    float a[8];
    for (int j = 0; j < 8; j++) a[j] = 0;
    for (int k = 0; k < rows; k++, w += 8)
      for (int j = 0; j < 8; j++) @name@_ADD(a[j], x[k], w[j]);
    for (int j = 0; j < 8; j++) y[j] = a[j];
  }
}

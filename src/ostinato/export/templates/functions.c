static inline float @name@_square(float x) { return x * x; }

/* What is no number stays none, also in the larger or smaller of two. */
static inline float @name@_sign(float x) { return isnan(x) ? x : (float)((x > 0) - (x < 0)); }

static inline float @name@_max(float x, float y) { return x > y || isnan(x) ? x : y; }

static inline float @name@_min(float x, float y) { return x < y || isnan(x) ? x : y; }

static inline int @name@_row(int row, int last) { return row < 0 ? 0 : row > last ? last : row; }

/* x between -c and c, in the form that a compiler makes vectors of. */
static inline float @name@_limit(float x, float c) {
#ifdef __SSE2__
  const float y = x < c ? x : c;
  return y > -c ? y : -c;
#else
  return fminf(fmaxf(x, -c), c);
#endif
}

#ifdef FP_FAST_FMAF
#define @name@_FMA(x, y, z) fmaf(x, y, z)
#else
#define @name@_FMA(x, y, z) ((x) * (y) + (z))
#endif
#define @name@_ADD(sum, x, w) (sum) = @name@_FMA(x, w, sum)

/* tanh as a quotient of polynomials, with an error of a few units in the last place. */
static inline float @name@_tanh(float x) {
  const float z = @name@_limit(x, 7.9053111f);
  const float s = z * z;
  float p = -2.76076847742355e-16f, q = 1.19825839466702e-06f;
  p = @name@_FMA(p, s, 2.00018790482477e-13f);
  p = @name@_FMA(p, s, -8.60467152213735e-11f);
  p = @name@_FMA(p, s, 5.12229709037114e-08f);
  p = @name@_FMA(p, s, 1.48572235717979e-05f);
  p = @name@_FMA(p, s, 6.37261928875436e-04f);
  p = @name@_FMA(p, s, 4.89352455891786e-03f);
  q = @name@_FMA(q, s, 1.18534705686654e-04f);
  q = @name@_FMA(q, s, 2.26843463243900e-03f);
  q = @name@_FMA(q, s, 4.89352518554385e-03f);
  const float y = z * p / q;
  return isnan(x) ? x : y;
}

/* 1 / (1 + exp(-x)), with exp(z) = 2^n exp(r) and a polynomial for exp(r). */
static inline float @name@_logistic(float x) {
  const float z = @name@_limit(-x, 87.0f);
  /* to the nearest whole number */
  const float n = @name@_FMA(z, 1.44269504f, 12582912.0f) - 12582912.0f;
  const float r = @name@_FMA(n, 2.12194440e-4f, @name@_FMA(n, -0.693359375f, z));
  float p = 1.9875691500e-4f;
  union { int32_t bits; float value; } power;
  p = @name@_FMA(p, r, 1.3981999507e-3f);
  p = @name@_FMA(p, r, 8.3334519073e-3f);
  p = @name@_FMA(p, r, 4.1665795894e-2f);
  p = @name@_FMA(p, r, 1.6666665459e-1f);
  p = @name@_FMA(p, r, 5.0000001201e-1f);
  p = @name@_FMA(p * r, r, r) + 1.0f;
  power.bits = ((int32_t)n + 127) << 23;
  const float y = 1.0f / (1.0f + p * power.value);
  return isnan(x) ? x : y;
}

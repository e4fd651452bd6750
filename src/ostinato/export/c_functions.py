"""The functions of a header in C, written by hand: activations, and the product of a vector.

NAME stands for that of the header.
"""

WIDE, NARROW = 32, 8  # outputs in a block

HELPERS = """\
static inline float NAME_square(float x) { return x * x; }

/* What is no number stays none, also in the larger or smaller of two. */
static inline float NAME_sign(float x) { return isnan(x) ? x : (float)((x > 0) - (x < 0)); }

static inline float NAME_max(float x, float y) { return x > y || isnan(x) ? x : y; }

static inline float NAME_min(float x, float y) { return x < y || isnan(x) ? x : y; }

static inline int NAME_row(int row, int last) { return row < 0 ? 0 : row > last ? last : row; }

/* x between -c and c, in the form that a compiler makes vectors of. */
static inline float NAME_limit(float x, float c) {
#ifdef __SSE2__
  const float y = x < c ? x : c;
  return y > -c ? y : -c;
#else
  return fminf(fmaxf(x, -c), c);
#endif
}

#ifdef FP_FAST_FMAF
#define NAME_FMA(x, y, z) fmaf(x, y, z)
#else
#define NAME_FMA(x, y, z) ((x) * (y) + (z))
#endif
#define NAME_ADD(sum, x, w) (sum) = NAME_FMA(x, w, sum)

/* tanh as a quotient of polynomials, with an error of a few units in the last place. */
static inline float NAME_tanh(float x) {
  const float z = NAME_limit(x, 7.9053111f);
  const float s = z * z;
  float p = -2.76076847742355e-16f, q = 1.19825839466702e-06f;
  p = NAME_FMA(p, s, 2.00018790482477e-13f);
  p = NAME_FMA(p, s, -8.60467152213735e-11f);
  p = NAME_FMA(p, s, 5.12229709037114e-08f);
  p = NAME_FMA(p, s, 1.48572235717979e-05f);
  p = NAME_FMA(p, s, 6.37261928875436e-04f);
  p = NAME_FMA(p, s, 4.89352455891786e-03f);
  q = NAME_FMA(q, s, 1.18534705686654e-04f);
  q = NAME_FMA(q, s, 2.26843463243900e-03f);
  q = NAME_FMA(q, s, 4.89352518554385e-03f);
  const float y = z * p / q;
  return isnan(x) ? x : y;
}

/* 1 / (1 + exp(-x)), with exp(z) = 2^n exp(r) and a polynomial for exp(r). */
static inline float NAME_logistic(float x) {
  const float z = NAME_limit(-x, 87.0f);
  /* to the nearest whole number */
  const float n = NAME_FMA(z, 1.44269504f, 12582912.0f) - 12582912.0f;
  const float r = NAME_FMA(n, 2.12194440e-4f, NAME_FMA(n, -0.693359375f, z));
  float p = 1.9875691500e-4f;
  union { int32_t bits; float value; } power;
  p = NAME_FMA(p, r, 1.3981999507e-3f);
  p = NAME_FMA(p, r, 8.3334519073e-3f);
  p = NAME_FMA(p, r, 4.1665795894e-2f);
  p = NAME_FMA(p, r, 1.6666665459e-1f);
  p = NAME_FMA(p, r, 5.0000001201e-1f);
  p = NAME_FMA(p * r, r, r) + 1.0f;
  power.bits = ((int32_t)n + 127) << 23;
  const float y = 1.0f / (1.0f + p * power.value);
  return isnan(x) ? x : y;
}
"""

# All forms read the weights from the first to the last. With vectors, eight sums go on side by
# side, and those of the same outputs are added at the end: no product waits for another's sum.
VECTORS = """
#ifdef __SSE2__
#if defined __AVX512F__
#define NAME_LANES 16
#elif defined __AVX__
#define NAME_LANES 8
#else
#define NAME_LANES 4
#endif
typedef float NAME_vector __attribute__((vector_size(4 * NAME_LANES), aligned(4), may_alias));
#define NAME_SUM(n) a##n += x[k + n * NAME_LANES / 32] * ((const NAME_vector *)w)[n]
#define NAME_PUT(n) ((NAME_vector *)y)[n] = a##n
#endif
"""
IN_VECTORS = """\
    NAME_vector a0 = {0}, a1 = a0, a2 = a0, a3 = a0, a4 = a0, a5 = a0, a6 = a0, a7 = a0;
    int k = 0;
    for (; k + NAME_LANES / 4 <= rows; k += NAME_LANES / 4, w += 8 * NAME_LANES) {
      NAME_SUM(0), NAME_SUM(1), NAME_SUM(2), NAME_SUM(3);
      NAME_SUM(4), NAME_SUM(5), NAME_SUM(6), NAME_SUM(7);
    }
#if NAME_LANES > 4
    a0 += a4, a1 += a5, a2 += a6, a3 += a7;
#endif
#if NAME_LANES > 8
    a0 += a2, a1 += a3;
#endif
    NAME_PUT(0), NAME_PUT(1);
#if NAME_LANES < 16
    NAME_PUT(2), NAME_PUT(3);
#endif
#if NAME_LANES < 8
    NAME_PUT(4), NAME_PUT(5), NAME_PUT(6), NAME_PUT(7);
#endif"""
IN_MEMORY = """\
    int k = 0;
    for (int j = 0; j < 32; j++) y[j] = 0;
    for (; k + 8 <= rows; k += 8, w += 256)
      for (int j = 0; j < 32; j++) {
        float s = y[j];
        ROWS
        y[j] = s;
      }"""
PRODUCT = """
#ifdef __GNUC__
#define NAME_ALIGNED __attribute__((aligned(64)))
#else
#define NAME_ALIGNED
#endif

static inline void NAME_product(float *restrict y, const float *restrict x, const KIND *restrict w,
                                int rows, int wide, int narrow) {
  for (int n = 0; n < wide; n++, y += 32) {
#ifdef __SSE2__
BLOCK
    for (; k < rows; k++, w += 32)
      for (int j = 0; j < 32; j++) NAME_ADD(y[j], x[k], w[j]);
#else
    REGISTERS
#endif
  }
  for (int n = 0; n < narrow; n++, y += 8) {
    float a[8];
    for (int j = 0; j < 8; j++) a[j] = 0;
    for (int k = 0; k < rows; k++, w += 8)
      for (int j = 0; j < 8; j++) NAME_ADD(a[j], x[k], w[j]);
    for (int j = 0; j < 8; j++) y[j] = a[j];
  }
}
"""


def products(step: str) -> str:
    """The function that multiplies, for blocks of both widths."""
    if "_product(" not in step:
        return ""
    kind, block = ("signed char", IN_MEMORY) if "_factors" in step else ("float", IN_VECTORS)
    vectors = VECTORS if block is IN_VECTORS else ""
    made = PRODUCT.replace("BLOCK", block.replace("ROWS", _rows()))
    return vectors + made.replace("REGISTERS", _registers()).replace("KIND", kind)


def _registers() -> str:
    """A block, its sums in variables."""
    places = range(WIDE)
    lines = [f"float {', '.join(f'a{n} = 0' for n in places)};"]
    lines += ["for (int k = 0; k < rows; k++, w += 32) {", "  const float h = x[k];"]
    lines += ["  " + "; ".join(f"NAME_ADD(a{n}, h, w[{n}])" for n in places) + ";", "}"]
    lines += ["; ".join(f"y[{n}] = a{n}" for n in places) + ";"]
    return "\n    ".join(lines)


def _rows() -> str:
    """What eight rows add to a sum."""
    return " ".join(f"NAME_ADD(s, x[k + {n}], w[j + {WIDE * n}]);" for n in range(8))

/* run, step 160: series */
#ifndef HEAT_H
#define HEAT_H

#include <math.h>
#include <stdint.h>

#ifdef __cplusplus
#define restrict __restrict
#endif

#define HEAT_INPUTS 1
#define HEAT_OUTPUTS 1

typedef struct {
  float s0[8];
} heat_state;

static inline float heat_square(float x) { return x * x; }

static inline float heat_sign(float x) { return (float)((x > 0) - (x < 0)); }

static inline int heat_row(int row, int last) { return row < 0 ? 0 : row > last ? last : row; }

/* x between -c and c, in the form that a compiler makes vectors of. */
static inline float heat_limit(float x, float c) {
#ifdef __SSE2__
  const float y = x < c ? x : c;
  return y > -c ? y : -c;
#else
  return fminf(fmaxf(x, -c), c);
#endif
}

#ifdef FP_FAST_FMAF
#define heat_FMA(x, y, z) fmaf(x, y, z)
#else
#define heat_FMA(x, y, z) ((x) * (y) + (z))
#endif
#define heat_ADD(sum, x, w) (sum) = heat_FMA(x, w, sum)

/* tanh as a quotient of polynomials, with an error of a few units in the last place. */
static inline float heat_tanh(float x) {
  const float z = heat_limit(x, 7.9053111f);
  const float s = z * z;
  float p = -2.76076847742355e-16f, q = 1.19825839466702e-06f;
  p = heat_FMA(p, s, 2.00018790482477e-13f);
  p = heat_FMA(p, s, -8.60467152213735e-11f);
  p = heat_FMA(p, s, 5.12229709037114e-08f);
  p = heat_FMA(p, s, 1.48572235717979e-05f);
  p = heat_FMA(p, s, 6.37261928875436e-04f);
  p = heat_FMA(p, s, 4.89352455891786e-03f);
  q = heat_FMA(q, s, 1.18534705686654e-04f);
  q = heat_FMA(q, s, 2.26843463243900e-03f);
  q = heat_FMA(q, s, 4.89352518554385e-03f);
  const float y = z * p / q;
  return isnan(x) ? x : y;
}

/* 1 / (1 + exp(-x)), with exp(z) = 2^n exp(r) and a polynomial for exp(r). */
static inline float heat_logistic(float x) {
  const float z = heat_limit(-x, 87.0f);
  /* to the nearest whole number */
  const float n = heat_FMA(z, 1.44269504f, 12582912.0f) - 12582912.0f;
  const float r = heat_FMA(n, 2.12194440e-4f, heat_FMA(n, -0.693359375f, z));
  float p = 1.9875691500e-4f;
  union { int32_t bits; float value; } power;
  p = heat_FMA(p, r, 1.3981999507e-3f);
  p = heat_FMA(p, r, 8.3334519073e-3f);
  p = heat_FMA(p, r, 4.1665795894e-2f);
  p = heat_FMA(p, r, 1.6666665459e-1f);
  p = heat_FMA(p, r, 5.0000001201e-1f);
  p = heat_FMA(p * r, r, r) + 1.0f;
  power.bits = ((int32_t)n + 127) << 23;
  const float y = 1.0f / (1.0f + p * power.value);
  return isnan(x) ? x : y;
}

static inline void heat_product(float *restrict y, const float *restrict x, const signed char *restrict w,
                                int rows, int wide, int narrow) {
  for (int n = 0; n < wide; n++, y += 32) {
#ifdef __SSE2__
    int k = 0;
    for (int j = 0; j < 32; j++) y[j] = 0;
    for (; k + 8 <= rows; k += 8, w += 256)
      for (int j = 0; j < 32; j++) {
        float s = y[j];
        heat_ADD(s, x[k + 0], w[j + 0]); heat_ADD(s, x[k + 1], w[j + 32]); heat_ADD(s, x[k + 2], w[j + 64]); heat_ADD(s, x[k + 3], w[j + 96]); heat_ADD(s, x[k + 4], w[j + 128]); heat_ADD(s, x[k + 5], w[j + 160]); heat_ADD(s, x[k + 6], w[j + 192]); heat_ADD(s, x[k + 7], w[j + 224]);
        y[j] = s;
      }
    for (; k < rows; k++, w += 32)
      for (int j = 0; j < 32; j++) heat_ADD(y[j], x[k], w[j]);
#else
    float a0 = 0, a1 = 0, a2 = 0, a3 = 0, a4 = 0, a5 = 0, a6 = 0, a7 = 0, a8 = 0, a9 = 0, a10 = 0, a11 = 0, a12 = 0, a13 = 0, a14 = 0, a15 = 0, a16 = 0, a17 = 0, a18 = 0, a19 = 0, a20 = 0, a21 = 0, a22 = 0, a23 = 0, a24 = 0, a25 = 0, a26 = 0, a27 = 0, a28 = 0, a29 = 0, a30 = 0, a31 = 0;
    for (int k = 0; k < rows; k++, w += 32) {
      const float h = x[k];
      heat_ADD(a0, h, w[0]); heat_ADD(a1, h, w[1]); heat_ADD(a2, h, w[2]); heat_ADD(a3, h, w[3]); heat_ADD(a4, h, w[4]); heat_ADD(a5, h, w[5]); heat_ADD(a6, h, w[6]); heat_ADD(a7, h, w[7]); heat_ADD(a8, h, w[8]); heat_ADD(a9, h, w[9]); heat_ADD(a10, h, w[10]); heat_ADD(a11, h, w[11]); heat_ADD(a12, h, w[12]); heat_ADD(a13, h, w[13]); heat_ADD(a14, h, w[14]); heat_ADD(a15, h, w[15]); heat_ADD(a16, h, w[16]); heat_ADD(a17, h, w[17]); heat_ADD(a18, h, w[18]); heat_ADD(a19, h, w[19]); heat_ADD(a20, h, w[20]); heat_ADD(a21, h, w[21]); heat_ADD(a22, h, w[22]); heat_ADD(a23, h, w[23]); heat_ADD(a24, h, w[24]); heat_ADD(a25, h, w[25]); heat_ADD(a26, h, w[26]); heat_ADD(a27, h, w[27]); heat_ADD(a28, h, w[28]); heat_ADD(a29, h, w[29]); heat_ADD(a30, h, w[30]); heat_ADD(a31, h, w[31]);
    }
    y[0] = a0; y[1] = a1; y[2] = a2; y[3] = a3; y[4] = a4; y[5] = a5; y[6] = a6; y[7] = a7; y[8] = a8; y[9] = a9; y[10] = a10; y[11] = a11; y[12] = a12; y[13] = a13; y[14] = a14; y[15] = a15; y[16] = a16; y[17] = a17; y[18] = a18; y[19] = a19; y[20] = a20; y[21] = a21; y[22] = a22; y[23] = a23; y[24] = a24; y[25] = a25; y[26] = a26; y[27] = a27; y[28] = a28; y[29] = a29; y[30] = a30; y[31] = a31;
#endif
  }
  for (int n = 0; n < narrow; n++, y += 8) {
    float a[8];
    for (int j = 0; j < 8; j++) a[j] = 0;
    for (int k = 0; k < rows; k++, w += 8)
      for (int j = 0; j < 8; j++) heat_ADD(a[j], x[k], w[j]);
    for (int j = 0; j < 8; j++) y[j] = a[j];
  }
}

static const signed char heat_w0[24] = {
  -127, -127, -127, 127, 127, -127, 127, -127,
  -127, 127, 127, 127, -127, -127, 127, 127,
  127, 127, -127, -127, -127, -127, -127, 127};
static const float heat_w0_factors[24] = {
  0.0046084384f, 0.004618318f, 0.0069184867f, 0.003092345f, 0.004589129f, 0.0017042411f, 0.008335373f, 0.00038864365f,
  0.010158939f, 0.00015983474f, 0.010112256f, 7.562845e-05f, 0.002939057f, 0.0045013246f, 1.3044649e-05f, 0.0041647293f,
  0.00066886604f, 0.0041572955f, 0.0026221478f, 0.007822849f, 0.00039035254f, 0.0030262552f, 0.0027336094f, 0.005427656f};
static const signed char heat_w2[128] = {
  -78, -62, -21, 68, 45, 88, -127, -26,
  63, -28, -49, 64, 127, -18, 55, -41,
  17, -43, 127, 120, -58, 71, 13, 127,
  -99, 20, 54, 75, 12, 19, -13, -54,
  -62, -33, -92, -26, -10, 30, 113, -81,
  6, -66, -29, 127, -59, -62, 27, 109,
  -127, 127, -4, 49, 35, 127, -36, 43,
  -57, -123, -11, -22, 74, -81, -40, -46,
  6, -127, -48, -59, 77, 34, -3, -30,
  57, -41, 13, 10, -21, -70, -110, 127,
  39, 46, 13, 105, -71, -15, -8, -76,
  -1, -24, -122, -104, -19, 100, -12, -32,
  -127, -62, -6, -55, 2, 54, -110, 49,
  -29, 60, 21, -50, -127, -127, 57, -112,
  51, 49, -127, 41, 67, 16, -96, -55,
  -6, -74, -48, 127, 17, 5, 127, 73};
static const float heat_w2_factors[16] = {
  0.0066276193f, 0.005088678f, 0.0070869955f, 0.0051967422f, 0.0077273957f, 0.0069740443f, 0.008101771f, 0.006858412f,
  0.008591159f, 0.0068554836f, 0.0069504515f, 0.0062444326f, 0.0090412395f, 0.007368541f, 0.0059230034f, 0.0062756436f};
static const signed char heat_w4[64] = {
  55, 8, 21, 127, 56, -107, 61, -107,
  127, 127, -5, 29, 11, 38, 53, 11,
  14, 56, -127, 16, -62, 1, 127, 64,
  -97, 12, -26, -34, 127, -74, -93, -100,
  -26, 10, -78, -96, -60, -127, -94, 36,
  -86, -1, 61, -46, -25, -56, -15, -127,
  -111, 70, 121, 124, 38, -88, -79, 0,
  24, 25, 106, 8, -6, -87, 97, 23};
static const float heat_w4_factors[8] = {
  0.0072546657f, 0.008345149f, 0.004992453f, 0.007572056f, 0.0076326705f, 0.003696793f, 0.0064433594f, 0.0052691097f};
static const signed char heat_w6[64] = {
  38, 0, 0, 0, 0, 0, 0, 0,
  -29, 0, 0, 0, 0, 0, 0, 0,
  -127, 0, 0, 0, 0, 0, 0, 0,
  -81, 0, 0, 0, 0, 0, 0, 0,
  -80, 0, 0, 0, 0, 0, 0, 0,
  -6, 0, 0, 0, 0, 0, 0, 0,
  41, 0, 0, 0, 0, 0, 0, 0,
  88, 0, 0, 0, 0, 0, 0, 0};
static const float heat_w6_factors[1] = {
  0.007005755f};
static const float heat_c1[24] = {
  0.2928823f, -0.25007272f, 0.18922167f, 0.3212947f, -0.23532827f, -0.017195653f, -0.21699622f, 0.33291927f,
  0.30451643f, 0.13063577f, -0.18666187f, 0.29791352f, -0.025762519f, -0.36287972f, 0.28576285f, -0.13614587f,
  0.26101202f, -0.13461545f, 0.3034119f, -0.13903795f, -0.3392752f, 0.30720618f, -0.22892629f, 0.18090911f};

static inline void heat_start(heat_state *state) {
  for (int i = 0; i < 8; i++) state->s0[i] = 0.0f;
}

static inline void heat_step(heat_state *state, const float *x, float *y) {
  float v8[24];
  heat_product(v8, x, heat_w0, 1, 0, 3);
  for (int i = 0; i < 24; i++) v8[i] *= heat_w0_factors[i];
  float v9[24];
  for (int i = 0; i < 24; i++) {
    v9[i] = (v8[i] + heat_c1[i]);
  }
  float v12[16];
  heat_product(v12, state->s0, heat_w2, 8, 0, 2);
  for (int i = 0; i < 16; i++) v12[i] *= heat_w2_factors[i];
  float v14[16];
  for (int i = 0; i < 16; i++) {
    v14[i] = heat_logistic((v9[i] + v12[i]));
  }
  float v17[8];
  for (int i = 0; i < 8; i++) {
    v17[i] = (v14[i + 8] * state->s0[i]);
  }
  float v18[8];
  heat_product(v18, v17, heat_w4, 8, 0, 1);
  for (int i = 0; i < 8; i++) v18[i] *= heat_w4_factors[i];
  float v25[8];
  for (int i = 0; i < 8; i++) {
    v25[i] = (((1.0f - v14[i]) * state->s0[i]) + (v14[i] * heat_tanh((v9[i + 16] + v18[i]))));
  }
  float v26[8];
  heat_product(v26, v25, heat_w6, 8, 0, 1);
  for (int i = 0; i < 1; i++) v26[i] *= heat_w6_factors[i];
  float v27[1];
  v27[0] = (v26[0] + 0.0029322687f);
  y[0] = v27[0];
  for (int i = 0; i < 8; i++) {
    state->s0[i] = v25[i];
  }
}

#ifdef __cplusplus
#undef restrict
#endif

#endif

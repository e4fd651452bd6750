
#ifdef __SSE2__
#if defined __AVX512F__
#define @name@_LANES 16
#elif defined __AVX__
#define @name@_LANES 8
#else
#define @name@_LANES 4
#endif
typedef float @name@_vector __attribute__((vector_size(4 * @name@_LANES), aligned(4), may_alias));
#define @name@_SUM(n) a##n += x[k + n * @name@_LANES / 32] * ((const @name@_vector *)w)[n]
#define @name@_PUT(n) ((@name@_vector *)y)[n] = a##n
#endif

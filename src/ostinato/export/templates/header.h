#ifndef @NAME@_H
#define @NAME@_H

#include <math.h>
#include <stdint.h>

#ifdef __cplusplus
#define restrict __restrict
#endif

#define @NAME@_@reads@ @count@
#define @NAME@_OUTPUTS @outputs@

@state@

@functions@

@constants@

@start@

static inline void @name@_step(@name@_state *state, @x@, float *y) {
  @step@
}

#ifdef __cplusplus
#undef restrict
#endif

#endif

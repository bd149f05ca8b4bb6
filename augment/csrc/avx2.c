/* The same kernels for processors with AVX2. */
#include "batch.h"

#ifdef AUGMENT_AVX2
#include <immintrin.h>

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2")
#endif

#define WIDE
#define COMPILED
#include "kernels.h"

#define KERNEL(name, cost, bands) name,
const Kernel compiled_avx2[] = {KERNELS};

#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

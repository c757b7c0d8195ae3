#ifndef CPROF_PRELOAD_ALLOC_MATH_H
#define CPROF_PRELOAD_ALLOC_MATH_H

/* Logarithm and weight without libm, which a program may not have loaded. */

#include <stdint.h>

/* The natural logarithm of a positive, normal number; error below 1e-9. */
double alloc_math_ln(double x);

/* What a sampled block of that size stands for, in bytes: size / (1 - exp(-size / mean)). */
uint64_t alloc_math_weight(uint64_t size, uint64_t mean);

#endif

// What the references of `./dev bench kernels` share.  Each file is compiled twice: with OpenMP and fast
// mathematics, and with PLAIN defined as sequential C without either.
//
// A function has the name of its entry point, the sizes in their order, the parameters, and pointers to
// the results.  If a result has a length of its own, the function returns it.
#pragma once
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifndef PLAIN
#  include <omp.h>
#endif

static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

// The part [from, to) of n elements that is a thread's.
typedef struct Part {
  int id, threads;
  int64_t from, to;
} Part;

enum { MOST_THREADS = 256 };

#ifndef PLAIN
static inline Part part_of(int64_t n) {
  int id = omp_get_thread_num(), threads = omp_get_num_threads();
  return (Part){ id, threads, n * id / threads, n * (id + 1) / threads };
}
#endif

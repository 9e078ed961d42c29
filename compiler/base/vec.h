// Growable arrays.  `Vec(int) v = { 0 }; vec_push(&v, 3); v.at[0]`; a named type is declared by
// `typedef Vec(const Exp *) ExpVec;`.
#pragma once
#include "base/mem.h"

#define Vec(T)                                                                           \
  struct {                                                                               \
    T *at;                                                                               \
    int count;                                                                           \
    int capacity;                                                                        \
  }

// `at` grown so that one more element fits.
void *vec_grow(void *at, int count, int *capacity, size_t size);

#define vec_push(v, ...)                                                                 \
  ((v)->at = vec_grow((v)->at, (v)->count, &(v)->capacity, sizeof *(v)->at),             \
   (void)((v)->at[(v)->count++] = (__VA_ARGS__)))

// vec_each(const Exp **, e, &v) ...: `e` points at each element in turn.
#define vec_each(T, it, v) for (T it = (v)->at; it < (v)->at + (v)->count; it++)

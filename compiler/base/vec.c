#include "base/vec.h"
#include <limits.h>
#include <string.h>

static const int first_capacity = 4;

void *vec_grow(void *at, int count, int *capacity, size_t size) {
  if (count < *capacity) return at;
  int wanted = count ? (count > INT_MAX / 2 ? INT_MAX : count * 2) : first_capacity;
  // A new block rather than a reallocation: another Vec may share the old one.
  void *grown = mem_alloc_array((size_t)wanted, size);
  if (count) memcpy(grown, at, (size_t)count * size);
  *capacity = wanted;
  return grown;
}

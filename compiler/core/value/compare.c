// Do two values agree?  Integers and bools exactly, floats within one tolerance per array.
#include "core/value/value.h"
#include <math.h>
#include <string.h>

static double float_at(const Value *v, int64_t i) {
  if (v->elem == PRIM_F16) return prim_to_double(value_get(v, i));
  if (v->elem == PRIM_F32) return (double)((const float *)v->data)[i];
  return ((const double *)v->data)[i];
}

static double largest_magnitude(const Value *v) {
  double largest = 0;
  for (int64_t i = 0; i < value_count(v); i++) {
    double magnitude = fabs(float_at(v, i));
    if (isfinite(magnitude) && magnitude > largest) largest = magnitude;
  }
  return largest;
}

static bool floats_agree(double got, double expected, double tolerance) {
  if (isnan(got) || isnan(expected)) return isnan(got) && isnan(expected);
  if (isinf(got) || isinf(expected)) return got == expected;
  return fabs(got - expected) <= tolerance;
}

static bool elements_agree(const Value *got, const Value *expected, int64_t i,
                           double tolerance) {
  if (prim_is_float(got->elem))
    return floats_agree(float_at(got, i), float_at(expected, i), tolerance);
  size_t size = (size_t)prim_size_bytes(got->elem);
  size_t at = (size_t)i * size;
  return memcmp((const char *)got->data + at, (const char *)expected->data + at, size) ==
         0;
}

// "element [1, 2]: " or nothing for a scalar.
static const char *place(const Value *v, int64_t i) {
  if (v->rank == 0) return "";
  int64_t below = value_count(v);
  Text *t = text_new();
  text_add(t, "element [");
  for (int d = 0; d < v->rank; d++) {
    below /= v->shape[d];
    text_printf(t, "%s%lld", d ? ", " : "", (long long)(i / below));
    i %= below;
  }
  text_add(t, "]: ");
  return text_str(t);
}

static const char *describe(const Value *got, const Value *expected, int64_t first,
                            int64_t count, double tolerance) {
  Text *t = text_new();
  text_printf(t, "%sgot %s, expected %s", place(got, first),
              prim_text(value_get(got, first)), prim_text(value_get(expected, first)));
  if (prim_is_float(got->elem))
    text_printf(t, " (difference %.3g, tolerance %.3g)",
                fabs(float_at(got, first) - float_at(expected, first)), tolerance);
  if (count > 1)
    text_printf(t, "; %lld of %lld elements differ", (long long)count,
                (long long)value_count(got));
  return text_str(t);
}

static bool same_shape(const Value *a, const Value *b) {
  if (a->elem != b->elem || a->rank != b->rank) return false;
  return a->rank == 0 ||
         memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape) == 0;
}

const char *value_compare(const Value *got, const Value *expected, double tolerance,
                          bool relative) {
  if (!same_shape(got, expected))
    return text_format("got a value of type %s, expected %s", value_type_text(got),
                       value_type_text(expected));
  if (prim_is_float(got->elem)) {
    double scaled = tolerance * largest_magnitude(expected);
    tolerance = relative || scaled > tolerance ? scaled : tolerance;
  }
  int64_t first = -1, count = 0;
  for (int64_t i = 0; i < value_count(got); i++) {
    if (elements_agree(got, expected, i, tolerance)) continue;
    if (first < 0) first = i;
    count++;
  }
  return count ? describe(got, expected, first, count, tolerance) : NULL;
}

#include "tuner/samples.h"
#include "base/mem.h"
#include <math.h>
#include <stdlib.h>

enum { FEW = 8, MANY = 40 };

static int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

// Sorts the values.
static double quantile_of(double *values, int count, double share) {
  qsort(values, (size_t)count, sizeof *values, compare_doubles);
  double at = share * (count - 1);
  int before = (int)at;
  double rest = at - before;
  return before + 1 < count ? (1 - rest) * values[before] + rest * values[before + 1]
                            : values[before];
}

double samples_typical(const Samples *s) {
  if (s->count == 0) return INFINITY;
  return quantile_of(mem_copy(s->at, (size_t)s->count * sizeof *s->at), s->count, 0.25);
}

// From the median of the distances to it, so that outliers do not count; with few samples
// at least what runs usually differ by.
double samples_error(const Samples *s) {
  if (s->count == 0) return 0;
  double middle = samples_typical(s), usual = (s->count < 3 ? 0.10 : 0.02) * fabs(middle);
  double *distances = mem_alloc_plain((size_t)s->count * sizeof *distances);
  for (int i = 0; i < s->count; i++)
    distances[i] = fabs(s->at[i] - middle);
  double deviation = quantile_of(distances, s->count, 0.5);
  if (s->count < 8 && deviation < usual) deviation = usual;
  return 1.36 * deviation / sqrt(s->count);
}

// ---- runs in turn

static double *sorted(const Samples *s) {
  double *values = mem_copy(s->at, (size_t)s->count * sizeof *values);
  qsort(values, (size_t)s->count, sizeof *values, compare_doubles);
  return values;
}

static double share_of(const Samples *s) { return s->count < MANY ? 0.25 : 0.1; }

double samples_low(const Samples *s) {
  if (s->count == 0) return INFINITY;
  return sorted(s)[(int)(share_of(s) * (s->count - 1) + 0.5)];
}

// From the ranks between which the true quantile lies in 95 % of all cases; of few
// samples at least what runs usually differ by.
double samples_low_error(const Samples *s) {
  if (s->count == 0) return 0;
  const double *values = sorted(s);
  double share = share_of(s), middle = share * (s->count - 1);
  double reach = 1.96 * sqrt(share * (1 - share) * s->count);
  int low = (int)fmax(0, floor(middle - reach)),
      high = (int)fmin(s->count - 1, ceil(middle + reach));
  double usual = s->count < 3 ? 0.1 : s->count < FEW ? 0.02 : 0.001;
  return fmax((values[high] - values[low]) / (2 * 1.96), usual * values[(int)middle]);
}

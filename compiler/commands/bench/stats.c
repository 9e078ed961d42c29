// What can be said of times that were measured several times.
#include "commands/bench/bench.h"
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

static int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double *sorted_copy(const double *values, int count) {
  double *sorted = mem_copy(values, sizeof(double) * (size_t)count);
  qsort(sorted, (size_t)count, sizeof *sorted, compare_doubles);
  return sorted;
}

static double quantile_of(const double *sorted, int count, double at) {
  double place = at * (count - 1);
  int below = (int)place;
  int above = below + 1 < count ? below + 1 : below;
  return sorted[below] + (place - below) * (sorted[above] - sorted[below]);
}

double bench_quantile(const TimeVec *times, double at) {
  return quantile_of(sorted_copy(times->at, times->count), times->count, at);
}

double bench_median(const TimeVec *times) { return bench_quantile(times, 0.5); }

double bench_total(const TimeVec *times) {
  double sum = 0;
  vec_each (const double *, t, times)
    sum += *t;
  return sum;
}

double bench_relative_error(const TimeVec *times) {
  double mean = bench_total(times) / times->count, squares = 0;
  vec_each (const double *, t, times)
    squares += (*t - mean) * (*t - mean);
  if (times->count < 2 || mean <= 0) return 0;
  return sqrt(squares / (times->count - 1) / times->count) / mean;
}

// ---- intervals by the bootstrap: what other samples from the same runs would have given
//
// Runs that follow each other resemble each other (a clock that slows down, a neighbour that comes
// and goes), so that they are drawn in blocks of a tenth of all.

enum { SAMPLES = 2000, BLOCKS = 10 };

// Numbers that look random, the same for every call of flc.
static uint64_t next_random(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

typedef struct MedianSampler {
  const double *sorted;
  int *rank;   // of each run among the sorted ones
  int *drawn;  // how often each rank was drawn
  int count, block;
} MedianSampler;

static MedianSampler median_sampler(const TimeVec *times) {
  int count = times->count;
  MedianSampler s = { sorted_copy(times->at, count), new_array(int, count),
                      new_array(int, count), count, count / BLOCKS };
  if (s.block < 1) s.block = 1;
  for (int i = 0; i < count; i++) {
    const double *place = bsearch(&times->at[i], s.sorted, (size_t)count,
                                  sizeof *s.sorted, compare_doubles);
    s.rank[i] = (int)(place - s.sorted);
  }
  return s;
}

// The median of as many times as there are, drawn from them.
static double drawn_median(const MedianSampler *s, uint64_t *state) {
  for (int i = 0; i < s->count; i++)
    s->drawn[i] = 0;
  for (int i = 0; i < s->count; i += s->block) {
    int from = (int)(next_random(state) % (uint64_t)s->count);
    for (int k = 0; k < s->block && i + k < s->count; k++)
      s->drawn[s->rank[(from + k) % s->count]]++;
  }
  int at = 0, seen = s->drawn[0];
  while (seen <= (s->count - 1) / 2)
    seen += s->drawn[++at];
  double low = s->sorted[at];
  while (seen <= s->count / 2)
    seen += s->drawn[++at];
  return (low + s->sorted[at]) / 2;
}

BenchInterval bench_ratio(const TimeVec *before, const TimeVec *now) {
  uint64_t state = 0x9E3779B97F4A7C15u;
  const double least = 1e-3;  // of a clock that counts microseconds
  double *ratios = new_array(double, SAMPLES);
  MedianSampler old = median_sampler(before), new_one = median_sampler(now);
  for (int i = 0; i < SAMPLES; i++) {
    double above = fmax(drawn_median(&old, &state), least);
    ratios[i] = above / fmax(drawn_median(&new_one, &state), least);
  }
  qsort(ratios, SAMPLES, sizeof *ratios, compare_doubles);
  double ratio = fmax(bench_median(before), least) / fmax(bench_median(now), least);
  return (BenchInterval){ fmin(quantile_of(ratios, SAMPLES, 0.025), ratio), ratio,
                          fmax(quantile_of(ratios, SAMPLES, 0.975), ratio) };
}

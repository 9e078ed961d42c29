// When the results of two versions count as equal: integers exactly, floats by what another order of
// additions makes of them, which depends on their type and on how many there are.
#include "../../runtime/all.c"
#include "../unit.h"

static const struct rt_program program;

RT_FN const struct rt_program *rt_program(void) { return &program; }

static bool same_f32(float x, float y, int64_t roundings) {
  struct rt_outcome o = { RT_F32, 1, NULL, NULL };
  return rt_same_outcome(&o, roundings, (unsigned char *)&x, (unsigned char *)&y);
}

static bool same_f64(double x, double y, int64_t roundings) {
  struct rt_outcome o = { RT_F64, 1, NULL, NULL };
  return rt_same_outcome(&o, roundings, (unsigned char *)&x, (unsigned char *)&y);
}

static void singles(void) {
  CHECK(same_f32(1, 1 + 4e-6f, 0));
  CHECK(!same_f32(1, 1 + 4e-5f, 0));
  CHECK(same_f32(1, 1 + 4e-5f, 1000));
  CHECK(!same_f32(1, 1 + 4e-4f, 1000));
  CHECK(same_f32(1000, 1000.5f, 1000000));
  CHECK(!same_f32(1000, 1003, INT64_MAX));
}

static void doubles(void) {
  CHECK(same_f64(1, 1 + 1e-14, 0));
  CHECK(!same_f64(1, 1 + 1e-9, 1000));
  CHECK(!same_f64(1e6, 1e6 + 1, 1000000));
  CHECK(same_f64(1e6, 1e6 + 1e-5, 1000000));
  CHECK(!same_f64(1, 1.003, INT64_MAX));
}

static void special_values(void) {
  CHECK(same_f64(NAN, NAN, 0));
  CHECK(!same_f64(NAN, 0, 1000000));
  CHECK(same_f64(INFINITY, INFINITY, 0));
  CHECK(!same_f64(INFINITY, 1e300, 1000000));
  CHECK(!same_f64(1, -INFINITY, 1000000));
  CHECK(same_f64(0.0, -0.0, 0));
}

// Where terms cancel each other the greatest element tells how large they were.
static void arrays(void) {
  double a[] = { 1e6, 1e-6, 0 }, b[] = { 1e6, 2e-6, 1e-7 };
  struct rt_outcome o = { RT_F64, 3, NULL, NULL };
  CHECK(rt_same_outcome(&o, 100000, (unsigned char *)a, (unsigned char *)b));
  CHECK(!rt_same_outcome(&o, 10, (unsigned char *)a, (unsigned char *)b));
}

static void integers(void) {
  int32_t a[] = { 1000000, 2 }, b[] = { 1000001, 2 };
  struct rt_outcome o = { RT_I32, 2, NULL, NULL };
  CHECK(rt_same_outcome(&o, 0, (unsigned char *)a, (unsigned char *)a));
  CHECK(!rt_same_outcome(&o, INT64_MAX, (unsigned char *)a, (unsigned char *)b));
}

int main(void) {
  singles();
  doubles();
  special_values();
  arrays();
  integers();
  return 0;
}

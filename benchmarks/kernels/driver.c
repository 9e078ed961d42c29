// Measures an entry point (ours) beside references in C: see driver.h.
//
//   driver FAST.so PLAIN.so FUNCTION PATH < rows > results
//
// FAST.so holds the reference made with OpenMP, PLAIN.so the same compiled as sequential C.  PATH forces
// versions ("" does not).  Each line of the input is a row:
//
//   NUMBER SECONDS TOLERANCE DIFFERING BYTES OPERATIONS SIZES size... INPUTS (SHAPE FILL LOW HIGH)...
//
// and each line of the output its result, `NUMBER ok OURS FAST PLAIN COPY PEAK` in nanoseconds (0: there is
// none, negative: more than that) or `NUMBER failed TEXT`.
//
// The sides take turns, forwards and backwards, and of each the fastest call counts: what else happens
// on the machine then hits all of them.
#define _GNU_SOURCE
#include "driver.h"
#include <dlfcn.h>
#include <math.h>
#include <omp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
  ROUNDS = 4,
  LEAST_CALLS = 3,
  FAR = 4,
  SLOW = 6,
  MOST_SIZES = 8,
  LINE_BYTES = 4096,
  ALIGNMENT = 64
};
enum { TRIAL_S = 2, ROW_S = 40 };

static const size_t type_bytes[] = { 1, 2, 4, 8, 1, 2, 4, 8, 4, 8, 1 };

// How the elements of an input are made.
typedef struct Fill {
  char how[16];  // uniform, iota, permutation, sorted
  double low, high;
} Fill;

typedef struct Row {
  int number;
  double seconds, tolerance, differing, bytes, operations;
  int sizes_count, inputs_count;
  int64_t sizes[MOST_SIZES];
  Fill fills[MOST_VALUES];
  Value inputs[MOST_VALUES];
} Row;

// What is measured beside each other.
typedef struct Side Side;
struct Side {
  // Before each call, not timed; NULL if there is nothing to do.
  bool (*prepare)(Side *side);
  bool (*call)(Side *side);
  struct Bench *bench;
  void *function;
  double took_ns;  // if the call itself says so
  double best_ns, spent_ns;
  int calls;
  bool absent;
};

typedef enum SideName {
  SIDE_OURS,
  SIDE_FAST,
  SIDE_PLAIN,
  SIDE_COPY,
  SIDE_PEAK,
  SIDES
} SideName;

typedef struct Bench {
  Row row;
  Ours *ours;
  Side sides[SIDES];
  int outputs_count;
  Value outputs[MOST_VALUES];   // of ours
  Value expected[MOST_VALUES];  // of the reference, with room for more
  Value passed[MOST_VALUES];    // the inputs as the reference gets them
  char *from, *to;              // for the copy
  int64_t counted;              // what the reference returned
  volatile double sink;         // keeps what is computed for its own sake
  char failure[512];
} Bench;

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

__attribute__((format(printf, 2, 3))) static bool fail(Bench *b, const char *format,
                                                       ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(b->failure, sizeof b->failure, format, args);
  va_end(args);
  return false;
}

static bool fail_ours(Bench *b) {
  char *text = ours_error(b->ours);
  fail(b, "%s", text ? text : "unknown error");
  free(text);
  return false;
}

// Values

static int64_t value_count(const Value *v) {
  int64_t count = 1;
  for (int d = 0; d < v->rank; d++)
    count *= v->shape[d];
  return count;
}

static void *allocate(size_t bytes) {
  size_t rounded = (bytes + ALIGNMENT) / ALIGNMENT * ALIGNMENT;
  void *data = aligned_alloc(ALIGNMENT, rounded);
  if (!data) {
    fprintf(stderr, "no memory for %zu bytes\n", bytes);
    exit(1);
  }
  return data;
}

static uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// In [0, 1), also after it is rounded to the type.
static double unit_number(uint64_t x, Type type) {
  if (type == F32) return (double)(mix(x) >> 40) * 0x1p-24;
  return (double)(mix(x) >> 11) * 0x1p-53;
}

// One of the `n` numbers below n, a different one for each i: a permutation of the next power of two,
// again and again until it stays below n.
static int64_t permuted(int64_t i, int64_t n) {
  int bits = 1;
  while ((int64_t)1 << bits < n)
    bits++;
  uint64_t mask = ((uint64_t)1 << bits) - 1, x = (uint64_t)i;
  do {
    for (int round = 0; round < 3; round++) {
      x ^= x >> (bits / 2 + 1);
      x = (x * 0x9e3779b97f4a7c15u + 12345) & mask;
    }
  } while (x >= (uint64_t)n);
  return (int64_t)x;
}

static double element(const Value *v, const Fill *f, int64_t i, uint64_t seed) {
  int64_t count = value_count(v);
  if (f->how[0] == 'i') return (double)i;
  if (f->how[0] == 'p') return (double)permuted(i, count);
  if (f->how[0] == 's') return f->low + (f->high - f->low) * (double)i / (double)count;
  return f->low + (f->high - f->low) * unit_number(seed + (uint64_t)i, v->type);
}

static void store_element(Value *v, int64_t i, double x) {
  switch (v->type) {
  case I8: ((int8_t *)v->data)[i] = (int8_t)floor(x); return;
  case I16: ((int16_t *)v->data)[i] = (int16_t)floor(x); return;
  case I32: ((int32_t *)v->data)[i] = (int32_t)floor(x); return;
  case I64: ((int64_t *)v->data)[i] = (int64_t)floor(x); return;
  case U8: ((uint8_t *)v->data)[i] = (uint8_t)floor(x); return;
  case U16: ((uint16_t *)v->data)[i] = (uint16_t)floor(x); return;
  case U32: ((uint32_t *)v->data)[i] = (uint32_t)floor(x); return;
  case U64: ((uint64_t *)v->data)[i] = (uint64_t)floor(x); return;
  case F32: ((float *)v->data)[i] = (float)x; return;
  case F64: ((double *)v->data)[i] = x; return;
  case BOOL: ((bool *)v->data)[i] = x > 0; return;
  }
}

static double load_element(const Value *v, int64_t i) {
  switch (v->type) {
  case I8: return ((const int8_t *)v->data)[i];
  case I16: return ((const int16_t *)v->data)[i];
  case I32: return ((const int32_t *)v->data)[i];
  case I64: return (double)((const int64_t *)v->data)[i];
  case U8: return ((const uint8_t *)v->data)[i];
  case U16: return ((const uint16_t *)v->data)[i];
  case U32: return ((const uint32_t *)v->data)[i];
  case U64: return (double)((const uint64_t *)v->data)[i];
  case F32: return ((const float *)v->data)[i];
  case F64: return ((const double *)v->data)[i];
  case BOOL: return ((const bool *)v->data)[i];
  }
  return 0;
}

static bool is_float(Type type) { return type == F32 || type == F64; }

static void make_input(Value *v, const Fill *fill, uint64_t seed) {
  int64_t count = value_count(v);
  v->data = allocate((size_t)count * type_bytes[v->type]);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < count; i++)
    store_element(v, i, element(v, fill, i, seed));
}

// Comparison of results

static double greatest(const Value *v, int64_t count) {
  double most = 0;
#pragma omp parallel for reduction(max : most)
  for (int64_t i = 0; i < count; i++) {
    double x = fabs(load_element(v, i));
    if (isfinite(x) && x > most) most = x;
  }
  return most;
}

static bool same(double ours, double expected, double allowed) {
  if (isnan(ours) || isnan(expected)) return isnan(ours) && isnan(expected);
  return ours == expected || fabs(ours - expected) <= allowed;
}

// A few elements may differ where the row says so: rounding decides when a point escapes.
static bool compare_output(Bench *b, int k) {
  const Value *ours = &b->outputs[k], *expected = &b->expected[k];
  int64_t count = value_count(ours), wrong = count, differing = 0;
  double allowed =
      is_float(ours->type) ? b->row.tolerance * greatest(expected, count) : 0;
#pragma omp parallel for reduction(min : wrong) reduction(+ : differing)
  for (int64_t i = 0; i < count; i++)
    if (!same(load_element(ours, i), load_element(expected, i), allowed)) {
      wrong = i < wrong ? i : wrong;
      differing++;
    }
  if ((double)differing <= b->row.differing * (double)count) return true;
  return fail(b,
              "wrong: %lld of %lld elements of result %d, at %lld %.9g instead of %.9g",
              (long long)differing, (long long)count, k, (long long)wrong,
              load_element(ours, wrong), load_element(expected, wrong));
}

static bool compare_outputs(Bench *b) {
  int64_t count = value_count(&b->outputs[0]);
  if (b->counted >= 0 && b->outputs[0].rank > 0 && b->counted != b->outputs[0].shape[0])
    return fail(b, "wrong: a result of length %lld, reference %lld",
                (long long)b->outputs[0].shape[0], (long long)b->counted);
  if (count == 0) return fail(b, "an empty result measures nothing");
  for (int k = 0; k < b->outputs_count; k++)
    if (!compare_output(b, k)) return false;
  return true;
}

// The sides

static bool prepare_ours(Side *side) {
  return ours_reload(side->bench->ours, side->bench->row.inputs) ||
         fail_ours(side->bench);
}

static bool call_ours(Side *side) {
  return ours_call(side->bench->ours) || fail_ours(side->bench);
}

static bool prepare_reference(Side *side) {
  Bench *b = side->bench;
  int place = reference_in_place();
  if (place < 0) return true;
  const Value *original = &b->row.inputs[place];
  size_t bytes = (size_t)value_count(original) * type_bytes[original->type];
  memcpy(b->passed[place].data, original->data, bytes);
  return true;
}

static bool call_reference(Side *side) {
  Bench *b = side->bench;
  b->counted = reference_call(side->function, b->row.sizes, b->passed, b->expected);
  return true;
}

static bool call_copy(Side *side) {
  Bench *b = side->bench;
  size_t bytes = (size_t)(b->row.bytes / 2);
#pragma omp parallel
  {
    size_t id = (size_t)omp_get_thread_num(), threads = (size_t)omp_get_num_threads();
    size_t from = bytes * id / threads, to = bytes * (id + 1) / threads;
    memcpy(b->to + from, b->from + from, to - from);
  }
  return true;
}

// Chains of multiply-adds, enough of them to hide the latency, on all cores.
enum { CHAINS = 12, CHAIN_BYTES = 64, CHAIN_STEPS = 20000 };
typedef float FloatVector __attribute__((vector_size(CHAIN_BYTES)));
typedef double DoubleVector __attribute__((vector_size(CHAIN_BYTES)));

#define MULTIPLY_ADDS(Vector, start)                       \
  Vector chains[CHAINS], factor = (Vector){ 0 } + (start); \
  for (int c = 0; c < CHAINS; c++)                         \
    chains[c] = factor;                                    \
  for (int i = 0; i < CHAIN_STEPS; i++)                    \
    for (int c = 0; c < CHAINS; c++)                       \
      chains[c] = chains[c] * factor + factor;             \
  for (int c = 1; c < CHAINS; c++)                         \
    chains[0] += chains[c];                                \
  double sum = (double)chains[0][0];

static double float_chains(float start) {
  MULTIPLY_ADDS(FloatVector, start)
  return sum;
}

static double double_chains(double start) {
  MULTIPLY_ADDS(DoubleVector, start)
  return sum;
}

// The peak is measured by a fixed amount of work and scaled to the operations of the row.  Threads take
// their own times: nobody waits for one that the system has taken from its core.
static bool call_peak(Side *side) {
  Type type = side->bench->outputs[0].type;
  double total = 0, fastest = INFINITY;
#pragma omp parallel reduction(+ : total) reduction(min : fastest)
  {
    double start = now_ns();
    total += type == F64 ? double_chains(0.5) : float_chains(0.5f);
    fastest = now_ns() - start;
  }
  side->bench->sink = total;
  side->took_ns = fastest;
  return true;
}

static double peak_operations(Type type) {
  double lanes = CHAIN_BYTES / (type == F64 ? sizeof(double) : sizeof(float));
  return 2.0 * CHAIN_STEPS * CHAINS * lanes * omp_get_max_threads();
}

// Runs one call; false if it fails.
static bool turn(Side *side) {
  if (side->prepare && !side->prepare(side)) return false;
  double start = now_ns();
  if (!side->call(side)) return false;
  double took = side->took_ns > 0 ? side->took_ns : now_ns() - start;
  if (side->calls == 0 || took < side->best_ns) side->best_ns = took;
  side->spent_ns += took;
  side->calls++;
  if (side == &side->bench->sides[SIDE_OURS]) ours_release(side->bench->ours);
  return true;
}

// Whether more calls would tell little: those before took long, or a sequential loop far longer than ours.
static bool has_enough(const Side *side, double seconds) {
  const Side *sides = side->bench->sides;
  bool far = side == &sides[SIDE_PLAIN] && side->best_ns > FAR * sides[SIDE_OURS].best_ns;
  double share = side->spent_ns / (seconds * 1e9);
  if (side->calls == 0) return false;
  return share > SLOW || (far && share > 0.25) ||
         (side->calls >= LEAST_CALLS && share > 2);
}

// Calls for the part of the time that a round has; at least one, unless the side is far over its time.
static bool visit(Side *side, double seconds) {
  double allowed = seconds * 1e9 / ROUNDS, before = side->spent_ns;
  if (side->absent) return true;
  if (has_enough(side, seconds)) return true;
  do
    if (!turn(side)) return false;
  while (side->spent_ns - before < allowed);
  return true;
}

static bool measure(Bench *b) {
  for (int round = 0; round < ROUNDS; round++)
    for (int i = 0; i < SIDES; i++)
      if (!visit(&b->sides[round % 2 ? SIDES - 1 - i : i], b->row.seconds)) return false;
  return true;
}

// The sequential reference may take minutes where nobody wants to know how many: a child tries it.
static bool plain_is_quick(Bench *b) {
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    call_reference(&b->sides[SIDE_PLAIN]);
    _exit(0);
  }
  double until = now_ns() + fmax(TRIAL_S * 1e9, 3 * b->sides[SIDE_OURS].best_ns);
  double started = now_ns();
  while (now_ns() < until) {
    if (waitpid(child, NULL, WNOHANG) == child) return true;
    usleep(1000);
  }
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  b->sides[SIDE_PLAIN].best_ns = started - now_ns();
  return false;
}

// A row

static void make_expected(Bench *b) {
  int64_t most = 0;
  for (int i = 0; i < b->row.inputs_count; i++)
    most += value_count(&b->row.inputs[i]);
  for (int k = 0; k < b->outputs_count; k++) {
    Value *ours = &b->outputs[k], *expected = &b->expected[k];
    int64_t count = value_count(ours);
    ours->data = allocate((size_t)count * type_bytes[ours->type]);
    *expected = *ours;
    size_t room = (size_t)(count + most) * type_bytes[ours->type];
    expected->data = allocate(room);
    memset(expected->data, 0xff, room);
  }
  memcpy(b->passed, b->row.inputs, sizeof b->passed);
  int place = reference_in_place();
  if (place < 0) return;
  Value *v = &b->passed[place];
  v->data = allocate((size_t)value_count(v) * type_bytes[v->type]);
  free(b->expected[0].data);
  b->expected[0].data = v->data;
}

// The first call also compiles kernels.  Its results are checked.
static bool check_results(Bench *b) {
  Side *ours = &b->sides[SIDE_OURS], *fast = &b->sides[SIDE_FAST];
  if (!ours_load(b->ours, b->row.inputs) || !call_ours(ours)) return fail_ours(b);
  b->outputs_count = ours_outputs(b->outputs);
  if (!ours_results(b->ours, b->outputs)) return fail_ours(b);
  make_expected(b);
  if (!ours_results(b->ours, b->outputs)) return fail_ours(b);
  ours_release(b->ours);
  prepare_reference(fast);
  call_reference(fast);
  return compare_outputs(b);
}

static void make_copy(Bench *b) {
  size_t bytes = (size_t)(b->row.bytes / 2);
  b->sides[SIDE_COPY].absent = bytes == 0;
  if (bytes == 0) return;
  b->from = allocate(bytes);
  b->to = allocate(bytes);
  memset(b->from, 1, bytes);
  memset(b->to, 2, bytes);
}

static bool run_row(Bench *b) {
  for (int i = 0; i < b->row.inputs_count; i++)
    make_input(&b->row.inputs[i], &b->row.fills[i], mix((uint64_t)i));
  if (!check_results(b)) return false;
  make_copy(b);
  b->sides[SIDE_PEAK].absent = b->row.operations == 0;
  double start = now_ns();
  if (!prepare_ours(&b->sides[SIDE_OURS]) || !call_ours(&b->sides[SIDE_OURS]))
    return false;
  b->sides[SIDE_OURS].best_ns = now_ns() - start;
  ours_release(b->ours);
  prepare_reference(&b->sides[SIDE_PLAIN]);
  b->sides[SIDE_PLAIN].absent = !plain_is_quick(b);
  return measure(b);
}

static void print_row(Bench *b) {
  if (b->failure[0]) {
    printf("%d failed %s\n", b->row.number, b->failure);
    return;
  }
  Side *peak = &b->sides[SIDE_PEAK];
  peak->best_ns *= b->row.operations / peak_operations(b->outputs[0].type);
  printf("%d ok", b->row.number);
  for (int i = 0; i < SIDES; i++)
    printf(" %.0f", b->sides[i].best_ns);
  printf("\n");
}

static void free_values(Value *values, int count) {
  for (int i = 0; i < count; i++)
    free(values[i].data);
}

static void free_row(Bench *b) {
  int place = reference_in_place();
  if (place >= 0 && b->outputs_count > 0) b->expected[0].data = NULL;
  if (place >= 0) free(b->passed[place].data);
  free_values(b->row.inputs, b->row.inputs_count);
  free_values(b->outputs, b->outputs_count);
  free_values(b->expected, b->outputs_count);
  free(b->from);
  free(b->to);
}

// Input

static const char *word(char **rest) {
  char *w = strtok_r(NULL, " \n", rest);
  if (w) return w;
  fprintf(stderr, "a row ends too early\n");
  exit(1);
}

static double number(char **rest) { return atof(word(rest)); }

// 3x4 or, for a scalar, -
static void read_input(Value *v, Fill *fill, char **rest) {
  const char *shape = word(rest);
  for (int d = 0; d < v->rank; d++) {
    v->shape[d] = atoll(shape);
    shape += strspn(shape, "0123456789") + 1;
  }
  snprintf(fill->how, sizeof fill->how, "%s", word(rest));
  fill->low = number(rest);
  fill->high = number(rest);
}

static Row read_row(char *line) {
  Row row = { 0 };
  char *rest = NULL;
  row.number = atoi(strtok_r(line, " \n", &rest));
  row.seconds = number(&rest);
  row.tolerance = number(&rest);
  row.differing = number(&rest);
  row.bytes = number(&rest);
  row.operations = number(&rest);
  row.sizes_count = (int)number(&rest);
  for (int i = 0; i < row.sizes_count; i++)
    row.sizes[i] = atoll(word(&rest));
  row.inputs_count = ours_inputs(row.inputs);
  for (int i = 0; i < row.inputs_count; i++)
    read_input(&row.inputs[i], &row.fills[i], &rest);
  return row;
}

static void *reference(const char *library, const char *name) {
  void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  void *function = handle ? dlsym(handle, name) : NULL;
  if (function) return function;
  fprintf(stderr, "%s\n", dlerror());
  exit(1);
}

int main(int argc, char **argv) {
  if (argc != 5)
    return fprintf(stderr, "usage: driver FAST.so PLAIN.so FUNCTION PATH\n"), 1;
  void *fast = reference(argv[1], argv[3]), *plain = reference(argv[2], argv[3]);
  Ours *ours = ours_start(argv[4]);
  if (!ours) return fprintf(stderr, "no context\n"), 1;
  char line[LINE_BYTES];
  while (fgets(line, sizeof line, stdin)) {
    Bench b = { .row = read_row(line), .ours = ours };
    b.sides[SIDE_OURS] = (Side){ .prepare = prepare_ours, .call = call_ours };
    b.sides[SIDE_FAST] = (Side){ prepare_reference, call_reference, .function = fast };
    b.sides[SIDE_PLAIN] = (Side){ prepare_reference, call_reference, .function = plain };
    b.sides[SIDE_COPY].call = call_copy;
    b.sides[SIDE_PEAK].call = call_peak;
    for (int i = 0; i < SIDES; i++)
      b.sides[i].bench = &b;
    alarm(ROW_S);
    run_row(&b);
    print_row(&b);
    fflush(stdout);
    free_row(&b);
  }
}

// What the stand-in for CUDA (standin.c) puts before kernels, so that the host's C++ compiler takes
// them: CUDA's words, and how a group runs.
//
// The items of a group are fibers of one thread.  A fiber takes one item after the other until an
// item waits at a barrier; when all wait, all go on.  An item that has ended while others wait is a
// mistake in a kernel of ours (OpenCL does not define it): the launch fails.  Local memory holds
// garbage when a group begins.
#pragma once
#include <math.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <utility>

#define __global__
#define __shared__ thread_local
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(n)

struct StandinIndex {
  unsigned x;
};
struct float4 {
  float x, y, z, w;
};
static StandinIndex threadIdx, blockIdx, blockDim, gridDim;

// ---- items

namespace standin {

enum { STACK_BYTES = 256 << 10, LOCAL_BYTES = 256 << 10, GARBAGE = 0xa5 };

struct Fiber {
  ucontext_t start;
  jmp_buf at;
  bool begun, waits;
  unsigned item;
};

static Fiber **fibers;
static int fiber_count;
static Fiber *current;
static jmp_buf scheduler;
static unsigned next_item, ended;
static void (*kernel)(void **arguments);
static void **kernel_arguments;

static void leave() {
  if (!_setjmp(current->at)) _longjmp(scheduler, 1);
}

static void body() {
  for (;;) {
    while (next_item < blockDim.x) {
      current->item = threadIdx.x = next_item++;
      kernel(kernel_arguments);
      ended++;
    }
    leave();
  }
}

static void resume(Fiber *fiber) {
  current = fiber;
  threadIdx.x = fiber->item;
  if (_setjmp(scheduler)) return;
  if (fiber->begun) _longjmp(fiber->at, 1);
  fiber->begun = true;
  setcontext(&fiber->start);
}

static Fiber *new_fiber() {
  Fiber *fiber = (Fiber *)calloc(1, sizeof *fiber);
  getcontext(&fiber->start);
  fiber->start.uc_stack.ss_sp = malloc(STACK_BYTES);
  fiber->start.uc_stack.ss_size = STACK_BYTES;
  makecontext(&fiber->start, body, 0);
  fibers = (Fiber **)realloc(fibers, (size_t)(fiber_count + 1) * sizeof *fibers);
  fibers[fiber_count++] = fiber;
  return fiber;
}

static Fiber *idle_fiber() {
  for (int i = 0; i < fiber_count; i++)
    if (!fibers[i]->waits) return fibers[i];
  return new_fiber();
}

static int count_waiting() {
  int count = 0;
  for (int i = 0; i < fiber_count; i++)
    count += fibers[i]->waits;
  return count;
}

// False if some items have ended and others wait: those that wait are given up.
static bool run_group() {
  next_item = ended = 0;
  for (;;) {
    while (next_item < blockDim.x)
      resume(idle_fiber());
    if (count_waiting() == 0) return true;
    if (ended > 0) return false;
    int waiting = fiber_count;
    for (int i = 0; i < waiting; i++) {
      if (!fibers[i]->waits) continue;
      fibers[i]->waits = false;
      resume(fibers[i]);
    }
  }
}

template <class... T, size_t... I>
static void apply_at(void (*f)(T...), void **arguments, std::index_sequence<I...>) {
  f(*(T *)arguments[I]...);
}

template <class... T> static void apply(void (*f)(T...), void **arguments) {
  apply_at(f, arguments, std::index_sequence_for<T...>());
}

static void drop_fibers() {
  for (int i = 0; i < fiber_count; i++) {
    free(fibers[i]->start.uc_stack.ss_sp);
    free(fibers[i]);
  }
  free(fibers);
  fibers = NULL;
  fiber_count = 0;
}

}  // namespace standin

static void __syncthreads() {
  standin::current->waits = true;
  standin::leave();
}

// All items of a group ask at once, as kernels of ours do; of a warp that is not whole, none may.
static uint64_t standin_slots[1024];
template <class T> static T standin_ask(T x, unsigned apart, bool up) {
  unsigned item = threadIdx.x, lane = item % 32;
  bool inside = blockDim.x % 32 == 0 && (up ? lane >= apart : lane + apart < 32);
  standin_slots[item] = (uint64_t)x;
  __syncthreads();
  x = (T)(inside ? standin_slots[up ? item - apart : item + apart] : 0xdeadbeefdeadbeef);
  __syncthreads();
  return x;
}
template <class T> static T __shfl_up_sync(unsigned, T x, unsigned apart) {
  return standin_ask(x, apart, true);
}
template <class T> static T __shfl_down_sync(unsigned, T x, unsigned apart) {
  return standin_ask(x, apart, false);
}
static void __threadfence() {}

// Runs all groups of a launch; false if one did not end.
static bool standin_run(void (*call)(void **), void **arguments, unsigned groups,
                        unsigned items, unsigned char *local, unsigned local_bytes) {
  bool ok = true;
  standin::kernel = call;
  standin::kernel_arguments = arguments;
  gridDim.x = groups;
  blockDim.x = items;
  for (unsigned g = 0; g < groups && ok; g++) {
    blockIdx.x = g;
    memset(local, standin::GARBAGE, local_bytes);
    ok = standin::run_group();
  }
  standin::drop_fibers();
  return ok;
}

// ---- CUDA's functions

template <class To, class From> static To standin_bits(From from) {
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}
static float __int_as_float(int x) { return standin_bits<float>(x); }
static float __uint_as_float(unsigned x) { return standin_bits<float>(x); }
static unsigned __float_as_uint(float x) { return standin_bits<unsigned>(x); }
static long long __double_as_longlong(double x) { return standin_bits<long long>(x); }
static double __longlong_as_double(long long x) { return standin_bits<double>(x); }

static int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
static int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
static int __popc(unsigned x) { return __builtin_popcount(x); }
static int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static long __mul64hi(long a, long b) { return (long)(((__int128)a * b) >> 64); }
static unsigned long __umul64hi(unsigned long a, unsigned long b) {
  return (unsigned long)(((unsigned __int128)a * b) >> 64);
}

template <class T> static T min(T a, T b) { return b < a ? b : a; }
template <class T> static T max(T a, T b) { return a < b ? b : a; }

template <class T> static T standin_exchange(T *p, T x) {
  T old = *p;
  *p = x;
  return old;
}
template <class T> static T atomicAdd(T *p, T x) { return standin_exchange(p, (T)(*p + x)); }
template <class T> static T atomicMin(T *p, T x) { return standin_exchange(p, min(*p, x)); }
template <class T> static T atomicMax(T *p, T x) { return standin_exchange(p, max(*p, x)); }
template <class T> static T atomicAnd(T *p, T x) { return standin_exchange(p, (T)(*p & x)); }
template <class T> static T atomicOr(T *p, T x) { return standin_exchange(p, (T)(*p | x)); }
template <class T> static T atomicXor(T *p, T x) { return standin_exchange(p, (T)(*p ^ x)); }
template <class T> static T atomicCAS(T *p, T old, T x) {
  return standin_exchange(p, *p == old ? x : *p);
}

static double sinpi(double x) { return sin(M_PI * fmod(x, 2)); }
static double cospi(double x) { return cos(M_PI * fmod(x, 2)); }
static float sinpif(float x) { return (float)sinpi((double)x); }
static float cospif(float x) { return (float)cospi((double)x); }
static float sinpi(float x) { return sinpif(x); }
static float cospi(float x) { return cospif(x); }
static float exp10(float x) { return exp10f(x); }

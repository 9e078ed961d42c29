// Runs the functions of runtime/kernels/math/ on the first OpenCL device.
#pragma once
#include "emit/emit_math.h"
#include <stddef.h>

typedef struct MathDevice MathDevice;

MathDevice *math_device_open(void);  // NULL: there is none
void math_device_close(MathDevice *d);

// The text of a program that has these functions; `own`: OpenCL's own instead.
const char *math_program_text(const MathUses *uses, bool own);

// Makes these the functions that can be run, by their numbers; shows the build's log and exits if that
// fails.
void math_device_build(MathDevice *d, const MathUses *uses, bool own);

// out[i] = f(a[i], b[i]); `count` is a multiple of 16 and at most MATH_BATCH.
enum { MATH_BATCH = 1 << 20 };
void math_device_run(MathDevice *d, int use, size_t count, const void *a, const void *b,
                     void *out);

// The same on what was given last, many times, on one thread.
void math_device_repeat(MathDevice *d, int use, size_t count, int repeats);

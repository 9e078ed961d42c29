// `flc profile`: what a program did in some runs, as it told (runtime/trace.h), and what the
// compiler knows of it.  Times are in nanoseconds.
#pragma once
#include "commands/commands.h"
#include "flat/versions.h"

// What a kernel, or the transfers of a kind, took in all runs.  The total is that of the run in the
// middle as often as there are runs, if the events of all were kept.
typedef struct TraceSum {
  int64_t count, total, least, most, bytes;
} TraceSum;

typedef enum TraceKind {
  TRACE_KERNEL,
  TRACE_READ,
  TRACE_WRITE,
  TRACE_COPY,
  TRACE_KINDS
} TraceKind;

// What operations are counted apart, as their peaks differ: f16 with f32, narrow integers with i32.
typedef enum ComputedKind {
  COMPUTED_F32,
  COMPUTED_F64,
  COMPUTED_I32,
  COMPUTED_I64,
  COMPUTED_KINDS
} ComputedKind;
extern const char *const trace_computed_names[COMPUTED_KINDS];

typedef struct TraceKernel {
  int id;  // in the program
  const char *name;
  TraceSum runs;  // bytes: those that it reads and those that it writes
  int64_t groups, group_size;
  const int64_t *arguments;  // bytes of the array behind each argument, of all launches
  const double *scalars;  // the sum of each argument that is an integer, of all launches
  int argument_count;
  double items;  // of all launches
  double operations[COMPUTED_KINDS];
  bool is_bound;        // there are more
  const Kernel *code;   // NULL: unknown
  const char *version;  // "V2"; NULL: it is a part of several, or of none
} TraceKernel;

// A kernel or transfer of a run, by the clock of the host since the run began: on the device, and
// while the host handed it over or waited for it.
typedef struct TraceEvent {
  TraceKind kind;
  int kernel;  // position in Trace.kernels, or -1
  int64_t start, end, host_start, host_end, bytes;
} TraceEvent;

typedef struct TraceCall {
  int64_t ns;
  bool kept, whole;  // kept: its events are there; whole: all of them
  TraceEvent *events;
  int event_count;
} TraceCall;

typedef struct TraceSize {
  const char *name;
  int64_t value;
} TraceSize;

// What the code behind a branch of a guard took in a run of the tuner on the same data.
typedef struct TraceCost {
  Name guard;
  bool first;     // the first branch
  double ns;      // without guards inside; of little code noise can make it negative
  bool is_bound;  // it was abandoned: it takes longer
} TraceCost;

typedef struct Trace {
  const char *path, *dataset;  // of the program; NULL: it was no test's
  const char *data_hash;       // of its input
  const SourceFile *file;      // the program
  const Entry *entry;
  VersionTree tree;
  const Core *core;
  const char *device, *driver, *code;
  int64_t compute_units, peak_bytes;
  int64_t copy_bytes, copy_ns;  // of the best copy; 0: not measured
  double peak[COMPUTED_KINDS];  // operations per second; 0: not measured
  Vec(TraceKernel) kernels;     // those that take longest come first
  TraceSum transfers[TRACE_KINDS], input;
  int64_t build_ns;
  int build_count;
  Vec(TraceCall) calls;
  EventVec guards;  // of the last run
  Vec(TraceSize) sizes;
  const char *tunelog;   // a file, or NULL
  Vec(TraceCost) costs;  // from there
} Trace;

// The data that a program is run on.
typedef struct TraceInput {
  const char *path;     // -i: a file, "-": standard input; NULL: the program's tests
  const char *dataset;  // the name of a case; NULL: that with the most data
} TraceInput;

// Writes the arguments of the entry point to a file, as binary values, and notes which they are.
// False after an error.
bool trace_write_input(Compiler *c, const Program *program, const Entry *entry,
                       TraceInput input, const char *file, Trace *trace);

// Reads what the program wrote; false if it is damaged.
bool trace_read(const char *text, Trace *out);
// Adds what the compiler knows: code and version of each kernel, and the bytes that it moves.
void trace_join(Compiler *c, const Program *program, const Entry *entry, Trace *trace);
// count.c: the bytes and operations of a kernel whose code is known.
void trace_count(TraceKernel *kernel);
// The guard of the program's tree with this name, or NULL.
Name trace_guard_named(const Trace *trace, const char *name);
// Adds what a tuning log says of versions on the same data and device, if the file is there.
void trace_read_costs(Trace *trace, const char *log);

// ---- figures

int64_t trace_total(const Trace *trace);         // of all runs
int64_t trace_kernel_total(const Trace *trace);  // of which kernels
int64_t trace_moved_total(const Trace *trace);   // and transfers took
int64_t trace_busy_total(const Trace *trace);    // and both together
// The time besides, as if each run took of it what the one in the middle took: a run that other
// processes have held up says nothing about the host.
int64_t trace_host_total(const Trace *trace);
int64_t trace_shown_total(const Trace *trace);  // all three
// The number in the middle of at least one, which are put in order.
int64_t trace_middle(int64_t *numbers, int count);
// The run in the middle, by its time; of those whose events were kept, if there are any.
const TraceCall *trace_median(const Trace *trace, bool kept);
double trace_rate(int64_t bytes, int64_t ns);  // GB/s; 0: unknown
double trace_of_copy(const Trace *trace,
                     const TraceKernel *kernel);  // 1: as fast; 0: unknown
double trace_operations(const TraceKernel *kernel);
double trace_computes(const TraceKernel *kernel);  // thousands of millions per second
double trace_of_peak(const Trace *trace, const TraceKernel *kernel);  // as of_copy
const char *trace_peaks_text(const Trace *trace);  // "" if they are not known
const char *trace_time(double ns);
const char *trace_bytes(double bytes);
// "matmul.fl:3:7", or NULL.
const char *trace_place(const TraceKernel *kernel);
extern const char *const trace_kind_names[TRACE_KINDS];

// ---- outputs

void trace_print(Text *t, const Trace *trace);
void trace_json(Text *t, const Trace *trace);
void trace_page(Text *t, const Trace *trace);
// The version tree as a table of HTML: which versions ran, and what others cost.
const char *trace_tree_html(const Trace *trace);

// What the compiler knows of the kernels that ran, and figures from both.
#include "commands/bench/bench.h"
#include "commands/profile/profile.h"
#include <stdlib.h>
#include <string.h>

// ---- versions

typedef struct VersionSearch {
  const Trace *trace;
  Map *version_of;  // Kernel -> const char *: its version; "": several, or none
} VersionSearch;

static const Region *branch_of(const Region *region, Name guard, bool first) {
  if (region->kind == REGION_GUARD && region->guard->name == guard)
    return region->parts[first ? 0 : 1];
  for (int i = 0; i < region->part_count; i++) {
    const Region *found = branch_of(region->parts[i], guard, first);
    if (found) return found;
  }
  return NULL;
}

static const char *version_name(const Region *region) {
  bool is_version = region && region->kind == REGION_LEAF && region->version >= 0;
  return is_version ? text_format("V%d", region->version) : "";
}

static void note_version(VersionSearch *s, const Kernel *kernel, const char *version) {
  const char *old = map_get(s->version_of, kernel);
  map_put(s->version_of, kernel, !old || strcmp(old, version) == 0 ? version : "");
}

// `version`: that of the block.
static void find_versions(VersionSearch *s, const ImpBlock *block, const char *version) {
  vec_each (const ImpStm **, at, block) {
    const ImpStm *stm = *at;
    if (stm->kind == IMP_LAUNCH) note_version(s, stm->u.launch.kernel, version);
    const ImpBlock *inner[2];
    int count = imp_blocks(stm, inner);
    for (int i = 0; i < count; i++) {
      const char *within = version;
      if (stm->kind == IMP_GUARD)
        within = version_name(
            branch_of(s->trace->tree.root, stm->u.guard.guard->name, i == 0));
      find_versions(s, inner[i], within);
    }
  }
}

// ---- kernels

static const ImpProgram *code_that_ran(const Program *program, const Trace *trace) {
  return program->imp[strcmp(trace->code, "gpu") == 0 ? PROFILE_GPU : PROFILE_CPU];
}

static const Kernel *kernel_named(const ImpProgram *imp, const char *name) {
  for (int i = 0; i < imp->kernel_count; i++)
    if (strcmp(imp->kernels[i]->name, name) == 0) return imp->kernels[i];
  return NULL;
}

static Name guard_within(const Region *region, const char *name) {
  if (region->kind == REGION_GUARD && strcmp(region->guard->name, name) == 0)
    return region->guard->name;
  for (int i = 0; i < region->part_count; i++) {
    Name found = guard_within(region->parts[i], name);
    if (found) return found;
  }
  return NULL;
}

Name trace_guard_named(const Trace *trace, const char *name) {
  return guard_within(trace->tree.root, name);
}

void trace_join(Compiler *c, const Program *program, const Entry *entry, Trace *trace) {
  const ImpProgram *imp = code_that_ran(program, trace);
  trace->path = program->path;
  trace->file = program->file;
  trace->entry = entry;
  trace->core = program->core;
  trace->tree = version_tree(c, entry);
  VersionSearch s = { trace, map_new(NULL) };
  for (int i = 0; i < imp->entry_count; i++)
    if (strcmp(imp->entries[i]->entry->name, entry->name) == 0)
      find_versions(&s, &imp->entries[i]->body, version_name(trace->tree.root));
  vec_each (TraceKernel *, k, &trace->kernels) {
    k->code = kernel_named(imp, k->name);
    const char *version = k->code ? map_get(s.version_of, k->code) : NULL;
    k->version = version && *version ? version : NULL;
    trace_count(k);
  }
  vec_each (GuardEvent *, e, &trace->guards) {
    Name name = trace_guard_named(trace, e->guard);
    if (name) e->guard = name;
  }
}

// ---- figures

int64_t trace_total(const Trace *trace) {
  int64_t total = 0;
  vec_each (TraceCall *, call, &trace->calls)
    total += call->ns;
  return total;
}

int64_t trace_kernel_total(const Trace *trace) {
  int64_t total = 0;
  vec_each (TraceKernel *, k, &trace->kernels)
    total += k->runs.total;
  return total;
}

int64_t trace_moved_total(const Trace *trace) {
  int64_t total = 0;
  for (int kind = TRACE_READ; kind < TRACE_KINDS; kind++)
    total += trace->transfers[kind].total;
  return total;
}

static int shorter_first(const void *a, const void *b) {
  const TraceCall *const *x = a, *const *y = b;
  return ((*x)->ns > (*y)->ns) - ((*x)->ns < (*y)->ns);
}

const TraceCall *trace_median(const Trace *trace, bool kept) {
  Vec(const TraceCall *) calls = { 0 };
  vec_each (TraceCall *, call, &trace->calls)
    if (call->kept || !kept) vec_push(&calls, call);
  if (!calls.count) return NULL;
  qsort(calls.at, (size_t)calls.count, sizeof *calls.at, shorter_first);
  return calls.at[(calls.count - 1) / 2];
}

int64_t trace_busy_total(const Trace *trace) {
  return trace_kernel_total(trace) + trace_moved_total(trace);
}

static int by_size(const void *a, const void *b) {
  const int64_t *x = a, *y = b;
  return (*x > *y) - (*x < *y);
}

int64_t trace_middle(int64_t *numbers, int count) {
  qsort(numbers, (size_t)count, sizeof *numbers, by_size);
  return numbers[(count - 1) / 2];
}

static int64_t host_of_call(const TraceCall *call) {
  int64_t rest = call->ns;
  for (int i = 0; i < call->event_count; i++)
    rest -= call->events[i].end - call->events[i].start;
  return rest > 0 ? rest : 0;
}

int64_t trace_host_total(const Trace *trace) {
  Vec(int64_t) host = { 0 };
  vec_each (TraceCall *, call, &trace->calls)
    if (call->whole) vec_push(&host, host_of_call(call));
  if (!host.count) {
    int64_t rest = trace_total(trace) - trace_busy_total(trace);
    return rest > 0 ? rest : 0;
  }
  return trace_middle(host.at, host.count) * trace->calls.count;
}

int64_t trace_shown_total(const Trace *trace) {
  return trace_busy_total(trace) + trace_host_total(trace);
}

double trace_rate(int64_t bytes, int64_t ns) {
  return ns > 0 ? (double)bytes / (double)ns : 0;
}

double trace_of_copy(const Trace *trace, const TraceKernel *kernel) {
  double copy = trace_rate(trace->copy_bytes, trace->copy_ns);
  return copy > 0 ? trace_rate(kernel->runs.bytes, kernel->runs.total) / copy : 0;
}

double trace_operations(const TraceKernel *kernel) {
  double sum = 0;
  for (int i = 0; i < COMPUTED_KINDS; i++)
    sum += kernel->operations[i];
  return sum;
}

double trace_computes(const TraceKernel *kernel) {
  double ns = (double)kernel->runs.total;
  return ns > 0 ? trace_operations(kernel) / ns : 0;
}

// The time that the operations would take at the peak, as a part of that which the kernel took.
double trace_of_peak(const Trace *trace, const TraceKernel *kernel) {
  double seconds = 0;
  for (int i = 0; i < COMPUTED_KINDS; i++) {
    if (kernel->operations[i] > 0 && trace->peak[i] <= 0) return 0;
    if (kernel->operations[i] > 0) seconds += kernel->operations[i] / trace->peak[i];
  }
  return kernel->runs.total > 0 ? seconds * 1e9 / (double)kernel->runs.total : 0;
}

const char *trace_peaks_text(const Trace *trace) {
  Text *t = text_new();
  for (int i = 0; i < COMPUTED_KINDS; i++)
    if (trace->peak[i] > 0)
      text_printf(t, "%s%.0f%s (%s)", text_length(t) ? ", " : "", trace->peak[i] / 1e9,
                  text_length(t) ? "" : " GOP/s", trace_computed_names[i]);
  return text_str(t);
}

const char *trace_time(double ns) {
  return ns < 10e3 ? text_format("%.1f us", ns / 1e3) : bench_time_text(ns / 1e3);
}

const char *trace_bytes(double bytes) {
  static const char *const units[] = { "B", "kB", "MB", "GB", "TB" };
  int unit = 0;
  for (; bytes >= 999.5 && unit < 4; unit++)
    bytes /= 1e3;
  return text_format(unit && bytes < 99.95 ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
}

const char *trace_place(const TraceKernel *kernel) {
  return kernel->code && kernel->code->loc.file ? loc_text(kernel->code->loc) : NULL;
}

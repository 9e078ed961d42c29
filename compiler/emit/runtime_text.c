// The runtime's files, which generated programs contain (embedded in flc by the build).
#include "base/embed.h"
#include "base/hash.h"
#include "emit/emit.h"
#include <string.h>

// "runtime/context.h" for "context.h"; NULL if there is none.
static const char *runtime_file(const char *name, size_t length) {
  const char *path = text_format("runtime/%.*s", (int)length, name);
  for (int i = 0; i < runtime_file_count; i++)
    if (strcmp(runtime_files[i].path, path) == 0) return runtime_files[i].text;
  return NULL;
}

static const char *named(const char *name) { return runtime_file(name, strlen(name)); }

static bool is_name(const char *name, size_t length, const char *wanted) {
  return strlen(wanted) == length && strncmp(name, wanted, length) == 0;
}

static bool is_among(const char *name, size_t length, const char *const *names) {
  for (int i = 0; names[i]; i++)
    if (is_name(name, length, names[i])) return true;
  return false;
}

// Is the part for workers of another kind?
static bool is_for_others(const char *name, size_t length, Workers workers) {
  switch (workers) {
  case WORKERS_MPI: return is_name(name, length, "transport_threads.h");
  case WORKERS_THREADS: return is_name(name, length, "transport_mpi.h");
  case WORKERS_ONE: break;
  }
  return true;
}

static bool is_part(const char *name, size_t length, RuntimeParts parts,
                    Workers workers) {
  static const char *const for_workers[] = {
    "workers.h", "transport_mpi.h", "transport_threads.h", "gather.h", "deliver.h",
    "columns.h", "price.h",         "divided.h",           NULL
  };
  static const char *const command_line[] = {
    "cli.h",    "server_values.h", "server_records.h", "server.h",    "race.h",
    "replay.h", "trace.h",         "helper.h",         "rehearsal.h", NULL
  };
  static const char *const ahead[] = { "inflate.h", "ahead.h", NULL };
  static const char *const contract[] = { "contract.h", "api.h", "scalar.h", NULL };
  bool several = is_among(name, length, for_workers);
  if (several && is_for_others(name, length, workers)) return false;
  if (several && parts == RUNTIME_CONTRACT) return is_name(name, length, "workers.h");
  if (is_name(name, length, "divided.h")) return parts == RUNTIME_EXECUTABLE;
  if (parts == RUNTIME_CONTRACT) return is_among(name, length, contract);
  if (parts == RUNTIME_EXECUTABLE) return true;
  return !is_among(name, length, command_line) &&
         (parts == RUNTIME_LIBRARY_AHEAD || !is_among(name, length, ahead));
}

// all.c lists the parts in the order in which they are pasted.
void runtime_add(Text *t, const char *api, RuntimeParts parts, Workers workers) {
  const char *list = named("all.c");
  for (const char *at = list; (at = strstr(at, "#include \"")) != NULL;) {
    at += strlen("#include \"");
    size_t length = strcspn(at, "\"");
    const char *text = is_name(at, length, "api.h") ? api : runtime_file(at, length);
    if (text && is_part(at, length, parts, workers)) text_add(t, text);
  }
}

void runtime_add_macros(Text *t, Workers workers) {
  if (workers != WORKERS_ONE) text_add(t, "#define RT_WORKERS\n");
  if (workers == WORKERS_THREADS) text_add(t, "#define RT_THREADS\n");
}

const Text *runtime_apart(Workers workers, const char **key) {
  Text *t = text_new(), *api = text_new();
  text_add(t, "#define RT_NAME(x) fl_##x\n#define RT_APART\n");
  runtime_add_macros(t, workers);
  runtime_public_header(api, "fl");
  runtime_add(t, text_str(api), RUNTIME_EXECUTABLE, workers);
  Hash *hash = hash_new();
  hash_bytes(hash, text_str(t), text_length(t));
  *key = text_format("flc's runtime %s", hash_digest(hash));
  text_printf(t, "const char RT_NAME(runtime_key)[] = \"%s\";\n", *key);
  return t;
}

const char *runtime_host(void) { return named("host.c"); }

// api.h with every RT_NAME(x) replaced by the prefix and x.
void runtime_public_header(Text *t, const char *prefix) {
  static const char macro[] = "RT_NAME(";
  const char *at = named("api.h");
  for (const char *next; (next = strstr(at, macro)) != NULL;) {
    text_add_bytes(t, at, (size_t)(next - at));
    next += strlen(macro);
    size_t length = strcspn(next, ")");
    text_printf(t, "%s_%.*s", prefix, (int)length, next);
    at = next + length + 1;
  }
  text_add(t, at);
}

// Kernels are printed once, in words of OpenCL C.  A dialect is the files that a program holds, in
// a table of that name, to stand before them; those of CUDA stand before those of OpenCL.
typedef struct Dialect {
  const char *table;
  const char *files[3];  // then NULL
} Dialect;

static const Dialect dialects[] = {
  { "opencl_prelude", { "kernels/prelude.cl", "scalar.h" } },
  { "opencl_builtins", { "kernels/builtins.cl" } },
  { "cuda_words", { "kernels/cuda.cu" } },
};

enum { DIALECT_COUNT = sizeof dialects / sizeof *dialects };

void runtime_add_dialects(Text *t) {
  for (int i = 0; i < DIALECT_COUNT; i++) {
    text_printf(t, "\nstatic const char *const %s[] = {", dialects[i].table);
    for (const char *const *file = dialects[i].files; *file; file++)
      c_text_rows(t, named(*file));
    text_add(t, "\n  NULL,\n};\n");
  }
}

void runtime_hash_dialects(Hash *hash) {
  for (int i = 0; i < DIALECT_COUNT; i++)
    for (const char *const *file = dialects[i].files; *file; file++)
      hash_text(hash, named(*file));
}

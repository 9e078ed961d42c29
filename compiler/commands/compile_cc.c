// From C text to an executable: the C compiler, and the cache of what it made.
#include "base/file.h"
#include "base/hash.h"
#include "base/process.h"
#include "commands/cache.h"
#include "commands/version_options.h"
#include "kern/recipes/recipe_book.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

// ---- the C compiler

enum { MOST_WORDS = 48, MOST_OWN_WORDS = 16 };

static int add_cc_words(const char **args, const char *words) {
  char *copy = mem_copy(words, strlen(words) + 1), *rest = NULL;
  int count = 0;
  for (char *word = strtok_r(copy, " ", &rest); word && count < MOST_OWN_WORDS;
       word = strtok_r(NULL, " ", &rest))
    args[count++] = word;
  return count;
}

// $CC may hold options, too: "gcc -m64".  MPI has a compiler of its own, $MPICC.
static int add_cc(const char **args, bool mpi) {
  const char *cc = getenv(mpi ? "MPICC" : "CC");
  return add_cc_words(args, cc && cc[strspn(cc, " ")] ? cc : mpi ? "mpicc" : "cc");
}

static const char *level_option(CompileLevel level) {
  return level == COMPILE_QUICK ? "-O0" : FLC_OPTIMISED_OPTION;
}

// What the C compiler is to make: an executable or a shared object, linked with an object of the
// runtime if there is one, or such an object.
typedef struct CcJob {
  const Text *text;
  CompileLevel level;
  const char *runtime;
  bool object, shared, mpi, threads;
} CcJob;

static int run_cc(const CcJob *job, int source, const char *output, int log) {
  const char *args[MOST_WORDS] = { 0 };
  int count = add_cc(args, job->mpi);
  const char *const fixed[] = { level_option(job->level), "-o", output, "-x", "c", "-" },
                    *const linked[] = { "-x", "none", job->runtime, "-lOpenCL", "-lm" };
  for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
    args[count++] = fixed[i];
  count += add_cc_words(args + count, FLC_PROGRAM_OPTIONS);
  if (job->object) count += add_cc_words(args + count, FLC_OBJECT_OPTIONS);
  if (job->shared) count += add_cc_words(args + count, "-fPIC -shared");
  if (job->threads) count += add_cc_words(args + count, FLC_THREADS_OPTIONS);
  size_t first = job->runtime ? 0 : 3, end = sizeof linked / sizeof *linked;
  for (size_t i = first; i < end && !job->object; i++)
    args[count++] = linked[i];
  return process_run(&(Process){ .argv = args, .in = source, .out = log });
}

static void report_mpicc(Compiler *c) {
  error(c, (Loc){ 0 }, "cannot run MPI's C compiler (set MPICC to its name)");
  hint(c, "install MPI (Debian: libopenmpi-dev openmpi-bin, or libmpich-dev mpich)");
}

static void report_missing_cc(Compiler *c) {
  const char *words[MOST_WORDS] = { 0 };
  error(c, (Loc){ 0 }, "cannot run the C compiler `%s`",
        add_cc(words, false) ? words[0] : "");
  hint(c, "install one (Debian: gcc libc6-dev), or set CC to its name; `flc eval` does "
          "without");
}

static void report_cc(Compiler *c, const CcJob *job, int status, const char *said) {
  bool missing = WIFEXITED(status) && WEXITSTATUS(status) == 127;
  if (missing && job->mpi)
    report_mpicc(c);
  else if (missing)
    report_missing_cc(c);
  else
    error(c, (Loc){ 0 }, "the C compiler failed:\n%s", said ? said : "");
  if (said && (strstr(said, "CL/cl.h") || strstr(said, "-lOpenCL")))
    hint(c, "install the OpenCL headers and the ICD loader (Debian: opencl-headers "
            "ocl-icd-opencl-dev)");
}

static bool write_all(int fd, const char *bytes, size_t length) {
  while (length) {
    ssize_t n = write(fd, bytes, length);
    if (n <= 0) return false;
    bytes += n;
    length -= (size_t)n;
  }
  return lseek(fd, 0, SEEK_SET) == 0;
}

// Compiles to a file that is there already.
static bool run_cc_on(Compiler *c, const CcJob *job, const char *output) {
  const Text *text = job->text;
  int source = memfd_create("source", MFD_CLOEXEC),
      log = memfd_create("log", MFD_CLOEXEC);
  bool ready =
      source >= 0 && log >= 0 && write_all(source, text_str(text), text_length(text));
  if (!ready)
    error(c, (Loc){ 0 }, "cannot hand the program to the C compiler: %s",
          strerror(errno));
  command_progress(job->object ? "compiling the runtime" : "compiling the program");
  int status = ready ? run_cc(job, source, output, log) : -1;
  command_progress("%s", "");
  size_t length;
  if (ready && status != 0)
    report_cc(c, job, status,
              text_read_file(text_format("/proc/self/fd/%d", log), &length));
  if (source >= 0) close(source);
  if (log >= 0) close(log);
  return status == 0;
}

// All of it or nothing; signals are held.
static bool compile_to(Compiler *c, const CcJob *job, const char *target, mode_t mode) {
  int fd = -1;
  const char *made = file_temporary(target, &fd);
  if (!made) {
    error(c, (Loc){ 0 }, "cannot write %s: %s", target, strerror(errno));
    return false;
  }
  close(fd);
  if (!run_cc_on(c, job, made)) {
    unlink(made);
    return false;
  }
  if (file_publish(made, target, mode)) return true;
  error(c, (Loc){ 0 }, "cannot write %s: %s", target, strerror(errno));
  return false;
}

// ---- the cache

// What else the executable depends on: the C compiler, by its file, and what it heeds.
static void add_compiler(Hash *key, bool mpi) {
  static const char *const variables[] = {
    "CC",          "MPICC",        "CPATH", "LIBRARY_PATH", "C_INCLUDE_PATH",
    "LD_RUN_PATH", "COMPILER_PATH"
  };
  for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
    const char *value = getenv(variables[i]);
    hash_text(key, value ? value : "");
  }
  const char *args[MOST_WORDS] = { 0 };
  add_cc(args, mpi);
  const char *program = process_find(args[0]);
  struct stat about = { 0 };
  if (!program || stat(program, &about) != 0) return;
  hash_text(key, text_format("%s %lld %lld.%ld", program, (long long)about.st_size,
                             (long long)about.st_mtim.tv_sec, about.st_mtim.tv_nsec));
}

// flc itself, by its bytes.
static void add_self(Hash *key) {
  size_t length = 0;
  const char *self = text_read_file("/proc/self/exe", &length);
  hash_bytes(key, self ? self : "", self ? length : 0);
  hash_text(key, FLC_VERSION);
}

// What only this process and its children can find: a descriptor, -1 after errors.
static int compile_hidden(Compiler *c, const CcJob *job) {
  const char *tmp = getenv("TMPDIR");
  const char *pattern = text_format("%s/flc-XXXXXX", tmp && *tmp ? tmp : "/tmp");
  char *folder = mem_copy(pattern, strlen(pattern) + 1);
  SignalHold hold = signals_hold();
  int fd = -1;
  if (mkdtemp(folder)) {
    const char *program = text_format("%s/program", folder);
    if (compile_to(c, job, program, 0700)) fd = open(program, O_RDONLY | O_CLOEXEC);
    file_remove_folder(folder);
  } else {
    error(c, (Loc){ 0 }, "cannot make a folder in %s: %s", tmp && *tmp ? tmp : "/tmp",
          strerror(errno));
  }
  signals_release(&hold);
  return fd;
}

// Without a cache.
static const char *compile_privately(Compiler *c, const CcJob *job) {
  int fd = compile_hidden(c, job);
  return fd < 0 ? NULL : text_format("/proc/%d/fd/%d", (int)getpid(), fd);
}

// What is there is not trusted, and its mode must not be kept.  A folder goes if it is empty; of a
// full one nobody knows whose it is.  False after an error.
static bool clear_place(Compiler *c, const char *path) {
  if (unlink(path) == 0 || errno == ENOENT || (errno == EISDIR && rmdir(path) == 0))
    return true;
  error(c, (Loc){ 0 }, "cannot replace %s in the cache: %s", path, strerror(errno));
  if (errno == ENOTEMPTY || errno == EEXIST)
    hint(c, "flc makes no folders there: remove this one");
  return false;
}

// All of what the descriptor reads, or nothing, with `errno` set.
static bool keep_as(const char *path, int from) {
  SignalHold hold = signals_hold();
  int to = -1;
  const char *made = file_temporary(path, &to);
  ssize_t moved = made ? 1 : -1;
  while (moved > 0)
    moved = sendfile(to, from, NULL, 0x7ffff000);
  bool kept = moved == 0 && file_publish(made, path, 0700);
  int problem = errno;
  if (moved < 0 && made) unlink(made);
  if (to >= 0) close(to);
  signals_release(&hold);
  errno = problem;
  return kept;
}

// Makes what has this key.  It is kept in the cache, unless that cannot be written to: its disk
// may be full.
static const char *compile_into(Compiler *c, const Cache *cache, const CcJob *job,
                                const char *key) {
  const char *path = cache_path(cache, key);
  int fd = clear_place(c, path) ? compile_hidden(c, job) : -1;
  if (fd < 0) return NULL;
  if (!keep_as(path, fd)) {
    warning(c, (Loc){ 0 }, "the cache %s is not used: %s", cache->folder,
            strerror(errno));
    return text_format("/proc/%d/fd/%d", (int)getpid(), fd);
  }
  close(fd);
  cache_trim(cache);
  return path;
}

// The folder that flc lies in, with a slash.
static const char *own_folder(void) {
  char path[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  if (length <= 0) return "./";
  path[length] = 0;
  return text_format("%.*s", (int)(strrchr(path, '/') + 1 - path), path);
}

static bool has_key(const char *object, const char *key) {
  size_t length = 0;
  const char *bytes = text_read_file(object, &length);
  return bytes && memmem(bytes, length, key, strlen(key) + 1);
}

// The object that flc's build made, beside flc or where it is installed; NULL if it is not there,
// or of another flc, or the user chose a C compiler.
static const char *precompiled_runtime(Workers workers, const char *key) {
  static const char *const folders[] = { "", "../lib/flc/" };
  const char *cc = getenv("CC");
  if (workers == WORKERS_MPI || (cc && *cc)) return NULL;
  for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
    const char *name = text_format("%s%sflc-runtime%s.o", own_folder(), folders[i],
                                   workers == WORKERS_THREADS ? "-threads" : "");
    if (has_key(name, key)) return name;
  }
  return NULL;
}

// The runtime is the same in all executables and takes longer to compile than most programs: where
// flc's build has not left its object, it is in the cache, compiled if need be.  Position
// independent, for shared objects too.  NULL after errors.
static const char *cached_runtime(Compiler *c, const Cache *cache, Workers workers,
                                  const Text *text, const char *key) {
  CcJob job = { .text = text,
                .level = COMPILE_OPTIMISED,
                .object = true,
                .mpi = workers == WORKERS_MPI,
                .threads = workers == WORKERS_THREADS };
  Hash *hash = hash_new();
  add_compiler(hash, workers == WORKERS_MPI);
  hash_text(hash, key);
  const char *digest = hash_digest(hash), *found = cache_find(cache, digest);
  return found ? found : compile_into(c, cache, &job, digest);
}

// How an executable is made; false after errors.
static bool job_of(Compiler *c, const Cache *cache, const EmitResult *made,
                   CompileLevel level, bool shared, CcJob *job) {
  *job = (CcJob){ .text = made->c,
                  .level = level,
                  .shared = shared,
                  .mpi = made->workers == WORKERS_MPI,
                  .threads = made->workers == WORKERS_THREADS };
  if (!made->apart) return true;
  const char *key;
  const Text *text = runtime_apart(made->workers, &key);
  job->runtime = precompiled_runtime(made->workers, key);
  if (!job->runtime && !cache->folder) return true;
  if (!job->runtime) job->runtime = cached_runtime(c, cache, made->workers, text, key);
  job->text = made->apart;
  return job->runtime != NULL;
}

bool compile_executable(Compiler *c, const EmitResult *made, const char *output) {
  const char *target = file_target(output);
  if (!target) {
    error(c, (Loc){ 0 }, "cannot write %s: %s", output,
          errno ? strerror(errno) : "it is no regular file");
    return false;
  }
  Cache cache = cache_open();
  CcJob job;
  if (!job_of(c, &cache, made, COMPILE_OPTIMISED, false, &job)) return false;
  SignalHold hold = signals_hold();
  bool done = compile_to(c, &job, target, 0777);
  signals_release(&hold);
  return done;
}

// The executable with this key, compiled if need be; NULL after errors.
static const char *compile_with_key(Compiler *c, const EmitResult *made,
                                    CompileLevel level, bool shared, const char *key) {
  Cache cache = cache_open();
  CcJob job;
  if (cache.problem) warning(c, (Loc){ 0 }, "%s", cache.problem);
  if (!job_of(c, &cache, made, level, shared, &job)) return NULL;
  return cache.folder ? compile_into(c, &cache, &job, key) : compile_privately(c, &job);
}

static const char *cached_once(Compiler *c, const EmitResult *made, bool shared) {
  Hash *hash = hash_new();
  hash_text(hash, level_option(COMPILE_QUICK));
  if (shared) hash_text(hash, "shared");
  add_compiler(hash, made->workers == WORKERS_MPI);
  hash_bytes(hash, text_str(made->c), text_length(made->c));
  const char *key = hash_digest(hash);
  Cache cache = cache_open();
  const char *found = cache_find(&cache, key);
  return found ? found : compile_with_key(c, made, COMPILE_QUICK, shared, key);
}

const char *compile_cached(Compiler *c, const EmitResult *made) {
  return cached_once(c, made, false);
}

const char *compile_shared(Compiler *c, const EmitResult *made) {
  return cached_once(c, made, true);
}

const char *compile_host(Compiler *c) {
  EmitResult host = { .c = text_new() };
  text_add(host.c, runtime_host());
  return cache_open().folder ? compile_cached(c, &host) : NULL;
}

static void add_file(Hash *key, const char *path, const char *text, size_t length) {
  hash_text(key, path);
  hash_bytes(key, text, length);
}

// Everything that the executable follows from.
static const char *program_key(const Program *program) {
  Hash *hash = hash_new();
  add_self(hash);
  add_compiler(hash, program->flatten.workers == WORKERS_MPI);
  hash_text(hash, level_option(COMPILE_OPTIMISED));
  hash_text(hash,
            text_format("flatten %d %d %d %d %d", (int)program->flatten.mode,
                        program->flatten.max_versions, (int)program->flatten.workers,
                        program->flatten.mixed, program->flatten.reproducible));
  add_file(hash, program->path, program->file->text, program->file->length);
  vec_each (const SourceFile *const *, file, &program->checked->imports)
    add_file(hash, (*file)->path, (*file)->text, (*file)->length);
  size_t length = 0;
  const char *path = text_format("%s.tuning", program->path);
  const char *tuning = text_read_file(path, &length);
  add_file(hash, path, tuning ? tuning : "", tuning ? length : 0);
  const SourceFile *recipes = program->recipes ? program->recipes->file : NULL;
  if (recipes) add_file(hash, recipes->path, recipes->text, recipes->length);
  return hash_digest(hash);
}

const char *compile_program(Compiler *c, Program *program, CompileOptions options) {
  if (options.flatten.max_versions) program->flatten = options.flatten;
  if (!take_recipes(c, program, options.recipe)) return NULL;
  if (!pipeline_run(c, program, "check")) return NULL;
  const char *key = program_key(program);
  Cache cache = cache_open();
  const char *found = cache_find(&cache, key);
  if (found) {
    diag_take_text(c);  // its warnings were shown when it was compiled
    return found;
  }
  EmitResult result;
  if (!compile_program_to_c(c, program, options, &result)) return NULL;
  return compile_with_key(c, &result, COMPILE_OPTIMISED, false, key);
}

// `--device`: kernels compiled for a device before their program is.  An executable of the program
// compiles them, since it finds the device, the batches and the options for the OpenCL compiler as
// it will when it runs; what it has written becomes a part of the C text.
#include "base/file.h"
#include "base/process.h"
#include "commands/commands.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct AheadRun {
  Compiler *c;
  const char *program, *device;
  int status_file;
} AheadRun;

static void show_ahead(void *state) {
  const char *status = command_status(((AheadRun *)state)->status_file);
  command_progress("%s", *status ? status : "compiling the kernels");
}

// Runs the program with these options, then NULL; whether it succeeds.  What it says goes to
// `said`.
static bool run_ahead(AheadRun *run, const char *const *options, const char **said) {
  const char *args[8] = { run->program };
  for (int i = 0; options[i]; i++)
    args[i + 1] = options[i];
  int log = memfd_create("log", MFD_CLOEXEC);
  int status = process_run(
      &(Process){ .argv = args, .in = -1, .out = log, .tick = { show_ahead, run } });
  command_progress("%s", "");
  size_t length = 0;
  const char *text =
      log < 0 ? NULL : text_read_file(text_format("/proc/self/fd/%d", log), &length);
  *said = text ? text : "";
  if (log >= 0) close(log);
  return status == 0;
}

static size_t without_newlines(const char *text) {
  size_t length = strlen(text);
  while (length && text[length - 1] == '\n')
    length--;
  return length;
}

// What the program has said becomes our message, with a list if there is no such device.
static void report_run(AheadRun *run, const char *said) {
  static const char prefix[] = "error: ";
  const char *text =
      strncmp(said, prefix, strlen(prefix)) == 0 ? said + strlen(prefix) : said;
  size_t length = without_newlines(text);
  if (strncmp(text, "no OpenCL device", strlen("no OpenCL device")) != 0) {
    error(run->c, (Loc){ 0 }, "compiling the kernels failed: %.*s", (int)length, text);
    return;
  }
  const char *list = "";
  run_ahead(run, (const char *const[]){ "--list-devices", NULL }, &list);
  error(run->c, (Loc){ 0 }, "there is no OpenCL device `%s`", run->device);
  hint(run->c, "%s%.*s", *list == '#' ? "the devices are\n" : "there is none at all",
       (int)without_newlines(list), list);
}

// ---- what it writes: records, as runtime/cache.h has them

typedef struct RecordHeader {
  char mark[8];
  uint64_t about, length, checksum;
} RecordHeader;

// The line with this number, from 0 on.
static const char *about_line(const char *text, int number) {
  for (; number > 0; number--) {
    text += strcspn(text, "\n");
    text += *text == '\n';
  }
  return text_format("%.*s", (int)strcspn(text, "\n"), text);
}

// What a program follows from: options, then the identity of its device, line by line
// (rt_device_identity in runtime/opencl.h).
static void take_device(Ahead *ahead, const char *about) {
  enum { PLATFORM_LINE = 1, NAME_LINE = 2, DRIVER_LINE = 5 };
  ahead->platform = about_line(about, PLATFORM_LINE);
  ahead->device = about_line(about, NAME_LINE);
  ahead->driver = about_line(about, DRIVER_LINE);
}

static const Ahead *read_records(const char *bytes, size_t length) {
  Ahead *ahead = new (Ahead);
  RecordHeader header;
  for (size_t at = 0; at + sizeof header <= length;) {
    memcpy(&header, bytes + at, sizeof header);
    at += sizeof header;
    if (header.about > length - at || header.length > length - at - header.about) break;
    const char *about = text_format("%.*s", (int)header.about, bytes + at);
    at += header.about;
    vec_push(&ahead->programs, (AheadProgram){ about, bytes + at, header.length });
    at += header.length;
  }
  if (ahead->programs.count) take_device(ahead, ahead->programs.at[0].about);
  return ahead->programs.count ? ahead : NULL;
}

// ----

static const Ahead *compile_in(AheadRun *run, const char *folder) {
  const char *file = text_format("%s/kernels", folder), *said = "";
  size_t length = 0;
  if (!run_ahead(run,
                 (const char *const[]){ "--device", run->device, "--dump-opencl-binary",
                                        file, "--compile-only", NULL },
                 &said)) {
    report_run(run, said);
    return NULL;
  }
  const char *bytes = text_read_file(file, &length);
  const Ahead *ahead = bytes ? read_records(bytes, length) : NULL;
  if (!ahead)
    error(run->c, (Loc){ 0 }, "the program has no kernels for the device `%s`",
          run->device);
  return ahead;
}

const Ahead *compile_ahead(Compiler *c, const EmitResult *made, const char *device) {
  AheadRun run = { .c = c, .device = device, .program = compile_cached(c, made) };
  if (!run.program) return NULL;
  const char *tmp = getenv("TMPDIR");
  const char *pattern = text_format("%s/flc-XXXXXX", tmp && *tmp ? tmp : "/tmp");
  char *folder = mem_copy(pattern, strlen(pattern) + 1);
  run.status_file = command_status_file();
  SignalHold hold = signals_hold();
  const Ahead *ahead = NULL;
  if (mkdtemp(folder)) {
    ahead = compile_in(&run, folder);
    file_remove_folder(folder);
  } else {
    error(c, (Loc){ 0 }, "cannot make a folder in %s: %s", tmp && *tmp ? tmp : "/tmp",
          strerror(errno));
  }
  signals_release(&hold);
  return ahead;
}

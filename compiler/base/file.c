#include "base/file.h"
#include "base/mem.h"
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

// ---- signals

static sigset_t ending_signals(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGHUP);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGQUIT);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGCHLD);  // ends nothing, but must not be missed by signals_wait
  return set;
}

SignalHold signals_hold(void) {
  SignalHold hold;
  sigset_t set = ending_signals();
  sigprocmask(SIG_BLOCK, &set, &hold.before);
  return hold;
}

void signals_release(const SignalHold *hold) {
  sigprocmask(SIG_SETMASK, &hold->before, NULL);
}

void signals_unblock(void) {
  sigset_t set = ending_signals();
  sigprocmask(SIG_UNBLOCK, &set, NULL);
}

int signals_wait(pid_t child, Tick tick, int *got) {
  static const struct timespec pause = { .tv_nsec = 100000000 };
  sigset_t set = ending_signals();
  int status = -1;
  for (*got = 0;;) {
    pid_t done = waitpid(child, &status, WNOHANG);
    if (done == child || (done < 0 && errno != EINTR)) return status;
    if (tick.run) tick.run(tick.state);
    int came = tick.run ? sigtimedwait(&set, NULL, &pause) : sigwaitinfo(&set, NULL);
    if (came <= 0 || came == SIGCHLD) continue;
    kill(child, came);
    *got = came;
  }
}

// ---- temporary files

static const char *folder_of(const char *path) {
  const char *slash = strrchr(path, '/');
  if (!slash) return ".";
  return slash == path ? "/" : text_format("%.*s", (int)(slash - path), path);
}

const char *file_temporary(const char *path, int *fd) {
  const char *pattern = text_format("%s/.flc-XXXXXX", folder_of(path));
  char *name = mem_copy(pattern, strlen(pattern) + 1);
  *fd = mkostemp(name, O_CLOEXEC);
  return *fd < 0 ? NULL : name;
}

// /dev/stdout and its kind lead to files that are open: those are written to, not
// replaced.
static bool is_stream(const char *path, const struct stat *status) {
  return !S_ISREG(status->st_mode) || strncmp(path, "/dev/", 5) == 0 ||
         strncmp(path, "/proc/", 6) == 0;
}

static bool is_standard_output(const char *path) { return strcmp(path, "-") == 0; }

const char *file_target(const char *path) {
  struct stat status;
  errno = 0;
  if (is_standard_output(path)) return NULL;
  if (stat(path, &status) != 0) return path;
  errno = S_ISDIR(status.st_mode) ? EISDIR : 0;
  if (is_stream(path, &status)) return NULL;
  char *real = realpath(path, NULL);
  const char *target = real ? mem_copy(real, strlen(real) + 1) : NULL;
  free(real);
  return target;
}

// What was executable stays so, and what is to be executable becomes so.
static mode_t wanted_mode(const char *target, mode_t mode) {
  struct stat status;
  mode_t mask = umask(0);
  umask(mask);
  mode &= ~mask;
  return stat(target, &status) == 0 ? (status.st_mode & 07777) | (mode & 0111) : mode;
}

bool file_publish(const char *temporary, const char *target, mode_t mode) {
  if (chmod(temporary, wanted_mode(target, mode)) == 0 && rename(temporary, target) == 0)
    return true;
  int reason = errno;
  unlink(temporary);
  errno = reason;
  return false;
}

bool file_is_writable(const char *path) {
  int fd = -1;
  const char *target = file_target(path);
  if (!target) return errno == 0;
  SignalHold hold = signals_hold();
  const char *temporary = file_temporary(target, &fd);
  if (temporary) {
    close(fd);
    unlink(temporary);
  }
  int reason = errno;
  signals_release(&hold);
  errno = reason;
  return temporary != NULL;
}

// ---- writing

static bool write_all(int fd, const char *bytes, size_t length) {
  while (length) {
    ssize_t written = write(fd, bytes, length);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes += written;
    length -= (size_t)written;
  }
  return true;
}

// Writes and closes; keeps the `errno` of the first failure.
static bool write_and_close(const Text *t, int fd) {
  bool written = write_all(fd, text_str(t), text_length(t));
  int reason = errno;
  bool closed = close(fd) == 0;
  if (!written) errno = reason;
  return written && closed;
}

// Where the bytes of an output go before all outputs appear.
typedef struct OutputPlace {
  const char *target;     // NULL: a device or pipe, written in place
  const char *temporary;  // NULL: not made
} OutputPlace;

static bool write_temporary(const FileOutput *output, OutputPlace *place) {
  int fd = -1;
  place->target = file_target(output->path);
  if (!place->target) return errno == 0;
  place->temporary = file_temporary(place->target, &fd);
  return place->temporary && write_and_close(output->text, fd);
}

static bool publish(OutputPlace *place) {
  const char *temporary = place->temporary;
  place->temporary = NULL;
  return !temporary || file_publish(temporary, place->target, 0666);
}

static void discard(const OutputPlace *places, int count) {
  int reason = errno;
  for (int i = 0; i < count; i++)
    if (places[i].temporary) unlink(places[i].temporary);
  errno = reason;
}

static const char *write_whole(const FileOutput *files, OutputPlace *places, int count) {
  const char *failed = NULL;
  for (int i = 0; i < count && !failed; i++)
    if (!write_temporary(&files[i], &places[i])) failed = files[i].path;
  for (int i = 0; i < count && !failed; i++)
    if (!publish(&places[i])) failed = files[i].path;
  discard(places, count);
  return failed;
}

// Whoever reads a pipe may take long: signals get through.
static bool write_stream(const FileOutput *output) {
  if (is_standard_output(output->path))
    return fwrite(text_str(output->text), 1, text_length(output->text), stdout) ==
               text_length(output->text) &&
           fflush(stdout) == 0;
  int fd = open(output->path, O_WRONLY | O_APPEND | O_CLOEXEC);
  return fd >= 0 && write_and_close(output->text, fd);
}

const char *file_write_all(const FileOutput *files, int count) {
  OutputPlace *places = new_array(OutputPlace, count);
  SignalHold hold = signals_hold();
  const char *failed = write_whole(files, places, count);
  int reason = errno;
  signals_release(&hold);
  errno = reason;
  for (int i = 0; i < count && !failed; i++)
    if (!places[i].target && !write_stream(&files[i])) failed = files[i].path;
  return failed;
}

bool file_write(const char *path, const Text *t) {
  const FileOutput output = { path, t };
  return !file_write_all(&output, 1);
}

// ---- folders

static int remove_entry(const char *path, const struct stat *about, int type,
                        struct FTW *where) {
  (void)about, (void)type, (void)where;
  return remove(path);
}

void file_remove_folder(const char *path) {
  nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

void file_make_folders(const char *path, mode_t mode) {
  for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/'))
    mkdir(text_format("%.*s", (int)(slash - path), path), mode);
}

// Files are written whole or not at all: a temporary file in the folder of the output,
// then rename.
#pragma once
#include "base/text.h"
#include <signal.h>
#include <sys/types.h>

// While temporary files exist, the signals that would end the process wait, so that none
// is left.
typedef struct SignalHold {
  sigset_t before;
} SignalHold;

SignalHold signals_hold(void);
// Lets them through again; one that has come meanwhile ends the process here.
void signals_release(const SignalHold *hold);
// In a child process that becomes another program: none of them waits.
void signals_unblock(void);

// What is done from time to time while something else runs; `run` may be NULL.
typedef struct Tick {
  void (*run)(void *state);
  void *state;
} Tick;

// Waits for a child process while signals are held; the status of waitpid, or -1.  A
// signal to this process is handed on to the child and goes to `got` (0: none).
int signals_wait(pid_t child, Tick tick, int *got);

// Makes an empty file with a fresh name in the folder of `path`, readable by the user
// alone; its descriptor goes to `fd`.  NULL, with `errno` set, on failure.
const char *file_temporary(const char *path, int *fd);

// `-` is standard output, here and below.

// The regular file that is to be made or replaced at `path`, links followed: NULL if
// something else is there, with `errno` set if that cannot be written to either.
const char *file_target(const char *path);

// Gives a temporary file the mode of the target that it replaces, or `mode` less the
// umask, and renames it.  False, with `errno` set and the temporary file gone, on
// failure.
bool file_publish(const char *temporary, const char *target, mode_t mode);

// Could file_write succeed?  False, with `errno` set, if not.
bool file_is_writable(const char *path);

// Writes the whole file or nothing.  False, with `errno` set, on failure.
bool file_write(const char *path, const Text *t);

typedef struct FileOutput {
  const char *path;
  const Text *text;
} FileOutput;

// Writes all files or none; the path that failed, with `errno` set, or NULL.
const char *file_write_all(const FileOutput *files, int count);

// Makes the folders that a file of this path needs: FILE_PRIVATE, for the user alone, or as the
// umask allows.  Whether that works shows when the file is opened.
enum { FILE_PRIVATE = 0700, FILE_PUBLIC = 0777 };
void file_make_folders(const char *path, mode_t mode);

// Removes a folder with all that is in it.
void file_remove_folder(const char *path);

// Files appear whole or not at all; the cache of kernels is bounded, and trusts nobody
// else.
#include "../unit.h"
#include "program.h"
#include <sys/resource.h>

static char *path_in(const char *folder, const char *name) {
  struct rt_text t = { NULL, 0, 0 };
  rt_text_printf(&t, "%s/%s", folder, name);
  return rt_text_take(&t);
}

static int files_in(const char *folder) {
  DIR *dir = opendir(folder);
  int count = -2;  // . and ..
  while (readdir(dir))
    count++;
  closedir(dir);
  return count;
}

static bool holds(const char *path, const char *text) {
  size_t length = 0;
  char *bytes = rt_read_file(path, &length);
  bool same = bytes && length == strlen(text) && memcmp(bytes, text, length) == 0;
  free(bytes);
  return same;
}

static void set_limit(rlim_t bytes) {
  struct rlimit limit = { bytes, RLIM_INFINITY };
  CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

static void a_file_too_large_leaves_the_old_one(const char *folder) {
  static const char bytes[5000];
  char *path = path_in(folder, "file");
  CHECK(rt_write_file(path, "old", 3) && holds(path, "old"));
  set_limit(1000);  // SIGXFSZ is as it was: it would end the process
  CHECK(!rt_write_file(path, bytes, sizeof bytes) && errno == EFBIG);
  CHECK(rt_write_file(path, "new", 3) && holds(path, "new"));
  set_limit(RLIM_INFINITY);
  CHECK(files_in(folder) == 1);
  unlink(path);
  free(path);
}

static void links_and_modes_stay(const char *folder) {
  struct stat s;
  char *path = path_in(folder, "file"), *link = path_in(folder, "link");
  umask(027);
  CHECK(rt_write_file(path, "a", 1) && stat(path, &s) == 0 && (s.st_mode & 0777) == 0640);
  CHECK(chmod(path, 0604) == 0 && symlink("file", link) == 0);
  CHECK(rt_write_file(link, "b", 1) && holds(path, "b"));
  CHECK(lstat(link, &s) == 0 && S_ISLNK(s.st_mode));
  CHECK(stat(path, &s) == 0 && (s.st_mode & 0777) == 0604);
  CHECK(rt_write_file("/dev/null", "c", 1) && stat("/dev/null", &s) == 0);
  CHECK(S_ISCHR(s.st_mode) && files_in(folder) == 2);
  unlink(path);
  unlink(link);
  free(path);
  free(link);
}

static void says_beforehand_what_cannot_be_written(const char *folder) {
  char *none = path_in(folder, "none/file"), *file = path_in(folder, "file");
  CHECK(rt_is_writable(file) && rt_is_writable("/dev/null"));
  CHECK(!rt_is_writable(none) && errno == ENOENT);
  free(none);
  free(file);
}

// Records that were not asked for lately go first.
static void an_archive_is_bounded(void) {
  static const char bytes[400 << 10];
  struct rt_binaries b = { NULL, 0 };
  setenv("FLC_CACHE_MIB", "1", 1);
  rt_binaries_add(&b, "one", bytes, sizeof bytes);
  rt_binaries_add(&b, "two", bytes, sizeof bytes);
  CHECK(rt_binaries_find(&b, "one") && !rt_binaries_find(&b, "on"));
  rt_binaries_add(&b, "three", bytes, sizeof bytes);
  rt_archive_trim(&b);
  CHECK(b.count == 2 && rt_binaries_find(&b, "one") && rt_binaries_find(&b, "three"));
  setenv("FLC_CACHE_MIB", "0", 1);
  rt_archive_trim(&b);
  CHECK(b.count == 1 && rt_binaries_find(&b, "three"));
  unsetenv("FLC_CACHE_MIB");
  rt_binaries_free(&b);
}

static void damaged_records_end_an_archive(const char *folder) {
  struct rt_binaries b = { NULL, 0 }, back = { NULL, 0 };
  char *path = path_in(folder, "archive");
  rt_binaries_add(&b, "one", "1", 1);
  rt_binaries_add(&b, "two", "22", 2);
  CHECK(rt_binaries_save(&b, path, 0600) && rt_binaries_load(&back, path));
  CHECK(back.count == 2 && back.items[1].length == 2);
  rt_binaries_free(&back);
  size_t length = 0;
  char *bytes = rt_read_file(path, &length);
  bytes[length - 3]++;  // in the text of the second
  CHECK(rt_write_file(path, bytes, length) && rt_binaries_load(&back, path));
  CHECK(back.count == 1 && rt_binaries_find(&back, "one"));
  rt_binaries_free(&back);
  rt_binaries_free(&b);
  free(bytes);
  unlink(path);
  free(path);
}

static void others_are_not_trusted(const char *folder) {
  char *inner = path_in(folder, "inner"), *link = path_in(folder, "link");
  struct stat s;
  CHECK(mkdir(inner, 0755) == 0 && symlink("inner", link) == 0);
  CHECK(!rt_distrust_folder(inner, true));
  CHECK(stat(inner, &s) == 0 && (s.st_mode & 0777) == 0700);
  CHECK(rt_distrust_folder(link, true) && !rt_distrust_folder(link, false));
  CHECK(chmod(inner, 0720) == 0 && rt_distrust_folder(inner, true));
  CHECK(rt_distrust_folder(inner, false) && rt_distrust_folder("/nonexistent", false));
  CHECK(geteuid() == 0 || rt_distrust_folder("/", false));
  unlink(link);
  rmdir(inner);
  free(inner);
  free(link);
}

int main(void) {
  char folder[] = "/tmp/flc-files-XXXXXX";
  CHECK(mkdtemp(folder));
  a_file_too_large_leaves_the_old_one(folder);
  links_and_modes_stay(folder);
  says_beforehand_what_cannot_be_written(folder);
  an_archive_is_bounded();
  damaged_records_end_an_archive(folder);
  others_are_not_trusted(folder);
  CHECK(rmdir(folder) == 0);
  return 0;
}

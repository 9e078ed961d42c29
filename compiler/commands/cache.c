#include "commands/cache.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/vec.h"
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

// ---- the folder

// NULL if nobody but the user can have written there; what others could read they no
// longer can.
static const char *distrust(int folder) {
  struct stat status;
  if (fstat(folder, &status) != 0) return strerror(errno);
  if (status.st_uid != geteuid()) return "it belongs to another user";
  if (status.st_mode & 022) return "others can write to it";
  if ((status.st_mode & 0777) == 0700) return NULL;
  return fchmod(folder, 0700) == 0 ? NULL : strerror(errno);
}

static Cache open_folder(const char *path) {
  file_make_folders(text_format("%s/", path), FILE_PRIVATE);
  int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  const char *reason = folder >= 0        ? distrust(folder)
                       : errno == ENOTDIR ? "it is a link or no folder"
                                          : strerror(errno);
  if (folder >= 0) close(folder);
  if (!reason) return (Cache){ .folder = path };
  return (Cache){ .problem = text_format("the cache %s is not used: %s", path, reason) };
}

Cache cache_open(void) {
  const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  if (xdg && *xdg) return open_folder(text_format("%s/flc", xdg));
  if (home && *home) return open_folder(text_format("%s/.cache/flc", home));
  return (Cache){ 0 };
}

// ---- entries

const char *cache_path(const Cache *cache, const char *key) {
  return text_format("%s/%s", cache->folder, key);
}

static bool is_trusted(int fd) {
  struct stat status;
  return fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
         status.st_uid == geteuid() && !(status.st_mode & 022) && (status.st_mode & 0100);
}

// Is all of the file there?  After a crash of the machine it may be empty, or end early.
static bool is_whole(int fd) {
  Elf64_Ehdr head;
  struct stat status;
  if (fstat(fd, &status) != 0 || pread(fd, &head, sizeof head, 0) != sizeof head)
    return false;
  if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0) return false;
  if (head.e_ident[EI_CLASS] != ELFCLASS64) return true;
  uint64_t size = (uint64_t)status.st_size;
  return head.e_shoff <= size &&
         (uint64_t)head.e_shentsize * head.e_shnum <= size - head.e_shoff;
}

const char *cache_find(const Cache *cache, const char *key) {
  if (!cache->folder) return NULL;
  const char *path = cache_path(cache, key);
  int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return NULL;
  bool usable = is_trusted(fd) && is_whole(fd);
  futimens(fd, NULL);
  close(fd);
  return usable ? path : NULL;
}

// ---- its size

typedef struct CachedFile {
  const char *name;
  int64_t bytes;
  struct timespec used;
} CachedFile;
typedef Vec(CachedFile) CachedFileVec;

static int by_use(const void *a, const void *b) {
  const struct timespec x = ((const CachedFile *)a)->used,
                        y = ((const CachedFile *)b)->used;
  if (x.tv_sec != y.tv_sec) return x.tv_sec < y.tv_sec ? -1 : 1;
  return (x.tv_nsec > y.tv_nsec) - (x.tv_nsec < y.tv_nsec);
}

static int64_t limit_bytes(void) {
  static const int64_t most_mib = 1 << 20;
  const char *text = getenv("FLC_CACHE_MIB");
  char *end = NULL;
  long long mib = text ? strtoll(text, &end, 10) : 0;
  bool given = text && end != text && !*end && mib >= 0 && mib <= most_mib;
  return (given ? mib : 512) << 20;
}

static CachedFileVec list(DIR *folder, int64_t *total) {
  CachedFileVec files = { 0 };
  struct stat status;
  *total = 0;
  for (const struct dirent *entry; (entry = readdir(folder));) {
    if (fstatat(dirfd(folder), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(status.st_mode))
      continue;
    CachedFile file = { text_format("%s", entry->d_name), status.st_size,
                        status.st_mtim };
    vec_push(&files, file);
    *total += status.st_size;
  }
  return files;
}

// Is it being written, perhaps?
static bool is_young(const CachedFile *file) {
  static const time_t hour_s = 3600;
  return file->name[0] == '.' && time(NULL) - file->used.tv_sec < hour_s;
}

// A tenth more than need be goes, so that the next program does not come here again; what
// was used last, the program at hand, stays.
void cache_trim(const Cache *cache) {
  DIR *folder = cache->folder ? opendir(cache->folder) : NULL;
  if (!folder) return;
  int64_t total, limit = limit_bytes();
  CachedFileVec files = list(folder, &total);
  if (total > limit && files.count)
    qsort(files.at, (size_t)files.count, sizeof *files.at, by_use);
  bool trim = total > limit;
  for (int i = 0; trim && i + 1 < files.count && total > limit - limit / 10; i++)
    if (!is_young(&files.at[i]) && unlinkat(dirfd(folder), files.at[i].name, 0) == 0)
      total -= files.at[i].bytes;
  closedir(folder);
}

// Begin util.h: host memory, texts, files, time, hashes, element types.

// Where results and the replies of servers go: standard output, but one worker's only.
#if defined(RT_THREADS) && !defined(RT_LIBRARY)
static __thread FILE *rt_out;
#  define rt_say(...) fprintf(rt_out, __VA_ARGS__)
#else
#  define rt_out      stdout
#  define rt_say(...) printf(__VA_ARGS__)
#endif

// Small host allocations cannot reasonably be survived without: those stop the process.  Arrays of
// the user's size are allocated by malloc where they are used, and checked.
RT_FN void *rt_host_alloc(size_t bytes) {
  void *p = calloc(1, bytes ? bytes : 1);
  if (p) return p;
  fprintf(stderr, "out of host memory (%zu bytes)\n", bytes);
  abort();
}

RT_FN void *rt_host_grow(void *old, size_t bytes) {
  void *p = realloc(old, bytes ? bytes : 1);
  if (p) return p;
  fprintf(stderr, "out of host memory (%zu bytes)\n", bytes);
  abort();
}

// A copy that the caller frees; NULL for NULL.
RT_FN char *rt_strdup(const char *text) {
  if (!text) return NULL;
  size_t bytes = strlen(text) + 1;
  char *copy = (char *)rt_host_alloc(bytes);
  memcpy(copy, text, bytes);
  return copy;
}

// Replaces an owned string by a copy of another.
RT_FN void rt_set_string(char **slot, const char *text) {
  char *copy = rt_strdup(text);
  free(*slot);
  *slot = copy;
}

// ---- growing texts, NUL-terminated; owned by whoever declared them

struct rt_text {
  char *data;
  size_t length, capacity;
};

RT_FN void rt_text_reserve(struct rt_text *t, size_t more) {
  if (t->length + more + 1 <= t->capacity) return;
  t->capacity = (t->length + more + 1) * 2;
  t->data = (char *)rt_host_grow(t->data, t->capacity);
}

RT_FN void rt_text_bytes(struct rt_text *t, const void *bytes, size_t count) {
  rt_text_reserve(t, count);
  if (count) memcpy(t->data + t->length, bytes, count);
  t->length += count;
  t->data[t->length] = '\0';
}

RT_FN void rt_text_add(struct rt_text *t, const char *text) {
  rt_text_bytes(t, text, strlen(text));
}

RT_FN void rt_text_vprintf(struct rt_text *t, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));
RT_FN void rt_text_vprintf(struct rt_text *t, const char *format, va_list args) {
  va_list again;
  va_copy(again, args);
  int needed = vsnprintf(NULL, 0, format, args);
  if (needed > 0) {
    rt_text_reserve(t, (size_t)needed);
    vsnprintf(t->data + t->length, (size_t)needed + 1, format, again);
    t->length += (size_t)needed;
  }
  va_end(again);
}

RT_FN void rt_text_printf(struct rt_text *t, const char *format, ...) RT_TEXT(2);
RT_FN void rt_text_printf(struct rt_text *t, const char *format, ...) {
  va_list args;
  va_start(args, format);
  rt_text_vprintf(t, format, args);
  va_end(args);
}

RT_FN void rt_text_pieces(struct rt_text *t, const char *const *pieces) {
  for (int i = 0; pieces && pieces[i]; i++)
    rt_text_add(t, pieces[i]);
}

// The text itself, which the caller frees; never NULL.
RT_FN char *rt_text_take(struct rt_text *t) {
  rt_text_reserve(t, 0);
  t->data[t->length] = '\0';
  char *data = t->data;
  t->data = NULL;
  t->length = t->capacity = 0;
  return data;
}

RT_FN void rt_text_free(struct rt_text *t) { free(rt_text_take(t)); }

// The bytes of the character of UTF-8 at `s`; 0 if there is none.
RT_FN size_t rt_utf8_length(const char *s) {
  const unsigned char *p = (const unsigned char *)s;
  size_t length = p[0] < 0x80 ? 1 : p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : 4;
  if (length > 1 && (p[0] < 0xC2 || p[0] > 0xF4)) return 0;
  for (size_t i = 1; i < length; i++)
    if ((p[i] & 0xC0) != 0x80) return 0;
  bool longer = (p[0] == 0xE0 && p[1] < 0xA0) || (p[0] == 0xF0 && p[1] < 0x90);
  bool beyond = (p[0] == 0xED && p[1] >= 0xA0) || (p[0] == 0xF4 && p[1] >= 0x90);
  return longer || beyond ? 0 : length;
}

// A JSON string with its quotes; what is not UTF-8 becomes U+FFFD.
RT_FN void rt_text_json(struct rt_text *t, const char *text) {
  rt_text_add(t, "\"");
  for (const char *p = text; *p;) {
    size_t length = rt_utf8_length(p);
    if (*p == '"' || *p == '\\')
      rt_text_printf(t, "\\%c", *p);
    else if (length == 1 && (unsigned char)*p < ' ')
      rt_text_printf(t, "\\u%04x", (unsigned char)*p);
    else if (length)
      rt_text_bytes(t, p, length);
    else
      rt_text_add(t, "\xEF\xBF\xBD");
    p += length ? length : 1;
  }
  rt_text_add(t, "\"");
}

// ---- time, files, hashes

RT_FN int64_t rt_time_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

RT_FN int64_t rt_time_us(void) { return rt_time_ns() / 1000; }

// The bytes until the end of the file, then a NUL; NULL on failure.  The caller frees them.
RT_FN char *rt_read_stream(FILE *file, size_t *length) {
  struct rt_text t = { NULL, 0, 0 };
  size_t chunk = 1 << 16, got = 0;
  do {
    rt_text_reserve(&t, chunk);
    got = fread(t.data + t.length, 1, chunk, file);
    t.length += got;
    if (chunk < ((size_t)1 << 26)) chunk *= 2;
  } while (got > 0);
  *length = t.length;
  if (!ferror(file)) return rt_text_take(&t);
  rt_text_free(&t);
  return NULL;
}

RT_FN char *rt_read_file(const char *path, size_t *length) {
  FILE *file = fopen(path, "rb");
  if (!file) return NULL;
  char *bytes = rt_read_stream(file, length);
  fclose(file);
  return bytes;
}

RT_FN bool rt_write_all(int fd, const void *bytes, size_t length) {
  const char *at = (const char *)bytes;
  while (length) {
    ssize_t written = write(fd, at, length);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    at += written;
    length -= (size_t)written;
  }
  return true;
}

// Closes; keeps the `errno` of what went wrong before.
RT_FN bool rt_close_written(int fd, bool ok) {
  int reason = errno;
  bool closed = close(fd) == 0;
  if (!ok) errno = reason;
  return ok && closed;
}

// The folder of a path, which the caller frees.
RT_FN char *rt_folder_of(const char *path) {
  char *folder = rt_strdup(path), *slash = strrchr(folder, '/');
  if (slash) {
    slash[slash == folder] = '\0';
    return folder;
  }
  free(folder);
  return rt_strdup(".");
}

// Signals that end the process, and the one about files that grow too large, wait.
RT_FN void rt_hold_signals(sigset_t *before) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGHUP);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGQUIT);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGXFSZ);
  sigprocmask(SIG_BLOCK, &set, before);
}

RT_FN void rt_release_signals(const sigset_t *before) {
  static const struct timespec at_once = { 0, 0 };
  int reason = errno;
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGXFSZ);
  if (!sigismember(before, SIGXFSZ)) sigtimedwait(&set, NULL, &at_once);
  sigprocmask(SIG_SETMASK, before, NULL);
  errno = reason;
}

// Writes a file that has no name yet, so that nothing is left of it if the process ends;
// where the file system has no such files, one with the name.
RT_FN bool rt_write_temporary(const char *name, mode_t mode, const void *bytes,
                              size_t length) {
  char *folder = rt_folder_of(name);
  int fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
  bool named = fd < 0;
  free(folder);
  if (named) fd = open(name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, mode);
  if (fd < 0) return false;
  bool ok = rt_write_all(fd, bytes, length);
  if (ok && !named) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ok = linkat(AT_FDCWD, link, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0;
  }
  return rt_close_written(fd, ok);
}

// /dev/stdout and its kind, devices and pipes: what is written to and not replaced.
RT_FN bool rt_is_stream(const char *path) {
  struct stat s;
  return stat(path, &s) == 0 && (!S_ISREG(s.st_mode) || strncmp(path, "/dev/", 5) == 0 ||
                                 strncmp(path, "/proc/", 6) == 0);
}

RT_FN bool rt_write_in_place(const char *path, const void *bytes, size_t length) {
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  return fd >= 0 && rt_close_written(fd, rt_write_all(fd, bytes, length));
}

// Renames the temporary file, which gets the mode of what it replaces.
RT_FN bool rt_publish_file(const char *temporary, const char *target) {
  struct stat old;
  if (stat(target, &old) == 0) (void)!chmod(temporary, old.st_mode & 07777);
  return rename(temporary, target) == 0;
}

// Writes beside the file, then renames: readers see the old or the new one, never a part.
RT_FN bool rt_replace_file(const char *path, mode_t mode, const void *bytes,
                           size_t length) {
  struct rt_text temporary = { NULL, 0, 0 };
  sigset_t before;
  if (rt_is_stream(path)) return rt_write_in_place(path, bytes, length);
  char *linked = realpath(path, NULL);  // a link keeps pointing to the file
  const char *target = linked ? linked : path;
  char *folder = rt_folder_of(target);
  rt_text_printf(&temporary, "%s/.flc-%ld-%" PRIx64, folder, (long)getpid(),
                 (uint64_t)rt_time_ns());
  rt_hold_signals(&before);
  bool ok = rt_write_temporary(temporary.data, mode, bytes, length) &&
            rt_publish_file(temporary.data, target);
  int reason = errno;
  if (!ok && reason != EEXIST) unlink(temporary.data);
  rt_release_signals(&before);
  rt_text_free(&temporary);
  free(folder);
  free(linked);
  errno = reason;
  return ok;
}

RT_FN bool rt_write_file(const char *path, const void *bytes, size_t length) {
  return rt_replace_file(path, 0666, bytes, length);
}

// Could the file be written, as far as can be said before?  Sets `errno` if not.
RT_FN bool rt_is_writable(const char *path) {
  struct stat s;
  if (stat(path, &s) == 0) return access(path, W_OK) == 0;
  char *folder = rt_folder_of(path);
  bool ok = access(folder, W_OK) == 0;
  int reason = errno;
  free(folder);
  errno = reason;
  return ok;
}

// FNV-1a; different seeds give independent enough halves of a longer hash.
RT_FN uint64_t rt_hash(uint64_t seed, const void *bytes, size_t length) {
  const unsigned char *p = (const unsigned char *)bytes;
  uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ seed;
  for (size_t i = 0; i < length; i++)
    hash = (hash ^ p[i]) * UINT64_C(0x100000001b3);
  return hash;
}

RT_FN int64_t rt_sat_add(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b < 0 ? INT64_MIN : INT64_MAX;
}

RT_FN int64_t rt_sat_mul(int64_t a, int64_t b) {
  int64_t product = 0;
  if (!__builtin_mul_overflow(a, b, &product)) return product;
  return (a < 0) != (b < 0) ? INT64_MIN : INT64_MAX;
}

// ---- element types

struct rt_elem_info {
  const char *name;
  int bytes;
  bool is_signed, is_float;
};

static const struct rt_elem_info rt_elems[RT_ELEM_COUNT] = {
  { "i8", 1, true, false },   { "i16", 2, true, false },  { "i32", 4, true, false },
  { "i64", 8, true, false },  { "u8", 1, false, false },  { "u16", 2, false, false },
  { "u32", 4, false, false }, { "u64", 8, false, false }, { "f16", 2, true, true },
  { "f32", 4, true, true },   { "f64", 8, true, true },   { "bool", 1, false, false },
};

// RT_ELEM_COUNT if there is no such type.
RT_FN enum rt_elem rt_elem_named(const char *name, size_t length) {
  int e = 0;
  for (; e < RT_ELEM_COUNT; e++) {
    const char *known = rt_elems[e].name;
    if (length > 0 && *known == *name && strlen(known) == length &&
        memcmp(known, name, length) == 0)
      break;
  }
  return (enum rt_elem)e;
}

RT_FN int64_t rt_shape_count(int rank, const int64_t *shape) {
  int64_t count = 1;
  for (int i = 0; i < rank; i++)
    count = rt_sat_mul(count, shape[i]);
  return count;
}
// Can sizes be computed with?  Their product without zeros, in bytes, must be a number: programs
// multiply them in any order.
RT_FN bool rt_shape_fits(int rank, const int64_t *shape, int elem_bytes) {
  int64_t bytes = elem_bytes;
  for (int i = 0; i < rank; i++)
    if (shape[i] < 0 || (shape[i] > 0 && __builtin_mul_overflow(bytes, shape[i], &bytes)))
      return false;
  return true;
}
// End util.h

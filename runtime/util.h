// Begin util.h: host memory, texts, files, time, hashes, element types.

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

// A JSON string with its quotes.
RT_FN void rt_text_json(struct rt_text *t, const char *text) {
  rt_text_add(t, "\"");
  for (const char *p = text; *p; p++) {
    if (*p == '"' || *p == '\\')
      rt_text_printf(t, "\\%c", *p);
    else if ((unsigned char)*p < ' ')
      rt_text_printf(t, "\\u%04x", (unsigned char)*p);
    else
      rt_text_bytes(t, p, 1);
  }
  rt_text_add(t, "\"");
}

// ---- files, time, hashes

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

RT_FN bool rt_write_file(const char *path, const void *bytes, size_t length) {
  FILE *file = fopen(path, "wb");
  if (!file) return false;
  bool ok = fwrite(bytes, 1, length, file) == length;
  return fclose(file) == 0 && ok;
}

// Writes beside the file, then renames: readers see the old or the new one, never a part.
RT_FN bool rt_replace_file(const char *path, const void *bytes, size_t length) {
  struct rt_text temporary = { NULL, 0, 0 };
  rt_text_printf(&temporary, "%s.%ld.%p", path, (long)getpid(), (const void *)&temporary);
  bool ok =
      rt_write_file(temporary.data, bytes, length) && rename(temporary.data, path) == 0;
  if (!ok) unlink(temporary.data);
  rt_text_free(&temporary);
  return ok;
}

RT_FN int64_t rt_time_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

RT_FN int64_t rt_time_us(void) { return rt_time_ns() / 1000; }

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
  { "i8", 1, true, false },   { "i16", 2, true, false },   { "i32", 4, true, false },
  { "i64", 8, true, false },  { "u8", 1, false, false },   { "u16", 2, false, false },
  { "u32", 4, false, false }, { "u64", 8, false, false },  { "f32", 4, true, true },
  { "f64", 8, true, true },   { "bool", 1, false, false },
};

// RT_ELEM_COUNT if there is no such type.
RT_FN enum rt_elem rt_elem_named(const char *name, size_t length) {
  int e = 0;
  for (; e < RT_ELEM_COUNT; e++)
    if (strlen(rt_elems[e].name) == length && memcmp(rt_elems[e].name, name, length) == 0)
      break;
  return (enum rt_elem)e;
}

RT_FN int64_t rt_shape_count(int rank, const int64_t *shape) {
  int64_t count = 1;
  for (int i = 0; i < rank; i++)
    count = rt_sat_mul(count, shape[i]);
  return count;
}
// Can sizes be computed with?  Their product without zeros, in bytes, must be a number: programs multiply
// them in any order.
RT_FN bool rt_shape_fits(int rank, const int64_t *shape, int elem_bytes) {
  int64_t bytes = elem_bytes;
  for (int i = 0; i < rank; i++)
    if (shape[i] < 0 || (shape[i] > 0 && __builtin_mul_overflow(bytes, shape[i], &bytes)))
      return false;
  return true;
}
// End util.h

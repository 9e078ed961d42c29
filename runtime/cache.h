// Begin cache.h: compiled programs kept on disk.
//
// A file holds records: a header (mark, lengths, checksum), a text that says everything
// that the bytes follow from, and the bytes.  In the cache folder each program has its
// own file, named after a hash of the text; with --cache-file one file holds all.  A
// record serves only a program with the very same text.  What does not fit its checksum
// is ignored, and written anew when the program has been compiled.
//
// A driver may keep what it compiles itself (PoCL does).  Then the folder has what its programs are
// made from, where that is at hand (pocl.h): else the driver would read the text of each program
// again, if only to find out that it has it.
//
// What lies in a cache is run: a folder or file in which others could have written is not
// used.

struct rt_record_header {
  char mark[8];
  uint64_t about, length, checksum;
};

static const char rt_record_mark[8] = { 'f', 'l', 'c', 'b', 'i', 'n', '0', '2' };

RT_FN void rt_binaries_add(struct rt_binaries *b, const char *about, const void *bytes,
                           size_t length) {
  b->items = (struct rt_binary *)rt_host_grow(b->items,
                                              (size_t)(b->count + 1) * sizeof *b->items);
  struct rt_binary *item = &b->items[b->count++];
  item->about = rt_strdup(about);
  item->length = length;
  item->bytes = (unsigned char *)rt_host_alloc(length);
  memcpy(item->bytes, bytes, length);
}

RT_FN void rt_binary_free(struct rt_binary *binary) {
  free(binary->about);
  free(binary->bytes);
}

RT_FN void rt_binaries_free(struct rt_binaries *b) {
  for (int i = 0; i < b->count; i++)
    rt_binary_free(&b->items[i]);
  free(b->items);
  b->items = NULL;
  b->count = 0;
}

// The latest with the text, or NULL; it becomes the last one, as the one that was used
// last.
RT_FN const struct rt_binary *rt_binaries_find(struct rt_binaries *b, const char *about) {
  int i = b->count - 1;
  while (i >= 0 && strcmp(b->items[i].about, about) != 0)
    i--;
  if (i < 0) return NULL;
  struct rt_binary found = b->items[i];
  memmove(&b->items[i], &b->items[i + 1], (size_t)(b->count - 1 - i) * sizeof found);
  b->items[b->count - 1] = found;
  return &b->items[b->count - 1];
}

RT_FN void rt_record_append(struct rt_text *t, const struct rt_binary *binary) {
  struct rt_record_header h;
  memset(&h, 0, sizeof h);
  memcpy(h.mark, rt_record_mark, sizeof h.mark);
  h.about = strlen(binary->about);
  h.length = binary->length;
  h.checksum = rt_hash(rt_hash(1, binary->about, strlen(binary->about)), binary->bytes,
                       binary->length);
  rt_text_bytes(t, &h, sizeof h);
  rt_text_add(t, binary->about);
  rt_text_bytes(t, binary->bytes, binary->length);
}

// The record at the front of `length` bytes: its size, or 0 if it is damaged.
RT_FN size_t rt_record_read(struct rt_binaries *b, const char *bytes, size_t length) {
  struct rt_record_header h;
  if (length < sizeof h) return 0;
  memcpy(&h, bytes, sizeof h);
  size_t left = length - sizeof h;
  if (memcmp(h.mark, rt_record_mark, sizeof h.mark) != 0 || h.about > left ||
      h.length > left - h.about)
    return 0;
  const char *about = bytes + sizeof h, *binary = about + h.about;
  if (rt_hash(rt_hash(1, about, (size_t)h.about), binary, (size_t)h.length) != h.checksum)
    return 0;
  struct rt_text text = { NULL, 0, 0 };
  rt_text_bytes(&text, about, (size_t)h.about);
  rt_binaries_add(b, text.data, binary, (size_t)h.length);
  rt_text_free(&text);
  return sizeof h + (size_t)h.about + (size_t)h.length;
}

// Adds the whole records of a file, up to the first damaged one; closes it.  False if it
// cannot be read.
RT_FN bool rt_binaries_read(struct rt_binaries *b, int fd) {
  size_t length = 0, at = 0, size = 0;
  FILE *file = fdopen(fd, "rb");
  char *bytes = file ? rt_read_stream(file, &length) : NULL;
  if (file)
    fclose(file);
  else
    close(fd);
  if (!bytes) return false;
  while ((size = rt_record_read(b, bytes + at, length - at)) > 0)
    at += size;
  free(bytes);
  return true;
}

RT_FN bool rt_binaries_load(struct rt_binaries *b, const char *path) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  return fd >= 0 && rt_binaries_read(b, fd);
}

RT_FN bool rt_binaries_save(const struct rt_binaries *b, const char *path, mode_t mode) {
  struct rt_text t = { NULL, 0, 0 };
  for (int i = 0; i < b->count; i++)
    rt_record_append(&t, &b->items[i]);
  bool ok = rt_replace_file(path, mode, t.data ? t.data : "", t.length);
  rt_text_free(&t);
  return ok;
}

// ---- whom to trust

// NULL if nobody but the user can have written to the open file or folder, else why it is
// not trusted.
RT_FN const char *rt_distrust(int fd, mode_t kind) {
  struct stat s;
  if (fstat(fd, &s) != 0) return strerror(errno);
  if ((s.st_mode & S_IFMT) != kind)
    return kind == S_IFDIR ? "it is no folder" : "it is no regular file";
  if (s.st_uid != geteuid()) return "it belongs to another user";
  if (s.st_mode & (S_IWGRP | S_IWOTH)) return "others can write to it";
  return NULL;
}

// NULL, or why the folder is not used.  `own`: nobody else shall read it either, and it
// is no link.
RT_FN const char *rt_distrust_folder(const char *path, bool own) {
  int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (own ? O_NOFOLLOW : 0));
  if (fd < 0) return errno == ENOTDIR ? "it is a link or no folder" : strerror(errno);
  const char *reason = rt_distrust(fd, S_IFDIR);
  if (!reason && own && fchmod(fd, S_IRWXU) != 0) reason = strerror(errno);
  close(fd);
  return reason;
}

// What a person at a terminal should know; a library says it in its log.
RT_FN void rt_warn(struct rt_context *ctx, const char *format, ...) RT_TEXT(2);
RT_FN void rt_warn(struct rt_context *ctx, const char *format, ...) {
  struct rt_text t = { NULL, 0, 0 };
  va_list args;
  va_start(args, format);
  rt_text_vprintf(&t, format, args);
  va_end(args);
#ifdef RT_LIBRARY
  rt_log(ctx, "warning: %s", t.data);
#else
  fprintf(ctx->log, "warning: %s\n", t.data);
#endif
  rt_text_free(&t);
}

// ---- how large it is

struct rt_cached_file {
  char *name;
  int64_t bytes;
  struct timespec used;
};

struct rt_cached_files {
  struct rt_cached_file *at;
  int count;
  int64_t bytes;
};

RT_FN int64_t rt_cache_limit(void) {
  static const long long most_mib = 1 << 20;
  const char *text = getenv("FLC_CACHE_MIB");
  char *end = NULL;
  long long mib = text ? strtoll(text, &end, 10) : -1;
  bool given = text && end != text && !*end && mib >= 0 && mib <= most_mib;
  return (int64_t)(given ? mib : 512) << 20;
}

RT_FN int rt_by_use(const void *a, const void *b) {
  const struct timespec x = ((const struct rt_cached_file *)a)->used,
                        y = ((const struct rt_cached_file *)b)->used;
  if (x.tv_sec != y.tv_sec) return x.tv_sec < y.tv_sec ? -1 : 1;
  return (x.tv_nsec > y.tv_nsec) - (x.tv_nsec < y.tv_nsec);
}

RT_FN void rt_cache_list(DIR *folder, struct rt_cached_files *files) {
  struct stat s;
  for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
    if (fstatat(dirfd(folder), entry->d_name, &s, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(s.st_mode) || entry->d_name[0] == '.')
      continue;
    size_t count = (size_t)files->count + 1;
    files->at =
        (struct rt_cached_file *)rt_host_grow(files->at, count * sizeof *files->at);
    struct rt_cached_file *file = &files->at[files->count++];
    file->name = rt_strdup(entry->d_name);
    file->bytes = s.st_size;
    file->used = s.st_mtim;
    files->bytes += s.st_size;
  }
}

// What was used least recently goes, a tenth more than need be; what was used last
// stays.  The folder is flc's own, too (compiler/commands/cache.c).
RT_FN void rt_cache_trim(const char *path) {
  struct rt_cached_files files = { NULL, 0, 0 };
  int64_t limit = rt_cache_limit();
  DIR *folder = opendir(path);
  if (!folder) return;
  rt_cache_list(folder, &files);
  bool trim = files.bytes > limit;
  if (trim) qsort(files.at, (size_t)files.count, sizeof *files.at, rt_by_use);
  for (int i = 0; trim && i + 1 < files.count && files.bytes > limit - limit / 10; i++)
    if (unlinkat(dirfd(folder), files.at[i].name, 0) == 0)
      files.bytes -= files.at[i].bytes;
  for (int i = 0; i < files.count; i++)
    free(files.at[i].name);
  free(files.at);
  closedir(folder);
}

// The same for the records of one file, which stand in the order of their use.
RT_FN void rt_archive_trim(struct rt_binaries *b) {
  int64_t bytes = 0, limit = rt_cache_limit();
  int first = b->count;
  while (first > 0 && (first == b->count || bytes <= limit)) {
    first--;
    bytes += (int64_t)(b->items[first].length + strlen(b->items[first].about));
  }
  if (bytes > limit && first < b->count - 1) first++;
  for (int i = 0; i < first; i++)
    rt_binary_free(&b->items[i]);
  b->count -= first;
  if (first) memmove(b->items, b->items + first, (size_t)b->count * sizeof *b->items);
}

// ---- where the cache is

RT_FN bool rt_is_folder(const char *path) {
  struct stat s;
  return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

// The user's cache folder, made if need be; the caller frees the name.  NULL without a home.
RT_FN char *rt_user_cache_folder(void) {
  const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  struct rt_text t = { NULL, 0, 0 };
  if (base && *base)
    rt_text_add(&t, base);
  else if (home && *home)
    rt_text_printf(&t, "%s/.cache", home);
  else
    return NULL;
  mkdir(t.data, 0700);
  rt_text_add(&t, "/flc");
  mkdir(t.data, 0700);
  return rt_text_take(&t);
}

// A folder that cannot be made is no reason to complain: the program runs as well
// without.
RT_FN void rt_cache_open_folder(struct rt_context *ctx, char *folder, bool own) {
  if (!folder) return;
  const char *reason = rt_distrust_folder(folder, own);
  if (!reason) {
    ctx->cache_folder = folder;
    return;
  }
  if (rt_is_folder(folder))
    rt_warn(ctx, "the cache %s is not used: %s", folder, reason);
  else
    rt_log(ctx, "no cache: %s: %s", folder, reason);
  free(folder);
}

RT_FN void rt_cache_open_archive(struct rt_context *ctx, const char *path) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  const char *reason = fd < 0 ? NULL : rt_distrust(fd, S_IFREG);
  if (reason) {
    rt_warn(ctx, "the cache file %s is not used: %s", path, reason);
    close(fd);
    return;
  }
  ctx->cache_archive = rt_strdup(path);
  if (fd >= 0) rt_binaries_read(&ctx->archive, fd);
}

RT_FN int rt_cache_open(struct rt_context *ctx) {
  const char *file = ctx->config->cache_file;
  ctx->driver_caches = !file && ctx->device.keeps_programs;
  if (ctx->driver_caches)
    rt_log(ctx, "the driver keeps what it compiles: %s", ctx->device.platform_version);
  if (!file && !(ctx->driver_caches && ctx->config->dump_binary_to))
    rt_cache_open_folder(ctx, rt_user_cache_folder(), true);
  else if (file && *file && rt_is_folder(file))
    rt_cache_open_folder(ctx, rt_strdup(file), false);
  else if (file && *file)
    rt_cache_open_archive(ctx, file);
  const char *load = ctx->config->load_binary_from;
  if (load && !rt_binaries_load(&ctx->loaded, load))
    return rt_error(ctx, RT_OTHER_ERROR, "cannot read %s: %s", load, strerror(errno));
  if (load && ctx->loaded.count == 0)
    return rt_error(ctx, RT_OTHER_ERROR, "%s holds no compiled kernels", load);
  return RT_OK;
}

RT_FN void rt_cache_close(struct rt_context *ctx) {
  if (ctx->cache_folder && ctx->cache_changed) rt_cache_trim(ctx->cache_folder);
  rt_text_free(&ctx->image);
  free(ctx->cache_folder);
  free(ctx->cache_archive);
  rt_binaries_free(&ctx->archive);
  rt_binaries_free(&ctx->loaded);
}

// Processes that build the same program at once do so in turn: the first compiles, the others find
// what it has left.  Negative if there is no folder.  What takes longer than a minute is not waited
// for.
RT_FN int rt_cache_lock(const struct rt_context *ctx) {
  const struct timespec pause = { 0, 2000000 };
  int fd = ctx->cache_folder ? open(ctx->cache_folder, O_RDONLY | O_CLOEXEC) : -1;
  for (int left = 30000; fd >= 0 && left && flock(fd, LOCK_EX | LOCK_NB) != 0; left--)
    nanosleep(&pause, NULL);
  return fd;
}

// Unlocked before it is closed, as a process that was forked meanwhile may have it, too.
RT_FN void rt_cache_unlock(int fd) {
  if (fd < 0) return;
  flock(fd, LOCK_UN);
  close(fd);
}

// ---- entries

RT_FN char *rt_cache_path(const struct rt_context *ctx, const char *about) {
  struct rt_text t = { NULL, 0, 0 };
  size_t length = strlen(about);
  rt_text_printf(&t, "%s/%016" PRIx64 "%016" PRIx64 "%s", ctx->cache_folder,
                 rt_hash(0, about, length),
                 rt_hash(UINT64_C(0x9e3779b97f4a7c15), about, length),
                 ctx->driver_caches ? ".d" : "");
  return rt_text_take(&t);
}

// The program that the text is about, from what was loaded or cached, added to `out`;
// NULL if there is none.  It counts as used now.
RT_FN const struct rt_binary *rt_cache_find(struct rt_context *ctx, const char *about,
                                            struct rt_binaries *out) {
  const struct rt_binary *found = rt_binaries_find(&ctx->loaded, about);
  if (!found) found = rt_binaries_find(&ctx->archive, about);
  if (found || !ctx->cache_folder) return found;
  char *path = rt_cache_path(ctx, about);
  int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  free(path);
  if (fd < 0) return NULL;
  futimens(fd, NULL);
  if (rt_distrust(fd, S_IFREG))
    close(fd);
  else
    rt_binaries_read(out, fd);
  return rt_binaries_find(out, about);
}

RT_FN bool rt_cache_store_entry(struct rt_context *ctx, const struct rt_binary *binary) {
  struct rt_binaries single = { (struct rt_binary *)(uintptr_t)binary, 1 };
  char *path = rt_cache_path(ctx, binary->about);
  unlink(path);  // what is there was not of use, and its mode must not be kept
  bool ok = rt_binaries_save(&single, path, S_IRUSR | S_IWUSR);
  int reason = errno;
  free(path);
  errno = reason;
  return ok;
}

RT_FN bool rt_cache_store_record(struct rt_context *ctx, const struct rt_binary *binary) {
  rt_binaries_add(&ctx->archive, binary->about, binary->bytes, binary->length);
  rt_archive_trim(&ctx->archive);
  return rt_binaries_save(&ctx->archive, ctx->cache_archive, S_IRUSR | S_IWUSR);
}

// What cannot be written is said once.
RT_FN void rt_cache_store(struct rt_context *ctx, const struct rt_binary *binary) {
  const char *place = ctx->cache_folder ? ctx->cache_folder : ctx->cache_archive;
  if (!place || ctx->cache_failed) return;
  ctx->cache_changed = true;
  ctx->cache_failed = !(ctx->cache_folder ? rt_cache_store_entry(ctx, binary)
                                          : rt_cache_store_record(ctx, binary));
  if (ctx->cache_failed && !ctx->driver_caches)
    rt_warn(ctx, "cannot write the cache %s %s: %s",
            ctx->cache_folder ? "folder" : "file", place, strerror(errno));
}
// End cache.h

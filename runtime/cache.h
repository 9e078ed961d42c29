// Begin cache.h: compiled programs kept on disk.
//
// A file holds records: a header (mark, key, length, checksum) and the bytes.  In the cache folder
// each program has its own file, named after its key; with --cache-file one file holds all.  What
// does not fit its checksum is ignored, and written anew when the program has been compiled.

struct rt_record_header {
  char mark[8];
  uint64_t key[2], length, checksum;
};

static const char rt_record_mark[8] = { 'f', 'l', 'c', 'b', 'i', 'n', '0', '1' };

RT_FN void rt_binaries_add(struct rt_binaries *b, const uint64_t *key, const void *bytes,
                           size_t length) {
  b->items = (struct rt_binary *)rt_host_grow(b->items,
                                              (size_t)(b->count + 1) * sizeof *b->items);
  struct rt_binary *item = &b->items[b->count++];
  item->key[0] = key[0];
  item->key[1] = key[1];
  item->length = length;
  item->bytes = (unsigned char *)rt_host_alloc(length);
  memcpy(item->bytes, bytes, length);
}

RT_FN void rt_binaries_free(struct rt_binaries *b) {
  for (int i = 0; i < b->count; i++)
    free(b->items[i].bytes);
  free(b->items);
  b->items = NULL;
  b->count = 0;
}

// The latest with the key, or NULL.
RT_FN const struct rt_binary *rt_binaries_find(const struct rt_binaries *b,
                                               const uint64_t *key) {
  for (int i = b->count - 1; i >= 0; i--)
    if (b->items[i].key[0] == key[0] && b->items[i].key[1] == key[1]) return &b->items[i];
  return NULL;
}

RT_FN void rt_record_append(struct rt_text *t, const struct rt_binary *binary) {
  struct rt_record_header h;
  memset(&h, 0, sizeof h);
  memcpy(h.mark, rt_record_mark, sizeof h.mark);
  h.key[0] = binary->key[0];
  h.key[1] = binary->key[1];
  h.length = binary->length;
  h.checksum = rt_hash(1, binary->bytes, binary->length);
  rt_text_bytes(t, &h, sizeof h);
  rt_text_bytes(t, binary->bytes, binary->length);
}

// Adds the whole records of a file, up to the first damaged one; false if there is no file.
RT_FN bool rt_binaries_load(struct rt_binaries *b, const char *path) {
  size_t length = 0, at = 0;
  char *bytes = rt_read_file(path, &length);
  if (!bytes) return false;
  struct rt_record_header h;
  while (length - at >= sizeof h) {
    memcpy(&h, bytes + at, sizeof h);
    at += sizeof h;
    if (memcmp(h.mark, rt_record_mark, sizeof h.mark) != 0 || h.length > length - at)
      break;
    if (rt_hash(1, bytes + at, (size_t)h.length) != h.checksum) break;
    rt_binaries_add(b, h.key, bytes + at, (size_t)h.length);
    at += (size_t)h.length;
  }
  free(bytes);
  return true;
}

RT_FN bool rt_binaries_save(const struct rt_binaries *b, const char *path) {
  struct rt_text t = { NULL, 0, 0 };
  for (int i = 0; i < b->count; i++)
    rt_record_append(&t, &b->items[i]);
  bool ok = rt_replace_file(path, t.data, t.length);
  rt_text_free(&t);
  return ok;
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

RT_FN int rt_cache_open(struct rt_context *ctx) {
  const char *file = ctx->config->cache_file;
  if (!file)
    ctx->cache_folder = rt_user_cache_folder();
  else if (*file && rt_is_folder(file))
    ctx->cache_folder = rt_strdup(file);
  else if (*file)
    ctx->cache_archive = rt_strdup(file);
  if (ctx->cache_archive) rt_binaries_load(&ctx->archive, ctx->cache_archive);
  const char *load = ctx->config->load_binary_from;
  if (load && !rt_binaries_load(&ctx->loaded, load))
    return rt_error(ctx, RT_OTHER_ERROR, "cannot read %s: %s", load, strerror(errno));
  if (load && ctx->loaded.count == 0)
    return rt_error(ctx, RT_OTHER_ERROR, "%s holds no compiled kernels", load);
  return RT_OK;
}

RT_FN void rt_cache_close(struct rt_context *ctx) {
  free(ctx->cache_folder);
  free(ctx->cache_archive);
  rt_binaries_free(&ctx->archive);
  rt_binaries_free(&ctx->loaded);
}

RT_FN char *rt_cache_path(const struct rt_context *ctx, const uint64_t *key) {
  struct rt_text t = { NULL, 0, 0 };
  rt_text_printf(&t, "%s/%016" PRIx64 "%016" PRIx64, ctx->cache_folder, key[0], key[1]);
  return rt_text_take(&t);
}

// The program with the key, from what was loaded or cached, added to `out`; NULL if there is none.
RT_FN const struct rt_binary *rt_cache_find(struct rt_context *ctx, const uint64_t *key,
                                            struct rt_binaries *out) {
  const struct rt_binary *found = rt_binaries_find(&ctx->loaded, key);
  if (!found) found = rt_binaries_find(&ctx->archive, key);
  if (found) return found;
  if (!ctx->cache_folder) return NULL;
  char *path = rt_cache_path(ctx, key);
  rt_binaries_load(out, path);
  free(path);
  return rt_binaries_find(out, key);
}

RT_FN void rt_cache_store(struct rt_context *ctx, const struct rt_binary *binary) {
  if (!ctx->cache_folder && !ctx->cache_archive) return;
  struct rt_binaries single = { (struct rt_binary *)(uintptr_t)binary, 1 };
  char *path =
      ctx->cache_folder ? rt_cache_path(ctx, binary->key) : rt_strdup(ctx->cache_archive);
  const struct rt_binaries *all = &single;
  if (ctx->cache_archive) {
    rt_binaries_add(&ctx->archive, binary->key, binary->bytes, binary->length);
    all = &ctx->archive;
  }
  if (!rt_binaries_save(all, path)) rt_log(ctx, "cannot write the cache file %s", path);
  free(path);
}
// End cache.h

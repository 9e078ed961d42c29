// Begin io.h: values between the host and the device: reading, writing, storing.

// A value of a scalar or array type from the host.
RT_FN int rt_upload(struct rt_context *ctx, const struct rt_host_value *v,
                    struct rt_value *out) {
  memset(out, 0, sizeof *out);
  if (v->rank > 0)
    return rt_array_from(ctx, &out->u.array, v->elem, v->rank, v->shape, v->data);
  memcpy(&out->u, v->data, (size_t)rt_elems[v->elem].bytes);
  return RT_OK;
}

RT_FN int rt_download(struct rt_context *ctx, int type, const struct rt_value *value,
                      struct rt_host_value *v) {
  const struct rt_type *t = &ctx->program->types[type];
  memset(v, 0, sizeof *v);
  v->elem = t->elem;
  if (t->kind == RT_ARRAY) {
    v->rank = t->rank;
    memcpy(v->shape, value->u.array->shape, (size_t)t->rank * sizeof *v->shape);
  }
  int64_t bytes = rt_sat_mul(rt_shape_count(v->rank, v->shape), rt_elems[t->elem].bytes);
  v->bytes = (size_t)bytes;
  v->data = (char *)malloc(v->bytes + 1);
  if (!v->data)
    return rt_error(ctx, RT_OUT_OF_MEMORY, "out of host memory: %" PRId64 " bytes",
                    bytes);
  if (t->kind == RT_ARRAY) return rt_array_values(ctx, value->u.array, v->data);
  memcpy(v->data, &value->u, v->bytes);
  return RT_OK;
}

RT_FN int rt_leaf_type(const struct rt_program *program, int type, int leaf) {
  const struct rt_type *t = &program->types[type];
  return t->kind == RT_OPAQUE ? t->leaves[leaf] : type;
}

// Writes the leaves of a value: as text one per line, or as bytes.
RT_FN int rt_write_value(struct rt_context *ctx, int type, const struct rt_value *value,
                         bool binary, struct rt_text *t) {
  const struct rt_value *leaves = rt_value_leaves(ctx->program, type, value);
  for (int i = 0; i < rt_leaf_count(ctx->program, type); i++) {
    struct rt_host_value v;
    int error = rt_download(ctx, rt_leaf_type(ctx->program, type, i), &leaves[i], &v);
    if (!error && binary) rt_write_binary(t, &v);
    if (!error && !binary) rt_write_text(t, &v);
    if (!error && !binary) rt_text_add(t, "\n");
    rt_host_value_free(&v);
    if (error) return error;
  }
  return RT_OK;
}

RT_FN int rt_read_leaf(struct rt_context *ctx, struct rt_reader *r, int type,
                       struct rt_value *out) {
  const struct rt_type *t = &ctx->program->types[type];
#ifdef RT_DIVIDES
  if (t->kind == RT_ARRAY && rt_reads_rows(ctx, r)) return rt_read_rows(ctx, r, t, out);
#endif
  struct rt_host_value v;
  bool ok = rt_read_value(r, t->elem, t->kind == RT_ARRAY ? t->rank : 0, &v);
  int error =
      ok ? rt_upload(ctx, &v, out) : rt_error(ctx, RT_OTHER_ERROR, "%s", r->message);
  rt_host_value_free(&v);
  return error;
}

// Whether nothing is left for a value of the type, if that takes anything.
RT_FN bool rt_lacks_value(const struct rt_context *ctx, struct rt_reader *r, int type) {
  const struct rt_type *t = &ctx->program->types[type];
  return (t->kind != RT_OPAQUE || t->leaf_count > 0) && rt_reader_at_end(r);
}

// Reads the leaves of a value of any type.
RT_FN int rt_read_typed(struct rt_context *ctx, struct rt_reader *r, int type,
                        struct rt_value *out) {
  const struct rt_type *t = &ctx->program->types[type];
  if (t->kind != RT_OPAQUE) return rt_read_leaf(ctx, r, type, out);
  struct rt_value *leaves =
      (struct rt_value *)rt_host_alloc((size_t)t->leaf_count * sizeof *leaves);
  int error = RT_OK, count = 0;
  for (; count < t->leaf_count && !error; count++)
    error = rt_read_leaf(ctx, r, t->leaves[count], &leaves[count]);
  if (error) count--;
  if (!error) error = rt_opaque_new(ctx, &out->u.opaque, type, leaves);
  for (int i = 0; i < count; i++)
    rt_value_free(ctx, t->leaves[i], &leaves[i]);
  free(leaves);
  return error;
}

// A value whose arrays are copies; scalars and opaque values likewise.
RT_FN int rt_copy_value(struct rt_context *ctx, int type, const struct rt_value *from,
                        struct rt_value *to) {
  const struct rt_type *t = &ctx->program->types[type];
  *to = *from;
  if (t->kind == RT_SCALAR) return RT_OK;
  if (t->kind == RT_ARRAY) {
    const struct rt_array *a = from->u.array;
    int error = rt_array_new(ctx, &to->u.array, a->elem, a->rank, a->shape);
    if (error) return error;
    error = rt_mem_copy(ctx, to->u.array->mem, 0, a->mem, 0, rt_array_bytes(a));
    if (error) rt_array_free(ctx, to->u.array);
#ifdef RT_DIVIDES
    if (!error) rt_divided_like(to->u.array, a);
#endif
    return error;
  }
  struct rt_value *leaves =
      (struct rt_value *)rt_host_alloc((size_t)t->leaf_count * sizeof *leaves);
  int error = RT_OK, count = 0;
  for (; count < t->leaf_count && !error; count++)
    error = rt_copy_value(ctx, t->leaves[count], &from->u.opaque->leaves[count],
                          &leaves[count]);
  if (error) count--;
  if (!error) error = rt_opaque_new(ctx, &to->u.opaque, type, leaves);
  for (int i = 0; i < count; i++)
    rt_value_free(ctx, t->leaves[i], &leaves[i]);
  free(leaves);
  return error;
}

// ---- opaque values as bytes: a header, then their leaves as binary values

struct rt_stored_header {
  char mark[8];
  uint64_t length;  // of what follows
};

static const char rt_stored_mark[8] = { 'f', 'l', 'c', 'v', 'a', 'l', '0', '1' };

RT_FN int rt_opaque_store(struct rt_context *ctx, const struct rt_opaque *opaque,
                          void **p, size_t *n) {
  struct rt_text t = { NULL, 0, 0 };
  struct rt_stored_header h;
  struct rt_value value;
  int error = rt_opaque_usable(ctx, opaque);
  if (error) return error;
  value.u.opaque = (struct rt_opaque *)(uintptr_t)opaque;
  memcpy(h.mark, rt_stored_mark, sizeof h.mark);
  rt_text_bytes(&t, &h, sizeof h);
  error = rt_write_value(ctx, opaque->type, &value, true, &t);
  h.length = t.length - sizeof h;
  memcpy(t.data, &h, sizeof h);
  if (!error && n) *n = t.length;
  void *to = p ? *p : NULL;
  if (!error && to && t.length) memcpy(to, t.data, t.length);
  if (!error && p && !to) *p = rt_text_take(&t);
  rt_text_free(&t);
  return error;
}

RT_FN int rt_opaque_restore(struct rt_context *ctx, struct rt_opaque **out, int type,
                            const void *p) {
  struct rt_stored_header h;
  *out = NULL;
  int error = rt_usable(ctx);
  if (error) return error;
  if (!p) return rt_error(ctx, RT_OTHER_ERROR, "a stored value is expected, found NULL");
  memcpy(&h, p, sizeof h);
  if (memcmp(h.mark, rt_stored_mark, sizeof h.mark) != 0)
    return rt_error(ctx, RT_OTHER_ERROR, "the bytes are no stored value");
  struct rt_reader r = { "stored value", (const char *)p + sizeof h, (size_t)h.length, 0,
                         NULL };
  struct rt_value value;
  memset(&value, 0, sizeof value);
  error = rt_read_typed(ctx, &r, type, &value);
  free(r.message);
  if (!error) *out = value.u.opaque;
  return error;
}
// End io.h

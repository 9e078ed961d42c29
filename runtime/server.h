// Begin server.h: the line protocol of servers (docs/cli.md).

struct rt_variable {
  char *name;
  int type;
  struct rt_value value;
};

enum { RT_MAX_WORDS = 4096 };

struct rt_server {
  struct rt_context *ctx;
  const struct rt_program *program;
  struct rt_variable *variables;
  int count;
  char *words[RT_MAX_WORDS];  // of the command at hand; words[0] is its name
  int word_count;
};

// ---- names

RT_FN int rt_fail_command(struct rt_server *s, const char *what, const char *name) {
  return rt_error(s->ctx, RT_OTHER_ERROR, "%s: %s", what, name);
}

// NULL and an error if there is no such variable.
RT_FN struct rt_variable *rt_variable_named(struct rt_server *s, const char *name) {
  for (int i = 0; i < s->count; i++)
    if (strcmp(s->variables[i].name, name) == 0) return &s->variables[i];
  rt_fail_command(s, "unknown variable", name);
  return NULL;
}

// Is the name free for a new variable?
RT_FN int rt_check_new(struct rt_server *s, const char *name) {
  for (int i = 0; i < s->count; i++)
    if (strcmp(s->variables[i].name, name) == 0)
      return rt_fail_command(s, "variable already exists", name);
  return RT_OK;
}

// The number of a type; -1 and an error if there is none of the name.
RT_FN int rt_type_named(struct rt_server *s, const char *name) {
  for (int i = 0; i < s->program->type_count; i++)
    if (strcmp(s->program->types[i].name, name) == 0) return i;
  rt_fail_command(s, "unknown type", name);
  return -1;
}

RT_FN const struct rt_entry_point *rt_server_entry(struct rt_server *s) {
  const struct rt_entry_point *entry = rt_entry_named(s->program, s->words[1]);
  if (!entry) rt_fail_command(s, "unknown entry point", s->words[1]);
  return entry;
}

// The new variable owns the value.
RT_FN void rt_add_variable(struct rt_server *s, const char *name, int type,
                           struct rt_value value) {
  size_t count = (size_t)s->count + 1;
  s->variables =
      (struct rt_variable *)rt_host_grow(s->variables, count * sizeof *s->variables);
  s->variables[s->count].name = rt_strdup(name);
  s->variables[s->count].type = type;
  s->variables[s->count++].value = value;
}

RT_FN void rt_remove_variable(struct rt_server *s, struct rt_variable *v) {
  rt_value_free(s->ctx, v->type, &v->value);
  free(v->name);
  *v = s->variables[--s->count];
}

// ---- commands: values

// The inputs of a command, from its fourth word on; false and an error if one is unknown or of
// another type.  They stay the variables'.
RT_FN bool rt_find_inputs(struct rt_server *s, const struct rt_entry_point *entry,
                          struct rt_value *in) {
  for (int i = 0; i < entry->input_count; i++) {
    const struct rt_variable *v = rt_variable_named(s, s->words[3 + i]);
    if (!v) return false;
    if (v->type != entry->inputs[i].type) {
      rt_error(s->ctx, RT_OTHER_ERROR, "input %d of %s: expected %s, found %s", i,
               entry->name, s->program->types[entry->inputs[i].type].name,
               s->program->types[v->type].name);
      return false;
    }
    in[i] = v->value;
  }
  return true;
}

RT_FN int rt_command_call(struct rt_server *s) {
  const struct rt_entry_point *entry = rt_server_entry(s);
  if (!entry) return RT_OTHER_ERROR;
  if (s->word_count != 3 + entry->input_count)
    return rt_error(s->ctx, RT_OTHER_ERROR,
                    "%s takes an output and %d inputs, found %d words", entry->name,
                    entry->input_count, s->word_count - 2);
  int error = rt_check_new(s, s->words[2]);
  struct rt_value *in =
      (struct rt_value *)rt_host_alloc((size_t)entry->input_count * sizeof *in);
  if (!error && !rt_find_inputs(s, entry, in)) error = RT_OTHER_ERROR;
  if (!error) error = rt_sync(s->ctx);
#ifdef RT_HELPER
  if (!error) rt_helper_prepare(s->ctx, entry, in);
#endif
  struct rt_value out;
  memset(&out, 0, sizeof out);
  int64_t start = rt_time_us();
  if (!error) error = entry->call(s->ctx, &out, in);
  if (!error) {
    error = rt_sync(s->ctx);
    if (error) rt_value_free(s->ctx, entry->output_type, &out);
  }
  if (!error) rt_say("runtime: %" PRId64 "\n", rt_time_us() - start);
  if (!error) rt_add_variable(s, s->words[2], entry->output_type, out);
  free(in);
  return error;
}

RT_FN int rt_restore_from(struct rt_server *s, struct rt_reader *r) {
  for (int i = 2; i + 1 < s->word_count; i += 2) {
    struct rt_value value;
    memset(&value, 0, sizeof value);
    int type = rt_type_named(s, s->words[i + 1]);
    if (type < 0 || rt_check_new(s, s->words[i])) return RT_OTHER_ERROR;
    if (rt_lacks_value(s->ctx, r, type))
      return rt_error(s->ctx, RT_OTHER_ERROR, "%s: no value for %s", s->words[1],
                      s->words[i]);
    int error = rt_read_typed(s->ctx, r, type, &value);
    if (error) return error;
    rt_add_variable(s, s->words[i], type, value);
  }
  if (rt_reader_at_end(r)) return RT_OK;
  return rt_error(s->ctx, RT_OTHER_ERROR, "%s: more values than variables", s->words[1]);
}

RT_FN int rt_command_restore(struct rt_server *s) {
  size_t length = 0;
  if (s->word_count % 2)
    return rt_error(s->ctx, RT_OTHER_ERROR, "restore takes a file, then names and types");
  char *bytes = rt_read_file(s->words[1], &length);
  if (!bytes)
    return rt_error(s->ctx, RT_OTHER_ERROR, "cannot read %s: %s", s->words[1],
                    strerror(errno));
  if (!rt_gunzip(&bytes, &length)) {
    free(bytes);
    return rt_fail_command(s, "damaged gzip data", s->words[1]);
  }
  struct rt_reader r = { s->words[1], bytes, length, 0, NULL };
  int error = rt_restore_from(s, &r);
  free(r.message);
  free(bytes);
  return error;
}

// In place: a client may hold the file open, and waits for the reply before it reads.
RT_FN int rt_command_store(struct rt_server *s) {
  struct rt_text t = { NULL, 0, 0 };
  int error = RT_OK;
  for (int i = 2; i < s->word_count && !error; i++) {
    const struct rt_variable *v = rt_variable_named(s, s->words[i]);
    error = v ? rt_write_value(s->ctx, v->type, &v->value, true, &t) : RT_OTHER_ERROR;
  }
#ifdef RT_WORKERS
  if (s->ctx->config->workers->rank > 0)
    ;  // rank 0 writes
  else
#endif
      if (!error && !rt_write_in_place(s->words[1], t.data ? t.data : "", t.length))
    error = rt_error(s->ctx, RT_OTHER_ERROR, "cannot write %s: %s", s->words[1],
                     strerror(errno));
  rt_text_free(&t);
  return error;
}

RT_FN int rt_command_free(struct rt_server *s) {
  for (int i = 1; i < s->word_count; i++) {
    struct rt_variable *v = rt_variable_named(s, s->words[i]);
    if (!v) return RT_OTHER_ERROR;
    rt_remove_variable(s, v);
  }
  return RT_OK;
}

RT_FN int rt_command_rename(struct rt_server *s) {
  struct rt_variable *v = rt_variable_named(s, s->words[1]);
  if (!v || rt_check_new(s, s->words[2])) return RT_OTHER_ERROR;
  rt_set_string(&v->name, s->words[2]);
  return RT_OK;
}

RT_FN int rt_command_type(struct rt_server *s) {
  const struct rt_variable *v = rt_variable_named(s, s->words[1]);
  if (!v) return RT_OTHER_ERROR;
  rt_say("%s\n", s->program->types[v->type].name);
  return RT_OK;
}

// ---- commands: what the program has

RT_FN int rt_command_types(struct rt_server *s) {
  for (int i = 0; i < s->program->type_count; i++)
    rt_say("%s\n", s->program->types[i].name);
  return RT_OK;
}

RT_FN int rt_command_entry_points(struct rt_server *s) {
  for (int i = 0; i < s->program->entry_count; i++)
    rt_say("%s\n", s->program->entries[i].name);
  return RT_OK;
}

RT_FN int rt_command_inputs(struct rt_server *s) {
  const struct rt_entry_point *entry = rt_server_entry(s);
  for (int i = 0; entry && i < entry->input_count; i++)
    rt_say("%s%s\n", entry->inputs[i].unique ? "*" : "",
           s->program->types[entry->inputs[i].type].name);
  return entry ? RT_OK : RT_OTHER_ERROR;
}

RT_FN int rt_command_output(struct rt_server *s) {
  const struct rt_entry_point *entry = rt_server_entry(s);
  if (!entry) return RT_OTHER_ERROR;
  rt_say("%s%s\n", entry->output_unique ? "*" : "",
         s->program->types[entry->output_type].name);
  return RT_OK;
}

RT_FN int rt_command_attributes(struct rt_server *s) {
  const struct rt_entry_point *entry = rt_server_entry(s);
  if (!entry) return RT_OTHER_ERROR;
  for (int i = 0; entry->attributes && entry->attributes[i]; i++)
    rt_say("%s\n", entry->attributes[i]);
  return RT_OK;
}

RT_FN int rt_command_tuning_params(struct rt_server *s) {
  const struct rt_entry_point *entry = rt_server_entry(s);
  if (!entry) return RT_OTHER_ERROR;
  for (int i = 0; i < entry->tuning_count; i++) {
    const struct rt_tuning_param *p = &s->program->tuning[entry->tuning[i]];
    rt_say("%s %s\n", p->name, p->kind);
  }
#ifdef RT_WORKERS
  int workers = s->ctx->config->workers->size;
  for (int i = 0; i < workers && workers > 1; i++)
    rt_say("weight_%d weight\n", i);
#endif
  return RT_OK;
}

RT_FN int rt_command_kind(struct rt_server *s) {
  int type = rt_type_named(s, s->words[1]);
  if (type < 0) return RT_OTHER_ERROR;
  const struct rt_type *t = &s->program->types[type];
  rt_say("%s\n", t->kind == RT_SCALAR  ? "primitive"
                 : t->kind == RT_ARRAY ? "array"
                 : t->fields           ? "record"
                 : t->constructors     ? "sum"
                                       : "opaque");
  return RT_OK;
}

// ---- commands: arrays and records

// The type, which must be of a kind; NULL and an error otherwise.
RT_FN const struct rt_type *rt_type_of_kind(struct rt_server *s, const char *name,
                                            enum rt_type_kind kind) {
  int type = rt_type_named(s, name);
  if (type < 0) return NULL;
  const struct rt_type *t = &s->program->types[type];
  if (t->kind == kind && (kind != RT_OPAQUE || t->fields)) return t;
  rt_fail_command(s, kind == RT_ARRAY ? "not an array type" : "not a record type", name);
  return NULL;
}

// An array type, of scalars or of opaque values.
RT_FN const struct rt_type *rt_array_type(struct rt_server *s, const char *name) {
  int type = rt_type_named(s, name);
  if (type < 0 || s->program->types[type].element < 0)
    return type < 0 ? NULL : rt_type_of_kind(s, name, RT_ARRAY);
  return &s->program->types[type];
}

RT_FN int rt_command_rank(struct rt_server *s) {
  const struct rt_type *t = rt_array_type(s, s->words[1]);
  if (t) rt_say("%d\n", t->rank);
  return t ? RT_OK : RT_OTHER_ERROR;
}

RT_FN int rt_command_elemtype(struct rt_server *s) {
  const struct rt_type *t = rt_array_type(s, s->words[1]);
  if (t)
    rt_say("%s\n",
           t->element < 0 ? rt_elems[t->elem].name : s->program->types[t->element].name);
  return t ? RT_OK : RT_OTHER_ERROR;
}

RT_FN int rt_command_fields(struct rt_server *s) {
  int type = rt_type_named(s, s->words[1]);
  const struct rt_type *t = type < 0 ? NULL : &s->program->types[type];
  if (t && !t->columns) t = rt_type_of_kind(s, s->words[1], RT_OPAQUE);
  if (!t) return RT_OTHER_ERROR;
  const struct rt_field *fields = t->columns ? t->columns : t->fields;
  int count = t->columns ? t->column_count : t->field_count;
  for (int i = 0; i < count; i++)
    rt_say("%s %s\n", fields[i].name, s->program->types[fields[i].type].name);
  return RT_OK;
}

// The array in a variable; NULL and an error if it holds something else.
RT_FN struct rt_array *rt_variable_array(struct rt_server *s, const char *name) {
  const struct rt_variable *v = rt_variable_named(s, name);
  if (!v) return NULL;
  if (s->program->types[v->type].kind == RT_ARRAY) return v->value.u.array;
  rt_fail_command(s, "not an array", name);
  return NULL;
}

// The array of opaque values in a variable, or NULL.
RT_FN struct rt_opaque *rt_variable_opaques(struct rt_server *s, const char *name,
                                            const struct rt_type **type) {
  const struct rt_variable *v = rt_variable_named(s, name);
  if (!v || s->program->types[v->type].element < 0) return NULL;
  *type = &s->program->types[v->type];
  return v->value.u.opaque;
}

RT_FN int rt_command_shape(struct rt_server *s) {
  const struct rt_type *t = NULL;
  const struct rt_opaque *opaques = rt_variable_opaques(s, s->words[1], &t);
  if (opaques) {
    for (int i = 0; i < t->rank; i++)
      rt_say("%" PRId64 "\n", rt_opaque_array_shape(opaques)[i]);
    return RT_OK;
  }
  const struct rt_array *a = rt_variable_array(s, s->words[1]);
  for (int i = 0; a && i < a->rank; i++)
    rt_say("%" PRId64 "\n", a->shape[i]);
  return a ? RT_OK : RT_OTHER_ERROR;
}

// Reads `count` integers from word number `first` on.
RT_FN int rt_integer_words(struct rt_server *s, int first, int count, int64_t *out) {
  for (int i = 0; i < count; i++) {
    char *rest = NULL;
    errno = 0;
    out[i] = strtoll(s->words[first + i], &rest, 10);
    if (*rest || rest == s->words[first + i] || errno || out[i] < 0)
      return rt_fail_command(s, "expected an index or size", s->words[first + i]);
  }
  return RT_OK;
}

// The scalar type of an array's elements; the program's table has it, or nothing can hold one.
RT_FN int rt_scalar_type(struct rt_server *s, enum rt_elem elem) {
  for (int i = 0; i < s->program->type_count; i++)
    if (s->program->types[i].kind == RT_SCALAR && s->program->types[i].elem == elem)
      return i;
  rt_fail_command(s, "the program has no type", rt_elems[elem].name);
  return -1;
}

// index TO OPAQUES i...
RT_FN int rt_index_opaques(struct rt_server *s, const struct rt_opaque *opaques,
                           const struct rt_type *t) {
  int64_t indices[RT_MAX_RANK];
  struct rt_value value;
  if (rt_check_new(s, s->words[1])) return RT_OTHER_ERROR;
  if (s->word_count != 3 + t->rank)
    return rt_error(s->ctx, RT_OTHER_ERROR, "expected %d indices", t->rank);
  int error = rt_integer_words(s, 3, t->rank, indices);
  if (!error) error = rt_opaque_array_index(s->ctx, &value.u.opaque, opaques, indices);
  if (!error) rt_add_variable(s, s->words[1], t->element, value);
  return error;
}

// index TO ARRAY i...
RT_FN int rt_command_index(struct rt_server *s) {
  int64_t indices[RT_MAX_RANK];
  const struct rt_type *t = NULL;
  const struct rt_opaque *opaques = rt_variable_opaques(s, s->words[2], &t);
  if (opaques) return rt_index_opaques(s, opaques, t);
  struct rt_value value;
  memset(&value, 0, sizeof value);
  const struct rt_array *a = rt_variable_array(s, s->words[2]);
  if (!a || rt_check_new(s, s->words[1])) return RT_OTHER_ERROR;
  int type = rt_scalar_type(s, a->elem);
  if (type < 0) return RT_OTHER_ERROR;
  if (s->word_count != 3 + a->rank)
    return rt_error(s->ctx, RT_OTHER_ERROR, "expected %d indices", a->rank);
  int error = rt_integer_words(s, 3, a->rank, indices);
  if (!error) error = rt_array_index(s->ctx, a, indices, &value.u);
  if (!error) rt_add_variable(s, s->words[1], type, value);
  return error;
}

// The scalar in a variable, which must be of the type.
RT_FN const struct rt_value *rt_variable_scalar(struct rt_server *s, const char *name,
                                                enum rt_elem elem) {
  const struct rt_variable *v = rt_variable_named(s, name);
  if (!v) return NULL;
  const struct rt_type *t = &s->program->types[v->type];
  if (t->kind == RT_SCALAR && t->elem == elem) return &v->value;
  rt_error(s->ctx, RT_OTHER_ERROR, "%s: expected %s, found %s", name, rt_elems[elem].name,
           t->name);
  return NULL;
}

// The opaque value of this type in a variable, or NULL and an error.
RT_FN struct rt_opaque *rt_variable_of_type(struct rt_server *s, const char *name,
                                            int type) {
  const struct rt_variable *v = rt_variable_named(s, name);
  if (!v) return NULL;
  if (v->type == type) return v->value.u.opaque;
  rt_error(s->ctx, RT_OTHER_ERROR, "%s: expected %s, found %s", name,
           s->program->types[type].name, s->program->types[v->type].name);
  return NULL;
}

// set OPAQUES OPAQUE i...
RT_FN int rt_set_opaque(struct rt_server *s, struct rt_opaque *opaques,
                        const struct rt_type *t) {
  int64_t indices[RT_MAX_RANK];
  const struct rt_opaque *value = rt_variable_of_type(s, s->words[2], t->element);
  if (!value) return RT_OTHER_ERROR;
  if (s->word_count != 3 + t->rank)
    return rt_error(s->ctx, RT_OTHER_ERROR, "expected %d indices", t->rank);
  int error = rt_integer_words(s, 3, t->rank, indices);
  return error ? error : rt_opaque_array_set(s->ctx, opaques, value, indices);
}

// set ARRAY SCALAR i...
RT_FN int rt_command_set(struct rt_server *s) {
  int64_t indices[RT_MAX_RANK];
  const struct rt_type *t = NULL;
  struct rt_opaque *opaques = rt_variable_opaques(s, s->words[1], &t);
  if (opaques) return rt_set_opaque(s, opaques, t);
  struct rt_variable *v = rt_variable_named(s, s->words[1]);
  if (!v || !rt_variable_array(s, s->words[1])) return RT_OTHER_ERROR;
  struct rt_array **slot = &v->value.u.array;
  const struct rt_value *value = rt_variable_scalar(s, s->words[2], (*slot)->elem);
  if (!value) return RT_OTHER_ERROR;
  if (s->word_count != 3 + (*slot)->rank)
    return rt_error(s->ctx, RT_OTHER_ERROR, "expected %d indices", (*slot)->rank);
  int error = rt_integer_words(s, 3, (*slot)->rank, indices);
  if (!error) error = rt_own_array(s->ctx, slot);
  return error ? error : rt_array_set(s->ctx, *slot, indices, &value->u);
}

// The sizes of an array of this type, of which as many values follow.
RT_FN int rt_new_array_shape(struct rt_server *s, const struct rt_type *t,
                             int64_t *shape) {
  if (s->word_count < 3 + t->rank)
    return rt_error(s->ctx, RT_OTHER_ERROR, "expected %d sizes", t->rank);
  int error = rt_integer_words(s, 3, t->rank, shape), found = s->word_count - 3 - t->rank;
  if (error || rt_shape_count(t->rank, shape) == found) return error;
  return rt_error(s->ctx, RT_OTHER_ERROR, "expected %" PRId64 " values, found %d",
                  rt_shape_count(t->rank, shape), found);
}

RT_FN int rt_new_opaques(struct rt_server *s, const struct rt_type *t,
                         const int64_t *shape, struct rt_value *out) {
  int first = 3 + t->rank, count = s->word_count - first, error = RT_OK;
  struct rt_opaque **elements =
      (struct rt_opaque **)rt_host_alloc((size_t)count * sizeof *elements);
  for (int i = 0; i < count && !error; i++) {
    elements[i] = rt_variable_of_type(s, s->words[first + i], t->element);
    if (!elements[i]) error = RT_OTHER_ERROR;
  }
  int type = (int)(t - s->program->types);
  if (!error) error = rt_opaque_array_new(s->ctx, &out->u.opaque, type, elements, shape);
  free(elements);
  return error;
}

RT_FN int rt_new_scalars(struct rt_server *s, const struct rt_type *t,
                         const int64_t *shape, struct rt_value *out) {
  int error = RT_OK;
  struct rt_host_value v;
  memset(&v, 0, sizeof v);
  v.elem = t->elem;
  v.rank = t->rank;
  memcpy(v.shape, shape, sizeof shape[0] * (size_t)t->rank);
  for (int i = 3 + t->rank; i < s->word_count && !error; i++) {
    const struct rt_value *value = rt_variable_scalar(s, s->words[i], t->elem);
    if (value)
      rt_append_element(&v, &value->u);
    else
      error = RT_OTHER_ERROR;
  }
  if (!error) error = rt_upload(s->ctx, &v, out);
  rt_host_value_free(&v);
  return error;
}

// new_array TO TYPE size... value...
RT_FN int rt_command_new_array(struct rt_server *s) {
  const struct rt_type *t = rt_array_type(s, s->words[2]);
  int64_t shape[RT_MAX_RANK];
  struct rt_value out;
  if (!t || rt_check_new(s, s->words[1])) return RT_OTHER_ERROR;
  int error = rt_new_array_shape(s, t, shape);
  if (!error)
    error = t->element < 0 ? rt_new_scalars(s, t, shape, &out)
                           : rt_new_opaques(s, t, shape, &out);
  if (!error) rt_add_variable(s, s->words[1], (int)(t - s->program->types), out);
  return error;
}

// The values of variables, from word number `first` on, for fields.
RT_FN int rt_field_words(struct rt_server *s, int first, const struct rt_field *fields,
                         int count, struct rt_value *out) {
  if (s->word_count != first + count)
    return rt_error(s->ctx, RT_OTHER_ERROR, "expected %d fields", count);
  for (int i = 0; i < count; i++) {
    const struct rt_variable *v = rt_variable_named(s, s->words[first + i]);
    if (!v) return RT_OTHER_ERROR;
    if (v->type != fields[i].type)
      return rt_fail_command(s, "a field of another type", v->name);
    out[i] = v->value;
  }
  return RT_OK;
}

// new TO TYPE field...
RT_FN int rt_command_new(struct rt_server *s) {
  const struct rt_type *t = rt_type_of_kind(s, s->words[2], RT_OPAQUE);
  if (!t || rt_check_new(s, s->words[1])) return RT_OTHER_ERROR;
  struct rt_value *fields = (struct rt_value *)rt_host_alloc((size_t)t->field_count *
                                                             sizeof *fields),
                  out;
  int error = rt_field_words(s, 3, t->fields, t->field_count, fields);
  int type = (int)(t - s->program->types);
  if (!error) error = rt_opaque_of_fields(s->ctx, &out.u.opaque, type, fields);
  if (!error) rt_add_variable(s, s->words[1], type, out);
  free(fields);
  return error;
}

// Are these words names of new variables, each once?
RT_FN int rt_new_words(struct rt_server *s, int first) {
  for (int i = first; i < s->word_count; i++) {
    int error = rt_check_new(s, s->words[i]);
    for (int k = first; k < i && !error; k++)
      if (strcmp(s->words[k], s->words[i]) == 0)
        error = rt_fail_command(s, "variable already exists", s->words[i]);
    if (error) return error;
  }
  return RT_OK;
}

// zip TO TYPE array...
RT_FN int rt_command_zip(struct rt_server *s) {
  int type = rt_type_named(s, s->words[2]);
  if (type < 0 || rt_check_new(s, s->words[1])) return RT_OTHER_ERROR;
  const struct rt_type *t = &s->program->types[type];
  if (!t->columns) return rt_fail_command(s, "not a type of arrays of records", t->name);
  struct rt_value *columns = (struct rt_value *)rt_host_alloc((size_t)t->column_count *
                                                              sizeof *columns),
                  out;
  int error = rt_field_words(s, 3, t->columns, t->column_count, columns);
  if (!error) error = rt_columns_zip(s->ctx, &out.u.opaque, type, columns);
  if (!error) rt_add_variable(s, s->words[1], type, out);
  free(columns);
  return error;
}

// unzip RECORDS to...
RT_FN int rt_command_unzip(struct rt_server *s) {
  const struct rt_type *t = NULL;
  const struct rt_opaque *records = rt_variable_opaques(s, s->words[1], &t);
  if (!records || !t->columns)
    return rt_fail_command(s, "not an array of records", s->words[1]);
  if (rt_new_words(s, 2)) return RT_OTHER_ERROR;
  if (s->word_count != 2 + t->column_count)
    return rt_error(s->ctx, RT_OTHER_ERROR, "expected %d variables", t->column_count);
  int error = RT_OK;
  for (int i = 0; i < t->column_count && !error; i++) {
    struct rt_value out;
    error = rt_columns_project(s->ctx, &out, records, i);
    if (!error) rt_add_variable(s, s->words[2 + i], t->columns[i].type, out);
  }
  return error;
}

// project TO FROM FIELD
RT_FN int rt_command_project(struct rt_server *s) {
  const struct rt_variable *v = rt_variable_named(s, s->words[2]);
  if (!v || rt_check_new(s, s->words[1])) return RT_OTHER_ERROR;
  const struct rt_type *t = &s->program->types[v->type];
  if (t->kind != RT_OPAQUE || !t->fields)
    return rt_fail_command(s, "not a record", v->name);
  for (int f = 0; f < t->field_count; f++) {
    if (strcmp(t->fields[f].name, s->words[3]) != 0) continue;
    struct rt_value out;
    int error = rt_opaque_project(s->ctx, &out, v->value.u.opaque, f);
    if (!error) rt_add_variable(s, s->words[1], t->fields[f].type, out);
    return error;
  }
  return rt_fail_command(s, "no such field", s->words[3]);
}

// ---- commands: sum types

RT_FN const struct rt_type *rt_sum_type(struct rt_server *s, int type) {
  if (type < 0) return NULL;
  if (s->program->types[type].constructors) return &s->program->types[type];
  rt_fail_command(s, "not a sum type", s->program->types[type].name);
  return NULL;
}

RT_FN int rt_command_variants(struct rt_server *s) {
  const struct rt_type *t = rt_sum_type(s, rt_type_named(s, s->words[1]));
  for (int i = 0; t && i < t->constructor_count; i++) {
    rt_say("%s\n", t->constructors[i].name);
    for (int f = 0; f < t->constructors[i].field_count; f++)
      rt_say("- %s\n", s->program->types[t->constructors[i].fields[f].type].name);
  }
  return t ? RT_OK : RT_OTHER_ERROR;
}

// The value of a sum type in a variable, and its constructor; NULL and an error if it is none.
RT_FN const struct rt_constructor *rt_variable_sum(struct rt_server *s, const char *name,
                                                   const struct rt_opaque **value) {
  const struct rt_variable *v = rt_variable_named(s, name);
  const struct rt_type *t = v ? rt_sum_type(s, v->type) : NULL;
  if (!t) return NULL;
  *value = v->value.u.opaque;
  int variant = rt_opaque_variant(s->ctx, *value);
  return variant < 0 ? NULL : &t->constructors[variant];
}

RT_FN int rt_command_variant(struct rt_server *s) {
  const struct rt_opaque *value;
  const struct rt_constructor *c = rt_variable_sum(s, s->words[1], &value);
  if (c) rt_say("%s\n", c->name);
  return c ? RT_OK : RT_OTHER_ERROR;
}

// construct TO TYPE VARIANT value...
RT_FN int rt_command_construct(struct rt_server *s) {
  const struct rt_type *t = rt_sum_type(s, rt_type_named(s, s->words[2]));
  if (!t || rt_check_new(s, s->words[1])) return RT_OTHER_ERROR;
  int type = (int)(t - s->program->types), i = 0;
  while (i < t->constructor_count && strcmp(t->constructors[i].name, s->words[3]) != 0)
    i++;
  if (i == t->constructor_count)
    return rt_fail_command(s, "no such variant", s->words[3]);
  const struct rt_constructor *c = &t->constructors[i];
  struct rt_value *fields = (struct rt_value *)rt_host_alloc((size_t)c->field_count *
                                                             sizeof *fields),
                  out;
  int error = rt_field_words(s, 4, c->fields, c->field_count, fields);
  if (!error) error = rt_opaque_construct(s->ctx, &out.u.opaque, type, i, fields);
  if (!error) rt_add_variable(s, s->words[1], type, out);
  free(fields);
  return error;
}

// destruct FROM to...
RT_FN int rt_command_destruct(struct rt_server *s) {
  const struct rt_opaque *value;
  const struct rt_constructor *c = rt_variable_sum(s, s->words[1], &value);
  if (!c || rt_new_words(s, 2)) return RT_OTHER_ERROR;
  if (s->word_count != 2 + c->field_count)
    return rt_error(s->ctx, RT_OTHER_ERROR, "#%s holds %d values", c->name,
                    c->field_count);
  struct rt_value *parts =
      (struct rt_value *)rt_host_alloc((size_t)c->field_count * sizeof *parts);
  int error = rt_opaque_destruct(s->ctx, parts, value, value->leaves[0].u.u8);
  for (int f = 0; f < c->field_count && !error; f++)
    rt_add_variable(s, s->words[2 + f], c->fields[f].type, parts[f]);
  free(parts);
  return error;
}

// ---- commands: the context

RT_FN int rt_command_clear(struct rt_server *s) {
  return RT_NAME(context_clear_caches)(s->ctx);
}

RT_FN int rt_command_pause(struct rt_server *s) {
  RT_NAME(context_pause_profiling)(s->ctx);
  return RT_OK;
}

RT_FN int rt_command_unpause(struct rt_server *s) {
  RT_NAME(context_unpause_profiling)(s->ctx);
  return RT_OK;
}

RT_FN int rt_command_report(struct rt_server *s) {
  char *report = rt_report(s->ctx);
  fputs(report, rt_out);
  free(report);
  return RT_OK;
}

// Ours: the word `default` brings back what the parameter was at the start.
RT_FN int rt_command_set_param(struct rt_server *s) {
  int64_t value = 0;
  if (strcmp(s->words[2], "default") == 0)
    return rt_param_reset(s->ctx, s->words[1])
               ? RT_OK
               : rt_fail_command(s, "unknown tuning parameter", s->words[1]);
  int error = rt_integer_words(s, 2, 1, &value);
  if (error) return error;
  if (RT_NAME(context_set_tuning_param)(s->ctx, s->words[1], (size_t)value) == 0)
    return RT_OK;
  if (!rt_is_setting(s->words[1]))
    return rt_fail_command(s, "unknown tuning parameter", s->words[1]);
  if (!rt_setting_wants(s->words[1], value))
    return rt_error(
        s->ctx, RT_OTHER_ERROR,
        "%s is a default, which the program takes at its start only, by --param",
        s->words[1]);
  return rt_error(s->ctx, RT_OTHER_ERROR, "%s wants %s, found %" PRId64, s->words[1],
                  rt_setting_wants(s->words[1], value), value);
}

// Ours: what the parameter is set to.
RT_FN int rt_command_param_value(struct rt_server *s) {
  int param = rt_param_named(s->words[1]);
#ifdef RT_WORKERS
  const struct rt_workers *w = s->ctx->config->workers;
  int rank = rt_weight_rank(s->words[1]);
  if (rank >= 0 && rank < w->size) {
    rt_say("%" PRId64 "\n", w->weights[rank]);
    return RT_OK;
  }
#endif
  if (param < 0) return rt_fail_command(s, "unknown tuning parameter", s->words[1]);
  rt_say("%" PRId64 "\n", rt_param(s->ctx, param));
  return RT_OK;
}

#ifdef RT_WORKERS
// Ours: what each worker took of the last call.
RT_FN int rt_command_worker_times(struct rt_server *s) {
  struct rt_text t = { NULL, 0, 0 };
  int error = rt_workers_busy(s->ctx, &t);
  if (!error) rt_say("%s", t.data);
  rt_text_free(&t);
  return error;
}
#endif

// Ours: the value, the most that it may be (0: no limit of its own), and what it follows.
RT_FN int rt_command_param_about(struct rt_server *s) {
  int param = rt_param_named(s->words[1]);
#ifdef RT_WORKERS
  const struct rt_workers *w = s->ctx->config->workers;
  int rank = rt_weight_rank(s->words[1]);
  if (rank >= 0 && rank < w->size) {
    rt_say("%" PRId64 " %d\n", w->weights[rank], RT_MOST_WEIGHT);
    return RT_OK;
  }
#endif
  if (param < 0) return rt_fail_command(s, "unknown tuning parameter", s->words[1]);
  const struct rt_tuning_param *p = &s->program->tuning[param];
  rt_say("%" PRId64 " %" PRId64 "%s%s\n", rt_param(s->ctx, param), p->most,
         p->follows < 0 ? "" : " ",
         p->follows < 0 ? "" : s->program->tuning[p->follows].name);
  return RT_OK;
}

RT_FN int rt_command_param_class(struct rt_server *s) {
  int param = rt_param_named(s->words[1]);
#ifdef RT_WORKERS
  if (rt_weight_rank(s->words[1]) >= 0) {
    rt_say("weight\n");
    return RT_OK;
  }
#endif
  if (param < 0) return rt_fail_command(s, "unknown tuning parameter", s->words[1]);
  rt_say("%s\n", s->program->tuning[param].kind);
  return RT_OK;
}

// Ours: set_path main.top_0=T,...; without a word nothing is forced any more.
RT_FN int rt_command_set_path(struct rt_server *s) {
  const char *path = s->word_count > 1 ? s->words[1] : "";
  if (RT_NAME(context_set_path)(s->ctx, path) == 0) return RT_OK;
  return rt_fail_command(s, "expected GUARD=T or GUARD=F of this program", path);
}

// Calls run the code for GPUs, or for CPUs, from now on: with its own parameters, so that what was
// built for it stays right.
RT_FN void rt_switch_code(struct rt_context *ctx, bool gpu) {
  struct rt_other_code now = { ctx->params, ctx->trees, ctx->forced,
                               ctx->default_group_size };
  if (ctx->gpu_code == gpu) return;
  ctx->gpu_code = gpu;
  if (ctx->other.params) {
    ctx->params = ctx->other.params;
    ctx->trees = ctx->other.trees;
    ctx->forced = ctx->other.forced;
    ctx->default_group_size = ctx->other.default_group_size;
  } else {
    rt_tuning_open(ctx);
#ifdef RT_WORKERS
    if (ctx->config->workers->size > 1) rt_workers_settle(ctx);
#endif
  }
  ctx->other = now;
}

// Ours: code cpu, code gpu, code cpu quick; for tests, so that one process runs both.  Code for
// GPUs runs on CPUs in tests alone, where to optimise it takes longer than to run it; it does not
// go near, as where a program begins with it.  The third is for versions that only tests run: what
// is built from then on is not optimised either.
RT_FN int rt_command_code(struct rt_server *s) {
  bool gpu = strcmp(s->words[1], "gpu") == 0, swaps = false;
  if (!gpu && strcmp(s->words[1], "cpu") != 0)
    return rt_fail_command(s, "expected cpu or gpu, found", s->words[1]);
#ifdef RT_WORKERS
  swaps = s->ctx->config->workers->other_code;  // rank 0 gets what is said
#endif
  gpu ^= swaps;
  if (!gpu && s->ctx->cuda)
    return rt_error(s->ctx, RT_OTHER_ERROR, "code for CPUs does not run on CUDA devices");
  rt_switch_code(s->ctx, gpu);
  bool quick = gpu || swaps || s->word_count > 2;
  s->ctx->quick_builds = quick && !s->ctx->device.is_gpu;
  s->ctx->goes_near = rt_may_go_near(s->ctx);
  return RT_OK;
}

// ---- commands: replay (replay.h), for tuners

RT_FN int rt_command_replay(struct rt_server *s) {
#ifdef RT_WORKERS
  // What goes on is decided by the clock there, and not alike.
  if (s->ctx->config->workers->size > 1)
    return rt_error(s->ctx, RT_OTHER_ERROR,
                    "not supported yet: replay by several workers");
#endif
  struct rt_replayer *r = rt_replayer_get(s->ctx);
  int64_t data = 0;
  int error = rt_integer_words(s, 1, s->word_count - 1, &data);
  r->on = !error && s->word_count > 1;
  r->data = (int)data;
  return error;
}

RT_FN int rt_guard_named(struct rt_server *s, const char *name) {
  for (int g = 0; g < s->program->guard_count; g++)
    if (strcmp(s->program->guards[g].name, name) == 0) return g;
  rt_fail_command(s, "unknown guard", name);
  return -1;
}

// replay_plan GUARD PATH...: the alternatives; a path "-" is one that must not run.
RT_FN int rt_command_replay_plan(struct rt_server *s) {
  int guard = rt_guard_named(s, s->words[1]), count = s->word_count - 2;
  if (guard < 0) return RT_OTHER_ERROR;
  struct rt_replay_plan *plan = &rt_replayer_get(s->ctx)->plans[guard];
  rt_replay_plan_clear(plan);
  plan->paths = (signed char **)rt_host_alloc((size_t)count * sizeof *plan->paths);
  for (; plan->count < count; plan->count++) {
    const char *path = s->words[2 + plan->count];
    if (strcmp(path, "-") == 0) continue;
    signed char *forced = (signed char *)rt_host_alloc((size_t)s->program->guard_count);
    plan->paths[plan->count] = forced;
    if (rt_parse_path(s->program, path, forced)) continue;
    plan->count++;
    return rt_fail_command(s, "expected GUARD=T or GUARD=F of this program", path);
  }
  return RT_OK;
}

// replay_sample GUARD PAR LOCAL ALTERNATIVE ROUND OWN TOTAL: what an earlier process measured.
RT_FN int rt_command_replay_sample(struct rt_server *s) {
  struct rt_replayer *r = rt_replayer_get(s->ctx);
  int64_t n[4];
  int guard = rt_guard_named(s, s->words[1]);
  if (guard < 0 || rt_integer_words(s, 2, 4, n) != RT_OK) return RT_OTHER_ERROR;
  int group = rt_replay_group_of(r, guard, n[0], n[1]);
  struct rt_replay_group *g = &r->groups[group];
  if (n[2] >= g->count || n[3] >= RT_MOST_ROUNDS)
    return rt_fail_command(s, "no such alternative or round of", s->words[1]);
  g->list[n[2]].own[n[3]] = strtod(s->words[6], NULL);
  g->list[n[2]].total[n[3]] = strtod(s->words[7], NULL);
  if (g->rounds <= n[3]) g->rounds = (int)n[3] + 1;
  return RT_OK;
}

// replay_limits ROUNDS MILLISECONDS CALL: of a race at one event; and when a call ends all its
// races.
RT_FN int rt_command_replay_limits(struct rt_server *s) {
  struct rt_replayer *r = rt_replayer_get(s->ctx);
  int64_t n[3];
  int error = rt_integer_words(s, 1, 3, n);
  if (error) return error;
  r->most_call_us = 1e3 * (double)n[2];
  r->most_rounds = n[0] < RT_MOST_ROUNDS ? (int)n[0] : RT_MOST_ROUNDS;
  r->most_us = 1e3 * (double)n[1];
  return RT_OK;
}

// Ours: the version tree as JSON.
RT_FN int rt_command_tree(struct rt_server *s) {
  for (int i = 0; s->program->tree_json && s->program->tree_json[i]; i++)
    fputs(s->program->tree_json[i], rt_out);
  rt_say("\n");
  return RT_OK;
}

// Reads the racers from word number `first` on; "-": by the settings as they are.
RT_FN int rt_path_words(struct rt_server *s, int first, struct rt_racer *racers,
                        int count) {
  for (int i = 0; i < count; i++) {
    const char *path = s->words[first + i];
    if (!rt_racer_read(s->program, path, &racers[i]))
      return rt_fail_command(s, "expected GUARD=T, GUARD=F, or settings of this program",
                             path);
  }
  return RT_OK;
}

// Ours: race ENTRY ROUNDS INPUT... PATH... (race.h).
RT_FN int rt_command_race(struct rt_server *s) {
  enum { RT_MAX_ROUNDS = 1000000 };
  const struct rt_entry_point *entry = rt_server_entry(s);
  int64_t rounds = 0;
  if (!entry || rt_integer_words(s, 2, 1, &rounds)) return RT_OTHER_ERROR;
  int first = 3 + entry->input_count, count = s->word_count - first;
  if (count < 1 || rounds < 1 || rounds > RT_MAX_ROUNDS)
    return rt_error(s->ctx, RT_OTHER_ERROR,
                    "race takes an entry point, rounds, %d inputs, and paths",
                    entry->input_count);
  struct rt_racer *racers =
      (struct rt_racer *)rt_host_alloc((size_t)count * sizeof *racers);
  struct rt_value *in =
      (struct rt_value *)rt_host_alloc((size_t)entry->input_count * sizeof *in);
  int error = rt_find_inputs(s, entry, in) ? RT_OK : RT_OTHER_ERROR;
  if (!error) error = rt_path_words(s, first, racers, count);
  if (!error) error = rt_race(s->ctx, entry, in, racers, count, (int)rounds);
  rt_racers_free(racers, count);
  free(in);
  return error;
}

// Ours: kernel_times ENTRY CALLS INPUT... (race.h).
RT_FN int rt_command_kernel_times(struct rt_server *s) {
  const struct rt_entry_point *entry = rt_server_entry(s);
  int64_t calls = 0;
  if (!entry || rt_integer_words(s, 2, 1, &calls)) return RT_OTHER_ERROR;
  if (s->word_count != 3 + entry->input_count || calls < 1 || calls > INT_MAX)
    return rt_error(s->ctx, RT_OTHER_ERROR,
                    "kernel_times takes an entry point, calls, and %d inputs",
                    entry->input_count);
  struct rt_value *in =
      (struct rt_value *)rt_host_alloc((size_t)entry->input_count * sizeof *in);
  int error = rt_find_inputs(s, entry, in) ? RT_OK : RT_OTHER_ERROR;
  if (!error) error = rt_weigh(s->ctx, entry, in, (int)calls);
  free(in);
  return error;
}

// ---- the loop

struct rt_command {
  const char *name;
  int least, most;  // words after the name; most -1: any number
  int (*run)(struct rt_server *s);
};

static const struct rt_command rt_commands[] = {
  { "types", 0, 0, rt_command_types },
  { "entry_points", 0, 0, rt_command_entry_points },
  { "call", 2, -1, rt_command_call },
  { "restore", 1, -1, rt_command_restore },
  { "store", 1, -1, rt_command_store },
  { "free", 0, -1, rt_command_free },
  { "rename", 2, 2, rt_command_rename },
  { "inputs", 1, 1, rt_command_inputs },
  { "output", 1, 1, rt_command_output },
  { "outputs", 1, 1, rt_command_output },
  { "clear", 0, 0, rt_command_clear },
  { "kind", 1, 1, rt_command_kind },
  { "type", 1, 1, rt_command_type },
  { "pause_profiling", 0, 0, rt_command_pause },
  { "unpause_profiling", 0, 0, rt_command_unpause },
  { "report", 0, 0, rt_command_report },
  { "set_tuning_param", 2, 2, rt_command_set_param },
  { "tuning_params", 1, 1, rt_command_tuning_params },
  { "tuning_param_class", 1, 1, rt_command_param_class },
  { "tuning_param_value", 1, 1, rt_command_param_value },
  { "tuning_param_about", 1, 1, rt_command_param_about },
  { "attributes", 1, 1, rt_command_attributes },
  { "rank", 1, 1, rt_command_rank },
  { "elemtype", 1, 1, rt_command_elemtype },
  { "new_array", 2, -1, rt_command_new_array },
  { "shape", 1, 1, rt_command_shape },
  { "index", 2, -1, rt_command_index },
  { "set", 2, -1, rt_command_set },
  { "fields", 1, 1, rt_command_fields },
  { "new", 2, -1, rt_command_new },
  { "project", 3, 3, rt_command_project },
  { "zip", 2, -1, rt_command_zip },
  { "unzip", 1, -1, rt_command_unzip },
  { "variants", 1, 1, rt_command_variants },
  { "variant", 1, 1, rt_command_variant },
  { "construct", 3, -1, rt_command_construct },
  { "destruct", 1, -1, rt_command_destruct },
  { "set_path", 0, 1, rt_command_set_path },
  { "code", 1, 2, rt_command_code },
#ifdef RT_WORKERS
  { "worker_times", 0, 0, rt_command_worker_times },
#endif
  { "tree", 0, 0, rt_command_tree },
  { "race", 3, -1, rt_command_race },
  { "kernel_times", 2, -1, rt_command_kernel_times },
  { "replay", 0, 1, rt_command_replay },
  { "replay_plan", 1, -1, rt_command_replay_plan },
  { "replay_sample", 7, 7, rt_command_replay_sample },
  { "replay_limits", 3, 3, rt_command_replay_limits },
};

// Where an unquoted word ends.  One that begins with a bracket goes on to the bracket that closes
// it: names of types, like {x: f32, y: i64}, hold spaces, and clients do not quote them.
RT_FN char *rt_command_word_end(char *at) {
  bool brackets = *at && strchr("({[", *at);
  for (int depth = 0; *at; at++) {
    if (strchr("({[", *at)) depth++;
    if (strchr(")}]", *at)) depth--;
    bool inside = brackets && depth > 0;
    if (*at == '\n' || (!inside && strchr(" \t\r", *at))) break;
  }
  return at;
}

// Cuts the line into words, in place; false if there are too many.
RT_FN bool rt_split_words(struct rt_server *s, char *line) {
  s->word_count = 0;
  for (;;) {
    line += strspn(line, " \t\r\n");
    if (!*line) return true;
    if (s->word_count == RT_MAX_WORDS) return false;
    bool quoted = *line == '"';
    line += quoted;
    s->words[s->word_count++] = line;
    line = quoted ? line + strcspn(line, "\"\n") : rt_command_word_end(line);
    if (*line) *line++ = '\0';
  }
}

#ifdef RT_DIVIDES
// The variables that the command names are whole, but for calls, which say what they need.
RT_FN int rt_command_whole(struct rt_server *s) {
  int error = RT_OK;
  if (strcmp(s->words[0], "call") == 0 || strcmp(s->words[0], "free") == 0) return RT_OK;
  for (int i = 0; i < s->count && !error; i++) {
    const struct rt_variable *v = &s->variables[i];
    for (int k = 1; k < s->word_count && !error; k++)
      if (strcmp(v->name, s->words[k]) == 0)
        error = rt_value_together(s->ctx, v->type, &v->value, rt_array_whole);
  }
  return error;
}
#endif

RT_FN int rt_run_command(struct rt_server *s) {
#ifdef RT_DIVIDES
  int error = rt_command_whole(s);
  if (error) return error;
#endif
  for (size_t i = 0; i < sizeof rt_commands / sizeof *rt_commands; i++) {
    const struct rt_command *command = &rt_commands[i];
    int words = s->word_count - 1;
    if (strcmp(command->name, s->words[0]) != 0) continue;
    if (words < command->least || (command->most >= 0 && words > command->most))
      return rt_fail_command(s, "wrong number of words for", command->name);
    return command->run(s);
  }
  return rt_fail_command(s, "unknown command", s->words[0]);
}

// False if nobody can read the reply.
RT_FN bool rt_serve_line(struct rt_server *s, char *line) {
  bool fits = rt_split_words(s, line);
  if (fits && s->word_count == 0) return true;
#ifdef RT_WORKERS
  s->ctx->config->workers->failed = false;
#endif
  int error =
      fits ? rt_run_command(s) : rt_fail_command(s, "too many words", s->words[0]);
#ifdef RT_WORKERS
  error = rt_workers_agree(s->ctx, error);
#endif
  char *text = RT_NAME(context_get_error)(s->ctx);
  if (error) rt_say("%%%%%% FAILURE\n%s\n", text ? text : "failed");
  free(text);
  rt_say("%%%%%% OK\n");
  return fflush(rt_out) == 0 && !ferror(rt_out);
}

// Serves commands until the end of standard input.
RT_FN int rt_serve(struct rt_context *ctx) {
  struct rt_server *s = (struct rt_server *)rt_host_alloc(sizeof *s);
  s->ctx = ctx;
  s->program = ctx->program;
  rt_say("%%%%%% OK\n");
  char *line = NULL;
  size_t capacity = 0;
  bool heard = fflush(rt_out) == 0;
#ifdef RT_WORKERS
  while (rt_workers_line(ctx->config->workers, heard, &line, &capacity))
#else
  while (heard && getline(&line, &capacity, stdin) >= 0)
#endif
    heard = rt_serve_line(s, line);
  int error = heard ? RT_OK
                    : rt_error(ctx, RT_OTHER_ERROR, "cannot write the reply: %s",
                               strerror(errno));
  free(line);
  while (s->count > 0)
    rt_remove_variable(s, &s->variables[0]);
  free(s->variables);
  free(s);
  return error;
}
// End server.h

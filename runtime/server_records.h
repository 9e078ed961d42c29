// Begin server_records.h: the commands of servers for arrays, records and sum types (server.h).

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

// End server_records.h

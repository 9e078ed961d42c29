// Begin server_values.h: variables of servers, and the commands for values (server.h).

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

#ifdef RT_WORKERS
// Is it "ENTRY.layout_2"?
RT_FN bool rt_is_layout_of(const char *layout, const char *entry) {
  static const char mark[] = ".layout_";
  size_t length = strlen(entry);
  return strncmp(layout, entry, length) == 0 &&
         strncmp(layout + length, mark, sizeof mark - 1) == 0;
}

// Those of the layout; "": the program's.
RT_FN void rt_say_weights(const struct rt_server *s, const char *layout) {
  int workers = s->ctx->config->workers->size;
  for (int i = 0; i < workers && workers > 1; i++)
    rt_say("%s%sweight_%d weight\n", layout, *layout ? "." : "", i);
}
#endif

RT_FN int rt_command_tuning_params(struct rt_server *s) {
  const struct rt_entry_point *entry = rt_server_entry(s);
  if (!entry) return RT_OTHER_ERROR;
  for (int i = 0; i < entry->tuning_count; i++) {
    const struct rt_tuning_param *p = &s->program->tuning[entry->tuning[i]];
    rt_say("%s %s\n", p->name, p->kind);
  }
#ifdef RT_WORKERS
  rt_say_weights(s, "");
  for (int i = 0; i < s->program->layout_count; i++)
    if (rt_is_layout_of(s->program->layouts[i], entry->name))
      rt_say_weights(s, s->program->layouts[i]);
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

// End server_values.h

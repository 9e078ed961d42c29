// Begin script.h: host code that is a table of numbers (contract.h, "host code in tables").
//
// The code is walked from left to right, once for each time that it runs: what reads a part of it
// leaves `at` behind that part.  Blocks of statements stand behind their length.

// ---- numbers

RT_FN int64_t rt_script_i64(struct rt_script *s) {
  uint64_t low = (uint32_t)*s->at++, high = (uint32_t)*s->at++;
  return (int64_t)(high << 32 | low);
}

// What the type makes of the lowest bits.
RT_FN int64_t rt_script_fit(int elem, int64_t x) {
  switch (elem) {
  case RT_I8: return (int8_t)x;
  case RT_I16: return (int16_t)x;
  case RT_I32: return (int32_t)x;
  case RT_U8: return (uint8_t)x;
  case RT_U16:
  case RT_F16: return (uint16_t)x;
  case RT_U32: return (uint32_t)x;
  case RT_BOOL: return x != 0;
  default: return x;
  }
}

RT_FN int64_t rt_script_binary(int op, int64_t a, int64_t b) {
  switch (op) {
  case RT_OF_ADD: return flc_add_i64(a, b);
  case RT_OF_SUB: return flc_sub_i64(a, b);
  case RT_OF_MUL: return flc_mul_i64(a, b);
  case RT_OF_QUOT: return flc_quot_i64(a, b);
  case RT_OF_REM: return flc_rem_i64(a, b);
  case RT_OF_DIV: return flc_div_i64(a, b);
  case RT_OF_MOD: return flc_mod_i64(a, b);
  case RT_OF_MIN: return a < b ? a : b;
  case RT_OF_MAX: return a > b ? a : b;
  case RT_OF_SHL: return flc_shl_i64(a, b);
  case RT_OF_SHR: return flc_shr_i64(a, b);
  case RT_OF_AND: return a & b;
  case RT_OF_OR: return a | b;
  case RT_OF_XOR: return a ^ b;
  case RT_OF_EQ: return a == b;
  case RT_OF_NE: return a != b;
  case RT_OF_LT: return a < b;
  case RT_OF_LE: return a <= b;
  case RT_OF_SAT_ADD: return rt_sat_add(a, b);
  default: return rt_sat_mul(a, b);
  }
}

RT_FN int64_t rt_script_other(struct rt_script *s);

// Most are variables and constants: for these nothing is called.
static inline int64_t rt_script_number(struct rt_script *s) {
  const int32_t *at = s->at;
  if (at[0] > RT_OF_CONST) return rt_script_other(s);
  s->at = at + 2;
  return at[0] == RT_OF_VAR ? s->numbers[at[1]].u.i64 : at[1];
}

RT_FN int64_t rt_script_other(struct rt_script *s) {
  int op = *s->at++;
  switch (op) {
  case RT_OF_LONG: return rt_script_i64(s);
  case RT_OF_PARAM: return rt_param(s->ctx, *s->at++);
  case RT_OF_ATOMIC_BYTES: return rt_atomic_bytes(s->ctx);
  case RT_OF_NOT: return !rt_script_number(s);
  case RT_OF_CLZ: return flc_clz_i64(rt_script_number(s));
  case RT_OF_FIT: {
    int elem = *s->at++;
    return rt_script_fit(elem, rt_script_number(s));
  }
  case RT_OF_SELECT: {
    int64_t condition = rt_script_number(s), a = rt_script_number(s);
    int64_t b = rt_script_number(s);
    return condition ? a : b;
  }
  default: {
    int64_t a = rt_script_number(s);
    return rt_script_binary(op, a, rt_script_number(s));
  }
  }
}

// The variable's value as a value of its type.
RT_FN struct rt_value rt_script_value(int elem, struct rt_value number) {
  struct rt_value out = number;
  int64_t x = number.u.i64;
  switch (elem) {
  case RT_I8: out.u.i8 = (int8_t)x; break;
  case RT_U8: out.u.u8 = (uint8_t)x; break;
  case RT_I16: out.u.i16 = (int16_t)x; break;
  case RT_F16:
  case RT_U16: out.u.u16 = (uint16_t)x; break;
  case RT_I32: out.u.i32 = (int32_t)x; break;
  case RT_U32: out.u.u32 = (uint32_t)x; break;
  case RT_BOOL: out.u.boolean = x != 0; break;
  default: break;
  }
  return out;
}

// The other way round.
RT_FN struct rt_value rt_script_held(int elem, struct rt_value value) {
  struct rt_value out = value;
  switch (elem) {
  case RT_I8: out.u.i64 = value.u.i8; break;
  case RT_U8: out.u.i64 = value.u.u8; break;
  case RT_I16: out.u.i64 = value.u.i16; break;
  case RT_F16:
  case RT_U16: out.u.i64 = value.u.u16; break;
  case RT_I32: out.u.i64 = value.u.i32; break;
  case RT_U32: out.u.i64 = value.u.u32; break;
  case RT_BOOL: out.u.i64 = value.u.u8 != 0; break;
  default: break;
  }
  return out;
}

// ---- launches

RT_FN struct rt_arg rt_script_arg(struct rt_script *s) {
  int kind = *s->at++;
  if (kind == RT_ARG_BLOCK || kind == RT_ARG_USED) {
    struct rt_mem *mem = s->blocks[*s->at++];
    if (kind == RT_ARG_BLOCK) return rt_arg_mem(mem);
    int used = *s->at++;
    return rt_arg_used(mem, (used & 1) != 0, (used & 2) != 0);
  }
  if (kind == RT_I64) return rt_arg_i64(rt_script_number(s));
  struct rt_arg arg = rt_arg_mem(NULL);
  struct rt_value number;
  if (kind == RT_F32 || kind == RT_F64)
    number = s->numbers[*s->at++];
  else
    number.u.i64 = rt_script_number(s);
  arg.bytes = (size_t)rt_elems[kind].bytes;
  arg.scalar = rt_script_value(kind, number);
  return arg;
}

RT_FN int rt_script_launch(struct rt_script *s) {
  int kernel = *s->at++, args = *s->at++, scratch = *s->at++, locals = *s->at++;
  struct rt_launch launch;
  launch.items = rt_script_number(s);
  launch.groups = rt_script_number(s);
  launch.group_size = rt_script_number(s);
  for (int i = 0; i < args; i++)
    s->args[i] = rt_script_arg(s);
  for (int i = 0; i < scratch; i++) {
    s->scratch[i].count = rt_script_number(s);
    s->scratch[i].elem_bytes = *s->at++;
    s->scratch[i].per_group = false;
  }
  for (int i = 0; i < locals; i++)
    s->local_bytes[i] = rt_script_number(s);
  launch.args = s->args;
  launch.arg_count = args;
  launch.scratch = s->scratch;
  launch.scratch_count = scratch;
  launch.local_bytes = s->local_bytes;
  launch.local_count = locals;
  return rt_launch(s->ctx, kernel, &launch);
}

// ---- statements

RT_FN int rt_script_block(struct rt_script *s, const int32_t *end);

RT_FN int rt_script_read(struct rt_script *s) {
  int number = *s->at++, elem = *s->at++, block = *s->at++;
  int64_t offset = rt_script_number(s);
  struct rt_value value;
  memset(&value, 0, sizeof value);
  int error = rt_read(s->ctx, s->blocks[block], offset, rt_elems[elem].bytes, &value.u);
  s->numbers[number] = rt_script_held(elem, value);
  return error;
}

RT_FN int rt_script_check(struct rt_script *s) {
  int64_t values[RT_MAX_CHECK_VALUES];
  int check = *s->at++, count = *s->at++;
  bool holds = rt_script_number(s) != 0;
  for (int i = 0; i < count; i++)
    values[i] = rt_script_number(s);
#ifdef RT_HELPER
  if (rt_rehearses(s->ctx)) return RT_OK;
#endif
  return holds ? RT_OK : rt_fail(s->ctx, check, values);
}

// Is round `round` of a loop to be done?  A rehearsal, which knows nothing that kernels compute,
// does the first one in any case, and few others, which launch the same.
RT_FN bool rt_script_goes_on(const struct rt_script *s, int64_t round, bool condition) {
#ifdef RT_HELPER
  enum { ROUNDS = 3 };
  if (rt_rehearses(s->ctx)) return round == 0 || (condition && round < ROUNDS);
#else
  (void)s, (void)round;
#endif
  return condition;
}

RT_FN int rt_script_if(struct rt_script *s, bool condition) {
  int then_length = *s->at++, else_length = *s->at++;
  const int32_t *middle = s->at + then_length, *end = middle + else_length;
  if (!condition) s->at = middle;
  int error = rt_script_block(s, condition ? middle : end);
  s->at = end;
  return error;
}

RT_FN int rt_script_for(struct rt_script *s) {
  int number = *s->at++, length = *s->at++;
  const int32_t *bound = s->at, *end = NULL;
  int error = RT_OK;
  for (int64_t i = 0; !error; i++) {
    s->at = bound;
    bool goes_on = rt_script_goes_on(s, i, i < rt_script_number(s));
    end = s->at + length;
    if (!goes_on) break;
    s->numbers[number].u.i64 = i;
    error = rt_script_block(s, end);
  }
  s->at = end;
  return error;
}

RT_FN int rt_script_while(struct rt_script *s) {
  int number = *s->at++, condition = *s->at++, length = *s->at++;
  const int32_t *start = s->at, *body = start + condition, *end = body + length;
  int error = rt_script_block(s, body);
  for (int64_t i = 0; !error && rt_script_goes_on(s, i, s->numbers[number].u.i64 != 0);
       i++) {
    error = rt_script_block(s, end);
    s->at = start;
    if (!error) error = rt_script_block(s, body);
  }
  s->at = end;
  return error;
}

// ---- guards

// One run of a version: a copy of the script at the branches.
RT_FN int rt_script_branches(struct rt_script *s, const int32_t *branches, int guard,
                             int64_t par, int64_t local_bytes, int64_t step) {
  s->at = branches;
  return rt_script_if(s, rt_guard(s->ctx, guard, par, local_bytes, step));
}

#ifndef RT_LIBRARY
// What the branches made, as the script says from here on.
RT_FN void rt_script_compare(struct rt_script *s, struct rt_replay *race) {
  int before = *s->at++;
  rt_script_block(s, s->at + before);
  int count = *s->at++;
  size_t room = (size_t)count + 1;
  struct rt_outcome *outcomes =
      (struct rt_outcome *)rt_host_alloc(room * sizeof *outcomes);
  struct rt_value *scalars = (struct rt_value *)rt_host_alloc(room * sizeof *scalars);
  for (int i = 0; i < count; i++) {
    struct rt_outcome *o = &outcomes[i];
    o->elem = (enum rt_elem) * s->at++;
    int block = *s->at++, number = *s->at++;
    o->count = rt_script_number(s);
    o->mem = block < 0 ? NULL : s->blocks[block];
    if (number >= 0) {
      scalars[i] = rt_script_value((int)o->elem, s->numbers[number]);
      o->scalar = &scalars[i].u;
    }
  }
  int64_t roundings = rt_script_number(s);
  if (count) rt_replay_compare(s->ctx, race, outcomes, count, roundings);
  free(outcomes);
  free(scalars);
}

// See replay.h for what this is.
RT_FN int rt_script_race(struct rt_script *s, int guard, int64_t par, int64_t local_bytes,
                         int64_t step) {
  int taken = *s->at++, count = *s->at++, error = RT_OK;
  struct rt_mem ***slots =
      (struct rt_mem ***)rt_host_alloc(((size_t)count + 1) * sizeof *slots);
  for (int i = 0; i < count; i++)
    slots[i] = &s->blocks[*s->at++];
  const int32_t *branches = s->at, *outcomes = branches + 2 + branches[0] + branches[1];
  struct rt_replay *race =
      rt_replay_begin(s->ctx, guard, par, local_bytes, slots, taken, count);
  do {
    error = rt_script_branches(s, branches, guard, par, local_bytes, step);
    s->at = outcomes;
    if (race && rt_replay_stop(s->ctx, race, &error)) rt_script_compare(s, race);
  } while (race && rt_replay_next(s->ctx, race, &error));
  free(slots);
  return error;
}
#endif

RT_FN int rt_script_guard(struct rt_script *s) {
  int guard = *s->at++, length = *s->at++;
  const int32_t *end = s->at + length;
  int64_t par = rt_script_number(s), local_bytes = rt_script_number(s),
          step = rt_script_number(s);
  int error = RT_OK;
#ifdef RT_LIBRARY
  error = rt_script_branches(s, s->at, guard, par, local_bytes, step);
#else
  if (s->ctx->replayer)
    error = rt_script_race(s, guard, par, local_bytes, step);
  else
    error = rt_script_branches(s, s->at + 2 + s->at[1], guard, par, local_bytes, step);
#endif
  s->at = end;
  return error;
}

// ---- results

RT_FN int rt_script_array(struct rt_script *s) {
  int64_t shape[RT_MAX_RANK];
  int position = *s->at++, elem = *s->at++, block = *s->at++, rank = *s->at++;
  for (int i = 0; i < rank; i++)
    shape[i] = rt_script_number(s);
  return rt_array_of_mem(s->ctx, &s->results[position].u.array, (enum rt_elem)elem, rank,
                         shape, s->blocks[block]);
}

RT_FN void rt_script_scalar(struct rt_script *s) {
  int position = *s->at++, elem = *s->at++, number = *s->at++;
  s->results[position] = rt_script_value(elem, s->numbers[number]);
}

// ---- the walk

RT_FN int rt_script_of_blocks(struct rt_script *s, int step) {
  int block = *s->at++;
  struct rt_mem **slot = &s->blocks[block];
  switch (step) {
  case RT_DO_ALLOC: {
    int check = *s->at++;
    return rt_mem_alloc_at(s->ctx, slot, rt_script_number(s), check);
  }
  case RT_DO_TABLE: return rt_table(s->ctx, slot, *s->at++);
  case RT_DO_UNIQUE: return rt_mem_unique(s->ctx, slot, &s->blocks[*s->at++]);
  case RT_DO_SHARE: rt_mem_share(s->ctx, slot, s->blocks[*s->at++]); return RT_OK;
  case RT_DO_RELEASE: rt_mem_release(s->ctx, slot); return RT_OK;
  default: break;
  }
  const int32_t *end = s->at + 1 + *s->at;  // RT_DO_ONCE
  s->at++;
  int error = *slot ? RT_OK : rt_script_block(s, end);
  s->at = end;
  return error;
}

RT_FN int rt_script_set(struct rt_script *s, int step) {
  int number = *s->at++;
  switch (step) {
  case RT_DO_SET: s->numbers[number].u.i64 = rt_script_number(s); return RT_OK;
  case RT_DO_COPY: s->numbers[number] = s->numbers[*s->at++]; return RT_OK;
  default: return s->values[number](s->ctx, s->numbers);
  }
}

RT_FN int rt_script_step(struct rt_script *s) {
  int step = *s->at++;
  switch (step) {
  case RT_DO_LAUNCH: return rt_script_launch(s);
  case RT_DO_READ: return rt_script_read(s);
  case RT_DO_CHECK: return rt_script_check(s);
  case RT_DO_IF: {
    bool condition = rt_script_number(s) != 0;
    return rt_script_if(s, condition);
  }
  case RT_DO_FOR: return rt_script_for(s);
  case RT_DO_WHILE: return rt_script_while(s);
  case RT_DO_GUARD: return rt_script_guard(s);
  case RT_DO_ARRAY: return rt_script_array(s);
  case RT_DO_SCALAR: rt_script_scalar(s); return RT_OK;
  case RT_DO_SET:
  case RT_DO_COPY:
  case RT_DO_VALUE: return rt_script_set(s, step);
  default: return rt_script_of_blocks(s, step);
  }
}

RT_FN int rt_script_block(struct rt_script *s, const int32_t *end) {
  int error = RT_OK;
  while (!error && s->at < end)
    error = rt_script_step(s);
  return error;
}

RT_FN int rt_script_run(struct rt_script *s, const char *entry, int length,
                        int block_count) {
  int error = rt_entry_begin(s->ctx, entry);
  if (!error) error = rt_script_block(s, s->at + length);
  for (int i = 0; i < block_count; i++)
    rt_mem_release(s->ctx, &s->blocks[i]);
  return rt_entry_end(s->ctx, error);
}
// End script.h

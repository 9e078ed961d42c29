// Statements of IMP_LANES bodies.  What is the same in all points is written as in any kernel; the rest
// once per copy: for rows and for vectors of lanes.
//
// Where control depends on the lane, both sides of a branch run under masks, and a loop goes on while
// any lane does.  A masked block is entered only if some lane takes part.
#include "emit/emit_lanes.h"

// ---- names

const char *lane_name(const LaneCode *l, const Var *var, const char *name) {
  if (var == l->stm->u.lanes.row) return text_format("%d", l->row);
  int depends = lanes_var_depends(l->info, var);
  if (depends & DEPENDS_ROW && l->stm->u.lanes.rows > 1)
    name = text_format("%sr%d", name, l->row);
  bool vector = depends & DEPENDS_LANE && !lanes_var_is_affine(l->info, var);
  return vector && l->stm->u.lanes.vectors > 1 ? text_format("%sv%d", name, l->vector)
                                               : name;
}

typedef void (*WriteStm)(LaneCode *l, const ImpStm *stm);

// Once for each copy of what depends on rows and lanes like this.
static void each_copy(LaneCode *l, int depends, WriteStm write, const ImpStm *stm) {
  int rows = depends & DEPENDS_ROW ? l->stm->u.lanes.rows : 1;
  int vectors = depends & DEPENDS_LANE ? l->stm->u.lanes.vectors : 1;
  for (l->row = 0; l->row < rows; l->row++)
    for (l->vector = 0; l->vector < vectors; l->vector++)
      write(l, stm);
  l->row = l->vector = 0;
}

// ---- plain statements

static void write_declare(LaneCode *l, const ImpStm *stm) {
  const Var *var = stm->u.declare.var;
  const ImpExp *value = stm->u.declare.value;
  Affine a;
  if (lanes_var_is_affine(l->info, var)) {
    lanes_affine(l->info, value, &a);
    const char *base = c_exp(l->c, a.base);
    c_line(l->c, "int64_t %s = %s;", c_var(l->c, var), base);
    return;
  }
  if (!(lanes_var_depends(l->info, var) & DEPENDS_LANE)) {
    emit_declare(l->c, stm);
    return;
  }
  const char *type = lane_type(var->type.elem);
  const char *text = value ? lane_exp(l, value) : text_format("(%s)(0)", type);
  c_line(l->c, "%s %s = %s;", type, c_var(l->c, var), text);
}

static void write_assign(LaneCode *l, const ImpStm *stm) {
  const Var *var = stm->u.assign.var;
  if (!(lanes_var_depends(l->info, var) & DEPENDS_LANE)) {
    c_line(l->c, "%s = %s;", c_var(l->c, var), c_exp(l->c, stm->u.assign.value));
    return;
  }
  const char *value = lane_exp(l, stm->u.assign.value), *name = c_var(l->c, var);
  bool blend = l->mask && lanes_depth(l->info, var) < l->depth;
  if (blend) value = lane_choose(var->type.elem, l->mask, value, name);
  c_line(l->c, "%s = %s;", name, value);
}

static void write_check(LaneCode *l, const ImpStm *stm) {
  if (!(lanes_depends(l->info, stm->u.check.condition) & DEPENDS_LANE)) {
    emit_kernel_check(l->c, stm);
    return;
  }
  const char *good = lane_exp(l, stm->u.check.condition);
  const char *failed =
      l->mask ? text_format("~%s & %s", good, l->mask) : text_format("~%s", good);
  failed = lane_temporary(l, "int16", "failed", failed);
  c_line(l->c, "if (any(%s)) {", failed);
  text_indent(l->c->t, 2);
  const char *lane =
      lane_temporary(l, "int", "lane", text_format("flc_first_lane(%s)", failed));
  Text *call = text_new();
  int count = emit_check_values(stm);
  text_printf(call, "%s(flc_error, %d", count > 4 ? "flc_fail_8" : "flc_fail",
              emit_check(l->c->e, stm));
  for (int i = 0; i < (count > 4 ? IMP_CHECK_VALUES : 4); i++) {
    const char *value =
        i < count ? lane_exp(l, imp_convert(PRIM_I64, stm->u.check.values[i])) : NULL;
    text_printf(call, value ? ", flc_pick(%s, %s)" : ", 0", value, lane);
  }
  c_line(l->c, "%s);", text_str(call));
  c_line(l->c, "return;");
  c_close(l->c);
}

// ---- stores

static void write_each(LaneCode *l, const Mem *mem, const ImpExp *index,
                       const char *value, bool own) {
  const char *at = lane_positions(l, index, own), *pointer = lane_pointer(l, mem);
  value = lane_temporary(l, lane_memory_type(mem->elem), "stored", value);
  for (int lane = 0; lane < LANES; lane++) {
    char digit = lane_digit(lane);
    const char *condition = l->mask ? text_format("if (%s.s%c) ", l->mask, digit) : "";
    c_line(l->c, "%s%s[%s.s%c] = %s.s%c;", condition, pointer, at, digit, value, digit);
  }
}

static void write_neighbours(LaneCode *l, const ImpStm *stm, const char *value,
                             Affine a) {
  const Mem *mem = stm->u.store.mem;
  value = lane_temporary(l, lane_memory_type(mem->elem), "stored", value);
  const char *whole = text_format("vstore16(%s, 0, %s + (%s));", value, c_mem(l->c, mem),
                                  lane_base(l, a));
  if (!l->mask) {
    c_line(l->c, "%s", whole);
    return;
  }
  c_line(l->c, "if (%s) {", l->full);
  c_line(l->c, "  %s", whole);
  c_line(l->c, "} else {");
  text_indent(l->c->t, 2);
  write_each(l, mem, stm->u.store.index, value, false);
  c_close(l->c);
}

static void write_strided(LaneCode *l, const Mem *mem, const char *value, Affine a) {
  value = lane_temporary(l, lane_memory_type(mem->elem), "stored", value);
  const char *base = lane_temporary(l, "long", "base", lane_base(l, a));
  const char *step = lane_temporary(l, "long", "step", c_size(l->c, a.step));
  for (int lane = 0; lane < LANES; lane++)
    c_line(l->c, "%s[%s + %d * %s] = %s.s%c;", c_mem(l->c, mem), base, lane, step, value,
           lane_digit(lane));
}

static void write_own(LaneCode *l, const ImpStm *stm, const char *value) {
  const Mem *mem = stm->u.store.mem;
  const char *element = lane_own_element(l, mem, stm->u.store.index);
  if (l->mask) {
    value = lane_temporary(l, lane_memory_type(mem->elem), "stored", value);
    PrimType type = mem->elem == PRIM_BOOL ? PRIM_U8 : mem->elem;
    value = lane_choose(type, l->mask, value, element);
  }
  c_line(l->c, "%s = %s;", element, value);
}

static void write_store(LaneCode *l, const ImpStm *stm) {
  const Mem *mem = stm->u.store.mem;
  const ImpExp *index = stm->u.store.index;
  bool own = lanes_is_own(l->info, mem);
  if (own && !(lanes_mem_depends(l->info, mem) & DEPENDS_LANE)) {
    c_line(l->c, "%s = %s;", c_element(l->c, mem, index),
           c_exp(l->c, stm->u.store.value));
    return;
  }
  const char *value = lane_to_memory(mem->elem, lane_exp(l, stm->u.store.value));
  Affine a;
  if (own && !lanes_depends(l->info, index))
    write_own(l, stm, value);
  else if (own || !lanes_affine(l->info, index, &a))
    write_each(l, mem, index, value, own);
  else if (lane_is_step(a, 1))
    write_neighbours(l, stm, value, a);
  else if (l->mask)
    write_each(l, mem, index, value, false);
  else
    write_strided(l, mem, value, a);
}

static void write_local(LaneCode *l, const ImpStm *stm) {
  const Mem *mem = stm->u.alloc.mem;
  c_line(l->c, "%s %s[%s];", lane_memory_type(mem->elem), c_mem(l->c, mem),
         c_size(l->c, stm->u.alloc.count));
}

// ---- divergent control

static const char *both(const char *mask, const char *more) {
  return mask ? text_format("%s & %s", mask, more) : more;
}

// The block for the lanes of `mask`, some of which take part.
static void masked_block(const LaneCode *outer, const char *mask, const ImpBlock *block) {
  LaneCode inner = *outer;
  CodeText *c = outer->c;
  inner.mask = mask;
  inner.depth++;
  c->lanes = &inner;
  text_indent(c->t, 2);
  inner.full = lane_temporary(&inner, "int", "full", text_format("all(%s)", mask));
  text_indent(c->t, -2);
  emit_kernel_block(c, block);
  c->lanes = outer;
}

static void write_side(LaneCode *l, const char *mask, const ImpBlock *block) {
  if (!block->count) return;
  c_line(l->c, "if (any(%s)) {", mask);
  masked_block(l, mask, block);
  c_line(l->c, "}");
}

static bool is_cheap(const ImpExp *e) {
  if (e->kind == IMP_LOAD) return false;
  if (e->kind == IMP_OP && !op_is_cheap(e->u.op.op, e->u.op.operands)) return false;
  const ImpExp *operands[3];
  int count = imp_operands(e, operands);
  for (int i = 0; i < count; i++)
    if (!is_cheap(operands[i])) return false;
  return true;
}

// Better computed for nothing than jumped over?
static bool is_short(const ImpBlock *block) {
  vec_each (const ImpStm **, at, block) {
    const ImpStm *stm = *at;
    if (stm->kind != IMP_DECLARE && stm->kind != IMP_ASSIGN) return false;
    const ImpExp *value =
        stm->kind == IMP_DECLARE ? stm->u.declare.value : stm->u.assign.value;
    if (value && !is_cheap(value)) return false;
  }
  return block->count <= 12;
}

static void write_if(LaneCode *l, const ImpStm *stm) {
  const ImpBlock *then_body = &stm->u.cond.then_body, *else_body = &stm->u.cond.else_body;
  const char *condition =
      lane_temporary(l, "int16", "condition", lane_exp(l, stm->u.cond.condition));
  const char *yes =
      l->mask ? lane_temporary(l, "int16", "mask", both(l->mask, condition)) : condition;
  const char *no = NULL;
  if (else_body->count)
    no = lane_temporary(l, "int16", "mask", both(l->mask, text_format("~%s", condition)));
  if (!is_short(then_body) || !is_short(else_body)) {
    write_side(l, yes, then_body);
    write_side(l, no, else_body);
    return;
  }
  c_line(l->c, "{");
  masked_block(l, yes, then_body);
  if (no) masked_block(l, no, else_body);
  c_line(l->c, "}");
}

static void write_for(LaneCode *l, const ImpStm *stm) {
  CodeText *c = l->c;
  const char *bound = lane_exp(l, stm->u.loop.bound);
  if (l->mask) bound = lane_choose(PRIM_I64, l->mask, bound, "(long16)(0)");
  bound = lane_temporary(l, "long16", "bound", bound);
  const char *most =
      lane_temporary(l, "long", "most", text_format("flc_most(%s)", bound));
  const char *i = c_var(c, stm->u.loop.var);
  c_line(c, "for (int64_t %s = 0; %s < %s; %s++) {", i, i, most, i);
  text_indent(c->t, 2);
  const char *mask = lane_temporary(
      l, "int16", "mask", text_format("convert_int16((long16)(%s) < %s)", i, bound));
  text_indent(c->t, -2);
  masked_block(l, mask, &stm->u.loop.body);
  c_line(c, "}");
}

static void write_while(LaneCode *l, const ImpStm *stm) {
  CodeText *c = l->c;
  const char *mask =
      lane_temporary(l, "int16", "mask", l->mask ? l->mask : "(int16)(-1)");
  c_line(c, "for (;;) {");
  text_indent(c->t, 2);
  c_line(c, "%s = %s & %s;", mask, mask, lane_exp(l, stm->u.loop_while.condition));
  c_line(c, "if (!any(%s)) break;", mask);
  text_indent(c->t, -2);
  masked_block(l, mask, &stm->u.loop_while.body);
  c_line(c, "}");
}

// ---- the statement

static int store_depends(const LaneInfo *info, const ImpStm *stm) {
  return lanes_depends(info, stm->u.store.index) |
         lanes_depends(info, stm->u.store.value);
}

static int check_depends(const LaneInfo *info, const ImpStm *stm) {
  int depends = lanes_depends(info, stm->u.check.condition);
  for (int i = 0; i < stm->u.check.value_count; i++)
    depends |= lanes_depends(info, stm->u.check.values[i]);
  return depends;
}

// An affine variable is its base, the same for all vectors.
static int copies_of(const LaneInfo *info, const Var *var) {
  int depends = lanes_var_depends(info, var);
  return lanes_var_is_affine(info, var) ? depends & DEPENDS_ROW : depends;
}

bool emit_lane_stm(CodeText *c, const ImpStm *stm) {
  LaneCode l = *c->lanes;
  const LaneCode *outer = c->lanes;
  c->lanes = &l;
  bool done = true;
  if (stm->kind == IMP_DECLARE && map_has(c->live, stm->u.declare.var))
    each_copy(&l, copies_of(l.info, stm->u.declare.var), write_declare, stm);
  else if (stm->kind == IMP_ASSIGN && map_has(c->live, stm->u.assign.var))
    each_copy(&l, lanes_var_depends(l.info, stm->u.assign.var), write_assign, stm);
  else if (stm->kind == IMP_STORE)
    each_copy(&l, store_depends(l.info, stm), write_store, stm);
  else if (stm->kind == IMP_CHECK)
    each_copy(&l, check_depends(l.info, stm), write_check, stm);
  else if (stm->kind == IMP_LOCAL &&
           lanes_mem_depends(l.info, stm->u.alloc.mem) & DEPENDS_LANE)
    write_local(&l, stm);
  else if (stm->kind == IMP_IF && lanes_depends(l.info, stm->u.cond.condition))
    write_if(&l, stm);
  else if (stm->kind == IMP_FOR && lanes_depends(l.info, stm->u.loop.bound))
    write_for(&l, stm);
  else if (stm->kind == IMP_WHILE && lanes_depends(l.info, stm->u.loop_while.condition))
    write_while(&l, stm);
  else
    done = false;
  c->lanes = outer;
  return done;
}

void emit_lanes(CodeText *c, const ImpStm *stm) {
  LaneCode l = { .c = c, .stm = stm, .info = lanes_analyse(stm) };
  c->lanes = &l;
  c_line(c, "{");
  text_indent(c->t, 2);
  if (stm->u.lanes.active) {
    const char *count = c_exp(c, stm->u.lanes.active);
    l.mask =
        lane_temporary(&l, "int16", "mask",
                       text_format("convert_int16(FLC_LANES < (long16)(%s))", count));
    l.full = lane_temporary(&l, "int", "full", text_format("all(%s)", l.mask));
  }
  text_indent(c->t, -2);
  emit_kernel_block(c, &stm->u.lanes.body);
  c_line(c, "}");
  c->lanes = NULL;
}

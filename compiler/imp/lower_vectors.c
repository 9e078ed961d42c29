// A segmap on a CPU in vectors: an item works on blocks of LANES neighbouring points of the innermost
// dimension, which advance together.
//
//   segmap <.., j < n> { body }   =>   item per blocks of j:   lanes l < LANES { body at j = first + l }
//
// Why: PoCL vectorises over work-items only kernels without inner loops (docs/opencl.md, "Maps and layouts").
// The last block of a row begins where it is full, so that some points are computed twice, with the same
// result; unless the kernel reads what it writes.  Spaces that are narrower than a vector, and what does
// not pay, are left to an item per point.
#include "imp/lower.h"

enum {
  VECTORS = 2,  // of a row, where rows share what they read,
  ROWS = 4,     // and how many: as many accumulators as registers hold
  SCRATCH_BYTES =
      64 << 20,  // of an item at most: its lanes take LANES times what a point takes
};

enum { MAX_MAPS = 4 };

// The space that blocks are cut from: the segmap's, and the widths of maps that make up its body.
typedef struct Vectors {
  const Stm *stm;
  const SegDim *dims;
  int dim_count;
  const Stm *maps[MAX_MAPS];
  int map_count;
  const Arr *const *outs;
  int vectors, rows;
} Vectors;

// ---- one kernel

// Where the points of a block begin.
typedef struct Corner {
  const ImpExp *first,
      *row;  // innermost index, and the one around it if there are several rows
} Corner;

// The statements of the body, then those of the maps that are its last statements, one by one.
static const Body *enter_maps(const Vectors *v, Code *k) {
  const Body *body = v->stm->exp->u.seg->body;
  for (int m = 0; m < v->map_count; m++) {
    const Soac *map = &v->maps[m]->exp->u.soac;
    for (int i = 0; i + 1 < body->stm_count; i++)
      seq_stm(k, &body->stms[i], body, i);
    const Var *index = v->dims[v->dim_count - v->map_count + m].index;
    code_bind_elements(k, &map->fn, map->arrays, map->array_count, imp_var(index));
    body = map->fn.body;
  }
  return body;
}

// The body at every point of the block.
static void lane_body(const Vectors *v, Code *k, Corner corner, const ImpExp *lane,
                      const Var *row) {
  int count = v->stm->binder_count, dims = v->dim_count;
  const ImpExp *const *indices = space_indices(v->dims, dims);
  const ImpExp **scalars = new_array(const ImpExp *, count + 1);
  const Arr **dests = new_array(const Arr *, count + 1);
  if (row)
    code_bind_scalar(k, v->dims[dims - 2].index, imp_add(corner.row, imp_var(row)));
  code_bind_scalar(k, v->dims[dims - 1].index, imp_add(corner.first, lane));
  for (int i = 0; i < count; i++)
    if (v->outs[i]->rank > dims) dests[i] = element_of(v->outs[i], indices, dims);
  seq_body(k, enter_maps(v, k), scalars, dests);
  for (int i = 0; i < count; i++)
    if (v->outs[i]->rank == dims)
      imp_store(k->b, v->outs[i]->mem, arr_index(v->outs[i], indices), scalars[i]);
}

static const Var *fresh_index(Code *k, const char *name) {
  const Var *var = var_new(k->lower->c, name_of(k->lower->c->names, name),
                           type_scalar(PRIM_I64), k->b->loc);
  map_put(k->inside, var, var);
  return var;
}

static void add_own(Map *own, ScratchVec *scratch) {
  vec_each (Scratch *, s, scratch) {
    map_put(own, s->mem, s->mem);
    s->count = imp_mul(imp_i64(LANES), s->count);
  }
}

static ImpStm lane_statement(const Vectors *v, Code *k, Corner corner) {
  ImpBuilder b;
  Code inner = code_inner(k, &b);
  inner.in_lanes = true;
  const Var *lane = fresh_index(&inner, "lane");
  const Var *row = v->rows > 1 ? fresh_index(&inner, "row") : NULL;
  lane_body(v, &inner, corner, imp_var(lane), row);
  ImpStm stm = { .kind = IMP_LANES,
                 .loc = v->stm->loc,
                 .u.lanes = {
                     .lane = lane, .row = row, .vectors = v->vectors, .rows = v->rows } };
  stm.u.lanes.own = map_new(NULL);
  add_own(stm.u.lanes.own, k->scratch);
  stm.u.lanes.body = b.block;
  return stm;
}

// The blocks of a space: across its innermost dimension, down the one around it.
typedef struct Blocks {
  int outer;                    // dimensions around those
  const ImpExp *across, *down;  // how many; down: 1 without rows
  const ImpExp *count;          // all
} Blocks;

static const ImpExp *as_var(Code *k, const char *name, const ImpExp *value) {
  return value->kind == IMP_CONST ? value : imp_var(imp_declare(k->b, name, value));
}

static Blocks count_blocks(const Vectors *v, Code *host) {
  Blocks blocks = { .outer = v->dim_count - (v->rows > 1 ? 2 : 1) };
  const ImpExp *width = imp_atom(v->dims[v->dim_count - 1].width);
  const ImpExp *across = imp_ceil_div(width, imp_i64((int64_t)LANES * v->vectors));
  blocks.across = as_var(host, "across", across);
  blocks.down = imp_i64(1);
  if (v->rows > 1) {
    const ImpExp *height = imp_atom(v->dims[blocks.outer].width);
    blocks.down = as_var(host, "down", imp_ceil_div(height, imp_i64(v->rows)));
  }
  const ImpExp *outer = space_size(v->dims, blocks.outer);
  const ImpExp *count = imp_mul(imp_mul(outer, blocks.across), blocks.down);
  blocks.count = as_var(host, "blocks", count);
  return blocks;
}

// Where block number `block` begins; without masks, the last of a row ends where the row does.
static Corner find_corner(const Vectors *v, Code *k, const Blocks *blocks,
                          const ImpExp *block, bool masked) {
  const ImpExp *rest = block, *lanes = imp_i64((int64_t)LANES * v->vectors),
               *rows = imp_i64(v->rows);
  Corner corner = { NULL, NULL };
  if (v->rows > 1) {
    const ImpExp *last = imp_sub(imp_atom(v->dims[blocks->outer].width), rows);
    const ImpExp *row = imp_mul(imp_rem(rest, blocks->down), rows);
    corner.row = as_var(k, "row", imp_min(row, last));
    rest = as_var(k, "rest", imp_quot(rest, blocks->down));
  }
  bind_space(k, v->dims, blocks->outer, imp_quot(rest, blocks->across));
  const ImpExp *first = imp_mul(imp_rem(rest, blocks->across), lanes);
  const ImpExp *last = imp_sub(imp_atom(v->dims[v->dim_count - 1].width), lanes);
  corner.first = as_var(k, "first", masked ? first : imp_min(first, last));
  return corner;
}

// The kernel for spaces that are as wide as a block at least.
static void lane_kernel(const Vectors *v, Code *host, bool masked) {
  Blocks blocks = count_blocks(v, host);
  KernelCode *kernel = kernel_begin(host, v->stm->loc);
  Items items;
  const ImpExp *block = items_open(&items, host, kernel, blocks.count, 1);
  Code *k = &kernel->code;
  Corner corner = find_corner(v, k, &blocks, block, masked);
  ImpStm stm = lane_statement(v, k, corner);
  const ImpExp *width = imp_atom(v->dims[v->dim_count - 1].width);
  if (masked) stm.u.lanes.active = imp_min(imp_i64(LANES), imp_sub(width, corner.first));
  imp_add_stm(k->b, stm);
  items_close(&items, "segmap_lanes", false);
}

// ---- whether

typedef struct Access {
  Map *loaded;
  bool both;
} Access;

static void see_loads(void *state, const ImpExp *e) {
  Access *seen = state;
  if (e->kind == IMP_LOAD) map_put(seen->loaded, e->u.load.mem, e->u.load.mem);
  const ImpExp *operands[3];
  int count = imp_operands(e, operands);
  for (int i = 0; i < count; i++)
    see_loads(state, operands[i]);
}

static void see_block(Access *seen, const ImpBlock *block, bool stores) {
  vec_each (const ImpStm **, at, block) {
    const ImpStm *stm = *at;
    if (!stores) imp_each_exp(stm, see_loads, seen);
    bool global = stm->kind == IMP_STORE && stm->u.store.mem->space == MEM_GLOBAL;
    if (stores && global && map_has(seen->loaded, stm->u.store.mem)) seen->both = true;
    const ImpBlock *inner[2];
    int count = imp_blocks(stm, inner);
    for (int i = 0; i < count; i++)
      see_block(seen, inner[i], stores);
  }
}

static bool reads_what_it_writes(const ImpBlock *block) {
  Access seen = { .loaded = map_new(NULL) };
  see_block(&seen, block, false);
  see_block(&seen, block, true);
  return seen.both;
}

// The body on trial; `bytes` gets the scratch memory that an item needs for it, or NULL.
static ImpStm trial_statement(const Vectors *v, Code *host, const ImpExp **bytes) {
  KernelCode *kernel = kernel_begin(host, v->stm->loc);
  for (int i = 0; i < v->dim_count; i++)
    map_put(kernel->code.inside, v->dims[i].index, v->stm);
  int notes = host->lower->copies.count;
  ImpStm stm = lane_statement(v, &kernel->code, (Corner){ imp_i64(0), imp_i64(0) });
  host->lower->copies.count = notes;
  *bytes = NULL;
  vec_each (Scratch *, s, &kernel->scratch) {
    const ImpExp *more = imp_mul(s->count, imp_i64(prim_size_bytes(s->mem->elem)));
    *bytes = *bytes ? imp_add(*bytes, more) : more;
  }
  return stm;
}

// Several rows and vectors at once, if what they read in common is read in a loop.
static bool shares_reads(const Vectors *v, Code *host) {
  const ImpExp *bytes;
  ImpStm stm = trial_statement(v, host, &bytes);
  LaneInfo *info = lanes_analyse(&stm);
  return !bytes && !lanes_unsupported(info) && lanes_share_reads(info, &stm.u.lanes.body);
}

// host: if the space is wide enough { vectors } else { narrower, or an item per point }
static void choose_kernel(const Vectors *v, Code *host, const ImpExp *bytes,
                          bool masked) {
  ImpBuilder lanes = { .c = host->lower->c, .loc = host->b->loc }, others = lanes;
  Code lane_code = *host, other_code = *host;
  lane_code.b = &lanes;
  other_code.b = &others;
  lane_kernel(v, &lane_code, masked);
  Vectors narrow = *v;
  narrow.rows = narrow.vectors = 1;
  const ImpExp *width = imp_atom(v->dims[v->dim_count - 1].width);
  const ImpExp *wide = imp_op2(OP_LE, imp_i64((int64_t)LANES * v->vectors), width);
  if (v->rows > 1) {
    const ImpExp *height = imp_atom(v->dims[v->dim_count - 2].width);
    wide = imp_and(wide, imp_op2(OP_LE, imp_i64(v->rows), height));
  }
  if (bytes) {
    const ImpExp *blocks = imp_mul(space_size(v->dims, v->dim_count - 1),
                                   imp_ceil_div(width, imp_i64(LANES)));
    bytes = imp_mul(bytes, imp_min(items_most(host), blocks));
    wide = imp_and(wide, imp_op2(OP_LE, bytes, imp_i64(SCRATCH_BYTES)));
  }
  if (v->vectors > 1)
    choose_kernel(&narrow, &other_code, bytes, masked);
  else
    lower_segmap_items(&other_code, v->stm, v->outs);
  imp_add_stm(host->b,
              (ImpStm){ .kind = IMP_IF, .u.cond = { wide, lanes.block, others.block } });
}

// Vectors of one row, if they pay.
static bool finds_vectors(const Vectors *v, Code *host, const ImpExp **bytes,
                          bool *masked) {
  int lane_maps = host->lower->lane_maps;
  ImpStm lanes = trial_statement(v, host, bytes);
  LaneInfo *info = lanes_analyse(&lanes);
  *masked = reads_what_it_writes(&lanes.u.lanes.body);
  if (host->lower->lane_maps > lane_maps || lanes_unsupported(info)) return false;
  return lanes_pay(info, &lanes, v->map_count > 0);
}

// ---- the space

static bool binds(const Body *body, const Var *var) {
  for (int i = 0; i < body->stm_count; i++)
    for (int k = 0; k < body->stms[i].binder_count; k++)
      if (body->stms[i].binders[k] == var) return true;
  return false;
}

// Is the variable bound by the space, or by the bodies and functions of the maps entered so far?
static bool is_bound_inside(const Vectors *v, const SegDim *dims, const Var *var) {
  const Body *body = v->stm->exp->u.seg->body;
  for (int i = 0; i < v->dim_count; i++)
    if (dims[i].index == var) return true;
  for (int m = 0; m < v->map_count; m++) {
    const Lambda *fn = &v->maps[m]->exp->u.soac.fn;
    for (int i = 0; i < v->maps[m]->exp->u.soac.array_count; i++)
      if (fn->params[i] == var) return true;
    if (binds(body, var)) return true;
    body = fn->body;
  }
  return binds(body, var);
}

// The map that is the body, but for plain statements before it, or NULL.
static const Stm *map_of(const Body *body) {
  if (body->stm_count == 0) return NULL;
  const Stm *last = &body->stms[body->stm_count - 1];
  if (last->exp->kind != EXP_MAP) return NULL;
  if (last->binder_count != body->result_count) return NULL;
  for (int i = 0; i < body->result_count; i++) {
    Atom result = body->results[i];
    if (result.kind != ATOM_VAR || result.u.var != last->binders[i]) return NULL;
  }
  for (int i = 0; i + 1 < body->stm_count; i++)
    if (exp_is_soac(body->stms[i].exp) || exp_may_fail(body->stms[i].exp)) return NULL;
  return last;
}

// Adds the widths of nested maps to the space while they are known outside.
static void add_maps(Vectors *v, Code *host) {
  const SegOp *seg = v->stm->exp->u.seg;
  SegDim *dims = new_array(SegDim, seg->dim_count + MAX_MAPS);
  const Body *body = seg->body;
  for (int i = 0; i < seg->dim_count; i++)
    dims[i] = seg->dims[i];
  while (v->map_count < MAX_MAPS) {
    const Stm *map = map_of(body);
    if (!map) break;
    Atom width = map->exp->u.soac.width;
    if (width.kind == ATOM_VAR && is_bound_inside(v, dims, width.u.var)) break;
    Name name = name_of(host->lower->c->names, "j");
    const Var *index = var_new(host->lower->c, name, type_scalar(PRIM_I64), map->loc);
    dims[v->dim_count++] = (SegDim){ index, width };
    v->maps[v->map_count++] = map;
    body = map->exp->u.soac.fn.body;
  }
  v->dims = dims;
}

static void choose_tile(Vectors *v, Code *host) {
  Vectors tile = *v;
  tile.vectors = VECTORS;
  tile.rows = v->dim_count > 1 ? ROWS : 1;
  if (shares_reads(&tile, host)) *v = tile;
}

// A map without inputs may have been a replicate of negative size; it has become a part of the space.
static void check_maps(const Vectors *v, Code *host) {
  int outer = v->dim_count - v->map_count;
  for (int m = 0; m < v->map_count; m++)
    if (v->maps[m]->exp->u.soac.array_count == 0)
      code_check_size(host, v->dims[outer + m].width, space_is_empty(v->dims, outer + m));
}

bool lower_vectors(Code *host, const Stm *stm) {
  const SegOp *seg = stm->exp->u.seg;
  if (host->lower->profile != PROFILE_CPU || seg->dim_count == 0) return false;
  const Arr **outs = new_array(const Arr *, stm->binder_count + 1);
  ImpBuilder unused;
  Code trial = code_inner(host, &unused);
  for (int i = 0; i < stm->binder_count; i++)
    outs[i] = host_map_out(&trial, stm->binders[i]);
  Vectors v = {
    .stm = stm, .dim_count = seg->dim_count, .outs = outs, .vectors = 1, .rows = 1
  };
  add_maps(&v, host);
  const ImpExp *bytes;
  bool masked;
  while (!finds_vectors(&v, &trial, &bytes, &masked)) {
    if (v.map_count == 0) return false;
    v.map_count--;
    v.dim_count--;
  }
  if (!bytes && !masked) choose_tile(&v, &trial);
  check_maps(&v, host);
  for (int i = 0; i < stm->binder_count; i++)
    outs[i] = host_map_out(host, stm->binders[i]);
  choose_kernel(&v, host, bytes, masked);
  for (int i = 0; i < stm->binder_count; i++)
    code_bind(host, stm->binders[i], *outs[i]);
  return true;
}

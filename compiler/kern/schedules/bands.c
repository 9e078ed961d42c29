//   axis j: j < m grid {
//     s = axis i: i < n reduce { .. xs[i, j] .. }
//   =>
//   axis k: k < bands * m grid {
//     let j = k - k / m * m
//     s = axis b: b < n / bands reduce {
//       .. xs'[b * (bands * m) + k] ..          xs' shows the last two dimensions of xs as one
//
// where operators commute and the rest of the row does not mention `i`: each band has every 16th
// row.  What is left are sums over the bands, and the rows behind the last whole block.
//
// Why: lanes over fewer columns than a vector holds leave most of it empty, and rows of unknown
// length fill none.  Neighbours in memory are neighbours in `k` however short the rows are.
#include "kern/schedules/bands.h"
#include "base/map.h"
#include "kern/kern_ask.h"

enum { BANDS = KERN_WIDE, FEW_COLUMNS = 32 };

typedef struct Banding {
  KernMapper mapper;
  const Axis *points, *row;  // as they are
  int columns, mentions;     // loads of columns; terms with the row's index
  const Var *point;          // `k`
  const Term *place;         // of the first band in xs': b * (bands * m)
  Map *views;                // Tensor -> Tensor
  KernBuilder *lets;
  const Term *bands, *across, *each;
} Banding;

// ---- what is read

static bool is_column(const Banding *x, Access a) {
  const Tensor *t = a.tensor, *root = tensor_root(t);
  return t->rank >= 2 && !t->order && !root->order && !t->ring && !root->ring &&
         root->space == TENSOR_GLOBAL &&
         term_is_var(a.index[t->rank - 1], x->points->index) &&
         term_is_var(a.index[t->rank - 2], x->row->index) &&
         term_same(t->dims[t->rank - 1], x->points->width);
}

static void see_read(KernVisitor *v, Access access, bool stores) {
  Banding *x = v->state;
  x->columns += !stores && is_column(x, access);
}

static void see_mention(KernVisitor *v, const Term *t) {
  Banding *x = v->state;
  x->mentions += term_mentions(t, x->row->index);
}

// Lanes would have to know the number of their row for anything else, which as a vector costs more
// than full lanes gain.
static bool reads_columns_only(Banding *x) {
  KernVisitor v = { .term = see_mention, .access = see_read, .state = x };
  kern_visit_block(&v, x->row->body);
  return x->columns && x->columns == x->mentions;
}

// ---- in bands

static const KernBlock *columns_in_bands(KernMapper *m, const KernBlock *block) {
  Banding *x = m->state;
  KernBuilder b = kern_builder(m->c, (Loc){ 0 });
  kern_expect(&b, block->count);
  for (int i = 0; i < block->count; i++) {
    KernStm stm = kern_map_stm(m, &block->stms[i]);
    if (stm.kind == KERN_LOAD && is_column(x, stm.u.load)) {
      const Tensor *t = stm.u.load.tensor;
      const Term **index = mem_copy(stm.u.load.index, sizeof *index * (size_t)t->rank);
      index[t->rank - 2] = term_add(x->place, term_var(x->point));
      stm.u.load = (Access){ tensor_rows_joined(m->c, x->views, t), index };
    }
    kern_add(&b, stm);
  }
  return kern_block(&b, block->results, block->result_count);
}

// The rows of a band.
static Axis row_of_band(Banding *x) {
  Axis row = *x->row;
  row.index = kern_index(x->mapper.c, "b", x->lets->loc);
  row.width = x->each;
  row.name = NULL;
  x->place = term_mul(term_var(row.index), x->across);
  row.body = columns_in_bands(&x->mapper, x->row->body);
  return row;
}

// The points, with what stands before the row.
static const KernBlock *points_in_bands(Banding *x, int at) {
  const KernBlock *point = x->points->body;
  KernBuilder b = kern_builder(x->mapper.c, x->lets->loc);
  const Term *width = x->points->width, *k = term_var(x->point);
  const Term *band = kern_let(&b, "band", term_quot(k, width));
  kern_let_var(&b, x->points->index, term_sub(k, term_mul(band, width)));
  for (int i = 0; i < at; i++)
    kern_add(&b, point->stms[i]);
  const KernStm *row = &point->stms[at];
  kern_axis(&b, row_of_band(x), row->binders, row->binder_count);
  return kern_block(&b, NULL, 0);
}

// The grid with the points in bands in the place of the innermost one.
static const KernBlock *grid_in_bands(Banding *x, const KernBlock *block, int at) {
  const Axis *axis = block->stms[0].u.axis;
  KernBuilder b = kern_builder(x->mapper.c, block->stms[0].loc);
  Axis grid = *axis;
  if (axis == x->points) {
    grid.name = NULL;
    grid.index = x->point;
    grid.width = x->across;
    grid.body = points_in_bands(x, at);
  } else
    grid.body = grid_in_bands(x, axis->body, at);
  kern_axis(&b, grid, NULL, 0);
  return kern_block(&b, NULL, 0);
}

// The reduction that ends the points of the innermost axis of the grid.
static bool find_sum(Banding *x, const KernBlock *block, int *at) {
  while (block->count == 1 && block->stms[0].kind == KERN_AXIS &&
         block->stms[0].u.axis->bind == BIND_GRID) {
    x->points = block->stms[0].u.axis;
    block = x->points->body;
  }
  for (*at = 0; *at < block->count && block->stms[*at].kind != KERN_AXIS;)
    ++*at;
  if (!x->points || *at == block->count) return false;
  x->row = block->stms[*at].u.axis;
  return x->row->role == AXIS_REDUCE && !x->row->inits && kern_commutes(x->row);
}

bool kern_in_bands(KernBuilder *lets, const Kern *kern, Bands *out) {
  Banding x = { .mapper = { .c = lets->c, .block = columns_in_bands },
                .views = map_new(NULL),
                .lets = lets };
  x.mapper.state = &x;
  int at = 0;
  if (!find_sum(&x, kern->body, &at) || !kern_host_knows(kern, x.points->width) ||
      !kern_host_knows(kern, x.row->width) || !reads_columns_only(&x))
    return false;
  const Term *few = term_less(x.points->width, term_i64(FEW_COLUMNS));
  x.bands = kern_let(lets, "bands", term_select(few, term_i64(BANDS), term_i64(1)));
  x.across = kern_let(lets, "across", term_mul(x.bands, x.points->width));
  x.each = kern_let(lets, "each", term_quot(x.row->width, x.bands));
  x.point = kern_index(lets->c, "k", lets->loc);
  Kern *in_bands = mem_copy(kern, sizeof *kern);
  Map *wide = map_new(NULL);
  if (x.across->kind == TERM_VAR) map_put(wide, x.across->u.var, x.across->u.var);
  in_bands->wide = wide;
  in_bands->name = name_of(lets->c->names, text_format("%s_bands", kern->name));
  in_bands->body = grid_in_bands(&x, kern->body, at);
  *out = (Bands){ in_bands, x.bands, term_mul(x.each, x.bands) };
  return true;
}

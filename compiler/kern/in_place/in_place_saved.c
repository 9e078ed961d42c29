//   axis n { axis m { .. a[k, m] .. a[n, m] = .. } }
//     =>  row: [m] own;  axis m { row[m] = a[k, m] };  axis n { axis m { .. row[m] .. } }
//
// Parts of an array that others of the block's points overwrite while points still load from them
// are copied before the block: row k of a matrix, through which all paths of round k go.
#include "kern/in_place/places.h"
#include "kern/kern_ask.h"

enum { MOST_PARTS = 4 };

struct SavedPart {
  const Tensor *part;
  const Term **index;  // of the array; NULL: a dimension that the part has
};

static void see_bound_var(KernVisitor *v, const Var *var) { map_put(v->state, var, var); }

Saved in_place_nothing_saved(Compiler *c, const Kern *kern, const KernBlock *block,
                             ArrayPlace from) {
  Saved s = {
    .c = c, .kern = kern, .from = from, .inside = map_new(NULL), .of_load = map_new(NULL)
  };
  KernVisitor v = { .binder = see_bound_var, .state = s.inside };
  kern_visit_block(&v, block);
  return s;
}

static bool same_part(const SavedPart *part, const Term *const *index, int rank) {
  for (int d = 0; d < rank; d++) {
    const Term *a = part->index[d], *b = index[d];
    if ((a == NULL) != (b == NULL) || (a && !term_same(a, b))) return false;
  }
  return true;
}

static const Tensor *part_of(const Saved *s, const Term *const *index) {
  const Tensor *array = s->from.tensor;
  const Term **dims = new_array(const Term *, array->rank + 1);
  int rank = 0;
  for (int d = 0; d < array->rank; d++)
    if (!index[d]) dims[rank++] = array->dims[d];
  return tensor_new(s->c, array->name, array->elem, dims, rank, TENSOR_OWN);
}

// What stays the same in the block; NULL in dimensions where that moves.  How many do not move, but
// for the place?
static int fixed_dims(const Saved *s, const Term *const *index, const Term **fixed) {
  int count = 0;
  for (int d = 0; d < s->from.tensor->rank; d++) {
    fixed[d] = term_mentions_any(index[d], s->inside) ? NULL : index[d];
    count += fixed[d] && d >= in_place_first(s->from);
    if (!fixed[d] && !kern_host_knows(s->kern, s->from.tensor->dims[d])) return 0;
  }
  return count;
}

bool in_place_save(Saved *s, const KernStm *load, const Term *const *index) {
  int rank = s->from.tensor->rank;
  const Term **fixed = new_array(const Term *, rank + 1);
  if (!fixed_dims(s, index, fixed)) return false;
  for (int i = 0; i < s->parts.count; i++)
    if (same_part(s->parts.at[i], fixed, rank)) {
      map_put(s->of_load, load->binders[0], s->parts.at[i]);
      return true;
    }
  if (s->parts.count == MOST_PARTS) return false;
  SavedPart *part = new_node(SavedPart, .part = part_of(s, fixed), .index = fixed);
  vec_push(&s->parts, part);
  map_put(s->of_load, load->binders[0], part);
  return true;
}

bool in_place_saved_load(const Saved *s, const KernStm *load, Access *out) {
  const SavedPart *part = map_get(s->of_load, load->binders[0]);
  if (!part) return false;
  const Term **index = new_array(const Term *, part->part->rank + 1);
  for (int d = 0, k = 0; d < s->from.tensor->rank; d++)
    if (!part->index[d]) index[k++] = load->u.load.index[d];
  *out = (Access){ part->part, index };
  return true;
}

// ---- the copies

// Is what stays the same in the array?  Its loads may stand under conditions and in loops without
// points.
static const Term *is_there(const Saved *s, const SavedPart *part) {
  const Term *there = term_bool(true);
  for (int d = in_place_first(s->from); d < s->from.tensor->rank; d++) {
    const Term *at = part->index[d];
    if (!at) continue;
    there = term_and(there, term_and(term_at_most(term_i64(0), at),
                                     term_less(at, s->from.tensor->dims[d])));
  }
  return there;
}

static void copy_element(const Saved *s, KernBuilder *b, const SavedPart *part,
                         const Term *const *from) {
  const Term **to = new_array(const Term *, part->part->rank + 1);
  for (int d = 0, k = 0; d < s->from.tensor->rank; d++)
    if (!part->index[d]) to[k++] = from[d];
  const Var *element =
      var_new(s->c, name_of(s->c->names, "kept"), type_scalar(part->part->elem), b->loc);
  kern_load_var(b, element, (Access){ s->from.tensor, from });
  kern_store(b, (Access){ part->part, to }, term_var(element));
}

// The loop over dimension d, or the next one that the part has, and those in it.
static void copy_part(const Saved *s, KernBuilder *b, const SavedPart *part, int d,
                      const Term **from, const Term *there) {
  int rank = s->from.tensor->rank;
  for (; d < rank && part->index[d]; d++)
    from[d] = part->index[d];
  if (d == rank) {
    copy_element(s, b, part, mem_copy(from, rank * sizeof *from));
    return;
  }
  KernBuilder body = kern_builder(s->c, b->loc);
  const Term *width = s->from.tensor->dims[d];
  Axis axis = { .name = name_of(s->c->names, "kept"),
                .index = kern_index(s->c, "i", b->loc),
                .width = there ? term_select(there, width, term_i64(0)) : width,
                .role = AXIS_MAP };
  from[d] = term_var(axis.index);
  copy_part(s, &body, part, d + 1, from, NULL);
  axis.body = kern_block(&body, NULL, 0);
  kern_axis(b, axis, NULL, 0);
}

const KernBlock *in_place_with_saved(const Saved *s, const KernBlock *block) {
  if (!s->parts.count) return block;
  KernBuilder b = kern_builder(s->c, block->count ? block->stms[0].loc : (Loc){ 0 });
  kern_expect(&b, block->count);
  vec_each (SavedPart *const *, part, &s->parts) {
    const Term **from = new_array(const Term *, s->from.tensor->rank + 1);
    kern_add(&b, (KernStm){ .kind = KERN_ALLOC, .u.tensor = (*part)->part });
    copy_part(s, &b, *part, 0, from, is_there(s, *part));
  }
  for (int i = 0; i < block->count; i++)
    kern_add(&b, block->stms[i]);
  return kern_block(&b, block->results, block->result_count);
}

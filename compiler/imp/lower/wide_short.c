// Reductions of segments that are too short for a group, several to a group: 2^steps items share a
// segment.  Each takes every 2^steps-th element, a few in all, and what the items have is combined
// by a tree in local memory:
//
//   item: acc = op acc xss[segment][position + 2^steps * round] ..
//         parts[item] = acc; barrier; tree
//
// Why: a tree takes a dozen instructions per step and item, an element that is added before it
// three or four.  Eight neighbours at least read together, which is a sector.
#include "imp/lower/wide.h"

enum { MOST_ELEMENTS = 8, LEAST_ITEMS = 8 };

const ImpExp *wide_elements_each(const Wide *w) {
  if (!seg_commutes(w->seg)) return imp_i64(1);
  Lower *lower = w->host->lower;
  const ImpExp *most =
      tuning_param(lower, "segred_each", "chunk", MOST_ELEMENTS, MOST_ELEMENTS);
  const ImpExp *items =
      imp_mul(tuning_param(lower, "segred_groups", "grid_size", -1, -1), w->group_size);
  const ImpExp *all = imp_mul(w->segments, w->width);
  return imp_max(imp_i64(1), imp_min(most, imp_quot(all, imp_max(imp_i64(1), items))));
}

ShortSegments wide_short_segments(const Wide *w) {
  const ImpExp *width = imp_max(imp_i64(1), w->width);
  const ImpExp *each = imp_named(w->host->b, "each", wide_elements_each(w));
  const ImpExp *least = imp_min(width, imp_i64(LEAST_ITEMS));
  ShortSegments s = { 0 };
  s.steps = host_doublings(w->host, imp_max(least, imp_ceil_div(width, each)));
  s.items = imp_named(w->host->b, "items", imp_op2(OP_SHL, imp_i64(1), s.steps));
  s.fit = imp_op2(OP_LE, imp_mul(s.items, imp_i64(2)), w->group_size);
  return s;
}

// parts[item] = op over the item's elements of its segment
static void sum_elements(WideKernel *s, const ImpExp *position, const ShortSegments *of,
                         const ImpExp *active) {
  ImpBuilder there, b;
  const Var *i;
  Accs accs = wide_accs(s, s->k, wide_neutral(s->w));
  Code mine = code_inner(s->k, &there), inner;
  const SegOp *seg = s->w->seg;
  bind_space(&mine, seg->dims, seg->dim_count - 1, s->segment);
  const ImpExp *rest = imp_sub(s->w->width, position);
  const ImpExp *rounds =
      imp_let(&there, "rounds",
              imp_op2(OP_SHR, imp_add(rest, imp_sub(of->items, imp_i64(1))), of->steps));
  const ImpExp *round = wide_open_loop(&mine, &inner, &b, &i);
  const ImpExp **values = new_array(const ImpExp *, s->w->reds + 1);
  wide_element(s, &inner, imp_add(position, imp_op2(OP_SHL, round, of->steps)), values);
  accs_apply(&inner, accs, values);
  wide_close_loop(&mine, &b, i, rounds);
  imp_if(s->k->b, imp_and(active, imp_less(position, s->w->width)), there.block);
  wide_store(s, s->k->b, s->parts, s->item, accs_values(accs));
  wide_barrier(s);
}

static void store_totals(const WideKernel *s, const ImpExp *leads) {
  const Wide *w = s->w;
  ImpBuilder b = wide_block(s->k);
  const ImpExp *at[] = { s->segment, imp_i64(0) }, *const *values =
                                                       wide_loads(s, s->parts, s->item);
  for (int r = 0; r < w->reds; r++)
    imp_store(&b, w->out[r]->mem, arr_index(w->out[r], at), values[r]);
  imp_if(s->k->b, leads, b.block);
}

void wide_reduce_short(const Wide *w, ShortSegments of) {
  const ImpExp *per_group =
      imp_named(w->host->b, "per_group", imp_op2(OP_SHR, w->group_size, of.steps));
  WideKernel s = wide_begin(w);
  s.parts = wide_local(&s, "parts", w->group_size);
  ImpBuilder *b = s.k->b;
  const ImpExp *number = imp_named(b, "number", imp_op2(OP_SHR, s.item, of.steps));
  const ImpExp *mask = imp_sub(of.items, imp_i64(1));
  const ImpExp *position = imp_named(b, "position", imp_op2(OP_AND, s.item, mask));
  const ImpExp *first = imp_mul(imp_item(ITEM_GROUP_ID), per_group);
  s.segment = imp_named(b, "segment", imp_add(first, number));
  const ImpExp *active =
      imp_and(imp_less(number, per_group), imp_less(s.segment, w->segments));
  sum_elements(&s, position, &of, active);
  Parts parts = wide_parts(&s);
  parts_tree(&parts, s.k,
             (PartRun){ position, of.items, of.steps, imp_less(number, per_group) });
  store_totals(&s, imp_and(active, imp_op2(OP_EQ, position, imp_i64(0))));
  wide_end(&s, "segred_short", imp_ceil_div(w->segments, per_group));
}

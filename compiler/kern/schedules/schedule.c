// Schedules: for each kernel the recipes that may suit it; the cost model picks.
//
// On a CPU level 0 is the lanes of an item (PPoPP'19, section 3.2, end: multicores with SIMD
// units), so a kernel can use vectors in two ways:
//   outer   the innermost axis of the grid in lanes: neighbouring points advance together
//   rows    the innermost loops in lanes: each point by itself, its rows in vectors
// Which is better depends on the widths of the rows, so a plan may decide when the program runs.
#include "kern/schedules/schedule.h"
#include "kern/in_place/in_place.h"
#include "kern/recipes/recipe_book.h"
#include "kern/schedules/rewrites.h"
#include "kern/tidy/tidy.h"
#include <string.h>

// A seg-op whose kernels are to be scheduled.
typedef struct Scheduling {
  Compiler *c;
  RecipeBook *book;
  const KernSeg *seg;
  bool plain;  // nothing is done to kernels
} Scheduling;

Name kern_seg_name(Compiler *c, Map *counts, Name entry, SegKind kind) {
  Name word = name_of(c->names, kern_kind_name(kind));
  const int *before = map_get(counts, word);
  int number = before ? *before + 1 : 1;
  map_put(counts, word, mem_copy(&number, sizeof number));
  const char *suffix = number > 1 ? text_format("_%d", number) : "";
  return name_of(c->names, text_format("%s.%s%s", entry, word, suffix));
}

// That of the seg-op, with what its part of the work adds: main.segred_2, main.segred_2_chunks.
static Name name_of_kernel(const Scheduling *s, const Kern *kern) {
  const char *part = kern->name + strlen(s->seg->kern->name);
  return name_of(s->c->names, text_format("%s%s", s->seg->name, part));
}

// Its kernels have many points.
static const KernPlan *shared_out(const KernPlan *plan) {
  KernPlan *out = mem_copy(plan, sizeof *plan);
  out->many_points = true;
  if (plan->otherwise) out->otherwise = shared_out(plan->otherwise);
  return out;
}

// What the axes in the grid, of chunks, go over: found out for each chunk, as numbers of bins are
// not.
static const Var *length_of_chunk(const Kern *kern) {
  const Axis *chunks = schedule_last_grid(kern);
  const KernBlock *body = chunks ? chunks->body : kern->body;
  for (int i = 0; i < body->count; i++) {
    if (body->stms[i].kind != KERN_AXIS) continue;
    const Axis *axis = body->stms[i].u.axis;
    if (axis->role != AXIS_MAP)
      return axis->width->kind == TERM_VAR ? axis->width->u.var : NULL;
  }
  return NULL;
}

// Its kernels with sums of many points for the device's compiler, and with places of few bits.
static const KernPlan *with_quick_sums(Compiler *c, const KernPlan *plan, bool rows) {
  KernPlan *out = mem_copy(plan, sizeof *plan);
  out->tried = plan->kern;
  if (plan->kern) {
    out->kern = kern_narrow_sums(c, kern_long_sums(c, plan->kern, rows));
    out->narrow = kern_narrow_places(c, out->kern, &out->small);
    if (out->narrow && term_is_bool(out->small, true)) {
      out->kern = out->narrow;
      out->narrow = NULL;
    }
  }
  if (plan->otherwise) out->otherwise = with_quick_sums(c, plan->otherwise, rows);
  return out;
}

static const KernPlan *one_kernel(const Scheduling *s, const Kern *kern, KernUse use) {
  if (s->plain) return new_node(KernPlan, .kern = kern);
  Name name = name_of_kernel(s, kern);
  kern = kern_turn_rows(s->c, kern_rows_within(s->c, kern));
  KernNotes notes = { 0 };
  Schedule schedule = { .c = s->c,
                        .kern = kern,
                        .notes = &notes,
                        .length = use == USE_CHUNKS ? length_of_chunk(kern) : NULL,
                        .in_place = kern_updates_in_place(kern->body),
                        .steps = map_new(NULL),
                        .costs = map_new(NULL),
                        .row_costs = map_new(NULL),
                        .book = s->book,
                        .name = name };
  const KernPlan *chosen = book_plan(s->c, s->book, name, kern);
  KernPlan plan = chosen ? *chosen : *schedule_cheapest(&schedule, use);
  plan.name = name;
  const KernPlan *all = use == USE_FEW ? mem_copy(&plan, sizeof plan)
                                       : with_quick_sums(s->c, &plan, use == USE_POINTS);
  return use == USE_POINTS ? shared_out(all) : all;
}

static const KernPlan *chunks_or(const Scheduling *s, const Chunks *chunks,
                                 const KernPlan *otherwise) {
  const KernPlan **parts = new_array(const KernPlan *, chunks->phase_count);
  for (int i = 0; i < chunks->phase_count; i++)
    parts[i] = one_kernel(s, chunks->phases[i], chunks->uses[i]);
  return new_node(KernPlan, .lets = chunks->lets, .condition = chunks->pays,
                  .parts = parts, .part_count = chunks->phase_count,
                  .temps = chunks->temps, .temp_count = chunks->temp_count,
                  .share = s->seg->share, .otherwise = otherwise);
}

// Rows in chunks if that gives more than one, else as they are.
static const KernPlan *in_chunks(const Scheduling *s, const Kern *kern,
                                 const Chunks *chunks) {
  Kern *in_one = mem_copy(kern, sizeof *kern);
  in_one->body = kern_use_spare(s->c, kern->body, term_i64(0));
  return chunks_or(s, chunks, one_kernel(s, in_one, USE_POINTS));
}

static bool has_rows(const Scheduling *s) {
  SegKind kind = s->seg->kind;
  return kind == SEG_RED || kind == SEG_SCAN || kind == SEG_HIST;
}

static const KernPlan *rows_in_chunks_or_not(const Scheduling *s, const Kern *kern) {
  Chunks chunks;
  if (has_rows(s) && kern_columns_in_chunks(s->c, kern, s->seg, &chunks))
    return chunks_or(s, &chunks, one_kernel(s, kern, USE_POINTS));
  return has_rows(s) && kern_in_chunks(s->c, kern, s->seg, &chunks)
             ? in_chunks(s, kern, &chunks)
             : one_kernel(s, kern, USE_POINTS);
}

// A quick kernel, planned, where its condition holds; else another plan.
static const KernPlan *quick_or(const KernQuick *quick, const KernPlan *planned,
                                const KernPlan *otherwise) {
  const KernPlan **parts = new_array(const KernPlan *, 1);
  parts[0] = planned;
  return new_node(KernPlan, .lets = quick->lets, .condition = quick->condition,
                  .parts = parts, .part_count = 1, .otherwise = otherwise);
}

static const Kern *with_suffix(const Scheduling *s, const Kern *kern,
                               const char *suffix) {
  Kern *named = mem_copy(kern, sizeof *kern);
  named->name = name_of(s->c->names, text_format("%s_%s", kern->name, suffix));
  return named;
}

// With maps that are all that points do in the grid.
static const Kern *widened(const Scheduling *s, const Kern *kern) {
  Recipe r = recipe_new(s->c, kern, map_new(NULL));
  schedule_widen_grid(&r);
  return r.kern;
}

static const KernPlan *in_chunks_or_not(const Scheduling *s, const Kern *kern) {
  Chunks chunks;
  const KernPlan *plan = rows_in_chunks_or_not(s, kern);
  return !s->seg->share && kern_products_in_chunks(s->c, widened(s, kern), &chunks)
             ? chunks_or(s, &chunks, plan)
             : plan;
}

// With short rows joined, and these again.
static const KernPlan *with_rows_joined(const Scheduling *s, const Kern *kern) {
  KernQuick joined;
  const KernPlan *apart = in_chunks_or_not(s, kern);
  if (s->seg->share || !kern_join_grid(s->c, widened(s, kern), &joined)) return apart;
  const Kern *named = with_suffix(s, joined.kern, "joined");
  return quick_or(&joined, with_rows_joined(s, named), apart);
}

// With short rows joined and the grid in another order, where that pays.
static const KernPlan *as_it_comes(const Scheduling *s, const Kern *kern) {
  KernQuick ordered;
  if (!has_rows(s) && kern_order_grid(s->c, kern, &ordered)) {
    const Kern *across = with_suffix(s, ordered.kern, "across");
    return quick_or(&ordered, one_kernel(s, across, USE_POINTS),
                    one_kernel(s, kern, USE_POINTS));
  }
  return with_rows_joined(s, kern);
}

// What is there in case that a condition does not hold.
static const KernPlan *seldom(const Scheduling *s, const Kern *kern) {
  return has_rows(s) ? as_it_comes(s, kern) : one_kernel(s, kern, USE_FEW);
}

static const Kern *tidied(Compiler *c, const Kern *kern) {
  kern = kern_rows_where_read(c, kern_make_once(c, kern_count_rounds(c, kern)));
  kern = kern_update_in_place(c, kern_pair_within(c, kern));
  kern = kern_in_phases(c, kern);
  kern = kern_know_elements(c, kern_unroll_short(c, kern_rings_in_place(c, kern)));
  kern = kern_own_rows(c, kern);
  kern = kern_choose(c, kern_load_early(c, kern_drop_known_checks(c, kern)));
  kern = kern_choose_behind(c, kern_guard_whiles(c, kern));
  kern = kern_wait_for_operands(c, kern);
  kern = kern_loops_as_sums(c, kern_bound_rooms(c, kern_narrow(c, kern)));
  return kern_late_operands(
      c, kern_drop_fills(c, kern_carry_stores(c, kern_steady_stores(c, kern))));
}

// Without divisions, where indices and divisors are small enough.
static const KernPlan *by_reciprocals(const Scheduling *s, const Kern *kern) {
  KernQuick quick;
  if (s->seg->share || !kern_by_reciprocals(s->c, kern, &quick))
    return as_it_comes(s, kern);
  return quick_or(&quick, as_it_comes(s, quick.kern),
                  seldom(s, with_suffix(s, kern, "divided")));
}

// By loops over rows, where these are long.
static const KernPlan *without_divisions(const Scheduling *s, const Kern *kern) {
  const Term *are_long = s->seg->share ? NULL : kern_rows_are_long(kern);
  if (!are_long) return by_reciprocals(s, kern);
  KernBuilder none = kern_builder(s->c, kern->loc);
  const KernQuick rows = { .lets = kern_block(&none, NULL, 0), .condition = are_long };
  return quick_or(&rows, as_it_comes(s, kern),
                  by_reciprocals(s, with_suffix(s, kern, "short")));
}

// The dimensions of the grid; what a point does.
static int dims_of_grid(const Kern *kern, const KernBlock **point) {
  int dims = 0;
  *point = kern->body;
  for (const Axis *last = schedule_last_grid(kern), *axis = NULL; axis != last; dims++) {
    axis = (*point)->stms[0].u.axis;
    *point = axis->body;
  }
  return dims;
}

// Rows of rows that are short, of a length that the host finds out, as loops of points: those of a
// Kronecker product.  Points one by one would count in all dimensions of the grid, and what goes by
// the outermost one alone is found once.
static const KernPlan *short_rows_or(const Scheduling *s, const Kern *kern,
                                     const KernPlan *otherwise) {
  enum { SHORT_ROW = 64, MANY_ROWS = 256 };
  const Axis *last = schedule_last_grid(kern);
  const Axis *rows = last ? schedule_axis_before(kern, last) : NULL;
  const Axis *around = rows ? schedule_axis_before(kern, rows) : NULL;
  if (!around || last->width->kind == TERM_CONST || !kern_host_knows(kern, last->width) ||
      !kern_host_knows(kern, around->width))
    return otherwise;
  Recipe loops = recipe_new(s->c, kern, NULL);
  recipe_bind(&loops, last->name, BIND_SEQ);
  recipe_bind(&loops, rows->name, BIND_SEQ);
  if (loops.failed) return otherwise;
  KernBuilder none = kern_builder(s->c, kern->loc);
  const Term *are_short = term_less(last->width, term_i64(SHORT_ROW)),
             *are_many = term_at_most(term_i64(MANY_ROWS), around->width);
  const KernQuick quick = { .lets = kern_block(&none, NULL, 0),
                            .condition = term_and(are_short, are_many) };
  const Kern *named = with_suffix(s, loops.kern, "short_rows");
  return quick_or(&quick, without_divisions(s, named), otherwise);
}

// By rows in place of what divides, where there is one more dimension of the grid.
static const KernPlan *plan_of_rows(const Scheduling *s, const Kern *plain,
                                    const Kern *kern) {
  const KernBlock *point;
  const KernPlan *plan = without_divisions(s, kern);
  bool more = dims_of_grid(kern, &point) > dims_of_grid(plain, &point);
  return more && !has_rows(s) ? short_rows_or(s, kern, plan) : plan;
}

static const KernPlan *plan_of_points(const Scheduling *s, const Kern *kern,
                                      const Kern *plain) {
  KernQuick quick;
  if (s->seg->share || !kern_unflatten(s->c, kern, &quick))
    return without_divisions(s, plain);
  const KernPlan *rows = plan_of_rows(s, plain, tidied(s->c, quick.kern));
  const Term *asks = quick.condition;
  if (asks->kind == TERM_CONST && asks->u.constant.u.i) return rows;
  const Kern *in_one = with_suffix(s, plain, "in_one");
  return quick_or(&quick, rows,
                  quick.guessed ? without_divisions(s, in_one) : seldom(s, in_one));
}

// With both points of an exchange together.
static const KernPlan *plan_of_seg(const Scheduling *s, const Kern *kern,
                                   const Kern *plain) {
  KernQuick pairs;
  if (s->seg->share || s->seg->kind != SEG_MAP || !kern_pair_partners(s->c, kern, &pairs))
    return plan_of_points(s, kern, plain);
  return quick_or(
      &pairs, without_divisions(s, tidied(s->c, pairs.kern)),
      plan_of_points(s, with_suffix(s, kern, "single"), with_suffix(s, plain, "single")));
}

// A histogram in the chunks that `from` has made, or as it is.
static const KernPlan *plan_of_hist(const Scheduling *s, const KernPlan *otherwise) {
  Chunks chunks;
  if (!kern_hist_in_chunks(s->c, s->seg, &chunks)) return otherwise;
  for (int i = 0; i < chunks.phase_count && !s->plain; i++)
    chunks.phases[i] = tidied(s->c, chunks.phases[i]);
  return chunks_or(s, &chunks, otherwise);
}

static void check_plan(Compiler *c, const KernPlan *plan, const Kern *naive) {
  for (; plan; plan = plan->otherwise) {
    if (plan->kern) kern_check_made_of(c, plan->kern, naive);
    if (plan->narrow) kern_check_made_of(c, plan->narrow, naive);
    for (int i = 0; i < plan->part_count; i++)
      check_plan(c, plan->parts[i], naive);
  }
}

static bool has_bands(const KernPlan *plan) {
  if (!plan) return false;
  bool found = (plan->kern && plan->kern->wide) || has_bands(plan->otherwise);
  for (int i = 0; i < plan->part_count && !found; i++)
    found = has_bands(plan->parts[i]);
  return found;
}

static void see_detour(KernVisitor *v, const KernStm *stm) {
  bool detour =
      stm->kind == KERN_AXIS || stm->kind == KERN_WHILE || stm->kind == KERN_CALL;
  if (detour) *(bool *)v->state = false;
}

static bool point_is_straight(const KernBlock *point) {
  bool straight = true;
  KernVisitor v = { .stm = see_detour, .state = &straight };
  kern_visit_block(&v, point);
  return straight;
}

const KernPlan *kern_schedule(Compiler *c, RecipeBook *book, const KernSeg *seg) {
  Scheduling s = { .c = c, .book = book, .seg = seg };
  const Kern *kern = kern_inline_short(c, seg->kern), *plain = tidied(c, kern);
  KernPlan plan = *plan_of_seg(&s, kern, plain);
  plan = *plan_of_hist(&s, mem_copy(&plan, sizeof plan));
  plan.one_for_two = plain->one_for_two;
  const KernBlock *point;
  int dims = dims_of_grid(kern, &point);
  plan.bands = has_bands(&plan) ? dims : 0;
  plan.straight = seg->kind == SEG_MAP && point_is_straight(point) ? dims : 0;
  if (c->check_ir) check_plan(c, &plan, kern);
  return mem_copy(&plan, sizeof plan);
}

const KernPlan *kern_schedule_items(Compiler *c, const KernSeg *seg) {
  Scheduling s = { .c = c, .seg = seg, .plain = true };
  Chunks chunks;
  const KernPlan *plan = has_rows(&s) && kern_in_chunks(c, seg->kern, seg, &chunks)
                             ? in_chunks(&s, seg->kern, &chunks)
                             : one_kernel(&s, seg->kern, USE_POINTS);
  return plan_of_hist(&s, plan);
}

// Random arguments that a property does not hold for, and smaller ones that it does not hold for
// either.  Everything follows from the seed.
#include "commands/test/property.h"
#include "core/interp/interp.h"
#include "core/value/generate.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_SIZE = 20, MOST_SIZE = 100000, SHRINK_TRIES = 1000, MOST_ELEMENTS = 64 };

// ---- what the program says

static const AstAttr *find_attr(const AstProgram *ast, const char *name) {
  vec_each (AstDecl *const *, d, &ast->decls) {
    if ((*d)->kind != AST_DECL_VALUE || strcmp((*d)->u.value.name, name) != 0) continue;
    vec_each (const AstAttr *const *, attr, &(*d)->attrs)
      if (strcmp((*attr)->name, "prop") == 0) return *attr;
  }
  return NULL;
}

// Has the function these parameters (of one type each), and results as another one's parameters?
static bool has_types(const Entry *f, int first, const Entry *like) {
  int count = like->param_count - like->size_count;
  for (int i = 0; i < count; i++) {
    const CoreType *type = &like->params[like->size_count + i]->type;
    const CoreType *own = first < 0 ? (i < f->result_count ? &f->results[i] : NULL)
                                    : &f->params[f->size_count + first + i]->type;
    if (!own || own->elem != type->elem || own->rank != type->rank) return false;
  }
  return first >= 0 || f->result_count == count;
}

static bool is_integer(const Var *param) {
  return param->type.rank == 0 && prim_is_int(param->type.elem);
}

static bool is_generator(const Entry *f, const Entry *of) {
  return f->size_count == 0 && f->param_count == 2 && is_integer(f->params[0]) &&
         f->params[0]->type.elem == PRIM_I64 && is_integer(f->params[1]) &&
         has_types(f, -1, of);
}

// Takes the function what the other one takes, and then so many parameters more?
static bool takes(const Entry *f, const Entry *of, int more) {
  int count = of->param_count - of->size_count;
  return f->param_count - f->size_count == count + more && has_types(f, 0, of);
}

static bool is_shrinker(const Entry *f, const Entry *of) {
  return takes(f, of, 1) && is_integer(f->params[f->param_count - 1]) &&
         has_types(f, -1, of);
}

static bool is_printer(const Entry *f, const Entry *of) {
  return takes(f, of, 0) && f->result_count == 1 && f->results[0].rank == 1 &&
         f->results[0].elem == PRIM_U8;
}

// A function that the attribute names: who may be it, and what it must be like.
typedef struct NamedFunction {
  const char *name;
  bool (*fits)(const Entry *f, const Entry *property);
  const char *like;
} NamedFunction;

static const NamedFunction roles[] = {
  { "gen", is_generator,
    "it must take a size (i64) and a seed (an integer) and give what the property "
    "takes" },
  { "shrink", is_shrinker,
    "it must take what the property takes and an integer, and give what the property "
    "takes" },
  { "pprint", is_printer,
    "it must take what the property takes and give its text ([]u8)" },
};

static const NamedFunction *find_named(const char *name) {
  for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
    if (strcmp(roles[i].name, name) == 0) return &roles[i];
  return NULL;
}

static const char *use_function(Property *p, const NamedFunction *role,
                                const AstAttr *what) {
  const char *name = what->args.count == 1 ? what->args.at[0]->name : "";
  const Entry *f = command_find_entry(p->core, name);
  if (!f && role->fits == is_shrinker && strcmp(name, "auto") == 0) {
    p->shrinks_by_type = true;
    return NULL;
  }
  if (!f) return text_format("%s(%s): there is no such entry point", what->name, name);
  if (!role->fits(f, p->entry))
    return text_format("%s(%s): %s", what->name, name, role->like);
  *(role->fits == is_generator  ? &p->generator
    : role->fits == is_shrinker ? &p->shrinker
                                : &p->printer) = f;
  return NULL;
}

static const char *use_size(Property *p, const AstAttr *what) {
  char *end = NULL;
  const char *text = what->args.count == 1 ? what->args.at[0]->name : "";
  p->size = strtoll(text, &end, 10);
  return end != text && *end == '\0' && p->size >= 0 && p->size <= MOST_SIZE
             ? NULL
             : text_format("size(%s): expected a number up to %d", text, MOST_SIZE);
}

static const char *use_attr(Property *p, const AstAttr *attr) {
  vec_each (const AstAttr *const *, what, &attr->args) {
    const char *name = (*what)->name, *problem;
    const NamedFunction *role = find_named(name);
    if (role)
      problem = use_function(p, role, *what);
    else if (strcmp(name, "size") == 0)
      problem = use_size(p, *what);
    else
      problem =
          text_format("unknown argument `%s` of #[prop(..)]: gen, shrink, pprint and "
                      "size are known",
                      name);
    if (problem) return problem;
  }
  return NULL;
}

// The tag of a constructor cannot be any number.
static bool holds_sum(const EntryValue *v) {
  if (v->constructor_count) return true;
  for (int i = 0; i < v->field_count; i++)
    if (holds_sum(&v->fields[i])) return true;
  return false;
}

static const char *check_types(const Property *p) {
  const Entry *entry = p->entry;
  if (entry->result_count != 1 || entry->results[0].rank ||
      entry->results[0].elem != PRIM_BOOL)
    return "a property gives a bool";
  for (int i = 0; i < entry->input_count; i++)
    if (!p->generator && holds_sum(&entry->inputs[i]))
      return text_format("values of type %s are made by #[prop(gen(f))] only",
                         entry->inputs[i].type);
  return NULL;
}

const char *property_find(const Program *program, const char *name, Property *out) {
  out->entry = command_find_entry(out->core, name);
  if (!out->entry) return "the program has no such entry point";
  const AstAttr *attr = find_attr(program->ast, name);
  if (!attr) return "it has no attribute #[prop]";
  out->size = DEFAULT_SIZE;
  const char *problem = use_attr(out, attr);
  return problem ? problem : check_types(out);
}

// ---- making arguments

static int leaves_of(const Entry *entry) {
  return entry->param_count - entry->size_count;
}

// A number that looks random, of the seed and what it is for.
static uint64_t mixed(const Property *p, int number, int what) {
  uint64_t z = p->seed * UINT64_C(0x9E3779B97F4A7C15) + (uint64_t)number * 1000003u +
               (uint64_t)what * 7919u;
  z = (z ^ (z >> 31)) * UINT64_C(0xD6E8FEB86659FD93);
  z = (z ^ (z >> 32)) * UINT64_C(0xD6E8FEB86659FD93);
  return z ^ (z >> 32);
}

// Small candidates come first.
static int64_t candidate_size(const Property *p, int number) {
  int64_t size = (int64_t)number + 1;
  return size < p->size ? size : p->size;
}

static int64_t dimension(const Property *p, int number, Atom dim) {
  if (dim.kind == ATOM_CONST) return dim.u.constant.u.i;
  for (int i = 0; i < p->entry->param_count; i++)
    if (p->entry->params[i] == dim.u.var)
      return (int64_t)(mixed(p, number, -1 - i) %
                       (uint64_t)(candidate_size(p, number) + 1));
  return 0;
}

// Of four candidates three have small numbers, the fourth any.
static GenerateBounds bounds_of(const Property *p, int number) {
  GenerateBounds bounds = { 0 };
  int64_t size = candidate_size(p, number);
  for (PrimType t = 0; t < PRIM_COUNT; t++) {
    int64_t most = size < 100 ? size : 100;
    bool is_float = prim_is_float(t);
    bounds.has[t] = t != PRIM_BOOL && (is_float || number % 4 != 3);
    double scale = number % 4 == 3 ? 1000 : 1;
    bounds.low[t] = is_float ? prim_float(t, -(double)most * scale)
                             : prim_int(t, prim_is_signed(t) ? -most : 0);
    bounds.high[t] = is_float ? prim_float(t, (double)most * scale) : prim_int(t, most);
  }
  return bounds;
}

static const Value *make_leaf(const Property *p, int number, int leaf,
                              const char **message) {
  const Var *param = p->entry->params[p->entry->size_count + leaf];
  Text *type = text_new();
  for (int d = 0; d < param->type.rank; d++)
    text_printf(type, "[%lld]", (long long)dimension(p, number, param->type.dims[d]));
  text_add(type, prim_type_name(param->type.elem));
  GenerateBounds bounds = bounds_of(p, number);
  return generate_value(text_str(type), mixed(p, number, leaf), &bounds, message);
}

static const Value *number_value(PrimType type, int64_t number) {
  Value *v = value_new(type, 0, NULL);
  value_set(v, 0, prim_int(type, number));
  return v;
}

// A number for the last parameter of a function: not negative, of its type.
static const Value *random_for(const Entry *f, uint64_t random) {
  PrimType type = f->params[f->param_count - 1]->type.elem;
  return number_value(type, (int64_t)(random >> (65 - 8 * prim_size_bytes(type))));
}

// The results of a function of the program, or NULL and a message.
static const Value **call_entry(Compiler *c, const Property *p, const Entry *f,
                                const Value *const *inputs, const char **message) {
  const InterpOptions options = { .max_steps = p->max_steps };
  InterpResult result = interp_run(c, p->core, f, inputs, options);
  if (result.ok) return result.values;
  *message = text_format("%s: %s: %s", f->name, loc_text(result.loc), result.message);
  return NULL;
}

const Value **property_candidate(Compiler *c, const Property *p, int number,
                                 const char **message) {
  *message = NULL;
  if (p->generator) {
    const Value *inputs[] = { number_value(PRIM_I64, candidate_size(p, number)),
                              random_for(p->generator, mixed(p, number, 0)) };
    return call_entry(c, p, p->generator, inputs, message);
  }
  const Value **inputs = new_array(const Value *, leaves_of(p->entry) + 1);
  for (int i = 0; i < leaves_of(p->entry); i++) {
    inputs[i] = make_leaf(p, number, i, message);
    if (!inputs[i]) return NULL;
  }
  return inputs;
}

const char *property_try(Compiler *c, const Property *p, const Value *const *inputs) {
  const char *message = NULL;
  const Value **result = call_entry(c, p, p->entry, inputs, &message);
  if (!result) return message;
  return value_get(result[0], 0).u.i ? NULL : "it gives false";
}

// ---- making them smaller

// One way to make arguments smaller, or not; NULL if it changes nothing.
typedef struct Shrinking {
  Compiler *c;
  const Property *p;
  const Value **inputs;
  const char **failure;
  int tries;
} Shrinking;

// Takes them if the property fails for them, too.
static bool take(Shrinking *s, const Value **inputs) {
  if (!inputs || s->tries >= SHRINK_TRIES) return false;
  s->tries++;
  const char *failure = property_try(s->c, s->p, inputs);
  if (!failure) return false;
  s->inputs = inputs;
  *s->failure = failure;
  return true;
}

static const Value **copy_inputs(const Shrinking *s) {
  int count = leaves_of(s->p->entry);
  const Value **copy = new_array(const Value *, count + 1);
  memcpy(copy, s->inputs, sizeof *copy * (size_t)count);
  return copy;
}

// The part of an array whose indices in the dimensions marked are from `from` on; `size` of them.
static const Value *part_of(const Value *v, const bool *marked, int64_t from,
                            int64_t size) {
  int64_t *shape = new_array(int64_t, v->rank + 1);
  for (int d = 0; d < v->rank; d++)
    shape[d] = marked[d] ? size : v->shape[d];
  Value *out = value_new(v->elem, v->rank, shape);
  for (int64_t i = 0; i < value_count(out); i++) {
    int64_t rest = i, at = 0, stride = 1;
    for (int d = v->rank - 1; d >= 0; d--) {
      at += (rest % shape[d] + (marked[d] ? from : 0)) * stride;
      rest /= shape[d];
      stride *= v->shape[d];
    }
    value_set(out, i, value_get(v, at));
  }
  return out;
}

// All arrays cut to a part along what a size parameter is the length of; NULL if there is none.
static const Value **cut(const Shrinking *s, const Var *size, int64_t from,
                         int64_t count) {
  const Entry *entry = s->p->entry;
  const Value **inputs = copy_inputs(s);
  bool any = false;
  for (int i = 0; i < leaves_of(entry); i++) {
    const CoreType *type = &entry->params[entry->size_count + i]->type;
    bool *marked = new_array(bool, type->rank + 1), here = false;
    for (int d = 0; d < type->rank; d++) {
      marked[d] = type->dims[d].kind == ATOM_VAR && type->dims[d].u.var == size;
      here = here || marked[d];
    }
    if (here) inputs[i] = part_of(inputs[i], marked, from, count);
    any = any || here;
  }
  return any ? inputs : NULL;
}

static int64_t length_of(const Shrinking *s, const Var *size) {
  const Entry *entry = s->p->entry;
  for (int i = 0; i < leaves_of(entry); i++) {
    const CoreType *type = &entry->params[entry->size_count + i]->type;
    for (int d = 0; d < type->rank; d++)
      if (type->dims[d].kind == ATOM_VAR && type->dims[d].u.var == size)
        return s->inputs[i]->shape[d];
  }
  return 0;
}

// One half, or without the last or the first.
static bool shorten(Shrinking *s, const Var *size) {
  int64_t n = length_of(s, size), half = n / 2;
  if (n == 0) return false;
  return take(s, cut(s, size, 0, half)) ||
         (half > 0 && take(s, cut(s, size, half, n - half))) ||
         take(s, cut(s, size, 0, n - 1)) || take(s, cut(s, size, 1, n - 1));
}

// The arguments with another number in one place.
static const Value **with_element(const Shrinking *s, int leaf, int64_t i, Prim number) {
  const Value **inputs = copy_inputs(s), *v = s->inputs[leaf];
  Value *copy = value_new(v->elem, v->rank, v->shape);
  memcpy(copy->data, v->data, (size_t)value_count(v) * (size_t)prim_size_bytes(v->elem));
  value_set(copy, i, number);
  inputs[leaf] = copy;
  return inputs;
}

// Nearer to 0: 0 itself, a half of it, one less, each with a whole number.
static Prim lowered(Prim number, int how) {
  PrimType type = number.type;
  if (type == PRIM_BOOL) return prim_bool(false);
  if (prim_is_float(type)) {
    double x = prim_to_double(number), one = x > 0 ? 1 : -1;
    const double lower[] = { 0, trunc(x / 2), fabs(x) >= 1 ? trunc(x - one) : 0 };
    return prim_float(type, lower[how]);
  }
  int64_t x = number.u.i, one = x > 0 || !prim_is_signed(type) ? 1 : -1;
  bool large = !prim_is_signed(type) && x < 0;  // of u64
  const int64_t lower[] = { 0, large ? (int64_t)((uint64_t)x / 2) : x / 2, x - one };
  return prim_int(type, lower[how]);
}

static bool lower_element(Shrinking *s, int leaf, int64_t i) {
  Prim is = value_get(s->inputs[leaf], i), zero = prim_zero(is.type);
  for (int how = 0; how < 3 && !prim_identical(is, zero); how++) {
    Prim smaller = lowered(is, how);
    bool same = prim_identical(smaller, is);
    if (!same && take(s, with_element(s, leaf, i, smaller))) return true;
  }
  return false;
}

static bool lower(Shrinking *s) {
  for (int leaf = 0; leaf < leaves_of(s->p->entry); leaf++) {
    int64_t count = value_count(s->inputs[leaf]);
    for (int64_t i = 0; i < count && i < MOST_ELEMENTS; i++)
      if (lower_element(s, leaf, i)) return true;
  }
  return false;
}

static bool shrink_by_type(Shrinking *s) {
  const Entry *entry = s->p->entry;
  // What it makes may not be any value of its type.
  if (s->p->generator && !s->p->shrinks_by_type) return false;
  for (int i = 0; i < entry->size_count; i++)
    if (shorten(s, entry->params[i])) return true;
  return lower(s);
}

static bool shrink_by_function(Shrinking *s) {
  enum { IN_A_ROW = 20 };
  int count = leaves_of(s->p->entry);
  for (int i = 0; i < IN_A_ROW; i++) {
    const Value **inputs = new_array(const Value *, count + 2);
    memcpy(inputs, s->inputs, sizeof *inputs * (size_t)count);
    inputs[count] = random_for(s->p->shrinker, mixed(s->p, s->tries, i));
    const char *message = NULL;
    const Value **smaller = call_entry(s->c, s->p, s->p->shrinker, inputs, &message);
    if (take(s, smaller)) return true;
  }
  return false;
}

const Value **property_shrink(Compiler *c, const Property *p, const Value **inputs,
                              const char **failure) {
  Shrinking s = { c, p, inputs, failure, 0 };
  while (s.tries < SHRINK_TRIES &&
         (p->shrinker ? shrink_by_function(&s) : shrink_by_type(&s)))
    ;
  return s.inputs;
}

// What the program's own function says that they are; NULL if there is none, or it fails.
static const char *printed(Compiler *c, const Property *p, const Value *const *inputs) {
  const char *message = NULL;
  const Value **text = p->printer ? call_entry(c, p, p->printer, inputs, &message) : NULL;
  if (!text) return NULL;
  Text *t = text_new();
  text_add_bytes(t, text[0]->data, (size_t)value_count(text[0]));
  return text_str(t);
}

const char *property_inputs_text(Compiler *c, const Property *p,
                                 const Value *const *inputs) {
  const char *own = printed(c, p, inputs);
  if (own) return own;
  Text *t = text_new();
  for (int i = 0; i < leaves_of(p->entry); i++) {
    if (i) text_add(t, " ");
    value_write_text(t, inputs[i]);
  }
  return text_str(t);
}

// What to write instead of an expression whose type nearly fits.
#include "base/text.h"
#include "types/check.h"
#include <ctype.h>
#include <string.h>

// The source text, in brackets unless it is one word; NULL if it is long.
static const char *operand_text(Loc loc) {
  enum { SHORT = 24 };
  uint32_t length = loc.end - loc.start;
  const char *start = loc.file->text + loc.start;
  if (length > SHORT || memchr(start, '\n', length)) return NULL;
  bool word = strcspn(start, " -+*/%<>=!&|^") >= length;
  return text_format(word ? "%.*s" : "(%.*s)", (int)length, start);
}

// 1.0f64 where an f32 is expected is to be 1.0f32; there is no 1.0i32.
static bool hint_suffix(Check *k, Loc loc, PrimType to, PrimType from) {
  const char *expected = prim_type_name(to), *actual = prim_type_name(from);
  size_t length = loc.end - loc.start, suffix = strlen(actual);
  const char *start = loc.file->text + loc.start;
  bool whole = strcspn(start, ".ep") >= length;
  if (prim_is_float(from) && !prim_is_float(to) && !whole) return false;
  if (!isdigit((unsigned char)*start) || length <= suffix) return false;
  if (strncmp(start + length - suffix, actual, suffix) != 0) return false;
  hint(k->c, "write %.*s%s", (int)(length - suffix), start, expected);
  return true;
}

static void hint_conversion(Check *k, Loc loc, PrimType expected, PrimType actual) {
  const char *to = prim_type_name(expected), *from = prim_type_name(actual);
  if (hint_suffix(k, loc, expected, actual)) return;
  const char *text = operand_text(loc);
  hint(k->c, "`%s.%s%s%s` converts it", to, from, text ? " " : "", text ? text : "");
}

// "map (map f)" for the elements of matrices
static const char *mapped(const char *map, const char *f, int rank) {
  for (; rank > 1; rank--)
    f = text_format("(%s %s)", map, f);
  return text_format("%s %s", map, f);
}

static int rank_of(const Type *type) {
  int rank = 0;
  for (type = type_resolve(type); type->kind == TYPE_ARRAY;
       type = type_resolve(type->u.array.elem))
    rank++;
  return rank;
}

static const Type *innermost_element(const Type *type) {
  while (type->kind == TYPE_ARRAY)
    type = type_resolve(type->u.array.elem);
  return type;
}

// []i32 where []i64 is expected
static bool hint_conversion_of_elements(Check *k, Loc loc, const Type *expected,
                                        const Type *actual) {
  const Type *to = innermost_element(expected), *from = innermost_element(actual);
  int rank = rank_of(actual);
  bool prims = to->kind == TYPE_PRIM && from->kind == TYPE_PRIM;
  if (!prims || !rank || rank_of(expected) != rank || to->u.prim == from->u.prim)
    return false;
  const char *f =
      text_format("%s.%s", prim_type_name(to->u.prim), prim_type_name(from->u.prim));
  const char *text = operand_text(loc);
  hint(k->c, "`%s%s%s` converts the elements", mapped("map", f, rank), text ? " " : "",
       text ? text : "");
  return true;
}

static bool is_number(const Type *type) {
  if (type->kind == TYPE_VAR) return type->u.var->prims != CLASS_ANY;
  return type->kind == TYPE_PRIM && type->u.prim != PRIM_BOOL;
}

static bool is_bool(const Type *type) {
  return type->kind == TYPE_PRIM && type->u.prim == PRIM_BOOL;
}

static bool is_float(const Type *type) {
  if (type->kind == TYPE_VAR) return type->u.var->prims == CLASS_FLOAT;
  return type->kind == TYPE_PRIM && prim_is_float(type->u.prim);
}

static const char *text_at(Loc loc) {
  return text_format("%.*s", (int)(loc.end - loc.start), loc.file->text + loc.start);
}

static bool is_short(Loc loc) {
  uint32_t length = loc.end - loc.start;
  return loc.file && length <= 30 && !memchr(loc.file->text + loc.start, '\n', length);
}

// if x, and if !x, for a number x, and a || b
static bool hint_comparison(Check *k, Loc loc, const Type *actual, Why why) {
  bool logical = why.name && (strcmp(why.name, "&&") == 0 || strcmp(why.name, "||") == 0);
  if (!(why.kind == WHY_CONDITION || logical) || !is_number(actual)) return false;
  const char *text = operand_text(loc);
  if (is_short(loc) && loc.file->text[loc.start] == '!')
    hint(k->c,
         "compare it, as in `%s == 0`: `!` of an integer is the complement of its bits",
         text_at(loc) + 1);
  else if (text && isdigit((unsigned char)*text))
    hint(k->c, "compare something with it, as in `x == %s`", text);
  else
    hint(k->c, "compare it, as in `%s != 0`", text ? text : "x");
  return true;
}

static bool is_comparison(const char *op) {
  return op && (strcmp(op, "<") == 0 || strcmp(op, "<=") == 0 || strcmp(op, ">") == 0 ||
                strcmp(op, ">=") == 0 || strcmp(op, "==") == 0);
}

// a < b < c
static bool hint_chain(Check *k, Why why) {
  if (!why.apply || why.index != 2 || !is_comparison(why.name)) return false;
  const AstExp *left = why.apply->u.apply.args.at[0];
  if (left->kind != AST_APPLY || !left->u.apply.is_operator) return false;
  const AstExp *op = left->u.apply.function;
  if (op->kind != AST_NAME || !is_comparison(op->u.name.name.name)) return false;
  hint(k->c, "`a < b && b < c` compares three values");
  return true;
}

// x ^ 2 on floats, a & b on bools
static bool hint_operator(Check *k, const Type *actual, Why why) {
  if (!why.name) return false;
  bool floats = is_float(actual);
  if (floats && strcmp(why.name, "//") == 0) {
    hint(k->c, "`/` divides floats");
    return true;
  }
  if (floats && strcmp(why.name, "%%") == 0) {
    hint(k->c, "`%%` is the remainder of a division of floats, too");
    return true;
  }
  if (why.name[1]) return false;
  char op = why.name[0];
  if (op == '^' && is_float(actual))
    hint(k->c, "`**` is the power; `^` is exclusive or, of integers");
  else if (op == '^' && is_bool(actual))
    hint(k->c, "`!=` is exclusive or, of bools");
  else if ((op == '&' || op == '|') && is_bool(actual))
    hint(k->c, "`%c%c` is for bools, `%c` for integers", op, op, op);
  else
    return false;
  return true;
}

// f -x, which subtracts
static bool hint_negative_argument(Check *k, const Type *actual, Why why) {
  const AstExp *node = why.apply;
  bool minus =
      node && node->u.apply.is_operator && why.name && strcmp(why.name, "-") == 0;
  if (!minus || actual->kind != TYPE_FUNCTION || node->u.apply.args.count != 2)
    return false;
  Loc left = node->u.apply.args.at[0]->loc, right = node->u.apply.args.at[1]->loc;
  if (!is_short(left) || !is_short(right)) return false;
  hint(k->c, "an argument that begins with `-` needs brackets: `%s (-%s)`", text_at(left),
       text_at(right));
  return true;
}

// f(x, y)
static bool hint_tuple_of_arguments(Check *k, Why why) {
  const AstExp *node = why.apply;
  if (!node || why.kind != WHY_ARGUMENT || node->u.apply.is_operator) return false;
  const AstExp *arg = node->u.apply.args.at[why.index - 1];
  const AstExp *f = node->u.apply.function;
  if (arg->kind != AST_TUPLE || node->u.apply.args.count != 1 || !f->type) return false;
  int count = arg->u.tuple.items.count;
  if (count < 2 || type_arity(f->type) < count || !is_short(node->loc)) return false;
  Text *t = text_new();
  text_add(t, text_at(f->loc));
  for (int i = 0; i < count; i++) {
    const char *item = operand_text(arg->u.tuple.items.at[i]->loc);
    text_printf(t, " %s", item ? item : "...");
  }
  hint(k->c, "arguments follow one another without commas: `%s`", text_str(t));
  return true;
}

// map (-1) xs
static bool hint_section(Check *k, Loc loc, const Type *expected, const Type *actual) {
  if (expected->kind != TYPE_FUNCTION || !is_number(actual)) return false;
  if (!is_short(loc) || loc.file->text[loc.start] != '-') return false;
  const char *text = text_at(loc);
  hint(k->c, "`(%s)` is a number; `(\\x -> x - %s)` is a function", text,
       text + 1 + strspn(text + 1, " "));
  return true;
}

static const Binding *binding_of(const AstExp *exp) {
  return exp->kind == AST_NAME ? exp->u.name.binding : NULL;
}

// Is this a number, or a name for one, before its type is known?
static bool is_scalar(const AstExp *exp) {
  const Binding *b = binding_of(exp);
  bool literal = exp->kind == AST_INT || exp->kind == AST_FLOAT || exp->kind == AST_BOOL;
  return literal || (b && b->type && type_resolve(b->type)->kind == TYPE_PRIM);
}

// reduce (+) xs, without the neutral element, and reduce (+) xs 0
static bool hint_missing_argument(Check *k, const Type *actual, Why why) {
  const AstExp *node = why.apply;
  if (!node || why.kind != WHY_ARGUMENT || node->u.apply.is_operator) return false;
  const Binding *b = binding_of(node->u.apply.function);
  if (!b || !b->type || actual->kind != TYPE_ARRAY) return false;
  const Type *type = type_resolve(b->type);
  int count = node->u.apply.args.count;
  bool swapped = why.index < count && is_scalar(node->u.apply.args.at[why.index]);
  if (type_arity(type) <= count && !swapped) return false;
  for (int i = 1; i < why.index; i++)
    type = type_resolve(type->u.function.to);
  const Type *next = type_resolve(type->u.function.to);
  bool is_next = type_resolve(type->u.function.from)->kind != TYPE_ARRAY &&
                 next->kind == TYPE_FUNCTION &&
                 type_resolve(next->u.function.from)->kind == TYPE_ARRAY;
  if (is_next && swapped)
    hint(k->c, "`%s` has type `%s`: are arguments %d and %d swapped?", b->name,
         type_text(b->type), why.index, why.index + 1);
  else if (is_next)
    hint(k->c, "`%s` has type `%s`: is argument %d missing?", b->name, type_text(b->type),
         why.index);
  return is_next;
}

// f 1 2, where f takes a pair
static bool hint_untupled(Check *k, const Type *expected, Why why) {
  const AstExp *node = why.apply;
  if (!node || why.index != 1 || node->u.apply.is_operator) return false;
  int count = node->u.apply.args.count;
  if (!type_is_tuple(expected) || count < 2 || expected->u.record.count != count)
    return false;
  if (!is_short(node->loc)) return false;
  Text *t = text_new();
  for (int i = 0; i < count; i++)
    text_printf(t, i ? ", %s" : "%s", text_at(node->u.apply.args.at[i]->loc));
  hint(k->c, "`%s` takes one tuple: `%s (%s)`", why.name ? why.name : "it",
       text_at(node->u.apply.function->loc), text_str(t));
  return true;
}

// --- Arrays where numbers are expected ---

// What is applied to each element: (* 2), (2 *), (\x -> x - 2) because (- 2) is a number.
static const char *section(Name op, const char *operand, bool on_right) {
  if (on_right && strcmp(op, "-") == 0) return text_format("(\\x -> x - %s)", operand);
  return on_right ? text_format("(%s %s)", op, operand)
                  : text_format("(%s %s)", operand, op);
}

// xs + ys, xs * 2
static void hint_array_operator(Check *k, const AstExp *node, Why why) {
  const AstExp *left = node->u.apply.args.at[0], *right = node->u.apply.args.at[1];
  const char *l = operand_text(left->loc), *r = operand_text(right->loc);
  int left_rank = left->type ? rank_of(left->type) : 0;
  int right_rank = right->type ? rank_of(right->type) : 0;
  bool both = left_rank && right_rank;
  bool texts = left->kind == AST_STRING || right->kind == AST_STRING;
  if (texts && strcmp(why.name, "+") == 0) {
    hint(k->c, "`++` joins texts, as it does arrays");
    return;
  }
  if (!l || !r || (both && left_rank != right_rank))
    hint(k->c, "`map` and `map2` apply it to the elements of arrays");
  else if (both)
    hint(k->c, "`%s %s %s` applies it to the elements of both",
         mapped("map2", text_format("(%s)", why.name), left_rank), l, r);
  else
    hint(k->c, "`%s %s` applies it to each element",
         mapped("map", section(why.name, left_rank ? r : l, left_rank != 0),
                left_rank + right_rank),
         left_rank ? l : r);
}

// f32.sqrt xs, - xs
static void hint_array_argument(Check *k, Loc loc, const Type *actual, Why why) {
  const char *arg = operand_text(loc);
  const AstExp *node = why.apply;
  const char *f = node ? operand_text(node->u.apply.function->loc) : NULL;
  if (f && node->u.apply.is_operator) f = text_format("(\\x -> %cx)", *why.name);
  if (f && arg && node->u.apply.args.count == 1)
    hint(k->c, "`%s %s` applies it to each element", mapped("map", f, rank_of(actual)),
         arg);
  else
    hint(k->c, "`map` applies it to each element");
}

// Would it do for the elements?
static bool fits_elements(const Type *expected, const Type *actual) {
  const Type *elem = innermost_element(actual);
  if (expected->kind == TYPE_PRIM)
    return elem->kind == TYPE_PRIM ? elem->u.prim == expected->u.prim : is_number(elem);
  return expected->kind == TYPE_VAR && expected->u.var->prims && elem->kind == TYPE_PRIM;
}

static bool hint_elementwise(Check *k, Loc loc, const Type *expected, const Type *actual,
                             Why why) {
  bool applied = why.kind == WHY_ARGUMENT && why.name;
  if (!applied || actual->kind != TYPE_ARRAY || !fits_elements(expected, actual))
    return false;
  const AstExp *node = why.apply;
  if (node && node->u.apply.is_operator && node->u.apply.args.count == 2)
    hint_array_operator(k, node, why);
  else
    hint_array_argument(k, loc, actual, why);
  return true;
}

// map (+ 1) xss
static bool hint_rows(Check *k, Loc loc, const Type *expected, const Type *actual,
                      Why why) {
  const char *text = operand_text(loc);
  if (why.kind != WHY_ARGUMENT || !text) return false;
  if (expected->kind != TYPE_ARRAY || actual->kind != TYPE_ARRAY) return false;
  const Type *elem = type_resolve(expected->u.array.elem),
             *row = type_resolve(actual->u.array.elem);
  if (row->kind != TYPE_ARRAY || !fits_elements(elem, row)) return false;
  hint(k->c,
       "its elements are rows: `map (map f) %s` reaches theirs, `flatten %s` has all",
       text, text);
  return true;
}

// --- All of them ---

static bool is_function(const Type *type) {
  return type && type_resolve(type)->kind == TYPE_FUNCTION;
}

// Is the first parameter a function?
static bool takes_function(const Binding *b) {
  const Type *type = b && b->type ? type_resolve(b->type) : NULL;
  return type && type->kind == TYPE_FUNCTION && is_function(type->u.function.from);
}

// reduce + 0 xs, reduce f32.+ 0 xs and reduce f32.max -1 xs, where `operand` is no function
bool hint_operator_argument(Check *k, Loc operand) {
  static const char symbols[] = "+-*/%<>=!&|^";
  const char *text = operand.file->text, *end = text + operand.start;
  while (end > text && end[-1] == ' ')
    end--;
  const char *at = end;
  while (at > text && strchr(symbols, at[-1]))
    at--;
  if (at == end || at == text) return false;
  if (*at == '-' && end == at + 1 && at[-1] == ' ' && end == text + operand.start) {
    hint(k->c, "an argument that begins with `-` needs brackets: `(-%s)`",
         text_at(operand));
    return true;
  }
  const char *word_end = at;
  while (word_end > text && word_end[-1] == ' ')
    word_end--;
  const char *word = word_end;
  while (word > text && (isalnum((unsigned char)word[-1]) || strchr("_'.", word[-1])))
    word--;
  bool qualified = word_end == at && word_end[-1] == '.';
  if (qualified) at = word;
  Name name = name_of(k->c->names, text_format("%.*s", (int)(word_end - word), word));
  if (!qualified && !takes_function(map_get(k->scope.values, name))) return false;
  hint(k->c, "an operator that is an argument stands in brackets: `(%.*s)`",
       (int)(end - at), at);
  return true;
}

// map xs f
static bool hint_order(Check *k, const Type *expected, const Type *actual, Why why) {
  const AstExp *node = why.apply;
  if (!node || node->u.apply.is_operator || !why.name) return false;
  if (!is_function(expected) || is_function(actual)) return false;
  bool later = false;
  for (int i = why.index; i < node->u.apply.args.count; i++) {
    const AstExp *arg = node->u.apply.args.at[i];
    later = later || arg->kind == AST_LAMBDA || is_function(arg->type);
  }
  const Type *function = node->u.apply.function->type;
  const Binding *b = binding_of(node->u.apply.function);
  if (b && b->type) function = b->type;
  if (later && function)
    hint(k->c, "the function comes first: `%s` has type `%s`", why.name,
         type_text(function));
  return later && function;
}

// reduce_by_index (+) 0 dest is vs
static bool hint_later_function(Check *k, const Type *expected, const Type *actual,
                                Why why) {
  const AstExp *node = why.apply;
  if (!node || node->u.apply.is_operator || !why.name) return false;
  if (is_function(expected) || !is_function(actual)) return false;
  const Binding *b = binding_of(node->u.apply.function);
  const Type *type = b && b->type ? type_resolve(b->type) : NULL;
  bool later = false;
  for (int i = 1; type && type->kind == TYPE_FUNCTION; i++) {
    later = later || (i > why.index && is_function(type->u.function.from));
    type = type_resolve(type->u.function.to);
  }
  if (later) hint(k->c, "`%s` has type `%s`", why.name, type_text(b->type));
  return later;
}

// map2 (\x -> ...) xs ys
static bool hint_map1(Check *k, const Type *actual, Why why) {
  static const char *const maps[] = { "map2", "map3", "map4", "map5" };
  bool map = false;
  for (int i = 0; i < 4 && why.kind == WHY_ARGUMENT && why.name; i++)
    map = map || strcmp(why.name, maps[i]) == 0;
  if (!map || why.index != 1 || type_arity(actual) != 1) return false;
  hint(k->c, "`map` applies a function to the elements of one array");
  return true;
}

// map (\i x -> ...) xs: the index is wanted as well.
static void hint_index(Check *k, const AstExp *apply) {
  bool given = apply && apply->u.apply.args.count == 2;
  const AstExp *array = given ? apply->u.apply.args.at[1] : NULL;
  const char *text = array ? operand_text(array->loc) : NULL, *xs = text ? text : "xs";
  const char *index =
      text_format("`map2 f (indices %s) %s` gives its index, too", xs, xs);
  hint(k->c,
       given ? "`map` gives it an element; %s"
             : "`map` gives it an element: of pairs `\\(a, b) -> ...`; %s",
       index);
}

void hint_parameters(Check *k, int takes, Why why) {
  if (!why.name || takes < 2 || takes > 5) return;
  int arrays = why.apply ? why.apply->u.apply.args.count - 1 : 0;
  if (strcmp(why.name, "tabulate") == 0 && takes < 4)
    hint(k->c, "`tabulate_%dd` gives it %d indices", takes, takes);
  else if (strcmp(why.name, "map") == 0 && takes == 2 && arrays < 2)
    hint_index(k, why.apply);
  else if (strcmp(why.name, "map") == 0)
    hint(k->c, "`map%d` applies a function to the elements of %d arrays", takes, takes);
}

// map (+) xs ys
static bool hint_map2(Check *k, Loc loc, const Type *expected, const Type *actual,
                      Why why) {
  int takes = type_arity(actual);
  bool map = why.kind == WHY_ARGUMENT && why.name && strcmp(why.name, "map") == 0;
  if (!map || why.index != 1 || type_arity(expected) != 1 || takes < 2 || takes > 5)
    return hint_map1(k, actual, why);
  if (is_short(loc) && strcmp(text_at(loc), "(-)") == 0)
    hint(k->c, "`map (\\x -> -x)` changes the signs, `map2 (-)` subtracts");
  else
    hint_parameters(k, takes, why);
  return true;
}

// replicate x n
static bool hint_swapped(Check *k, const Type *expected, const Type *actual, Why why) {
  const AstExp *node = why.apply;
  if (!node || why.kind != WHY_ARGUMENT || node->u.apply.is_operator || !why.name ||
      why.index >= node->u.apply.args.count || expected->kind != TYPE_PRIM)
    return false;
  const Binding *b = binding_of(node->u.apply.args.at[why.index]);
  const Type *next = b && b->type ? type_resolve(b->type) : NULL;
  bool fits = next && next->kind == TYPE_PRIM && next->u.prim == expected->u.prim;
  bool other = actual->kind != TYPE_PRIM || actual->u.prim != expected->u.prim;
  if (!fits || !other || strcmp(why.name, "replicate") != 0) return false;
  hint(k->c, "`replicate n x` has `n` elements `x`: are its arguments swapped?");
  return true;
}

// unflatten n m xs, as it was in older Futhark
static bool hint_unflatten(Check *k, const Type *actual, Why why) {
  bool is = why.kind == WHY_ARGUMENT && why.name && strcmp(why.name, "unflatten") == 0;
  if (!is || why.index != 1 || !is_number(actual)) return false;
  hint(k->c, "the result tells the sizes: `unflatten xs :> [n][m]t`");
  return true;
}

// xs |> reduce (+)
static bool hint_pipe(Check *k, Loc loc, const Type *expected, const Type *actual,
                      Why why) {
  bool pipe = why.name && (strcmp(why.name, "|>") == 0 || strcmp(why.name, "<|") == 0);
  if (!pipe || !is_function(expected)) return false;
  if (type_arity(actual) <= type_arity(expected)) return false;
  hint(k->c, "is an argument missing in `%s`?",
       is_short(loc) ? text_at(loc) : "this function");
  return true;
}

// true + 1
static bool hint_bool(Check *k, Loc loc, const Type *expected, const Type *actual) {
  bool number = expected->kind == TYPE_VAR && expected->u.var->prims == CLASS_NUM;
  if (!is_bool(actual) || !number) return false;
  const char *text = operand_text(loc);
  hint(k->c, "`i32.bool %s` is 1 or 0; other types likewise", text ? text : "b");
  return true;
}

// 0.5 * x and x * 0.5, for an integer x; xs[x] for a float
static bool hint_number(Check *k, Loc loc, const Type *expected, const Type *actual,
                        Why why) {
  bool literal = expected->kind == TYPE_VAR && is_float(expected);
  bool integer = actual->kind == TYPE_PRIM && is_number(actual) && !is_float(actual);
  const char *text = operand_text(loc), *operand = text ? text : "x";
  if (literal && integer) {
    const char *from = prim_type_name(actual->u.prim);
    hint(k->c, "`f32.%s %s` converts it, or `f64.%s %s`", from, operand, from, operand);
  } else if (why.kind == WHY_INDEX && actual->kind == TYPE_PRIM && is_float(actual)) {
    hint(k->c, "`i64.%s %s` converts it", prim_type_name(actual->u.prim), operand);
  } else {
    return false;
  }
  return true;
}

// x * 0.5, for an integer x
static bool hint_other_operand(Check *k, const Type *expected, const Type *actual,
                               Why why) {
  const AstExp *node = why.apply;
  if (!node || !node->u.apply.is_operator || why.index != 2) return false;
  if (actual->kind != TYPE_VAR || !is_float(actual) || expected->kind != TYPE_PRIM)
    return false;
  Loc loc = node->u.apply.args.at[0]->loc;
  return is_number(expected) && hint_number(k, loc, actual, expected, why);
}

// (1, 2) where an array is expected, and [1, true]
static bool hint_array(Check *k, const Type *expected, const Type *actual, Why why) {
  const AstExp *op = why.apply && why.apply->u.apply.is_operator ? why.apply : NULL;
  bool joined = op && why.name && strcmp(why.name, "++") == 0;
  if (joined && actual->kind != TYPE_ARRAY)
    hint(k->c, "`++` joins two arrays: `[x]` is an array of one element");
  else if (why.kind == WHY_INDEX && actual->kind == TYPE_ARRAY)
    hint(k->c, "`map (\\i -> xs[i]) is` takes several elements");
  else if (expected->kind == TYPE_ARRAY && type_is_tuple(actual))
    hint(k->c, "`[a, b]` is an array, `(a, b)` a tuple");
  else if (why.kind == WHY_ELEMENT && (is_bool(expected) || is_bool(actual)))
    hint(k->c, "the elements of an array have one type, the components of a tuple, "
               "`(a, b)`, have their own");
  else
    return false;
  return true;
}

// The name of the function's parameter of that number if the program gives it no type, so that its
// numbers became i32; NULL if it has one.
static Name untyped_param(const Check *k, const AstExp *function, int index) {
  const Binding *b = binding_of(function);
  const AstDecl *decl = b ? map_get(k->later, b->name) : NULL;
  if (!decl || decl->kind != AST_DECL_VALUE || decl->u.value.binding != b) return NULL;
  const AstPatVec *params = &decl->u.value.function.params;
  if (index >= params->count || params->at[index]->kind != AST_PAT_NAME) return NULL;
  return params->at[index]->u.name.name;
}

// square 1.5, map square xs and reduce plus 0 xs
static bool hint_untyped_param(Check *k, const Type *actual, Why why) {
  const AstExp *node = why.apply;
  if (!node || why.kind != WHY_ARGUMENT || node->u.apply.is_operator) return false;
  const AstExp *function = node->u.apply.function;
  Name param = untyped_param(k, function, why.index - 1);
  if (!param && why.index > 1 && actual->kind == TYPE_ARRAY) {
    function = node->u.apply.args.at[0];
    param = untyped_param(k, function, 0);
    actual = type_resolve(actual->u.array.elem);
  }
  const Type *elem = innermost_element(actual);
  const Binding *b = binding_of(function);
  if (!param || !b || !is_number(elem)) return false;
  const char *type = elem->kind == TYPE_PRIM ? type_text(actual) : "f32";
  hint(k->c, "the type of `%s` is not written: `def %s (%s: %s)` takes %s", param,
       b->name, param, type,
       function == node->u.apply.function ? "this argument" : "these elements");
  return true;
}

// map f 0..<n
static bool hint_range(Check *k, Why why) {
  const AstExp *node = why.apply;
  if (!node || why.kind != WHY_ARGUMENT || node->u.apply.is_operator) return false;
  if (why.index != node->u.apply.args.count) return false;
  const char *after = node->loc.file->text + node->loc.end;
  after += strspn(after, " ");
  if (strncmp(after, "..", 2) != 0) return false;
  hint(k->c, "a range among arguments stands in brackets: `(a..<b)`");
  return true;
}

// x + 1.5f32, for an integer x: the number has no integer's suffix, so x is to change.
static bool hint_integer_operand(Check *k, Loc loc, const Type *expected,
                                 const Type *actual, Why why) {
  const AstExp *node = why.apply;
  bool prims = expected->kind == TYPE_PRIM && actual->kind == TYPE_PRIM;
  if (!prims || !is_float(actual) || !is_number(expected) || is_float(expected))
    return false;
  if (!isdigit((unsigned char)loc.file->text[loc.start])) return false;
  if (!node || !node->u.apply.is_operator || why.index != 2) return false;
  hint_conversion(k, node->u.apply.args.at[0]->loc, actual->u.prim, expected->u.prim);
  return true;
}

// "a", a text of one character without an escape
static bool is_character(Loc loc) {
  return loc.file && loc.end - loc.start == 3 && loc.file->text[loc.start] == '"';
}

// c == "a", "a" == c
static bool hint_character(Check *k, Loc loc, const Type *expected, const Type *actual,
                           Why why) {
  const AstExp *node = why.apply;
  bool second = node && node->u.apply.is_operator && why.index == 2;
  Loc text = is_character(loc) ? loc : second ? node->u.apply.args.at[0]->loc : loc;
  const Type *other = text.start == loc.start ? expected : actual;
  if (!is_character(text) || !is_number(other)) return false;
  hint(k->c, "`'%c'` is one character, `\"%c\"` an array",
       text.file->text[text.start + 1], text.file->text[text.start + 1]);
  return true;
}

// xs ++ x has a hint of its own.
static void hint_one_element(Check *k, Loc loc, const Type *expected,
                             const Type *actual) {
  const char *text = operand_text(loc);
  if (!text || expected->kind != TYPE_ARRAY || actual->kind != TYPE_PRIM) return;
  const Type *elem = type_resolve(expected->u.array.elem);
  if (elem->kind == TYPE_PRIM && elem->u.prim == actual->u.prim)
    hint(k->c, "`[%s]` is an array of one element", text);
}

// ["a", "bc"]
static bool hint_ragged(Check *k, const Type *expected, const Type *actual, Why why) {
  bool rows = why.kind == WHY_ELEMENT && expected->kind == TYPE_ARRAY;
  if (!rows || rank_of(expected) != rank_of(actual)) return false;
  const Type *elem = innermost_element(actual);
  bool text = elem->kind == TYPE_PRIM && elem->u.prim == PRIM_U8;
  bool known = size_resolve(expected->u.array.size)->kind == SIZE_CONST &&
               size_resolve(actual->u.array.size)->kind == SIZE_CONST;
  if (!text || !known || elem != innermost_element(expected)) return false;
  hint(k->c, "all rows of an array have one length: fill shorter texts up with spaces");
  return true;
}

// What fits one kind of mistake only.
static bool hint_special(Check *k, Loc loc, const Type *expected, const Type *actual,
                         Why why) {
  return hint_character(k, loc, expected, actual, why) ||
         hint_ragged(k, expected, actual, why) || hint_comparison(k, loc, actual, why) ||
         hint_chain(k, why) || hint_operator(k, actual, why) || hint_range(k, why) ||
         hint_untyped_param(k, actual, why) || hint_negative_argument(k, actual, why) ||
         hint_tuple_of_arguments(k, why) || hint_section(k, loc, expected, actual) ||
         hint_order(k, expected, actual, why) ||
         hint_later_function(k, expected, actual, why) ||
         hint_missing_argument(k, actual, why) || hint_untupled(k, expected, why) ||
         hint_elementwise(k, loc, expected, actual, why) ||
         hint_rows(k, loc, expected, actual, why) ||
         hint_map2(k, loc, expected, actual, why) || hint_unflatten(k, actual, why) ||
         hint_swapped(k, expected, actual, why) || hint_array(k, expected, actual, why) ||
         hint_pipe(k, loc, expected, actual, why) ||
         hint_number(k, loc, expected, actual, why) ||
         hint_bool(k, loc, expected, actual) ||
         hint_integer_operand(k, loc, expected, actual, why) ||
         hint_other_operand(k, expected, actual, why);
}

void hint_mismatch(Check *k, Loc loc, const Type *expected, const Type *actual, Why why) {
  expected = type_resolve(expected);
  actual = type_resolve(actual);
  if (!loc.file || loc.file->built_in) return;
  if (hint_special(k, loc, expected, actual, why)) return;
  if (why.kind == WHY_PATTERN || why.kind == WHY_PARAM)
    return;  // no expression stands there
  if (hint_conversion_of_elements(k, loc, expected, actual)) return;
  bool prims = expected->kind == TYPE_PRIM && actual->kind == TYPE_PRIM;
  if (prims && expected->u.prim != actual->u.prim)
    hint_conversion(k, loc, expected->u.prim, actual->u.prim);
  hint_one_element(k, loc, expected, actual);
  bool open = expected->kind == TYPE_VAR && !expected->u.var->prims;
  if (is_function(actual) && !is_function(expected) && !open)
    hint(k->c, "is an argument missing?");
}

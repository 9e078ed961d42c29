// What to write instead of an unknown name: those of other languages, and the closest one.
#include "base/text.h"
#include "types/check.h"
#include <ctype.h>
#include <string.h>
#include <strings.h>

typedef struct Habit {
  const char *name, *advice;
} Habit;

#define OPTIONS \
  "there is no null: `#some x` and `#none` may be constructors of a sum type"

#define OUTPUT  "a program's output is the results of its entry points"
#define THREADS "`map (\\i -> ...) (iota n)` computes a value for each index"

#define INPUT "a program's input is the parameters of its entry points"
#define FAIL  "`assert c e` is `e`, and an error of the program unless `c` holds"
#define JOIN  "`xs ++ ys` joins arrays, the rows of matrices"
#define SHAPES \
  "`flatten` and `unflatten` change the shape; the sizes follow from the types"
#define SORTS \
  "the package `github.com/diku-dk/sorts` has sorts: `flc pkg add` requires it"
#define BINS   "`hist op neutral k is vs` combines values in k bins, by index"
#define RANDOM "there is no hidden state: random numbers are functions of a seed"
#define GREATEST                                                                        \
  "`reduce` over pairs finds it, from `zip xs (indices xs)`, the greater of two pairs " \
  "being that of the greater value"

#define ARRAY_TYPE  "the type of an array is `[]f32`"
#define OPTION_TYPE "a sum type may be one: `#some i32 | #none`"
#define TUPLE_TYPE  "the type of a tuple is `(i32, f32)`"

// clang-format off
static const Habit value_habits[] = {
  { "/=",       "`!=` tells whether two values differ" },
  { "<>",       "`!=` tells whether two values differ, `++` joins arrays" },
  { "is",       "`==` tells whether two values are equal" },
  { "~=",       "`!=` tells whether two values differ" },
  { "===",      "`==` tells whether two values are equal" },
  { "!==",      "`!=` tells whether two values differ" },
  { "mod",      "`x % y` is the remainder of a division" },
  { "rem",      "`x %% y` is the remainder of a division towards zero" },
  { "div",      "`x / y` divides, integers towards minus infinity" },
  { "quot",     "`x // y` divides integers towards zero" },
  { "xor",      "`x ^ y` is exclusive or on integers, `x != y` on bools" },
  { "pow",      "`x ** y` is the power" },
  { "True",     "`true` and `false` are the values of bool" },
  { "False",    "`true` and `false` are the values of bool" },
  { "TRUE",     "`true` and `false` are the values of bool" },
  { "FALSE",    "`true` and `false` are the values of bool" },
  { "otherwise", "the last branch is `else ...`, the last case `case _ -> ...`" },
  { "return",   "the value of a function is its body: leave `return` out" },
  { "print",    OUTPUT },
  { "printf",   OUTPUT },
  { "len",      "`length xs` is the number of elements, an i64" },
  { "size",     "`length xs` is the number of elements, an i64" },
  { "shape",    "`length xs` is the number of elements of the outermost dimension" },
  { "range",    "`iota n` is the array of 0 to n - 1, `a..<b` of a to b - 1" },
  { "arange",   "`iota n` is the array of 0 to n - 1, `a..<b` of a to b - 1" },
  { "zeros",    "`replicate n 0` is an array of zeros" },
  { "ones",     "`replicate n 1` is an array of ones" },
  { "append",   "`xs ++ ys` joins arrays" },
  { "concatenate", JOIN },
  { "hstack",   JOIN },
  { "vstack",   JOIN },
  { "push",     "arrays keep their lengths: `xs ++ [x]` is a longer one" },
  { "push_back", "arrays keep their lengths: `xs ++ [x]` is a longer one" },
  { "insert",   "arrays keep their lengths: `xs ++ [x]` is a longer one" },
  { "full",     "`replicate n x` is an array of n elements `x`" },
  { "empty",    "`replicate n 0` is an array of zeros" },
  { "zeros_like", "`map (\\_ -> 0) xs` is an array of zeros, as long as `xs`" },
  { "ones_like", "`map (\\_ -> 1) xs` is an array of ones, as long as `xs`" },
  { "eye",      "`tabulate_2d n n (\\i k -> if i == k then 1 else 0)` is the unit matrix" },
  { "identity", "`\\x -> x` is that function, which is called `id`" },
  { "reshape",  SHAPES },
  { "ravel",    SHAPES },
  { "where",    "`map3 (\\c x y -> if c then x else y) cs xs ys` chooses between elements" },
  { "clip",     "`f32.max low (f32.min high x)` is within the bounds; other types likewise" },
  { "clamp",    "`f32.max low (f32.min high x)` is within the bounds; other types likewise" },
  { "flipud",   "`reverse xs` begins with the last element" },
  { "rev",      "`reverse xs` begins with the last element" },
  { "outer",    "`map (\\x -> map (x *) ys) xs` is the outer product" },
  { "inner",    "`f32.sum (map2 (*) xs ys)` is the dot product" },
  { "norm",     "`f32.sqrt (f32.sum (map (\\x -> x * x) xs))` is the length of a vector" },
  { "prod",     "`f32.product xs` is the product; other types likewise" },
  { "cumprod",  "`scan (*) 1 xs` has the products of all prefixes" },
  { "argmax",   GREATEST },
  { "argmin",   GREATEST },
  { "sort",     SORTS },
  { "sorted",   SORTS },
  { "argsort",  SORTS },
  { "histogram", BINS },
  { "bincount", BINS },
  { "random",   RANDOM },
  { "rand",     RANDOM },
  { "input",    INPUT },
  { "read",     INPUT },
  { "scanf",    INPUT },
  { "getLine",  INPUT },
  { "throw",    FAIL },
  { "raise",    FAIL },
  { "error",    FAIL },
  { "abort",    FAIL },
  { "exit",     FAIL },
  { "concatMap", "`flatten (map f xs)` joins results of equal length" },
  { "zipWith",  "`map2 f xs ys` applies `f` to the elements of two arrays" },
  { "zipWith3", "`map3 f xs ys zs` applies `f` to the elements of three arrays" },
  { "map_",     "`map f xs` applies `f` to each element" },
  { "fold",     "`reduce op neutral xs` combines the elements in parallel, `foldl` in order" },
  { "foldl'",   "`foldl f start xs` combines the elements in order" },
  { "foldl1",   "`reduce op neutral xs` combines the elements" },
  { "foldr1",   "`reduce op neutral xs` combines the elements" },
  { "scanl",    "`scan op neutral xs` combines all prefixes" },
  { "scanl1",   "`scan op neutral xs` combines all prefixes" },
  { "fst",      "`p.0` is the first component of `p`" },
  { "snd",      "`p.1` is the second component of `p`" },
  { "even",     "`x % 2 == 0` tells whether `x` is even" },
  { "odd",      "`x % 2 != 0` tells whether `x` is odd" },
  { "fromIntegral", "`f32.i64 x` converts an i64 to f32; other types likewise" },
  { "toFloat",  "`f32.i64 x` converts an i64 to f32; other types likewise" },
  { "float",    "`f32.i32 x` converts an i32 to f32; other types likewise" },
  { "double",   "`f64.i32 x` converts an i32 to f64; other types likewise" },
  { "int",      "`i32.f32 x` converts an f32 to i32; other types likewise" },
  { "!!",       "`xs[i]` is element `i` of `xs`" },
  { "<-",       "`map (\\x -> ...) xs` computes a value for each element, `xs with "
                 "[i] = v` is a changed array" },
  { "+=",       "names keep their values: `let x = x + ... in` gives the name a new one" },
  { "-=",       "names keep their values: `let x = x - ... in` gives the name a new one" },
  { "*=",       "names keep their values: `let x = x * ... in` gives the name a new one" },
  { "/.",       "`/` is for all types of numbers" },
  { "*.",       "`*` is for all types of numbers" },
  { "+.",       "`+` is for all types of numbers" },
  { "-.",       "`-` is for all types of numbers" },
  { "begin",    "brackets keep an expression together: `( ... )`" },
  { "end",      "brackets keep an expression together: `( ... )`" },
  { "ref",      "names keep their values: `loop` and `let x = ... in` give them new ones" },
  { "Some",     OPTIONS },
  { "None",     OPTIONS },
  { "Just",     OPTIONS },
  { "Nothing",  OPTIONS },
  { "NULL",     OPTIONS },
  { "nil",      "`[]` is the empty array" },
  { "fabs",     "`f32.abs x` is the absolute value; other types likewise" },
  { "fmin",     "`f32.min x y` is the lesser; other types likewise" },
  { "fmax",     "`f32.max x y` is the greater; other types likewise" },
  { "M_PI",     "`f32.pi` and `f64.pi` are constants" },
  { "PI",       "`f32.pi` and `f64.pi` are constants" },
  { "INFINITY", "`f32.inf` and `f64.inf` are constants" },
  { "NAN",      "`f32.nan` and `f64.nan` are constants" },
  { "INT_MAX",  "`i32.highest` is the greatest i32; other types likewise" },
  { "INT_MIN",  "`i32.lowest` is the least i32; other types likewise" },
  { "mean",     "`f32.sum xs / f32.i64 (length xs)` is the mean" },
  { "dot",      "`f32.sum (map2 (*) xs ys)` is the dot product" },
  { "T",        "`transpose xs` exchanges rows and columns" },
  { "ndim",     "the rank of an array is part of its type" },
  { "astype",   "`map f32.i32 xs` converts each element; other types likewise" },
  { "as",       "`f32.i32 x` converts an i32 to f32; other types likewise" },
  { "enumerate", "`zip (indices xs) xs` has the elements with their indices" },
  { "cumsum",   "`scan (+) 0 xs` has the sums of all prefixes" },
  { "matmul",   "`map (\\r -> map (\\c -> f32.sum (map2 (*) r c)) (transpose b)) a` is a product" },
  { "linspace", "`map (\\i -> f32.i64 i / f32.i64 n) (iota n)` has n numbers from 0 on" },
  { "elem",     "`any (== x) xs` tells whether `x` is an element" },
  { "contains", "`any (== x) xs` tells whether `x` is an element" },
  { "switch",   "`match x case 1 -> ... case _ -> ...` chooses between values" },
  { "show",     OUTPUT },
  { "str",      OUTPUT },
  { "puts",     OUTPUT },
  { "undefined", "`???` is a hole, which stands for any value" },
  { "sizeof",   "`length xs` is the number of elements, an i64" },
  { "malloc",   "`replicate n x` is an array of n elements `x`" },
  { "threadIdx", THREADS },
  { "blockIdx", THREADS },
  { "blockDim", THREADS },
  { "get_global_id", THREADS },
  { "atomicAdd", "`reduce_by_index dest op neutral is vs` combines values by index" },
  { "atomic_add", "`reduce_by_index dest op neutral is vs` combines values by index" },
  { "__syncthreads", "each parallel operator is complete before its result is used" },
  { "=>",       "a function is written `\\x -> ...`" },
  { "->",       "a function is written `\\x -> ...`" },
};

static const Habit type_habits[] = {
  { "int",      "i32" }, { "Int",     "i64" }, { "integer", "i32" }, { "Integer", "i64" },
  { "long",     "i64" }, { "short",   "i16" }, { "byte",    "u8"  }, { "char",    "u8"  },
  { "Char",     "u8"  }, { "uint",    "u32" }, { "unsigned", "u32" }, { "usize",   "i64" },
  { "isize",    "i64" }, { "size_t",  "i64" }, { "float",   "f32" }, { "Float",   "f32" },
  { "double",   "f64" }, { "Double",  "f64" }, { "real",    "f64" }, { "number",  "f64" },
  { "boolean",  "bool" }, { "Bool",   "bool" }, { "Boolean", "bool" }, { "string", "[]u8" },
  { "String",   "[]u8" }, { "str",    "[]u8" }, { "int8",    "i8"  }, { "int16",   "i16" },
  { "int32",    "i32" }, { "int64",   "i64" }, { "uint8",   "u8"  }, { "uint16",  "u16" },
  { "uint32",   "u32" }, { "uint64",  "u64" }, { "float32", "f32" }, { "float64", "f64" },
  { "int32_t",  "i32" }, { "int64_t", "i64" }, { "uint8_t", "u8"  }, { "uint32_t", "u32" },
  { "uint64_t", "u64" }, { "void",    "()"  }, { "unit",    "()"  },
};

static const Habit type_shapes[] = {
  { "List",     ARRAY_TYPE }, { "list",   ARRAY_TYPE }, { "Array",   ARRAY_TYPE },
  { "array",    ARRAY_TYPE }, { "Vec",    ARRAY_TYPE }, { "Vector",  ARRAY_TYPE },
  { "vector",   ARRAY_TYPE }, { "ndarray", ARRAY_TYPE }, { "np.ndarray", ARRAY_TYPE },
  { "Maybe",    OPTION_TYPE }, { "Option", OPTION_TYPE }, { "Optional", OPTION_TYPE },
  { "option",   OPTION_TYPE }, { "tuple", TUPLE_TYPE }, { "Tuple",   TUPLE_TYPE },
  { "complex",  "a record may be one: `{re: f32, im: f32}`" },
};
// clang-format on

static const char *advice_on(const Habit *habits, size_t count, Name name) {
  for (size_t i = 0; i < count; i++)
    if (strcmp(habits[i].name, name) == 0) return habits[i].advice;
  return NULL;
}

// What the words between two operands mean where operators are symbols.
const char *hint_word_operator(Name name) {
  static const Habit words[] = {
    { "and", "&&" },  { "or", "||" },  { "mod", "%" },  { "div", "/" },  { "rem", "%%" },
    { "quot", "//" }, { "xor", "^" },  { "band", "&" }, { "bor", "|" },  { "shl", "<<" },
    { "shr", ">>" },  { "land", "&" }, { "lor", "|" },  { "lsl", "<<" }, { "lsr", ">>" },
  };
  return advice_on(words, sizeof words / sizeof *words, name);
}

// If, Then and LET
static const char *advice_on_capitals(Name name) {
  static const char *const words[] = { "if",   "then", "else",  "let", "in",
                                       "loop", "for",  "while", "do",  "match",
                                       "case", "def",  "entry" };
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strcasecmp(words[i], name) == 0) return text_format("write `%s`", words[i]);
  return NULL;
}

typedef Vec(Name) NameVec;

static void collect(void *state, const void *key, void *value) {
  NameVec *names = state;
  if (value) vec_push(names, key);
}

bool hint_closest(Check *k, Name name, const Map *inner, const Map *outer) {
  NameVec names = { 0 };
  map_each(inner, collect, &names);
  if (outer) map_each(outer, collect, &names);
  Name close = diag_closest(name, names.at, names.count);
  for (int i = 0; i < names.count && !close; i++)
    if (strcasecmp(names.at[i], name) == 0) close = names.at[i];
  if (close) hint(k->c, "did you mean `%s`?", close);
  return close != NULL;
}

static bool has_member(Check *k, const char *module, Name name) {
  const Module *m = prelude_module(k->lib, name_of(k->c->names, module));
  return m && map_has(m->names.values, name);
}

// sqrt is f32.sqrt and f64.sqrt, popc that of an integer type.
bool hint_member(Check *k, Name name) {
  if (k->built_in) return false;
  bool of_floats = has_member(k, "f32", name), of_ints = has_member(k, "i32", name);
  if (!of_floats && !of_ints) return false;
  if (of_floats && of_ints)
    hint(k->c, "the modules of the scalar types have it: `i32.%s`, `f32.%s` and so on",
         name, name);
  else
    hint(k->c, "the modules of the scalar types have it: `%s.%s` and so on",
         of_ints ? "i32" : "f32", name);
  return true;
}

// What to write for a name of a type that other languages use as a conversion, float32 and size_t.
static const char *advice_on_conversion(Name name) {
  const char *type =
      advice_on(type_habits, sizeof type_habits / sizeof *type_habits, name);
  PrimType prim;
  if (!type || !prim_type_named(type, &prim) || prim == PRIM_BOOL) return NULL;
  const char *from = prim == PRIM_F32 ? "i32" : "f32";
  return text_format("`%s.%s x` converts an %s to %s; other types likewise", type, from,
                     from, type);
}

static const char *advice_on_value(Name name) {
  const char *advice =
      advice_on(value_habits, sizeof value_habits / sizeof *value_habits, name);
  return advice ? advice : advice_on_conversion(name);
}

// The name that is close to it, or how names that begin with a capital letter are meant.
static void hint_close_value(Check *k, Name name) {
  if (!hint_closest(k, name, k->scope.values, k->lib->values) &&
      isupper((unsigned char)*name))
    hint(k->c, "constructors begin with `#`, as in `#%s`", name);
}

// After let word x = ..., which defines `word`.
static bool is_after(Check *k, const char *word, Name name) {
  const Binding *b = scope_value(k, name_of(k->c->names, word));
  const AstPat *first =
      b && b->function && b->function->params.count ? b->function->params.at[0] : NULL;
  return first && first->kind == AST_PAT_NAME && first->u.name.name == name;
}

static bool hint_word_of_let(Check *k, Name name) {
  static const char *const words[] = { "mut", "var", "val", "mutable", "const" };
  if (is_after(k, "rec", name)) {
    hint(k->c, "`let rec %s` defines `rec`: a function may call itself without that word",
         name);
    return true;
  }
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (!is_after(k, words[i], name)) continue;
    hint(k->c, "`let %s %s` defines `%s`: names keep their values, without such a word",
         words[i], name, words[i]);
    return true;
  }
  return false;
}

// The x of (|x| ...) and of (|x, y| ...), a function of Rust.
static bool is_between_bars(Loc loc) {
  if (!loc.file) return false;
  const char *text = loc.file->text, *after = text + loc.end;
  uint32_t at = loc.start;
  while (at > 0 && text[at - 1] == ' ')
    at--;
  after += strspn(after, " ");
  return at > 1 && text[at - 1] == '|' && text[at - 2] == '(' &&
         (*after == '|' || *after == ',');
}

// expf is f32.exp.
static bool hint_float_function(Check *k, Name name) {
  size_t length = strlen(name);
  if (length < 3 || name[length - 1] != 'f') return false;
  Name stem = name_of(k->c->names, text_format("%.*s", (int)length - 1, name));
  if (k->built_in || !has_member(k, "f32", stem)) return false;
  hint(k->c, "write `f32.%s`", stem);
  return true;
}

// f"..."
static bool is_before_string(Loc loc) {
  return loc.file && loc.file->text[loc.end] == '"';
}

// Is `#name` a constructor somewhere in the file?
static bool is_written_with_hash(const AstName *name) {
  if (!name->loc.file) return false;
  const char *mark = text_format("#%s", name->name);
  const char *at = name->loc.file->text;
  while ((at = strstr(at, mark))) {
    at += strlen(mark);
    if (!isalnum((unsigned char)*at) && *at != '_' && *at != '\'') return true;
  }
  return false;
}

// The x of loop x for i < n do ..., which has no value to begin with.
static bool is_bare_loop(Loc loc) {
  if (!loc.file || loc.start < 5) return false;
  const char *text = loc.file->text, *after = text + loc.end, *before = text + loc.start;
  after += strspn(after, " \n");
  return strncmp(before - 5, "loop ", 5) == 0 &&
         (strncmp(after, "for ", 4) == 0 || strncmp(after, "while ", 6) == 0);
}

// What the name is, if it is no value.
static bool hint_other_kind(Check *k, const AstName *name) {
  if (is_before_string(name->loc))
    hint(k->c, "a text is an array of its characters, []u8; nothing is put into it");
  else if (map_get(k->scope.types, name->name))
    hint(k->c,
         "`%s` is a type; a record is written `{x = 1, y = 2}`, a value of a sum type "
         "`#a 1`",
         name->name);
  else if (is_written_with_hash(name))
    hint(k->c, "constructors begin with `#`: `#%s`", name->name);
  else
    return hint_float_function(k, name->name);
  return true;
}

void hint_value(Check *k, const AstName *name) {
  PrimType prim;
  const char *advice = advice_on_value(name->name);
  if (!advice) advice = advice_on_capitals(name->name);
  if (hint_word_of_let(k, name->name)) return;
  if (is_bare_loop(name->loc))
    hint(k->c, "a loop's variable has a first value: `loop %s = start for i < n do ...`",
         name->name);
  else if (is_between_bars(name->loc))
    hint(k->c, "a function is written `\\x -> ...`");
  else if (advice)
    hint(k->c, "%s", advice);
  else if (prim_type_named(name->name, &prim))
    hint(k->c, "`%s` is a module; its functions convert, as `%s.%s x` does", name->name,
         name->name, prim == PRIM_I32 ? "f32" : "i32");
  else if (map_get(k->scope.modules, name->name))
    hint(k->c, "`%s` is a module: `%s.x` is a value in it", name->name, name->name);
  else if (!hint_member(k, name->name) && !hint_other_kind(k, name))
    hint_close_value(k, name->name);
}

void hint_module(Check *k, Name module, Name member) {
  const char *advice = advice_on_value(member);
  if (!advice) advice = advice_on_value(module);
  if (scope_value(k, member) && !k->built_in)
    hint(k->c, "`%s` needs no module", member);
  else if (advice)
    hint(k->c, "%s", advice);
  else if (!hint_member(k, member))
    hint_closest(k, module, k->scope.modules, NULL);
}

void hint_in_module(Check *k, Name name, const Map *members) {
  const char *advice = advice_on_value(name);
  if (scope_value(k, name) && !k->built_in)
    hint(k->c, "`%s` needs no module", name);
  else if (advice)
    hint(k->c, "%s", advice);
  else if (!hint_closest(k, name, members, NULL))
    hint_member(k, name);
}

// def f [a] (x: a): is `[a]` on the line before it?
static bool is_declared_as_size(const AstName *name) {
  if (name->loc.file == NULL || name->qualifiers.count) return false;
  const char *text = name->loc.file->text, *at = text + name->loc.start;
  const char *size = text_format("[%s]", name->name);
  size_t length = strlen(size);
  while (at > text && at[-1] != '\n')
    if (strncmp(--at, size, length) == 0) return true;
  return false;
}

void hint_type(Check *k, const AstName *name) {
  const char *ours =
      advice_on(type_habits, sizeof type_habits / sizeof *type_habits, name->name);
  const char *shape =
      advice_on(type_shapes, sizeof type_shapes / sizeof *type_shapes, name->name);
  if (ours)
    hint(k->c, "write `%s`", ours);
  else if (strcmp(name->name, "of") == 0)
    hint(k->c, "a constructor's values follow it without `of`: `#b f32`");
  else if (shape)
    hint(k->c, "%s", shape);
  else if (is_declared_as_size(name))
    hint(k->c, "`[%s]` declares a size, `'%s` a type parameter", name->name, name->name);
  else if (map_get(k->scope.values, name->name))
    hint(k->c, "`%s` is a value; what follows `:` is a type", name->name);
  else if (strlen(name->name) == 1)
    hint(k->c, "type parameters are declared before the others: `def f '%s (x: %s)`",
         name->name, name->name);
  else
    hint_closest(k, name->name, k->scope.types, k->lib->types);
}

static void hint_closest_field(Check *k, const Type *record, Name field) {
  NameVec names = { 0 };
  bool constructors = *field == '#';
  if (constructors != type_is_sum(record)) return;
  for (int i = constructors; i < record->u.record.count; i++)
    vec_push(&names, record->u.record.fields[i].name + constructors);
  const char *close = diag_closest(field + constructors, names.at, names.count);
  if (close) hint(k->c, "did you mean `%s%s`?", constructors ? "#" : "", close);
}

// Is this an array of records with that field?
static bool has_field_below(const Type *type, Name field) {
  while (type->kind == TYPE_ARRAY)
    type = type_resolve(type->u.array.elem);
  for (int i = 0; type->kind == TYPE_RECORD && i < type->u.record.count; i++)
    if (type->u.record.fields[i].name == field) return true;
  return false;
}

// xs.length
static void hint_method(Check *k, const Type *type, Name field) {
  const char *advice = advice_on_value(field);
  const Binding *b = scope_value(k, field);
  if (advice)
    hint(k->c, "%s", advice);
  else if (b && type_arity(b->type) > 0)
    hint(k->c, "functions stand before their arguments: `%s xs`", field);
  else if (!hint_member(k, field) && has_field_below(type, field))
    hint(k->c, "`map (.%s) xs` has the fields of all elements", field);
}

void hint_field(Check *k, const Type *type, Name field) {
  type = type_resolve(type);
  switch (type->kind) {
  case TYPE_RECORD:
    if (!type->u.record.is_tuple)
      hint_closest_field(k, type, field);
    else if (type->u.record.count)
      hint(k->c, "its components are `.0` to `.%d`", type->u.record.count - 1);
    break;
  case TYPE_ARRAY:
  case TYPE_PRIM: hint_method(k, type, field); break;
  case TYPE_FUNCTION:
    hint(
        k->c,
        "`g >-> f` composes functions: first `g`, then `f`; `(.%s)` is the function that "
        "takes the field",
        field);
    break;
  case TYPE_PARAM:
  case TYPE_VAR: break;
  }
}

// What to write instead, for mistakes that habits of other languages make.
#include "base/text.h"
#include "source/parse.h"
#include <string.h>

// What was expected, the text of the token that was found and that of the one before it; NULL: any.
typedef struct HintRule {
  const char *expected, *found, *after, *advice;
} HintRule;

#define COMMENTS       "comments begin with `--`"
#define MATCHES        "values are taken apart by `match x case 1 -> ... case _ -> ...`"
#define UPDATES        "an update is written `xs with [i] = v`, or `let xs[i] = v in ...`"
#define LOOPS          "a loop has a value, too: `loop x = start for i < n do ...`"
#define LAMBDAS        "a function is written `\\x -> ...`"
#define CASES          "a case compares with constants; other conditions are `if`s"
#define LETS           "each name has a `let` of its own: `let a = 1 let b = 2 in ...`"
#define BLOCKS         "expressions are kept together by round brackets: `(let x = 1 in x)`"
#define RECORDS        "a record is `{x = 1, y = 2}`, a tuple `(1, 2)`, an array `[1, 2]`"
#define DECLARES       "a module type declares values as in `val x : i32`"
#define RECORD_UPDATES "`r with x = 1` is a changed record"
#define CONDITIONS     "`if c then a else b` chooses between two values"
#define BODIES_FOLLOW  "what a name stands for follows `=`"
#define BODIES         "the body of a function follows `=`, without braces"
#define HEADS          "a definition is `def f (x: i32) : i32 = ...`"
#define TYPES          "`type t = {x: f32}` is a record type, `type t = #a | #b f32` a sum type"
#define NAMES          "names keep their values: `let x = ... in` gives the name a new one"
#define STARS          "`*` stands before the type of a value that is given up: `(xs: *[]i32)`"
#define FILES          "a file's path stands in quotes, without its ending: `import \"dir/file\"`"

// The first that fits.
static const HintRule rules[] = {
  { "a definition", "//", NULL, COMMENTS },
  { "a definition", "/*", NULL, COMMENTS },
  { "a definition", "?", NULL, CONDITIONS },
  { "a definition", "if", NULL, CONDITIONS },
  { "a definition", "case", NULL, MATCHES },
  { "a definition", "=", "]",
    "arrays keep their values: `xs with [i] = v` is a changed one" },
  { "a definition", "=", NULL, "`==` compares; `let x = ... in ...` names a value" },
  { "a definition", "->", NULL, LAMBDAS },
  { "a definition", "data", NULL, TYPES },
  { "a definition", "newtype", NULL, TYPES },
  { "a definition", "struct", NULL, TYPES },
  { "a definition", "enum", NULL, TYPES },
  { "a definition", "class", NULL, TYPES },
  { "a definition", "from", NULL, FILES },
  { "a definition", "#include", NULL, FILES },
  { "a definition", "#define", NULL, "a constant is a definition: `def n: i64 = 10`" },
  { "a definition", "in", NULL,
    "`in` ends a `let` that is within an expression; `any (== x) xs` looks for an "
    "element" },
  { "a definition", "_", NULL,
    "a definition begins with `def`: `def f (x: i32) : i32 = ...`" },
  { "a definition", "as", NULL, "`module m = import \"dir/file\"` gives a file a name" },
  { "a definition", ",", NULL,
    "a tuple stands in brackets, `(a, b)`; arguments follow one another without commas" },
  { "a definition", ")", NULL, "no `(` is open here" },
  { "a type", ":", ":",
    "`m.x` is a name of a module, `[x] ++ xs` an array with one more element in front" },
  { "a definition", "]", NULL, "no `[` is open here" },
  { "a definition", "}", NULL, "no `{` is open here" },
  { "an expression", "def", NULL,
    "functions within functions are `let`s: `let g y = ... in ...`" },
  { "an expression", "~", NULL, "`!` is the complement, of bools and of bits" },
  { "an expression", "+", NULL, "`+` has two operands; the sign of numbers is `-`" },
  { "an expression", "'", NULL, "texts stand in double quotes, `'a'` is one character" },
  { "an expression", "//", NULL, COMMENTS "; `//` divides" },
  { "an expression", "/*", NULL, COMMENTS },
  { "an expression", NULL, "//", COMMENTS "; `//` divides" },
  { "an expression", NULL, "++", "`++` joins two arrays; `x + 1` is the next number" },
  { "an expression", ",", "(", "`\\x -> (x, 1)` is a function that makes a tuple" },
  { "an expression", "case", NULL, MATCHES },
  { "an expression", "for", NULL, LOOPS },
  { "an expression", "while", NULL, LOOPS },
  { "an expression", "open", NULL,
    "`open` stands among definitions; `m.(e)` opens a module in an expression" },
  { "an expression", "import", NULL, "`import` stands among definitions" },
  { "an expression", "do", NULL, "a body is an expression: leave `do` out" },
  { "an expression", "=", NULL, "`==` compares; `let x = ... in ...` names a value" },
  { "a field", "|", "with", MATCHES },
  { "a field", ".", "with", RECORD_UPDATES },
  { "a field", "[", ".",
    "`x.0` is the first component of a tuple, `xs[0]` the first element of an array" },
  { "a field", "case", "{", MATCHES },
  { "a field", "let", "{", BLOCKS },
  { "a field", "if", "{", BLOCKS },
  { "a field", "loop", "{", BLOCKS },
  { "a field", "match", "{", BLOCKS },
  { "a field", "-", "{", COMMENTS },
  { "a field", NULL, "{", RECORDS },
  { "a name to define", "=", NULL, HEADS },
  { "a pattern", "for", NULL, LOOPS },
  { "a pattern", "while", NULL, LOOPS },
  { "a parameter", "<-", NULL, NAMES },
  { "a parameter", ",", NULL, "a pattern of several parts stands in brackets: `(a, b)`" },
  { "a pattern", "*", NULL, STARS },
  { "a type", "&", NULL, STARS },
  { "a pattern", "[", NULL, "`length xs` and `xs[i]` take arrays apart, not patterns" },
  { "a string", NULL, "import", FILES },
  { "a type", "=", ":", NAMES },
  { "a type", "'", NULL,
    "a type parameter is declared before the others: `def f 'a (x: a) : a = ...`" },
  { "'case'", "with", NULL, MATCHES },
  { "'case'", "of", NULL, MATCHES },
  { "'case'", "{", NULL, MATCHES },
  { "'then'", "=", NULL, "`==` compares" },
  { "'then'", NULL, NULL, CONDITIONS },
  { "'='", "<-", "]", UPDATES },
  { "'='", "+=", "]", UPDATES },
  { "'='", "-=", "]", UPDATES },
  { "'='", "*=", "]", UPDATES },
  { "'='", "/=", "]", UPDATES },
  { "'='", ":=", "]", UPDATES },
  { "'='", "|", NULL, CONDITIONS },
  { "'='", ",", NULL, RECORDS },
  { "'='", ">", NULL, "type parameters are declared as in `def f 't (x: t)`" },
  { "'='", "in", NULL, "a `let` is written `let y = x in ...`" },
  { "'='", "{", NULL, BODIES },
  { "'='", NULL, "}", BODIES },
  { "'='", "=>", NULL, HEADS },
  { "'='", "->", NULL, HEADS },
  { "'='", "where", NULL, "a file is a module already: it needs no such line" },
  { "')'", "->", NULL, LAMBDAS },
  { "')'", "=>", NULL, LAMBDAS ", its type `i32 -> i32`" },
  { "')'", "*", NULL, "the type of a tuple is `(i32, f32)`" },
  { "')'", "=", NULL, "`==` compares" },
  { "')'", "<", NULL, "the type of an array is `[]f32`" },
  { "'->'", "=>", NULL, "write `->`" },
  { "'->'", "=", NULL, LAMBDAS },
  { "'->'", "when", NULL, CASES },
  { "'->'", "if", NULL, CASES },
  { "'->'", "|", NULL, "each case has one pattern" },
  { "'->'", "..<", NULL, CASES },
  { "'->'", "...", NULL, CASES },
  { "'->'", ",", NULL, "parameters follow one another without commas: `\\x y -> ...`" },
  { "']'", ",", NULL, "each size has brackets of its own: `[n][m]f32`" },
  { "']'", "for", NULL, "`map (\\x -> ...) xs` computes a value for each element" },
  { "':'", "=", NULL, "the type of a field follows `:`: `{x: f32}`" },
  { "'}'", "->", NULL, LAMBDAS },
  { "'}'", "|", NULL, RECORD_UPDATES },
  { "'}'", "with", NULL, RECORD_UPDATES },
  { "'}'", ".", NULL, RECORD_UPDATES },
  { "'}'", ":", NULL, "a field is given its value by `=`: `{x = 1}`" },
  { "'in'", "for", NULL, LOOPS },
  { "'in'", "while", NULL, LOOPS },
  { "'in'", ",", NULL, LETS },
  { "'in'", "=", NULL, LETS },
  { "'val', 'type', 'module' or 'include'", NULL, NULL, DECLARES },
  { "'<' or 'in'", NULL, NULL,
    "`for i < n` counts from 0 to n - 1, `for x in xs` takes the elements" },
  { "'do'", NULL, NULL, "the body of a loop follows `do`" },
  { "a module", NULL, "open", "a file is opened by `import \"dir/file\"`" },
  { "'..<', '...' or '..>'", NULL, NULL,
    "`a..<b` leaves the end out, `a...b` includes it" },
};

static bool reads(const Parser *p, int at, const char *text) {
  if (at < 0 || at >= p->tokens.count) return false;
  const Token *token = &p->tokens.at[at];
  size_t length = strlen(text);
  return token->end - token->start == length &&
         strncmp(p->file->text + token->start, text, length) == 0;
}

static bool reads_one_of(const Parser *p, int at, const char *const *texts, int count) {
  for (int i = 0; i < count; i++)
    if (reads(p, at, texts[i])) return true;
  return false;
}

static bool fits(const Parser *p, const HintRule *rule, const char *expected) {
  return (!rule->expected || strcmp(rule->expected, expected) == 0) &&
         (!rule->found || reads(p, p->at, rule->found)) &&
         (!rule->after || reads(p, p->at - 1, rule->after));
}

// The token among the last ones of this definition, or -1.
static int find_before(const Parser *p, const char *const *texts, int count) {
  for (int at = p->at - 1; at >= 0 && at > p->at - 30; at--) {
    if (reads_one_of(p, at, texts, count)) return at;
    TokenKind kind = p->tokens.at[at].kind;
    if (kind == TOKEN_DEF || kind == TOKEN_ENTRY) break;
  }
  return -1;
}

static bool on_line_of(const Parser *p, int at, int other) {
  const char *text = p->file->text;
  uint32_t from = p->tokens.at[at].end, to = p->tokens.at[other].start;
  return from <= to && !memchr(text + from, '\n', to - from);
}

// [i32]
static bool is_bracketed_type(const Parser *p) {
  return reads(p, p->at - 1, "]") && reads(p, p->at - 3, "[") &&
         p->tokens.at[p->at - 2].kind == TOKEN_NAME;
}

static bool is_kind(const Parser *p, int at, TokenKind kind) {
  return at >= 0 && at < p->tokens.count && p->tokens.at[at].kind == kind;
}

static bool is_scalar_type(const Parser *p, int at) {
  static const char *const types[] = { "int", "float", "double", "bool", "i8",
                                       "i16", "i32",   "i64",    "u8",   "u16",
                                       "u32", "u64",   "f16",    "f32",  "f64" };
  return reads_one_of(p, at, types, sizeof types / sizeof *types);
}

// (i32 x) and {i32 x}
static bool is_type_before_name(const Parser *p, int first) {
  return is_scalar_type(p, first) && p->at == first + 1 && is_kind(p, p->at, TOKEN_NAME);
}

// (x i32) and (xs []i32)
static bool is_name_before_type(const Parser *p, int first) {
  int type = first + 1;
  while (reads(p, type, "[") || reads(p, type, "]"))
    type++;
  return is_kind(p, first, TOKEN_NAME) && p->at > first && p->at <= type &&
         is_scalar_type(p, type);
}

static bool touches_before(const Parser *p) {
  return p->at > 0 && p->tokens.at[p->at - 1].end == p->tokens.at[p->at].start;
}

// (xs: [10]) and (xs: []), but not x : [1], where a list is made
static bool is_type_of_sizes(const Parser *p) {
  bool closed = reads(p, p->at, ")") || reads(p, p->at, ",") || reads(p, p->at, "=");
  return closed && reads(p, p->at - 1, "]");
}

// xs: =, case 0: 1 and x : [1]
static const char *advice_on_type(const Parser *p) {
  static const char *const cases[] = { "case" }, *const arrows[] = { "->" };
  if (reads(p, p->at, "=") && reads(p, p->at - 1, ":") && !touches_before(p))
    return "the type of the result follows `:`; without one, leave `:` out";
  if (reads(p, p->at - 1, ":") && find_before(p, cases, 1) > find_before(p, arrows, 1))
    return "`->` follows the pattern of a case";
  if (is_type_of_sizes(p))
    return "the type of an array's elements follows its size: `[]i32`";
  if (reads(p, p->at - 1, "]") && is_kind(p, p->at - 2, TOKEN_NATURAL))
    return "a type follows `:`; `[x] ++ xs` is an array with one more element in front";
  return NULL;
}

// module m { ... }, type pair a = ... and def + ...
static const char *advice_on_head(const Parser *p, const char *expected) {
  if (strcmp(expected, "a name to define") == 0 && is_kind(p, p->at, TOKEN_OPERATOR))
    return "an operator stands in brackets where it is defined: `def (+) x y = ...`";
  if (strcmp(expected, "'='") != 0) return NULL;
  if (reads(p, p->at - 2, "module") && reads(p, p->at, "{"))
    return "a module is written `module m = { ... }`";
  if (reads(p, p->at - 2, "type") && is_kind(p, p->at, TOKEN_NAME))
    return "parameters of types are written `type pair 'a = ..`, sizes `type vec [n] = "
           "..`";
  return NULL;
}

// f(x, axis=0)
static bool is_named_argument(const Parser *p) {
  if (!reads(p, p->at, "=") || !is_kind(p, p->at - 1, TOKEN_NAME)) return false;
  if (reads(p, p->at - 2, ",")) return true;
  return reads(p, p->at - 2, "(") && is_kind(p, p->at - 3, TOKEN_NAME) &&
         p->tokens.at[p->at - 3].end == p->tokens.at[p->at - 2].start;
}

// let [a, b] = ..., case a, b -> ..., (x: i32 = 3), do s = ... and {- ... -}
static const char *advice_on_neighbours(const Parser *p, const char *expected) {
  if (strcmp(expected, "']'") == 0 && reads(p, p->at, ",") && reads(p, p->at - 3, "let"))
    return "`(a, b)` is the pattern of a tuple; elements of an array are `xs[0]`, "
           "`xs[1]`";
  if (strcmp(expected, "'->'") == 0 && reads(p, p->at, ",") &&
      reads(p, p->at - 2, "case"))
    return "a pattern of several parts stands in brackets: `(a, b)`";
  if (strcmp(expected, "')'") == 0 && reads(p, p->at, "=") && reads(p, p->at - 2, ":"))
    return "parameters have no default values";
  if (strcmp(expected, "')'") == 0 && reads(p, p->at, ",") && reads(p, p->at - 2, ":"))
    return "a record type has braces: `{x: f32, y: f32}`";
  if (strcmp(expected, "':'") == 0 && is_type_before_name(p, p->at - 1))
    return "a type follows the name: `{x: i32}`";
  if (strcmp(expected, "')'") == 0 && is_named_argument(p))
    return "arguments have no names; they follow one another, as in `f x y`";
  if (strcmp(expected, "a definition") == 0 && reads(p, p->at, "=") &&
      reads(p, p->at - 2, "do"))
    return "the body of a loop is the value that its parameter has in the next round: "
           "`do s + x`";
  if (reads(p, p->at, "{") && reads(p, p->at + 1, "-")) return COMMENTS;
  return NULL;
}

// 1. and .5
static const char *advice_on_point(const Parser *p, const char *expected) {
  if (strcmp(expected, "a field") == 0 && reads(p, p->at - 1, ".") &&
      is_kind(p, p->at - 2, TOKEN_NATURAL))
    return "digits follow a number's point: `1.0`";
  if (strcmp(expected, "an expression") == 0 && reads(p, p->at, ".") &&
      is_kind(p, p->at + 1, TOKEN_NATURAL))
    return "digits stand before a number's point: `0.5`";
  return NULL;
}

static const char *advice_on_definition(const Parser *p) {
  static const char *const types[] = { "type" };
  const Token *found = &p->tokens.at[p->at];
  if (found->kind == TOKEN_ARROW && touches_before(p)) return "`x.f` is field `f` of `x`";
  if (found->kind == TOKEN_STRING) return COMMENTS;
  if (reads(p, p->at, "~") && reads(p, p->at + 1, "="))
    return "`!=` tells whether two values differ";
  if (reads(p, p->at, "|"))
    return find_before(p, types, 1) >= 0 ? "constructors begin with `#`: `#a | #b f32`"
                                         : CONDITIONS;
  return NULL;
}

static const char *advice_on_words(const Parser *p, const char *expected) {
  static const char *const elses[] = { "elif", "elsif", "elseif", "elsei" };
  static const char *const returns[] = { "return" }, *const wheres[] = { "where" };
  bool definition = strcmp(expected, "a definition") == 0;
  if (strcmp(expected, "'else'") == 0 && reads(p, p->at, "="))
    return NAMES "; `==` compares";
  if (strcmp(expected, "'else'") == 0)
    return find_before(p, elses, 4) >= 0
               ? "write `else if`"
               : "an `if` has a value, so that it needs an `else`";
  if ((definition || strcmp(expected, "'='") == 0) && find_before(p, wheres, 1) >= 0)
    return "there is no `where`: `let y = ... in` stands before the expression";
  if (find_before(p, returns, 1) >= 0)
    return "the value of a function is its body, after `=`: leave `return` out";
  return definition ? advice_on_definition(p) : NULL;
}

// if c: a, and if (c) { a }
static bool is_open_if(const Parser *p) {
  static const char *const ifs[] = { "if" }, *const thens[] = { "then" };
  return find_before(p, ifs, 1) > find_before(p, thens, 1);
}

// match x { 1 => ... }
static bool is_open_match(const Parser *p) {
  static const char *const matches[] = { "match" }, *const cases[] = { "case" };
  return find_before(p, matches, 1) > find_before(p, cases, 1);
}

// \x: x + 1, and \x. x + 1
static bool is_open_lambda(const Parser *p) {
  static const char *const backslashes[] = { "\\" }, *const cases[] = { "case" };
  return find_before(p, backslashes, 1) > find_before(p, cases, 1);
}

static const char *advice_on_all(const Parser *p, const char *expected) {
  static const char *const slashes[] = { "//", "/*" }, *const asserts[] = { "assert" };
  if (strcmp(expected, "a type") == 0 && is_bracketed_type(p))
    return "the type of an array's elements follows its size: `[]i32`";
  int comment = find_before(p, slashes, 2);
  if (comment >= 0 && on_line_of(p, comment, p->at)) return COMMENTS "; `//` divides";
  if (is_open_if(p)) return CONDITIONS;
  if (strcmp(expected, "an expression") == 0 && find_before(p, asserts, 1) >= 0)
    return "`assert c e` is the value of `e` if `c` holds";
  if (strcmp(expected, "a definition") == 0 && is_kind(p, p->at, TOKEN_NAME))
    return reads(p, p->at + 1, ":")
               ? "types stand in the definition: `def f (x: i32) : i32 = ...`"
               : "a definition begins with `def`: `def f (x: i32) : i32 = ...`";
  if (strcmp(expected, "'->'") == 0 && is_open_lambda(p)) return LAMBDAS;
  return strcmp(expected, "'='") == 0 ? BODIES_FOLLOW : NULL;
}

static bool is_reserved(const Parser *p, int at) {
  TokenKind kind = p->tokens.at[at].kind;
  return kind >= TOKEN_TRUE && kind <= TOKEN_CASE;
}

// def loop = 1, and def f in = 1
static bool is_for_a_name(const Parser *p, const char *expected) {
  static const char *const names[] = { "a name to define",
                                       "a name to declare",
                                       "a pattern",
                                       "a parameter",
                                       "a type's name",
                                       "a module's name",
                                       "a field",
                                       "a size",
                                       "a module type's name",
                                       "a name" };
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(names[i], expected) == 0) return true;
  return strcmp(expected, "'='") == 0 && is_kind(p, p->at + 1, TOKEN_EQUAL);
}

// `for i < n` without a value is one of the rules, as are some others.
static const char *advice_on_reserved(const Parser *p, const char *expected) {
  if (!is_reserved(p, p->at) || !is_for_a_name(p, expected)) return NULL;
  const Token *token = &p->tokens.at[p->at];
  int length = (int)(token->end - token->start);
  const char *word = p->file->text + token->start;
  return text_format("`%.*s` is a reserved word; a name could be `%.*s_`", length, word,
                     length, word);
}

// case a x ->
static const char *advice_on_constructor(const Parser *p, const char *expected) {
  bool bare = strcmp(expected, "'->'") == 0 && p->at > 1 && reads(p, p->at - 2, "case") &&
              is_kind(p, p->at - 1, TOKEN_NAME) && is_kind(p, p->at, TOKEN_NAME);
  if (!bare) return NULL;
  const Token *name = &p->tokens.at[p->at - 1];
  return text_format("constructors begin with `#`: `case #%.*s ..`",
                     (int)(name->end - name->start), p->file->text + name->start);
}

static const char *advice(const Parser *p, const char *expected) {
  const char *text = advice_on_words(p, expected);
  if (!text && strcmp(expected, "a type") == 0) text = advice_on_type(p);
  if (!text && is_open_match(p)) text = MATCHES;
  if (!text) text = advice_on_point(p, expected);
  if (!text) text = advice_on_head(p, expected);
  if (!text) text = advice_on_neighbours(p, expected);
  for (size_t i = 0; !text && i < sizeof rules / sizeof *rules; i++)
    if (fits(p, &rules[i], expected)) text = rules[i].advice;
  if (!text) text = advice_on_reserved(p, expected);
  if (!text) text = advice_on_constructor(p, expected);
  return text ? text : advice_on_all(p, expected);
}

void parse_hint(Parser *p, const char *expected) {
  const char *text = advice(p, expected);
  if (text) hint(p->c, "%s", text);
}

void parse_hint_bracket(Parser *p, const Token *open) {
  static const char *const words[] = { "lambda", "fun", "fn", "func", "function" };
  int first = (int)(open - p->tokens.at) + 1;
  if (reads_one_of(p, first, words, 5))
    hint(p->c, "%s", LAMBDAS);
  else if (is_type_before_name(p, first))
    hint(p->c, "a type follows the name: `(x: i32)`");
  else if (is_name_before_type(p, first))
    hint(p->c, "`:` stands between a name and its type: `(x: i32)`");
  else if (open->kind == TOKEN_LBRACE && reads(p, first - 2, ")"))
    hint(p->c, "%s", BODIES);
  else
    parse_hint(p, open->kind == TOKEN_LPAREN     ? "')'"
                  : open->kind == TOKEN_LBRACKET ? "']'"
                                                 : "'}'");
}

void parse_hint_suffix(Parser *p, Loc literal, const char *suffix) {
  static const struct {
    const char *theirs, *ours;
  } table[] = {
    { "f", "f32" },  { "F", "f32" },     { "d", "f64" },  { "u", "u32" },
    { "U", "u32" },  { "l", "i64" },     { "L", "i64" },  { "ll", "i64" },
    { "LL", "i64" }, { "n", "i64" },     { "ul", "u64" }, { "UL", "u64" },
    { "lu", "u64" }, { "ull", "u64" },   { "i", "i32" },  { "ULL", "u64" },
    { "s", "i16" },  { "usize", "i64" },
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    if (strcmp(table[i].theirs, suffix) == 0) {
      hint(p->c, "the suffix of that type is `%s`", table[i].ours);
      return;
    }
  if (suffix[0] == 'x' && literal.file->text[literal.start] == '0')
    hint(p->c, "`0x` precedes hexadecimal digits: `0xff`");
  else
    hint(p->c, "products have a sign: `2 * %s`", suffix);
}

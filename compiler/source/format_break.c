// Lines that are too long: where they break.
//
// As in Oppen's "Prettyprinting" (TOPLAS 1980), a group breaks before those within it do, and it
// breaks either at all its places (chains of pipes, `let`s, `case`s, `else`s) or where a line is
// full (sums, arrays of numbers).  Unlike there, what the author broke stays broken, and a place
// may be refused where breaking would not help: `map (\x ->` keeps its line if the lambda must
// break.  Places that read badly (behind `=`, before a first argument) are taken where nothing
// else is left.
#include "source/format.h"
#include <string.h>

enum { INDENT = 2, SHORT_ARGUMENT = 12, SHORT_ITEM = 24, LONG_ITEM = 40, MEAN_ITEM = 16 };

typedef struct Breaker {
  Formatter *f;
  int start;  // the first token of the line
  int at;     // the first token behind the margin
  bool last_resort;
  int first;  // of the places that were found; -1 before that
} Breaker;

// ---- places

static TokenKind kind_at(const Breaker *b, int at) {
  return format_token(b->f, at)->kind;
}

// Is there a line break before this token already, or must there be one?
static bool is_broken(const Formatter *f, int at) {
  if (f->flags[at] & FORMAT_BREAK) return true;
  return format_broken(f, at) && !(f->flags[at] & FORMAT_JOIN);
}

// Would a break before this token shorten the line?
static bool helps(const Breaker *b, int place) {
  return place > b->start && place <= b->at && !(b->f->flags[place] & FORMAT_JOIN) &&
         !is_broken(b->f, place);
}

// A break before this token, on this line or behind it.
static void cut(Breaker *b, int place) {
  if (is_broken(b->f, place) || b->f->flags[place] & FORMAT_JOIN) return;
  b->f->flags[place] |= FORMAT_BREAK;
  if (place <= b->at && (b->first < 0 || place < b->first)) b->first = place;
}

// True if that is on this line.
static bool cut_if_it_helps(Breaker *b, int place) {
  bool good = helps(b, place);
  if (good) cut(b, place);
  return good;
}

// The columns of these tokens on one line; more than the margin if they are on several.
static int width_of(const Formatter *f, int first, int last) {
  int width = format_width(f, first);
  for (int at = first + 1; at <= last && width <= f->width; at++) {
    if (is_broken(f, at)) return f->width + 1;
    width += format_spaced(f, at) + format_width(f, at);
  }
  return width;
}

// Would these tokens, with the brackets and commas that touch them, fit behind this column?
static bool fits_behind(const Formatter *f, int first, int last, int column) {
  while (last + 1 < f->tokens.count - 1 && !is_broken(f, last + 1) &&
         !format_spaced(f, last + 1))
    last++;
  return column + width_of(f, first, last) <= f->width;
}

// Does an expression begin here that is better off on a line of its own?
static bool begins_block(const Breaker *b, int at) {
  TokenKind kind = kind_at(b, at);
  return kind == TOKEN_LET || kind == TOKEN_LOOP || kind == TOKEN_IF ||
         kind == TOKEN_MATCH;
}

// The next token behind this one that is in no brackets opened by it.
static int skip(const Breaker *b, int at) {
  return b->f->match[at] > at ? b->f->match[at] + 1 : at + 1;
}

// Behind `=` if what stands there fits below, or must have lines of its own.
static bool break_behind(Breaker *b, int place, int last, int column) {
  bool good =
      b->last_resort || begins_block(b, place) || fits_behind(b->f, place, last, column);
  return good && cut_if_it_helps(b, place);
}

// ---- definitions

static int name_of_decl(const Breaker *b, const FormatGroup *g) {
  int at = g->first;
  while (at < g->last && kind_at(b, at) != TOKEN_DEF && kind_at(b, at) != TOKEN_ENTRY &&
         kind_at(b, at) != TOKEN_LET && kind_at(b, at) != TOKEN_TYPE &&
         kind_at(b, at) != TOKEN_VAL && kind_at(b, at) != TOKEN_MODULE)
    at = skip(b, at);
  return at + 1;
}

// Before the parameter that does not fit, or the result.
static bool break_header(Breaker *b, int first, int end) {
  int place = -1;
  for (int at = first; at <= end; at = skip(b, at)) {
    if (format_spaced(b->f, at) && helps(b, at)) place = at;
    if (kind_at(b, at) == TOKEN_COLON) break;
  }
  return place >= 0 && cut_if_it_helps(b, place);
}

// module m : t with u = v = { .. }: the braces, else before the type and then before `with`.
static bool break_module(Breaker *b, const FormatGroup *g, int name) {
  int open = kind_at(b, g->last) == TOKEN_RBRACE ? b->f->match[g->last] : g->last + 1;
  if (b->at > open) return false;
  bool typed = false;
  int place = -1;
  for (int at = skip(b, name); at < open; at = skip(b, at)) {
    if (kind_at(b, at) == TOKEN_COLON && cut_if_it_helps(b, at)) return true;
    if (kind_at(b, at) == TOKEN_WITH && helps(b, at)) place = at;
    typed = typed || kind_at(b, at) == TOKEN_COLON;
    if (kind_at(b, at) == TOKEN_EQUAL && !typed) break;
  }
  return place >= 0 && cut_if_it_helps(b, place);
}

static bool break_decl(Breaker *b, const FormatGroup *g) {
  int name = name_of_decl(b, g), body = g->mark + 1;
  TokenKind word = kind_at(b, name - 1);
  if (word == TOKEN_MODULE) return break_module(b, g, name);
  if (g->mark < 0 || b->at <= g->mark)
    return break_header(b, skip(b, name), g->mark < 0 ? g->last : g->mark - 1);
  if (word == TOKEN_TYPE && kind_at(b, body) == TOKEN_LBRACE)
    return break_behind(b, body, g->last, b->f->column[g->first] + INDENT);
  return cut_if_it_helps(b, body);
}

// ---- applications

typedef Vec(int) Places;

static bool is_lambda(const Breaker *b, int at) {
  return kind_at(b, at) == TOKEN_BACKSLASH ||
         (kind_at(b, at) == TOKEN_LPAREN && kind_at(b, at + 1) == TOKEN_BACKSLASH);
}

// Where the arguments begin.
static Places arguments(const Breaker *b, const FormatGroup *g) {
  Places places = { 0 };
  for (int at = g->mark; at <= g->last; at = skip(b, at)) {
    if (at == g->mark || format_spaced(b->f, at)) vec_push(&places, at);
    if (kind_at(b, at) == TOKEN_BACKSLASH) break;
  }
  return places;
}

static int end_of(const FormatGroup *g, const Places *args, int i) {
  return i + 1 < args->count ? args->at[i + 1] - 1 : g->last;
}

static bool is_short(const Breaker *b, const FormatGroup *g, const Places *args, int i) {
  return width_of(b->f, args->at[i], end_of(g, args, i)) <= SHORT_ARGUMENT;
}

// The body of the lambda that begins here; -1 if there is none on this line.
static int body_of_lambda(const Breaker *b, int at) {
  if (kind_at(b, at) == TOKEN_LPAREN) at++;
  for (int i = b->f->inner[at]; i >= 0; i = b->f->groups.at[i].parent) {
    const FormatGroup *g = &b->f->groups.at[i];
    if (g->kind == FORMAT_LAMBDA && g->first == at) return g->mark;
  }
  return -1;
}

static int argument_column(const Breaker *b, const FormatGroup *g) {
  bool aligned = !b->f->first[g->mark];
  return aligned ? b->f->column[g->mark] : b->f->column[g->first] + INDENT;
}

// f a (\x ->
//   ..) b
// Only short arguments may stand around the lambda.
static bool is_hug(const Breaker *b, const FormatGroup *g, const Places *args) {
  int lambda = -1;
  for (int i = 0; i < args->count; i++) {
    bool here = is_lambda(b, args->at[i]);
    if (here && lambda >= 0) return false;
    if (here) lambda = i;
    if (!here && lambda >= 0 && !is_short(b, g, args, i)) return false;
  }
  if (lambda < 0) return false;
  int body = body_of_lambda(b, args->at[lambda]);
  if (body < 0 || body > b->at) return false;
  return lambda + 1 == args->count || begins_block(b, body) ||
         !fits_behind(b->f, args->at[lambda], end_of(g, args, lambda),
                      argument_column(b, g));
}

static bool all_fit(const Breaker *b, const FormatGroup *g, const Places *args, int from,
                    int column) {
  for (int i = from; i < args->count; i++)
    if (!fits_behind(b->f, args->at[i], end_of(g, args, i), column)) return false;
  return true;
}

// The argument that goes to the next line: the first one that is not short, but not the very first.
static int first_to_move(const Breaker *b, const FormatGroup *g, const Places *args) {
  int i = 0;
  while (i < args->count && is_short(b, g, args, i))
    i++;
  if (i < args->count) return i ? i : 1;
  while (i > 1 && args->at[i - 1] > b->at)
    i--;
  return i - 1;
}

// The last argument of those from this one on that the author left on one line.
static int last_on_line(const Breaker *b, const Places *args, int from) {
  while (from + 1 < args->count && !is_broken(b->f, args->at[from + 1]))
    from++;
  return from;
}

static bool move_arguments(Breaker *b, const FormatGroup *g, const Places *args,
                           int from) {
  int column = argument_column(b, g), low = b->f->column[g->first] + INDENT;
  bool deep = low < column && !all_fit(b, g, args, from, column);
  if (deep && fits_behind(b->f, g->mark, g->last, low))
    return cut_if_it_helps(b, g->mark);
  if (!helps(b, args->at[from])) return false;
  int last = last_on_line(b, args, from);
  bool together = fits_behind(b->f, args->at[from], end_of(g, args, last), column);
  for (int i = from; i < (together ? from + 1 : args->count); i++)
    cut(b, args->at[i]);
  return true;
}

// f a {b = ..,
//      c = ..}
static bool ends_in_items(const Breaker *b, const FormatGroup *g, const Places *args,
                          int from) {
  TokenKind kind = kind_at(b, args->at[from]);
  return from + 1 == args->count && (kind == TOKEN_LBRACE || kind == TOKEN_LBRACKET) &&
         !fits_behind(b->f, args->at[from], g->last, argument_column(b, g));
}

static bool break_apply(Breaker *b, const FormatGroup *g) {
  Places args = arguments(b, g);
  if (is_hug(b, g, &args)) return false;
  if (b->last_resort) return cut_if_it_helps(b, g->mark);
  int from = first_to_move(b, g, &args);
  return from > 0 && from < args.count && !ends_in_items(b, g, &args, from) &&
         move_arguments(b, g, &args, from);
}

// ---- chains of operators

static const char *operator_at(const Breaker *b, int at) {
  return kind_at(b, at) == TOKEN_OPERATOR ? format_token(b->f, at)->name : "";
}

static bool is_one_of(const char *op, const char *set) {
  return strlen(op) == 1 && strchr(set, *op);
}

static bool same_level(const Breaker *b, int x, int y) {
  const char *p = operator_at(b, x), *q = operator_at(b, y);
  if (is_one_of(p, "+-")) return is_one_of(q, "+-");
  if (is_one_of(p, "*/%")) return is_one_of(q, "*/%");
  return kind_at(b, x) == kind_at(b, y) && strcmp(p, q) == 0;
}

// `<|` ends a line, others begin one.
static int place_of_operator(const Breaker *b, int at) {
  return strcmp(operator_at(b, at), "<|") == 0 ? at + 1 : at;
}

// a + b is in a + b + c, and b -> c in a -> b -> c.
static bool in_spine(const Breaker *b, const FormatGroup *g, const FormatGroup *part) {
  bool place =
      part->first == g->first || (part->first == g->mark + 1 && part->last == g->last);
  return place && part->kind == FORMAT_CHAIN && part->mark >= 0 &&
         same_level(b, g->mark, part->mark);
}

static Places operators(const Breaker *b, const FormatGroup *g) {
  Places places = { 0 };
  const FormatGroup *end = b->f->groups.at + b->f->groups.count;
  int reach = g->mark + 1;  // the right operands of right operands
  for (const FormatGroup *part = g; part < end && part->first <= reach; part++) {
    if (part != g && !in_spine(b, g, part) &&
        !(part->first == reach && part->last == g->last && in_spine(b, part, part) &&
          same_level(b, g->mark, part->mark)))
      continue;
    vec_push(&places, place_of_operator(b, part->mark));
    if (part->last == g->last) reach = part->mark + 1;
  }
  return places;
}

// Those of a sum type.
static Places bars(const Breaker *b, const FormatGroup *g) {
  Places places = { 0 };
  for (int at = g->first; at <= g->last; at = skip(b, at))
    if (strcmp(operator_at(b, at), "|") == 0) vec_push(&places, at);
  return places;
}

// Sums and the like, of which lines may hold several operands.
static bool is_fill(const Breaker *b, int at) {
  static const char *const others[] = { "", "|>", "<|", "&&", "||" };
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (strcmp(operator_at(b, at), others[i]) == 0) return false;
  return true;
}

// All of them, or the last on the line.
static bool cut_places(Breaker *b, const Places *places, bool fill) {
  int last = -1;
  vec_each (const int *, place, places)
    if (helps(b, *place) && *place > last) last = *place;
  if (last < 0) return false;
  if (fill) return cut_if_it_helps(b, last);
  vec_each (const int *, place, places)
    cut(b, *place);
  return true;
}

// `x * (` keeps its line if what is in brackets can break.
static bool break_chain(Breaker *b, const FormatGroup *g) {
  Places places = g->mark < 0 ? bars(b, g) : operators(b, g);
  bool fill = g->mark >= 0 && is_fill(b, g->mark);
  bool factor = fill && !b->last_resort && kind_at(b, g->mark + 1) == TOKEN_LPAREN &&
                width_of(b->f, g->first, g->mark - 1) < SHORT_ARGUMENT &&
                b->f->match[g->mark + 1] >= b->at;
  return !factor && cut_places(b, &places, fill);
}

// ---- let, if, match, loop, lambdas

static const FormatGroup *let_at(const Breaker *b, int first) {
  const FormatGroup *groups = b->f->groups.at;
  for (int i = b->f->inner[first]; i >= 0; i = groups[i].parent)
    if (groups[i].kind == FORMAT_LET && groups[i].first == first) return &groups[i];
  return NULL;
}

static const FormatGroup *head_of_lets(const Breaker *b, const FormatGroup *g) {
  while (b->f->flags[g->first] & FORMAT_CHAINED)
    g = &b->f->groups.at[g->parent];
  return g;
}

static bool lets_are_broken(const Breaker *b, const FormatGroup *g) {
  return is_broken(b->f, g->mark) || is_broken(b->f, g->mark - 1);
}

// Each `let` and the last `in` on a line of its own.
static void cut_lets(Breaker *b, const FormatGroup *g) {
  for (bool more = true; more; g = let_at(b, g->mark)) {
    more = b->f->flags[g->mark] & FORMAT_CHAINED;
    int in = kind_at(b, g->mark - 1) == TOKEN_IN ? g->mark - 1 : -1;
    cut(b, more || in < 0 ? g->mark : in);
    if (in >= 0) b->f->flags[more ? in : g->mark] |= FORMAT_JOIN;
  }
}

static int find_equal(const Breaker *b, int at, int end) {
  while (at < end && kind_at(b, at) != TOKEN_EQUAL)
    at = skip(b, at);
  return at < end ? at : -1;
}

static bool break_let(Breaker *b, const FormatGroup *g) {
  if (!lets_are_broken(b, g)) {
    cut_lets(b, head_of_lets(b, g));
    if (b->first >= 0) return true;
  }
  int equal = find_equal(b, g->first, g->mark);
  int last = g->mark - (kind_at(b, g->mark - 1) == TOKEN_IN ? 2 : 1);
  if (equal >= b->at) return break_header(b, skip(b, g->first + 1), equal - 1);
  return equal >= 0 && break_behind(b, equal + 1, last, b->f->column[g->first] + INDENT);
}

// The next of these keywords in the group itself; -1 if there is none.
static int keyword_of(const Breaker *b, const FormatGroup *g, TokenKind kind, int from) {
  for (int at = from; at <= g->last; at++)
    if (kind_at(b, at) == kind && &b->f->groups.at[b->f->inner[at]] == g) return at;
  return -1;
}

static const FormatGroup *if_at(const Breaker *b, int first) {
  const FormatGroup *groups = b->f->groups.at;
  for (int i = b->f->inner[first]; i >= 0; i = groups[i].parent)
    if (groups[i].kind == FORMAT_KEYWORD && groups[i].first == first) return &groups[i];
  return NULL;
}

static void cut_elses(Breaker *b, const FormatGroup *g) {
  while (g && kind_at(b, g->first) == TOKEN_IF) {
    int other = keyword_of(b, g, TOKEN_ELSE, g->first);
    if (other < 0) return;
    cut(b, other);
    g = if_at(b, other + 1);
  }
}

static bool break_if(Breaker *b, const FormatGroup *g) {
  int then = keyword_of(b, g, TOKEN_THEN, g->first),
      other = keyword_of(b, g, TOKEN_ELSE, g->first);
  if (then < 0 || other < 0) return false;
  if (helps(b, other) || helps(b, then)) {
    if (!helps(b, other)) cut(b, then);
    cut_elses(b, g);
    return true;
  }
  int column = b->f->line_column[b->at] + INDENT;
  if (b->at > other)
    return kind_at(b, other + 1) != TOKEN_IF &&
           break_behind(b, other + 1, g->last, column);
  return b->at > then && break_behind(b, then + 1, other - 1, column);
}

static bool break_match(Breaker *b, const FormatGroup *g) {
  Places places = { 0 };
  for (int at = keyword_of(b, g, TOKEN_MATCH, g->first) + 1; at <= g->last;
       at = skip(b, at))
    if (kind_at(b, at) == TOKEN_CASE &&
        b->f->groups.at[b->f->inner[at]].parent == (int)(g - b->f->groups.at))
      vec_push(&places, at);
  return cut_places(b, &places, false);
}

static bool break_loop(Breaker *b, const FormatGroup *g) {
  int body = keyword_of(b, g, TOKEN_DO, g->first) + 1;
  if (body > 0 && cut_if_it_helps(b, body)) return true;
  int head = keyword_of(b, g, TOKEN_FOR, g->first);
  if (head < 0) head = keyword_of(b, g, TOKEN_WHILE, g->first);
  if (head < 0) return false;
  if (cut_if_it_helps(b, head)) return true;
  int equal = find_equal(b, g->first, head);
  return b->last_resort && equal >= 0 && cut_if_it_helps(b, equal + 1);
}

static bool break_keyword(Breaker *b, const FormatGroup *g) {
  TokenKind kind = kind_at(b, g->first);
  if (kind == TOKEN_IF) return break_if(b, g);
  return kind == TOKEN_MATCH ? break_match(b, g) : break_loop(b, g);
}

// Before `with`, behind `case p ->` and an assertion's condition; behind a field's `=` and before a
// type if there is no other place.
static bool break_hang(Breaker *b, const FormatGroup *g) {
  if (g->mark < 0) return false;
  bool apart = width_of(b->f, g->first, g->mark - 1) >= SHORT_ARGUMENT;
  bool reads_well = (kind_at(b, g->mark) == TOKEN_WITH && apart) ||
                    kind_at(b, g->mark - 1) == TOKEN_ARROW ||
                    kind_at(b, g->first) == TOKEN_ASSERT;
  return (reads_well || b->last_resort) && cut_if_it_helps(b, g->mark);
}

// ---- brackets

// Definitions and specifications in braces.
static bool break_braces(Breaker *b, const FormatGroup *g) {
  Places places = { 0 };
  for (int at = g->first + 1; at < g->last; at = skip(b, at))
    if (b->f->flags[at] & FORMAT_ITEM) vec_push(&places, at);
  if (!places.count) return false;
  vec_push(&places, g->last);
  return cut_places(b, &places, false);
}

// Many short items fill lines, others have a line each; those of records always.
typedef struct ItemWidths {
  Places places;
  int count, sum, most;  // their columns
} ItemWidths;

static ItemWidths widths_of(const Breaker *b, const FormatGroup *g) {
  ItemWidths items = { 0 };
  int begin = g->first + 1;
  for (int at = g->first + 1; at <= g->last; at = skip(b, at)) {
    if (at < g->last && kind_at(b, at) != TOKEN_COMMA) continue;
    int width = width_of(b->f, begin, at - 1);
    items.sum += width;
    items.most = width > items.most ? width : items.most;
    items.count++;
    begin = at + 1;
    if (at < g->last) vec_push(&items.places, begin);
  }
  return items;
}

static bool break_bracket(Breaker *b, const FormatGroup *g) {
  if (kind_at(b, g->first) == TOKEN_ATTR && !b->last_resort) return false;
  if (break_braces(b, g)) return true;
  ItemWidths items = widths_of(b, g);
  bool fill = items.most <= SHORT_ITEM ||
              (items.most <= LONG_ITEM && items.sum <= items.count * MEAN_ITEM);
  return cut_places(b, &items.places, fill && kind_at(b, g->first) != TOKEN_LBRACE);
}

// ---- the whole

static bool break_group(Breaker *b, const FormatGroup *g) {
  switch (g->kind) {
  case FORMAT_BRACKET: return break_bracket(b, g);
  case FORMAT_DECL: return break_decl(b, g);
  case FORMAT_APPLY: return break_apply(b, g);
  case FORMAT_CHAIN: return break_chain(b, g);
  case FORMAT_LET: return break_let(b, g);
  case FORMAT_KEYWORD: return break_keyword(b, g);
  case FORMAT_LAMBDA:
  case FORMAT_ALIGN: return cut_if_it_helps(b, g->mark);
  case FORMAT_HANG: return break_hang(b, g);
  }
  return false;
}

// The groups around the token, outer ones first, but for those around the tokens before.
static bool break_around(Breaker *b, int group) {
  if (group < 0) return false;
  FormatGroup *g = &b->f->groups.at[group];
  if (g->tried == b->f->searches) return false;
  g->tried = b->f->searches;
  if (break_around(b, g->parent)) return true;
  return g->last >= b->start && break_group(b, g) && b->first >= 0;
}

int format_break(Formatter *f, int start, int at) {
  Breaker b = { .f = f, .start = start, .at = at, .first = -1 };
  for (int round = 0; round < 2; round++) {
    b.last_resort = round > 0;
    f->searches++;
    for (int inside = at; inside > start; inside--)
      if (break_around(&b, f->inner[inside])) return b.first;
  }
  return -1;
}

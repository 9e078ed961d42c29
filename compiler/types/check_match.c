// Whether the cases of a match cover all values.
//
// Maranget, "Warnings for pattern matching" (JFP 17(3), 2007), section 3: a row of wildcards is
// useful after the given rows if and only if some value is matched by none of them.
#include "base/text.h"
#include "types/check.h"

typedef Vec(const AstPat *) Row;  // NULL stands for a wildcard
typedef Vec(Row) Rows;

static const AstPat *strip(const AstPat *pat) {
  while (pat && (pat->kind == AST_PAT_ASCRIBE || pat->kind == AST_PAT_ATTR))
    pat = pat->kind == AST_PAT_ASCRIBE ? pat->u.ascribe.pat : pat->u.attr.pat;
  bool any = pat && (pat->kind == AST_PAT_NAME || pat->kind == AST_PAT_WILDCARD);
  return any ? NULL : pat;
}

// The components of a tuple or record pattern, records by the order of `like`.
static const AstPat *component(const AstPat *pat, const AstPat *like, int i) {
  if (!pat) return NULL;
  if (like->kind == AST_PAT_TUPLE)
    return pat->kind == AST_PAT_TUPLE && i < pat->u.tuple.items.count
               ? pat->u.tuple.items.at[i]
               : NULL;
  Name name = like->u.record.fields.at[i].name;
  if (pat->kind != AST_PAT_RECORD) return NULL;
  vec_each (const AstFieldPat *, f, &pat->u.record.fields)
    if (f->name == name) return f->pat;
  return NULL;
}

static Row rest(const Row *row, Row front) {
  for (int i = 1; i < row->count; i++)
    vec_push(&front, row->at[i]);
  return front;
}

// Tuples and records have one constructor: their components become columns.
static Rows expand(const Rows *rows, const AstPat *like) {
  int count = like->kind == AST_PAT_TUPLE ? like->u.tuple.items.count
                                          : like->u.record.fields.count;
  Rows expanded = { 0 };
  vec_each (const Row *, row, rows) {
    Row front = { 0 };
    const AstPat *pat = strip(row->at[0]);
    for (int i = 0; i < count; i++)
      vec_push(&front, component(pat, like, i));
    vec_push(&expanded, rest(row, front));
  }
  return expanded;
}

static bool is_bool_pat(const AstPat *pat, bool value) {
  return pat->kind == AST_PAT_LITERAL && pat->u.literal.value->kind == AST_BOOL &&
         pat->u.literal.value->u.boolean.value == value;
}

// Rows that match when the first column has the constructor of field `field`, whose arguments
// become columns.
static Rows with_constructor(Check *k, const Rows *rows, Name field, int count) {
  Rows left = { 0 };
  vec_each (const Row *, row, rows) {
    const AstPat *pat = strip(row->at[0]);
    bool constructor = pat && pat->kind == AST_PAT_CONSTRUCTOR;
    if (pat && !(constructor && constructor_field(k, pat->u.constructor.name) == field))
      continue;
    Row front = { 0 };
    for (int i = 0; i < count; i++) {
      bool given = constructor && i < pat->u.constructor.payload.count;
      vec_push(&front, given ? pat->u.constructor.payload.at[i] : NULL);
    }
    vec_push(&left, rest(row, front));
  }
  return left;
}

static bool misses(Check *k, const Rows *rows, int columns);

static bool misses_constructor(Check *k, const Rows *rows, int columns, const Type *sum) {
  for (int i = 1; i < sum->u.record.count; i++) {
    const Type *payload = type_resolve(sum->u.record.fields[i].type);
    int count = payload->kind == TYPE_RECORD ? payload->u.record.count : 0;
    Rows left = with_constructor(k, rows, sum->u.record.fields[i].name, count);
    if (misses(k, &left, columns - 1 + count)) return true;
  }
  return false;
}

// Rows that match when the first column is the given bool, or (NULL) any other value than those
// that the rows name.
static Rows restrict_to(const Rows *rows, const bool *value) {
  Rows left = { 0 };
  vec_each (const Row *, row, rows) {
    const AstPat *pat = strip(row->at[0]);
    if (!pat || (value && is_bool_pat(pat, *value)))
      vec_push(&left, rest(row, (Row){ 0 }));
  }
  return left;
}

// Some row matches all.  Without a look at this, matches on n components would be split 2^n times.
static bool matches_any(const Rows *rows) {
  vec_each (const Row *, row, rows) {
    bool any = true;
    for (int i = 0; any && i < row->count; i++)
      any = !strip(row->at[i]);
    if (any) return true;
  }
  return false;
}

// Whether some row of values is matched by none of the rows.
static bool misses(Check *k, const Rows *rows, int columns) {
  if (columns == 0 || matches_any(rows)) return rows->count == 0;
  const AstPat *structure = NULL;
  bool bools = false;
  vec_each (const Row *, row, rows) {
    const AstPat *pat = strip(row->at[0]);
    const Type *type = pat && pat->type ? type_resolve(pat->type) : NULL;
    if (pat && pat->kind == AST_PAT_CONSTRUCTOR)  // of no sum type after other errors
      return type && type_is_sum(type) && misses_constructor(k, rows, columns, type);
    if (pat && (pat->kind == AST_PAT_TUPLE || pat->kind == AST_PAT_RECORD))
      structure = pat;
    if (pat && (is_bool_pat(pat, true) || is_bool_pat(pat, false))) bools = true;
  }
  if (structure) {
    Rows expanded = expand(rows, structure);
    int count = structure->kind == AST_PAT_TUPLE ? structure->u.tuple.items.count
                                                 : structure->u.record.fields.count;
    return misses(k, &expanded, columns - 1 + count);
  }
  static const bool values[] = { false, true };
  for (int i = 0; bools && i < 2; i++) {
    Rows left = restrict_to(rows, &values[i]);
    if (misses(k, &left, columns - 1)) return true;
  }
  if (bools) return false;
  Rows others = restrict_to(rows, NULL);
  return misses(k, &others, columns - 1);
}

// The constructors of which values are missed.
static void note_missing(Check *k, const AstExp *match, const Rows *rows) {
  const Type *sum = type_resolve(match->u.match.value->type);
  static const bool values[] = { false, true };
  for (int i = 0; i < 2 && sum->kind == TYPE_PRIM && sum->u.prim == PRIM_BOOL; i++) {
    Rows left = restrict_to(rows, &values[i]);
    if (misses(k, &left, 0))
      note(k->c, match->loc, "`%s` is not covered", values[i] ? "true" : "false");
  }
  if (!type_is_sum(sum)) return;
  Text *t = text_new();
  for (int i = 1; i < sum->u.record.count; i++) {
    const Type *payload = type_resolve(sum->u.record.fields[i].type);
    int count = payload->kind == TYPE_RECORD ? payload->u.record.count : 0;
    Rows left = with_constructor(k, rows, sum->u.record.fields[i].name, count);
    if (misses(k, &left, count))
      text_printf(t, "%s`%s`", text_length(t) ? ", " : "", sum->u.record.fields[i].name);
  }
  if (text_length(t))
    note(k->c, match->loc, "not all values of %s are covered", text_str(t));
}

void check_match_covers(Check *k, const AstExp *match) {
  Rows rows = { 0 };
  for (int i = 0; i < match->u.match.cases.count; i++) {
    Row row = { 0 };
    vec_push(&row, match->u.match.cases.at[i].pat);
    vec_push(&rows, row);
  }
  if (!misses(k, &rows, 1)) return;
  error(k->c, match->loc, "match may not cover every value");
  note_missing(k, match, &rows);
  hint(k->c, "add a last case that matches anything: case _ -> ...");
}

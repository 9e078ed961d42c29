// Loops.  A name of the loop's pattern that the body consumes, or that is declared `*`, takes its
// initial value and each next one for its own; other names may share memory with what is outside.
#include "source/ast_walk.h"
#include "types/consume.h"

// A part of the loop's value that a name, or a field of it, holds.
typedef struct LoopPart {
  Root *root;  // NULL: not named
  const Alias *initial, *next;
  const Alias *whole;   // of both, part by part
  const Alias *result;  // of the loop's value
  bool owned;
  bool declared;  // `*`
} LoopPart;

typedef struct ConsumeLoop {
  Consume *u;
  const AstExp *exp;
  int depth;  // of its region
  const Alias *captured;
  Vec(LoopPart) parts;
} ConsumeLoop;

// --- The parts ---

static void add_loop_parts(ConsumeLoop *l, const Alias *own, const LoopPart *like) {
  if (!own || !own->count) {
    LoopPart part = *like;
    if (own) part.root = own->roots.at[0];
    part.initial = alias_flat(like->initial);
    part.next = alias_flat(like->next);
    part.whole = alias_union(like->initial, like->next);
    vec_push(&l->parts, part);
    return;
  }
  for (int i = 0; i < own->count; i++) {
    LoopPart part = *like;
    part.initial = alias_field(like->initial, own->names[i]);
    part.next = alias_field(like->next, own->names[i]);
    add_loop_parts(l, own->fields[i], &part);
  }
}

static void find_parts(ConsumeLoop *l, const AstPat *pat, LoopPart part);

static void find_fields(ConsumeLoop *l, const AstPat *pat, const LoopPart *whole) {
  const Type *type = type_resolve(pat->type);
  for (int i = 0; i < pat->u.tuple.items.count && type->kind == TYPE_RECORD; i++) {
    LoopPart part = *whole;
    part.initial = alias_field(whole->initial, type->u.record.fields[i].name);
    part.next = alias_field(whole->next, type->u.record.fields[i].name);
    find_parts(l, pat->u.tuple.items.at[i], part);
  }
}

static void find_parts(ConsumeLoop *l, const AstPat *pat, LoopPart part) {
  switch (pat->kind) {
  case AST_PAT_NAME:
    add_loop_parts(l, map_get(l->u->aliases, pat->u.name.binding), &part);
    return;
  case AST_PAT_TUPLE: find_fields(l, pat, &part); return;
  case AST_PAT_RECORD:
    vec_each (const AstFieldPat *, f, &pat->u.record.fields) {
      LoopPart field = part;
      field.initial = alias_field(part.initial, f->name);
      field.next = alias_field(part.next, f->name);
      find_parts(l, f->pat, field);
    }
    return;
  case AST_PAT_ASCRIBE:
    part.declared = part.declared || type_has_unique(pat->type);
    find_parts(l, pat->u.ascribe.pat, part);
    return;
  case AST_PAT_ATTR: find_parts(l, pat->u.attr.pat, part); return;
  case AST_PAT_WILDCARD:
  case AST_PAT_LITERAL:
  case AST_PAT_CONSTRUCTOR: add_loop_parts(l, NULL, &part); return;
  }
}

static LoopPart *part_of(ConsumeLoop *l, const Root *root) {
  vec_each (LoopPart *, part, &l->parts)
    if (part->root && part->root == root) return part;
  return NULL;
}

// What an owned part is next, was one that is owned as well.
static void find_owned(ConsumeLoop *l) {
  vec_each (LoopPart *, part, &l->parts)
    part->owned = part->root && (part->declared || part->root->consumed);
  for (bool changed = true; changed;) {
    changed = false;
    vec_each (LoopPart *, part, &l->parts)
      for (int i = 0; part->owned && part->next && i < part->next->roots.count; i++) {
        LoopPart *before = part_of(l, part->next->roots.at[i]);
        if (!before || before->owned) continue;
        before->owned = changed = true;
      }
  }
}

// --- What must not be ---

static void report_next(const ConsumeLoop *l, const LoopPart *part, Root *root) {
  Compiler *c = l->u->k->c;
  root->reported = true;
  Name name = part->root->binding->name;
  error(c, l->exp->u.loop.body->loc,
        "the next `%s` may share memory with %s, but each round consumes it", name,
        consume_root_text(root));
  if (part->root->consumed) note(c, part->root->consumed->loc, "it is consumed here");
  hint(c, "let the body of the loop give a copy");
}

static bool is_shared(const ConsumeLoop *l, const LoopPart *part, const Root *root) {
  vec_each (const LoopPart *, other, &l->parts)
    if (other != part && alias_has(other->next, root)) return true;
  return false;
}

static void check_next(ConsumeLoop *l, const LoopPart *part) {
  for (int i = 0; part->next && i < part->next->roots.count; i++) {
    Root *root = part->next->roots.at[i];
    bool shared =
        root->depth < l->depth || root->kind != ROOT_OWN || is_shared(l, part, root);
    if (shared && !root->reported) report_next(l, part, root);
  }
}

// The rounds find consumed what the loop takes over.
static void check_rounds(const ConsumeLoop *l, const LoopPart *part) {
  for (int i = 0; part->initial && i < part->initial->roots.count; i++) {
    Root *root = part->initial->roots.at[i];
    if (!alias_has(l->captured, root) || root->reported) continue;
    root->reported = true;
    error(l->u->k->c, l->exp->loc,
          "the loop consumes `%s` as `%s`, but its rounds use it under another name",
          root->binding->name, part->root->binding->name);
    hint(l->u->k->c, "use `%s`, or consume a copy", part->root->binding->name);
  }
}

static void consume_initial(ConsumeLoop *l) {
  const AstExp *init = l->exp->u.loop.init;
  vec_each (const LoopPart *, part, &l->parts)
    if (part->owned) check_rounds(l, part);
  vec_each (const LoopPart *, part, &l->parts)
    if (part->owned) consume_value(l->u, part->initial, init);
  vec_each (const LoopPart *, part, &l->parts)
    if (!part->owned) consume_check_alive(l->u, part->initial, init);
  vec_each (const LoopPart *, part, &l->parts) {
    vec_each (const LoopPart *, other, &l->parts) {
      if (other == part) break;
      for (int i = 0; part->initial && i < part->initial->roots.count; i++)
        if (part->owned && other->owned &&
            alias_has(other->initial, part->initial->roots.at[i]))
          consume_check_alive(l->u, part->initial, init);
    }
  }
}

// --- The result ---

// What a part may share memory with after a round, given what each may before it.
static const Alias *next_alias(ConsumeLoop *l, const LoopPart *part) {
  const Alias *all = part->result;
  for (int i = 0; part->next && i < part->next->roots.count; i++) {
    Root *root = part->next->roots.at[i];
    const LoopPart *before = part_of(l, root);
    if (before)
      all = alias_union(all, before->result);
    else if (root->depth < l->depth || is_shared(l, part, root))
      all = alias_union(all, alias_of_root(root));
  }
  return all;
}

static void find_results(ConsumeLoop *l) {
  vec_each (LoopPart *, part, &l->parts)
    part->result = part->owned ? NULL : part->initial;
  for (bool changed = true; changed;) {
    changed = false;
    vec_each (LoopPart *, part, &l->parts) {
      if (part->owned) continue;
      const Alias *next = next_alias(l, part);
      int known = part->result ? part->result->roots.count : 0;
      changed = changed || (next && next->roots.count > known);
      part->result = next;
    }
  }
}

static const Alias *loop_alias(ConsumeLoop *l, const AstPat *pat, int *at);

static const Alias *result_fields(ConsumeLoop *l, const Alias *own, int *at) {
  if (!own || !own->count) return l->parts.at[(*at)++].result;
  const Alias **fields = new_array(const Alias *, own->count);
  for (int i = 0; i < own->count; i++)
    fields[i] = result_fields(l, own->fields[i], at);
  return alias_record(own->names, fields, own->count);
}

static const Alias *tuple_alias(ConsumeLoop *l, const AstPat *pat, int *at) {
  const Type *type = type_resolve(pat->type);
  int count = pat->u.tuple.items.count;
  const Alias **fields = new_array(const Alias *, count);
  Name *names = new_array(Name, count);
  if (type->kind != TYPE_RECORD || type->u.record.count != count) return NULL;
  for (int i = 0; i < count; i++) {
    names[i] = type->u.record.fields[i].name;
    fields[i] = loop_alias(l, pat->u.tuple.items.at[i], at);
  }
  return alias_record(names, fields, count);
}

static const Alias *record_alias(ConsumeLoop *l, const AstPat *pat, int *at) {
  int count = pat->u.record.fields.count;
  const Alias **fields = new_array(const Alias *, count);
  Name *names = new_array(Name, count);
  for (int i = 0; i < count; i++) {
    names[i] = pat->u.record.fields.at[i].name;
    fields[i] = loop_alias(l, pat->u.record.fields.at[i].pat, at);
  }
  return alias_record(names, fields, count);
}

// The alias of the loop's value, from its parts in the order in which they were found.
static const Alias *loop_alias(ConsumeLoop *l, const AstPat *pat, int *at) {
  switch (pat->kind) {
  case AST_PAT_NAME:
    return result_fields(l, map_get(l->u->aliases, pat->u.name.binding), at);
  case AST_PAT_TUPLE: return tuple_alias(l, pat, at);
  case AST_PAT_RECORD: return record_alias(l, pat, at);
  case AST_PAT_ASCRIBE: return loop_alias(l, pat->u.ascribe.pat, at);
  case AST_PAT_ATTR: return loop_alias(l, pat->u.attr.pat, at);
  case AST_PAT_WILDCARD:
  case AST_PAT_LITERAL:
  case AST_PAT_CONSTRUCTOR: return l->parts.at[(*at)++].whole;
  }
  return NULL;
}

// --- The loop ---

static void forget_names(void *map, const AstPat *name) {
  map_remove(map, name->u.name.binding);
}

// A type without `*` says that the loop does not consume.
static void bind_names(Consume *u, const AstPat *pat) {
  if (pat->kind == AST_PAT_ASCRIBE && !type_has_unique(pat->type)) u->kind = ROOT_PARAM;
  bool tuple = pat->kind == AST_PAT_TUPLE;
  for (int i = 0; tuple && i < pat->u.tuple.items.count; i++)
    bind_names(u, pat->u.tuple.items.at[i]);
  if (!tuple) consume_bind(u, pat, NULL);
  u->kind = ROOT_OWN;
}

static const Alias *consume_body(ConsumeLoop *l, const Alias *bound) {
  Consume *u = l->u;
  const AstExp *exp = l->exp;
  bool is_while = exp->u.loop.form == LOOP_WHILE;
  ast_visit_names(exp->u.loop.pat, forget_names, u->aliases);
  bind_names(u, exp->u.loop.pat);
  if (is_while)
    consume_exp(u, exp->u.loop.bound);
  else if (exp->u.loop.form == LOOP_FOR_IN)
    consume_bind(u, exp->u.loop.index, bound);
  return consume_exp(u, exp->u.loop.body);
}

const Alias *consume_loop(Consume *u, AstExp *exp) {
  const Alias *initial = consume_exp(u, exp->u.loop.init), *bound = NULL;
  if (exp->u.loop.form != LOOP_WHILE) bound = consume_exp(u, exp->u.loop.bound);
  ConsumeRegion region;
  consume_enter(u, &region, true);
  ConsumeLoop l = { .u = u, .exp = exp, .depth = region.depth };
  const Alias *next = consume_body(&l, bound);
  consume_leave(u);
  l.captured = region.captured;
  find_parts(&l, exp->u.loop.pat, (LoopPart){ .initial = initial, .next = next });
  find_owned(&l);
  vec_each (const LoopPart *, part, &l.parts)
    if (part->owned) check_next(&l, part);
  consume_initial(&l);
  find_results(&l);
  int at = 0;
  return loop_alias(&l, exp->u.loop.pat, &at);
}

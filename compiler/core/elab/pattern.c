// Patterns.
#include "core/elab/elaborate.h"

static void bind(Elab *e, Scope *s, const AstPat *pat, const Val *v) {
  switch (pat->kind) {
  case AST_PAT_NAME: s->env = env_push(s->env, pat->u.name.binding, v); return;
  case AST_PAT_WILDCARD:
  case AST_PAT_LITERAL: return;
  case AST_PAT_TUPLE:
    for (int i = 0; i < pat->u.tuple.items.count; i++) {
      bind(e, s, pat->u.tuple.items.at[i], v->u.record.items[i]);
    }
    return;
  case AST_PAT_RECORD:
    for (int i = 0; i < pat->u.record.fields.count; i++) {
      const AstFieldPat *field = &pat->u.record.fields.at[i];
      bind(e, s, field->pat, val_field(e, v, field->name));
    }
    return;
  case AST_PAT_ASCRIBE: bind(e, s, pat->u.ascribe.pat, v); return;
  case AST_PAT_ATTR: bind(e, s, pat->u.attr.pat, v); return;
  case AST_PAT_CONSTRUCTOR:
    for (int i = 0; i < pat->u.constructor.payload.count; i++) {
      const Val *payload = elab_payload(e, pat, v);
      bind(e, s, pat->u.constructor.payload.at[i], payload->u.record.items[i]);
    }
    return;
  }
  bug(e->c, pat->loc, "a pattern of unknown kind");
}

void elab_bind(Elab *e, Scope *s, const AstPat *pat, const Val *v) {
  scope_bind_sizes(s, pat->type, v);
  bind(e, s, pat, v);
}

// An outer ascription is on the way to the name, like an attribute.
Name pat_whole_name(const AstPat *pat) {
  while (pat->kind == AST_PAT_ASCRIBE || pat->kind == AST_PAT_ATTR) {
    pat = pat->kind == AST_PAT_ASCRIBE ? pat->u.ascribe.pat : pat->u.attr.pat;
  }
  return pat->kind == AST_PAT_NAME ? pat->u.name.name : NULL;
}

static Atom all_match(Elab *e, Scope *s, const AstPat *pat, const Val *v) {
  Atom all = atom_bool(true);
  if (pat->kind == AST_PAT_TUPLE) {
    for (int i = 0; i < pat->u.tuple.items.count; i++) {
      Atom one = elab_matches(e, s, pat->u.tuple.items.at[i], v->u.record.items[i]);
      all = elab_and(e, all, one);
    }
    return all;
  }
  for (int i = 0; i < pat->u.record.fields.count; i++) {
    const AstFieldPat *field = &pat->u.record.fields.at[i];
    all = elab_and(e, all, elab_matches(e, s, field->pat, val_field(e, v, field->name)));
  }
  return all;
}

static Atom constructor_matches(Elab *e, Scope *s, const AstPat *pat, const Val *v) {
  Atom all = elab_has_constructor(e, pat, v);
  const Val *payload = elab_payload(e, pat, v);
  for (int i = 0; i < pat->u.constructor.payload.count; i++) {
    Atom one =
        elab_matches(e, s, pat->u.constructor.payload.at[i], payload->u.record.items[i]);
    all = elab_and(e, all, one);
  }
  return all;
}

static Atom equals_literal(Elab *e, Scope *s, const AstExp *literal, const Val *v) {
  const Val *wanted = elab_part(e, s, literal);
  if (literal->kind != AST_BOOL) return val_scalar(e, elab_equal(e, v, wanted, NULL));
  return literal->u.boolean.value ? val_scalar(e, v)
                                  : elab_op1(e, OP_NOT, val_scalar(e, v));
}

Atom elab_matches(Elab *e, Scope *s, const AstPat *pat, const Val *v) {
  switch (pat->kind) {
  case AST_PAT_NAME:
  case AST_PAT_WILDCARD: return atom_bool(true);
  case AST_PAT_TUPLE:
  case AST_PAT_RECORD: return all_match(e, s, pat, v);
  case AST_PAT_LITERAL: return equals_literal(e, s, pat->u.literal.value, v);
  case AST_PAT_ASCRIBE: return elab_matches(e, s, pat->u.ascribe.pat, v);
  case AST_PAT_ATTR: return elab_matches(e, s, pat->u.attr.pat, v);
  case AST_PAT_CONSTRUCTOR: return constructor_matches(e, s, pat, v);
  }
  bug(e->c, pat->loc, "a pattern of unknown kind");
}

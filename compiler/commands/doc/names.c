// Which definitions a library has, and what the names in its comments and types refer to.
#include "commands/doc/doc.h"
#include "source/lex.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_STEPS = 8 };  // from one name to what it stands for

// ---- collecting

typedef struct DocWalk {
  Docs *docs;
  DocFile *file;
} DocWalk;

static Name key_of(const Docs *docs, const DocFile *file, DocSpace space,
                   const char *name) {
  return name_of(docs->c->names, text_format("%d %s %s", (int)space, file->page, name));
}

// Letters and digits stay, and the dots behind modules; "+" becomes ".2b".
static const char *anchor_text(DocSpace space, const char *name) {
  static const char letters[] = { 'v', 't', 'm', 's' };
  Text *t = text_new();
  text_printf(t, "%c.", letters[space]);
  for (const char *s = name; *s; s++) {
    bool stays = (lex_is_name_part(*s) && *s != '\'') ||
                 (*s == '.' && s > name && lex_is_name_part(s[-1]));
    if (stays)
      text_add_bytes(t, s, 1);
    else
      text_printf(t, ".%02x", (unsigned)(unsigned char)*s);
  }
  return text_str(t);
}

static DocItem *add_definition(const DocWalk *w, DocSpace space, const char *name,
                               const DocItem *parent) {
  Docs *docs = w->docs;
  const char *full = parent ? text_format("%s.%s", parent->name, name) : name;
  DocItem *item = new_node(DocItem, .file = w->file, .space = space, .name = full,
                           .parent = parent, .depth = parent ? parent->depth + 1 : 0);
  Name key = key_of(docs, w->file, space, full);
  bool again = map_has(docs->named, key);
  const char *anchor = anchor_text(space, full);
  item->anchor = again ? text_format("%s.%d", anchor, docs->items.count) : anchor;
  map_put(docs->named, key, item);
  vec_push(&docs->items, item);
  return item;
}

static void collect_specs(const DocWalk *w, const AstModType *type,
                          const DocItem *parent) {
  static const DocSpace spaces[] = {
    [SPEC_VALUE] = DOC_VALUE, [SPEC_TYPE] = DOC_TYPE, [SPEC_MODULE] = DOC_MODULE
  };
  if (type->kind != MODTYPE_SPECS) return;
  vec_each (const AstSpec *, spec, &type->u.specs) {
    if (spec->kind == SPEC_INCLUDE) continue;
    DocItem *item = add_definition(w, spaces[spec->kind], spec->name, parent);
    item->spec = spec;
    if (spec->kind == SPEC_MODULE) collect_specs(w, spec->of, item);
  }
}

static void add_opening(const DocWalk *w, const char *from, const AstModExp *exp,
                        const DocItem *parent) {
  const char *around = parent ? text_format("%s.", parent->name) : "";
  from = text_format("%s%s", around, from);
  if (exp->kind == MODEXP_ASCRIBE) exp = exp->u.ascribe.exp;
  if (exp->kind == MODEXP_IMPORT) {
    const DocFile *file = doc_imported(w->docs, w->file, exp);
    if (file) vec_push(&w->file->openings, (DocOpening){ from, file, "" });
    return;
  }
  if (exp->kind != MODEXP_NAME) return;
  Text *to = text_new();
  vec_each (const Name *, part, &exp->u.name.qualifiers)
    text_printf(to, "%s.", *part);
  text_printf(to, "%s.", exp->u.name.name);
  vec_push(&w->file->openings, (DocOpening){ from, w->file, text_str(to) });
}

// Members of a parameter are those of its type: in `module m (P: s)`, P.t is s.t.
static void add_parameters(const DocWalk *w, const AstModExp *exp,
                           const DocItem *module) {
  for (; exp->kind == MODEXP_FUNCTION; exp = exp->u.function.body) {
    const AstModType *type = exp->u.function.type;
    while (type->kind == MODTYPE_WITH)
      type = type->u.with.of;
    if (type->kind != MODTYPE_NAME || type->u.name.qualifiers.count) continue;
    const char *from = text_format("%s.%s.", module->name, exp->u.function.param);
    vec_push(&w->file->openings,
             (DocOpening){ from, w->file, text_format("%s.", type->u.name.name) });
  }
}

static void collect_decls(const DocWalk *w, const AstDeclVec *decls,
                          const DocItem *parent);

// The definitions that a module is made of; NULL if it is made otherwise.
static const AstDeclVec *body_of(const AstModExp *exp) {
  while (exp->kind == MODEXP_ASCRIBE || exp->kind == MODEXP_FUNCTION)
    exp = exp->kind == MODEXP_ASCRIBE ? exp->u.ascribe.exp : exp->u.function.body;
  return exp->kind == MODEXP_BODY ? &exp->u.body : NULL;
}

// ---- members of `module m = f n`, as the checker has found them

typedef struct AppliedModule {
  const DocWalk *walk;
  const DocItem *module;
} AppliedModule;

static void add_applied_member(void *state, const ModuleMember *member) {
  const AppliedModule *a = state;
  DocSpace space = member->value ? DOC_VALUE : member->is_type ? DOC_TYPE : DOC_MODULE;
  DocItem *item = add_definition(a->walk, space, member->name, a->module);
  item->decl = a->module->decl;
  item->shown = doc_member_text(member);
}

static void collect_module(const DocWalk *w, const AstDecl *decl, const DocItem *parent,
                           bool shown) {
  const AstModExp *exp = decl->u.module.exp;
  const AstDeclVec *body = body_of(exp);
  add_opening(w, text_format("%s.", decl->u.module.name), exp, parent);
  if (!shown) return;
  DocItem *item = add_definition(w, DOC_MODULE, decl->u.module.name, parent);
  item->decl = decl;
  add_parameters(w, exp, item);
  if (body) collect_decls(w, body, item);
  if (exp->kind != MODEXP_APPLY || !w->file->checked) return;
  AppliedModule applied = { w, item };
  types_module_members(w->docs->c->names, w->file->checked, decl, add_applied_member,
                       &applied);
}

static DocItem *add_plain(const DocWalk *w, const AstDecl *decl, const DocItem *parent) {
  switch (decl->kind) {
  case AST_DECL_VALUE: return add_definition(w, DOC_VALUE, decl->u.value.name, parent);
  case AST_DECL_SPEC: return add_definition(w, DOC_VALUE, decl->u.spec.name, parent);
  case AST_DECL_TYPE: return add_definition(w, DOC_TYPE, decl->u.type.name, parent);
  case AST_DECL_MODULE_TYPE:
    return add_definition(w, DOC_SIGNATURE, decl->u.module_type.name, parent);
  case AST_DECL_MODULE:
  case AST_DECL_OPEN:
  case AST_DECL_LOCAL: break;
  }
  return NULL;
}

// `shown`: it is visible outside of its module.
static void collect_decl(const DocWalk *w, const AstDecl *decl, const DocItem *parent,
                         bool shown) {
  if (decl->kind == AST_DECL_LOCAL) {
    collect_decl(w, decl->u.local.decl, parent, false);
  } else if (decl->kind == AST_DECL_OPEN) {
    add_opening(w, "", decl->u.open.exp, parent);
  } else if (decl->kind == AST_DECL_MODULE) {
    collect_module(w, decl, parent, shown);
  } else if (shown) {
    DocItem *item = add_plain(w, decl, parent);
    if (!item) return;
    item->decl = decl;
    if (decl->kind == AST_DECL_MODULE_TYPE)
      collect_specs(w, decl->u.module_type.type, item);
  }
}

static void collect_decls(const DocWalk *w, const AstDeclVec *decls,
                          const DocItem *parent) {
  vec_each (AstDecl *const *, decl, decls)
    collect_decl(w, *decl, parent, true);
}

// ---- finding

const DocFile *doc_imported(const Docs *docs, const DocFile *file,
                            const AstModExp *import) {
  static const char *const endings[] = { ".fl", ".fut" };
  const char *path = import->u.path, *slash = strrchr(file->path, '/');
  const char *folder =
      slash && *path != '/'
          ? text_format("%.*s", (int)(slash + 1 - file->path), file->path)
          : "";
  for (int i = 0; i < 2; i++) {
    char *real = realpath(text_format("%s%s%s", folder, path, endings[i]), NULL);
    const DocFile *found = NULL;
    vec_each (DocFile *const *, other, &docs->files)
      if (real && strcmp((*other)->real, real) == 0) found = *other;
    free(real);
    if (found) return found;
  }
  return NULL;
}

static const DocItem *find_step(const Docs *docs, const DocFile *file, DocSpace space,
                                const char *name, int steps) {
  const DocItem *item = map_get(docs->named, key_of(docs, file, space, name));
  if (item && !item->hidden) return item;
  for (int i = file->openings.count - 1; i >= 0 && steps < MOST_STEPS; i--) {
    const DocOpening *o = &file->openings.at[i];
    size_t length = strlen(o->from);
    if (strncmp(name, o->from, length) != 0) continue;
    const char *rest = text_format("%s%s", o->to, name + length);
    if (o->file == file && strcmp(rest, name) == 0) continue;
    item = find_step(docs, o->file, space, rest, steps + 1);
    if (item) return item;
  }
  return NULL;
}

const DocItem *doc_find(const Docs *docs, const DocFile *file, const DocItem *within,
                        DocSpace space, const char *name) {
  for (; within; within = within->parent) {
    const DocItem *item =
        find_step(docs, file, space, text_format("%s.%s", within->name, name), 0);
    if (item) return item;
  }
  return find_step(docs, file, space, name, 0);
}

// ---- what a module's type leaves out

typedef struct DocMembers {
  Vec(Name) names;
} DocMembers;

// The members that a module type has; false if that is not known.
static bool add_members(const Docs *docs, const DocItem *within, const DocFile *file,
                        const AstModType *type, DocMembers *out) {
  const DocItem *named = NULL;
  switch (type->kind) {
  case MODTYPE_WITH: return add_members(docs, within, file, type->u.with.of, out);
  case MODTYPE_FUNCTION: return false;
  case MODTYPE_NAME:
    if (type->u.name.qualifiers.count) return false;
    named = doc_find(docs, file, within, DOC_SIGNATURE, type->u.name.name);
    return named && named->decl &&
           add_members(docs, named->parent, named->file, named->decl->u.module_type.type,
                       out);
  case MODTYPE_SPECS: break;
  }
  vec_each (const AstSpec *, spec, &type->u.specs) {
    if (spec->kind != SPEC_INCLUDE)
      vec_push(&out->names, spec->name);
    else if (!add_members(docs, within, file, spec->of, out))
      return false;
  }
  return true;
}

static const AstModType *ascribed_type(const AstModExp *exp) {
  while (exp->kind == MODEXP_FUNCTION)
    exp = exp->u.function.body;
  return exp->kind == MODEXP_ASCRIBE ? exp->u.ascribe.type : NULL;
}

static bool is_member(const DocMembers *members, const DocItem *item) {
  const char *dot = item->name + strlen(item->parent->name) + 1;
  vec_each (const Name *, name, &members->names)
    if (strcmp(*name, dot) == 0) return true;
  return false;
}

// Hides what the types of the modules around it do not have.
static void hide(const Docs *docs) {
  vec_each (DocItem **, at, &docs->items) {
    DocItem *item = *at;
    const DocItem *parent = item->parent;
    if (!parent) continue;
    item->hidden = parent->hidden;
    if (!parent->decl || parent->decl->kind != AST_DECL_MODULE) continue;
    const AstModType *type = ascribed_type(parent->decl->u.module.exp);
    DocMembers members = { 0 };
    if (type && add_members(docs, parent->parent, item->file, type, &members) &&
        !is_member(&members, item))
      item->hidden = true;
  }
}

// The member of the parametric module whose application this is a member of; NULL if that has no
// place.
static const DocItem *applied_member(const Docs *docs, const DocItem *item) {
  const AstModExp *f = item->decl->u.module.exp->u.apply.function;
  while (f->kind == MODEXP_APPLY)
    f = f->u.apply.function;
  if (f->kind != MODEXP_NAME || f->u.name.qualifiers.count) return NULL;
  const char *name = item->name + strlen(item->parent->name);
  return doc_find(docs, item->file, item->parent->parent, item->space,
                  text_format("%s%s", f->u.name.name, name));
}

void doc_collect(Docs *docs) {
  docs->named = map_new(NULL);
  vec_each (DocFile **, file, &docs->files) {
    DocWalk walk = { docs, *file };
    collect_decls(&walk, &(*file)->ast->decls, NULL);
  }
  hide(docs);
  vec_each (DocItem **, item, &docs->items)
    if ((*item)->shown) (*item)->member = applied_member(docs, *item);
}

// Attributes: which there are, and what they say about intrinsics.
#include "base/text.h"
#include "types/check.h"
#include <string.h>

static bool is_among(Name name, const char *const *names) {
  for (; *names; names++)
    if (strcmp(name, *names) == 0) return true;
  return false;
}

// $x must be in scope.
static void check_references(Check *k, const AstAttr *attr) {
  const char *name = attr->name;
  vec_each (const AstAttr *const *, arg, &attr->args)
    check_references(k, *arg);
  if (!name || name[0] != '$') return;
  AstName variable = { .loc = attr->loc, .name = name_of(k->c->names, name + 1) };
  scope_find(k, &variable);
}

void check_attr(Check *k, const AstAttr *attr) {
  static const char *const effective[] = {
    "sequential",
    "sequential_inner",
    "sequential_outer",
    "sequential_unroll",
    "flattening",
    "name",
    "unroll",
    "stripmine",
    "inline",
    "noinline",
    "bytes",
    "blocks",
    "depth",
    "recipe",
    "scratch",
    "trace",
    "break",
    "blank",
    "incremental_flattening",
    "overload",
    "intrinsic",
    "doc",
    "prop",
    "warn",
    "unsafe",
    "exact",
    NULL,
  };
  static const char *const idle[] = {
    "opaque", "param",  "duplicate",    "noduplicate", "fuse",
    "nofuse", "assert", "cpu_function", NULL,
  };
  check_references(k, attr);
  if (k->built_in || attr->name[0] == '$' || is_among(attr->name, effective)) return;
  bool known = is_among(attr->name, idle);
  if (known && map_has(k->lib->warned, attr->name)) return;
  map_put(k->lib->warned, attr->name, attr);
  warning(k->c, attr->loc,
          known ? "attribute `%s` has no effect here"
                : "unknown attribute `%s` is ignored",
          attr->name);
  int count = sizeof effective / sizeof *effective - 1;
  Name close = known ? NULL : diag_closest(attr->name, effective, count);
  if (close) hint(k->c, "did you mean `%s`?", close);
}

// Recipes are read when there are kernels.
static void note_recipe(Check *k, const AstExp *exp) {
  const AstAttr *attr = exp->u.attr.attr;
  const AstAttr *arg = attr->args.count == 1 ? attr->args.at[0] : NULL;
  if (!arg || arg->loc.file->text[arg->loc.start] != '"') {
    error(k->c, attr->loc, "expected the steps of a recipe as a string");
    hint(k->c, "#[recipe(\"split n by 16 overlap; bind n to lane\")]");
    return;
  }
  vec_push(&k->lib->checked->recipes, (RecipeAttr){ exp->loc, arg->loc });
}

static void check_stripmine(Check *k, const AstAttr *attr) {
  const char *loops = attr->args.count == 1 ? attr->args.at[0]->name : "";
  if (strlen(loops) == 1 && *loops >= '1' && *loops <= '4') return;
  error(k->c, attr->loc, "expected the number of loops around a loop, from 1 to 4");
  hint(k->c, "#[stripmine(1)]: as many rounds of an outer loop as of an inner one");
}

void check_attr_exp(Check *k, const AstExp *exp) {
  check_attr(k, exp->u.attr.attr);
  if (strcmp(exp->u.attr.attr->name, "stripmine") == 0)
    check_stripmine(k, exp->u.attr.attr);
  if (strcmp(exp->u.attr.attr->name, "recipe") == 0) note_recipe(k, exp);
}

TypeClass attr_overload(const AstAttrVec *attrs) {
  static const struct {
    const char *name;
    TypeClass prims;
  } classes[] = {
    { "num", CLASS_NUM }, { "int", CLASS_INT }, { "float", CLASS_FLOAT },
    { "ord", CLASS_ORD }, { "eq", CLASS_EQ },   { "intbool", CLASS_INTBOOL },
  };
  vec_each (const AstAttr *const *, attr, attrs) {
    if (strcmp((*attr)->name, "overload") != 0 || (*attr)->args.count != 1) continue;
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
      if (strcmp((*attr)->args.at[0]->name, classes[i].name) == 0)
        return classes[i].prims;
  }
  return CLASS_ANY;
}

// Attributes: which there are, and what they say about intrinsics.
#include "base/text.h"
#include "types/check.h"
#include <string.h>

void check_attr(Check *k, const AstAttr *attr) {
  static const char *const known[] = {
    "sequential",
    "sequential_inner",
    "sequential_outer",
    "flattening",
    "incremental_flattening",
    "name",
    "unroll",
    "inline",
    "noinline",
    "duplicate",
    "noduplicate",
    "bytes",
    "unsafe",
    "opaque",
    "trace",
    "break",
    "scratch",
    "blank",
    "nofuse",
    "fuse",
    "overload",
    "intrinsic",
    "param",
    "assert",
    "warn",
    "doc",
  };
  if (k->built_in) return;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (strcmp(attr->name, known[i]) == 0) return;
  warning(k->c, attr->loc, "unknown attribute `%s` is ignored", attr->name);
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

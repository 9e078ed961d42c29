// Literals: their types, and whether their types can hold them.
//
// One with a suffix becomes what its type makes of it, with a warning; one without, whose type
// is found from its use, must fit.
#include "base/text.h"
#include "types/check.h"
#include <math.h>
#include <string.h>

const Big *literal_value(const AstExp *exp) {
  const Big *value = exp->u.integer.value;
  if (exp->u.integer.negative) value = big_neg(value);
  PrimType type = exp->u.integer.suffix;
  if (!exp->u.integer.has_suffix || prim_is_float(type)) return value;
  return big_wrap(value, prim_bits(type), prim_is_signed(type));
}

// As it is written, with its sign.
static const char *literal_text(Loc loc) {
  return text_format("%.*s", (int)(loc.end - loc.start), loc.file->text + loc.start);
}

static bool holds(PrimType type, const Big *value) {
  Prim out;
  return prim_of_big(type, value, &out) &&
         !(prim_is_float(type) && isinf(prim_to_double(out)));
}

static void warn_wrapped(Check *k, const AstExp *exp) {
  PrimType type = exp->u.integer.suffix;
  bool negative =
      exp->u.integer.negative && (prim_is_signed(type) || prim_is_float(type));
  const Big *value = exp->u.integer.value;
  if (holds(type, negative ? big_neg(value) : value))
    return;  // -1u8 is the negation of 1u8
  Prim out;
  prim_of_big(type, literal_value(exp), &out);
  warning(k->c, exp->loc, "`%s` is out of the range of %s and becomes `%s`",
          literal_text(exp->loc), prim_type_name(type), prim_text(out));
}

const Type *infer_integer(Check *k, const AstExp *exp) {
  if (!exp->u.integer.has_suffix) return type_var_of(k, CLASS_NUM, exp->loc);
  warn_wrapped(k, exp);
  return type_prim(exp->u.integer.suffix);
}

static bool is_infinite(const AstExp *exp, PrimType type) {
  if (type == PRIM_F16) return isinf(exp->u.floating.value16);
  return type == PRIM_F32 ? isinf(exp->u.floating.value32) : isinf(exp->u.floating.value);
}

const Type *infer_float(Check *k, const AstExp *exp) {
  if (!exp->u.floating.has_suffix) return type_var_of(k, CLASS_FLOAT, exp->loc);
  PrimType type = exp->u.floating.suffix;
  if (is_infinite(exp, type))
    warning(k->c, exp->loc, "`%s` is out of the range of %s and becomes infinite",
            literal_text(exp->loc), prim_type_name(type));
  return type_prim(type);
}

const Type *infer_string(const AstExp *exp) {
  return type_array_of(size_const((int64_t)exp->u.string.length, exp->loc),
                       type_prim(PRIM_U8));
}

// "0 to 255"
static const char *range_text(PrimType type) {
  if (type == PRIM_F16) return "-65504 to 65504";
  if (type == PRIM_F32) return "-3.4028235e38 to 3.4028235e38";
  if (type == PRIM_F64) return "-1.7976931348623157e308 to 1.7976931348623157e308";
  const char *lowest = prim_text(prim_lowest(type)),
             *highest = prim_text(prim_highest(type));
  int suffix = (int)strlen(prim_type_name(type));
  return text_format("%.*s to %.*s", (int)strlen(lowest) - suffix, lowest,
                     (int)strlen(highest) - suffix, highest);
}

static bool is_in_range(const AstExp *exp, PrimType type) {
  return exp->kind == AST_FLOAT ? !is_infinite(exp, type)
                                : holds(type, literal_value(exp));
}

void check_literal(Check *k, const AstExp *exp) {
  bool number = exp->kind == AST_INT || exp->kind == AST_FLOAT;
  if (!number || exp->type->kind != TYPE_PRIM || exp->type->u.prim == PRIM_BOOL) return;
  PrimType type = exp->type->u.prim;
  bool suffix =
      exp->kind == AST_INT ? exp->u.integer.has_suffix : exp->u.floating.has_suffix;
  if (suffix || is_in_range(exp, type)) return;
  const char *text = literal_text(exp->loc);
  error(k->c, exp->loc, "`%s` is out of the range of %s: %s", text, prim_type_name(type),
        range_text(type));
  bool by_default = exp->kind == AST_INT && type == PRIM_I32;
  if (by_default && holds(PRIM_I64, literal_value(exp)))
    hint(k->c, "write `%si64` for an i64", text);
}

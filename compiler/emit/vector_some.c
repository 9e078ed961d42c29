// Stores of some lanes: of neighbours, and anywhere.
//
//   AVX-512        stores neighbours under a mask, and lane by lane only those that hold
//   with gathers   that are quick (FLC_HAS_SCATTER), the instruction that stores anywhere
//   anything else  asks each lane
//
// Which lanes hold is data, as a rule, that no processor foresees: a branch for each of 16 lanes
// takes several times as long as the stores.
#include "emit/c_vector.h"

static bool has_bits(int lanes) { return lanes == 16; }

// ---- neighbours

// By the instruction, which leaves the elements of other lanes alone.
static void add_masked_store(Text *t, const Mem *mem) {
  static const char letters[] = { [1] = 'q', [2] = 'h', [4] = 's', [8] = 'd' };
  static const char *const elems[] = {
    [1] = "char", [2] = "short", [4] = "int", [8] = "long"
  };
  int bytes = prim_size_bytes(mem->elem), lanes = bytes == 8 ? 8 : 16;
  for (int i = 0; i < 16 / lanes; i++) {
    const char *part = lanes == 16 ? "" : i ? ".hi" : ".lo";
    text_printf(t,
                "  __builtin_ia32_storedqu%ci%d_mask((%s *)((size_t)p + %d), "
                "as_%s%d(x%s), (%s)(bits >> %d));\n",
                letters[bytes], bytes * lanes * 8, elems[bytes], i * bytes * lanes,
                elems[bytes], lanes, part, lanes == 16 ? "ushort" : "uchar", i * lanes);
  }
}

const char *helper_store_some(CodeText *c, const Mem *mem, int lanes) {
  const char *name = helper_memory_name("store_some", mem, lanes),
             *all = helper_all(c, lanes);
  const char *store = helper_store(c, mem, lanes),
             *bits = has_bits(lanes) ? helper_bits(c) : NULL;
  bool fresh;
  Text *t = helper_begin(c, name, &fresh);
  if (!fresh) return name;
  text_printf(t, "static void %s(%s, %s x, int%d mask) {\n", name, helper_pointer(mem),
              vector_memory_type(mem->elem, lanes), lanes);
  if (bits) {
    text_printf(t, "#ifdef FLC_HAS_COMPRESS\n  uint bits = %s(mask);\n", bits);
    add_masked_store(t, mem);
    text_add(t, "#else\n");
  }
  text_printf(t, "  if (%s(mask)) {\n    %s(p, x);\n    return;\n  }\n", all, store);
  for (int i = 0; i < lanes; i++)
    text_printf(t, "  if (mask.s%c) p[%d] = x.s%c;\n", vector_digit(i), i,
                vector_digit(i));
  text_printf(t, "%s}\n", bits ? "#endif\n" : "");
  return name;
}

// ---- anywhere

// Eight numbers of 4 or 8 bytes at a time; bits: which of them, as an expression.
static void add_scatters(Text *t, const Mem *mem, int lanes, const char *bits) {
  bool wide = prim_size_bytes(mem->elem) == 8;
  for (int i = 0; i < lanes / 8; i++) {
    const char *part = lanes == 8 ? "" : i ? ".hi" : ".lo";
    text_printf(
        t,
        "  __builtin_ia32_scatterdiv%s((void *)(size_t)p, (uchar)(%s >> %d), at%s, "
        "as_%s(x%s), %d);\n",
        wide ? "8di" : "16si", bits, i * 8, part, wide ? "long8" : "int8", part,
        wide ? 8 : 4);
  }
}

static void add_each_scattered(Text *t, int lanes, bool masked) {
  for (int i = 0; i < lanes; i++) {
    char digit = vector_digit(i);
    const char *condition = masked ? text_format("if (mask.s%c) ", digit) : "";
    text_printf(t, "  %sp[at.s%c] = x.s%c;\n", condition, digit, digit);
  }
}

static const char *scatter_all(CodeText *c, const Mem *mem, int lanes) {
  const char *name = helper_memory_name("scatter", mem, lanes);
  bool fresh, once = has_bits(lanes) && prim_size_bytes(mem->elem) >= 4;
  Text *t = helper_begin(c, name, &fresh);
  if (!fresh) return name;
  text_printf(t, "static void %s(%s, long%d at, %s x) {\n", name, helper_pointer(mem),
              lanes, vector_memory_type(mem->elem, lanes));
  if (once) {
    text_add(t, "#ifdef FLC_HAS_SCATTER\n");
    add_scatters(t, mem, lanes, "0xffff");
    text_add(t, "#else\n");
  }
  add_each_scattered(t, lanes, false);
  text_printf(t, "%s}\n", once ? "#endif\n" : "");
  return name;
}

// Of what the mask has bits for: by the instruction, or one after the other.
static void add_by_bits(Text *t, const Mem *mem, int lanes, const char *bits) {
  bool once = prim_size_bytes(mem->elem) >= 4;
  if (once) {
    text_printf(t, "#ifdef FLC_HAS_SCATTER\n  uint bits = %s(mask);\n", bits);
    add_scatters(t, mem, lanes, "bits");
  }
  text_printf(t, "#%s defined(FLC_HAS_COMPRESS)\n", once ? "elif" : "if");
  text_printf(t,
              "  union { long%d all; long each[%d]; } places = { at };\n"
              "  union { %s all; %s each[%d]; } values = { x };\n"
              "  for (uint bits = %s(mask); bits; bits &= bits - 1) {\n"
              "    int lane = __builtin_ctz(bits);\n"
              "    p[places.each[lane]] = values.each[lane];\n  }\n#else\n",
              lanes, lanes, vector_memory_type(mem->elem, lanes),
              c_memory_type(mem->elem), lanes, bits);
}

static const char *scatter_some(CodeText *c, const Mem *mem, int lanes) {
  const char *name = helper_memory_name("scatter_some", mem, lanes),
             *whole = scatter_all(c, mem, lanes), *all = helper_all(c, lanes),
             *bits = has_bits(lanes) ? helper_bits(c) : NULL;
  bool fresh;
  Text *t = helper_begin(c, name, &fresh);
  if (!fresh) return name;
  text_printf(t, "static void %s(%s, long%d at, %s x, int%d mask) {\n", name,
              helper_pointer(mem), lanes, vector_memory_type(mem->elem, lanes), lanes);
  if (bits) add_by_bits(t, mem, lanes, bits);
  text_printf(t, "  if (%s(mask)) {\n    %s(p, at, x);\n    return;\n  }\n", all, whole);
  add_each_scattered(t, lanes, true);
  text_printf(t, "%s}\n", bits ? "#endif\n" : "");
  return name;
}

const char *helper_scatter(CodeText *c, const Mem *mem, int lanes, bool masked) {
  return masked ? scatter_some(c, mem, lanes) : scatter_all(c, mem, lanes);
}

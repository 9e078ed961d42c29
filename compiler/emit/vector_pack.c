// Lanes that hold, side by side: what a filter keeps of a vector.
//
//   AVX-512        has an instruction for it
//   AVX2           has one that puts eight ints in any order, which a table knows for each mask
//   anything else  stores one by one; the next one overwrites what does not hold
//
// What is stored so is followed by elements that are not meant.  Unless those behind may change, it
// goes to a small array first, of which two vectors that overlap, of the half, the quarter.. of its
// length, have all elements that hold: no store depends on a guess of the processor then.
#include "emit/c_vector.h"
#include <inttypes.h>

// ---- AVX-512

const char *helper_bits(CodeText *c) {
  bool fresh;
  Text *t = helper_begin(c, "flc_bits", &fresh);
  if (fresh)
    text_add(t, "#ifdef FLC_HAS_COMPRESS\nstatic uint flc_bits(int16 mask) {\n"
                "  return (ushort)__builtin_ia32_cvtd2mask512(mask);\n}\n#endif\n");
  return "flc_bits";
}

// What stores the lanes of the bits side by side: numbers of 8 and 16 bits as ints.
static const char *helper_compress(CodeText *c, int bytes) {
  static const char letters[] = { [1] = 'q', [2] = 'h', [4] = 's', [8] = 'd' };
  static const char *const elems[] = {
    [1] = "char", [2] = "short", [4] = "int", [8] = "long"
  };
  const char *name = text_format("flc_compress_%d", bytes), *elem = elems[bytes];
  bool fresh;
  Text *t = helper_begin(c, name, &fresh);
  if (!fresh) return name;
  const char *wide = bytes == 8 ? "long8" : "int16",
             *of = bytes == 8 ? "uchar" : "ushort";
  text_printf(t, "#ifdef FLC_HAS_COMPRESS\nstatic void %s(size_t p, %s x, uint bits) {\n",
              name, wide);
  text_printf(t,
              "  %s packed = __builtin_ia32_compress%ci512_mask(x, (%s)(0), (%s)bits);\n",
              wide, bytes == 8 ? 'd' : 's', wide, of);
  text_printf(t, "  __builtin_ia32_storedqu%ci%d_mask((%s *)p, ", letters[bytes],
              bytes < 4 ? 128 * bytes : 512, elem);
  text_printf(t, bytes < 4 ? "convert_%s16(packed)" : "packed", elem);
  text_printf(t, ", (%s)((1u << popcount(bits)) - 1));\n}\n#endif\n", of);
  return name;
}

static void add_compressed(Text *t, const Mem *mem, const char *compress) {
  int bytes = prim_size_bytes(mem->elem);
  text_add(t, "#ifdef FLC_HAS_COMPRESS\n  uint bits = flc_bits(mask);\n");
  if (bytes == 8)
    text_printf(t,
                "  %s((size_t)p, as_long8(x.lo), bits & 0xff);\n"
                "  p += popcount(bits & 0xff);\n"
                "  %s((size_t)p, as_long8(x.hi), bits >> 8);\n",
                compress, compress);
  else
    text_printf(t, "  %s((size_t)p, %s, bits);\n", compress,
                bytes == 4 ? "as_int16(x)" : "convert_int16(x)");
  text_add(t, "#else\n");
}

const char *helper_count(CodeText *c, int lanes) {
  const char *name = text_format("flc_count_%d", lanes),
             *bits = lanes == 16 ? helper_bits(c) : NULL;
  bool fresh;
  Text *t = helper_begin(c, name, &fresh);
  if (!fresh) return name;
  text_printf(t, "static long %s(int%d v%d) {\n", name, lanes, lanes);
  if (bits)
    text_printf(t, "#ifdef FLC_HAS_COMPRESS\n  return popcount(%s(v16));\n#else\n", bits);
  for (int half = lanes / 2; half >= 2; half /= 2)
    text_printf(t, "  int%d v%d = v%d.lo + v%d.hi;\n", half, half, 2 * half, 2 * half);
  text_printf(t, "  return -(long)(v2.x + v2.y);\n%s}\n", bits ? "#endif\n" : "");
  return name;
}

// ---- AVX2

// The numbers of the lanes that hold, the first one in the lowest byte.
static uint64_t kept_lanes(int bits) {
  uint64_t lanes = 0;
  int count = 0;
  for (int lane = 0; lane < 8; lane++)
    if (bits >> lane & 1) lanes |= (uint64_t)lane << 8 * count++;
  return lanes;
}

static void declare_kept_lanes(CodeText *c) {
  bool fresh;
  Text *t = helper_begin(c, "flc_kept_lanes", &fresh);
  if (!fresh) return;
  text_add(t, "#ifdef FLC_HAS_PERMUTE\nstatic __constant ulong flc_kept_lanes[256] = {");
  for (int bits = 0; bits < 256; bits++)
    text_printf(t, "%s0x%" PRIx64 ",", bits % 8 ? " " : "\n  ", kept_lanes(bits));
  text_add(t, "\n};\n#endif\n");
}

static Mem ints_at(const Mem *mem) {
  return (Mem){ .elem = PRIM_I32, .space = mem->space };
}

// Eight ints: those of the mask first.  How many these are: (p, x, mask)
static const char *helper_keep_ints(CodeText *c, const Mem *mem) {
  Mem ints = ints_at(mem);
  const char *name = helper_memory_name("keep", &ints, 8),
             *store = helper_store(c, &ints, 8);
  bool fresh;
  declare_kept_lanes(c);
  Text *t = helper_begin(c, name, &fresh);
  if (!fresh) return name;
  text_printf(t, "#ifdef FLC_HAS_PERMUTE\nstatic long %s(%s, int8 x, int8 mask) {\n",
              name, helper_pointer(&ints));
  text_printf(t,
              "  uint bits = __builtin_ia32_movmskps256(as_float8(mask));\n"
              "  int8 lanes = convert_int8(as_uchar8(flc_kept_lanes[bits]));\n"
              "  %s(p, __builtin_ia32_permvarsi256(x, lanes));\n"
              "  return __builtin_popcount(bits);\n}\n#endif\n",
              store);
  return name;
}

// Numbers of 8 and 16 bits as ints, which become narrow when they are packed.
static void keep_narrow(Text *t, const Mem *mem, const char *ints) {
  text_printf(t,
              "  int wide[16];\n  int16 all = convert_int16(x);\n"
              "  long count = %s(wide, all.lo, mask.lo);\n"
              "  count += %s(wide + count, all.hi, mask.hi);\n",
              ints, ints);
  text_printf(t, "  %s(p, convert_%s(%s(wide)));\n  return count;\n",
              helper_memory_name("store", mem, 16), vector_memory_type(mem->elem, 16),
              "flc_load_i32_16p");
}

static void keep_wide(Text *t, const Mem *mem, int lanes, const char *ints) {
  bool twice = prim_size_bytes(mem->elem) == 8;
  int each = twice ? 4 : 8;
  text_printf(t, "  %sint *to = (%sint *)p;\n  long count = 0;\n",
              vector_place(mem).space, vector_place(mem).space);
  for (int i = 0; i < lanes; i += each) {
    const char *part = "";
    if (lanes > each) part = text_format(".s%.*s", each, &"0123456789abcdef"[i]);
    text_printf(t, "  count += %s(to + count, as_int8(x%s), ", ints, part);
    text_printf(t, twice ? "as_int8(convert_long4(mask%s)));\n" : "mask%s);\n", part);
  }
  text_add(t, twice ? "  return count / 2;\n" : "  return count;\n");
}

// The lanes of the mask first, then some others, as many in all as there are lanes, or fewer.  How
// many are of the mask: (p, x, mask)
static const char *helper_keep(CodeText *c, const Mem *mem, int lanes) {
  int bytes = prim_size_bytes(mem->elem);
  bool narrow = bytes < 4 && lanes == 16, wide = bytes == 8 || (bytes == 4 && lanes >= 8);
  Mem own = { .elem = PRIM_I32, .space = MEM_PRIVATE };
  const char *name = helper_memory_name("keep", mem, lanes);
  const char *ints = narrow || wide ? helper_keep_ints(c, narrow ? &own : mem) : "";
  if (narrow) {
    helper_store(c, mem, 16);
    helper_load(c, &own, 16);
  }
  bool fresh;
  Text *t = helper_begin(c, name, &fresh);
  if (!fresh) return name;
  text_printf(t, "static long %s(%s, %s x, int%d mask) {\n", name, helper_pointer(mem),
              vector_memory_type(mem->elem, lanes), lanes);
  if (*ints) text_add(t, "#ifdef FLC_HAS_PERMUTE\n");
  if (narrow) keep_narrow(t, mem, ints);
  if (wide) keep_wide(t, mem, lanes, ints);
  if (*ints) text_add(t, "#else\n");
  text_add(t, "  long count = 0;\n");
  for (int i = 0; i < lanes; i++)
    text_printf(t, "  p[count] = x.s%c;\n  count -= mask.s%c;\n", vector_digit(i),
                vector_digit(i));
  text_printf(t, "  return count;\n%s}\n", *ints ? "#endif\n" : "");
  return name;
}

// ---- without what is behind

// So many elements of an array of as many as there are lanes: (p, from, count)
static const char *helper_put(CodeText *c, const Mem *mem, const Mem *own, int lanes) {
  const char *name = helper_memory_name("put", mem, lanes);
  bool fresh;
  for (int part = lanes / 2; part >= 2; part /= 2) {
    helper_store(c, mem, part);
    helper_load(c, own, part);
  }
  Text *t = helper_begin(c, name, &fresh);
  if (!fresh) return name;
  text_printf(t, "static void %s(%s, const %s *from, long count) {\n", name,
              helper_pointer(mem), c_memory_type(mem->elem));
  for (int part = lanes / 2; part >= 2; part /= 2) {
    const char *store = helper_memory_name("store", mem, part),
               *load = helper_memory_name("load", own, part);
    text_printf(t,
                "  if (count >= %d) {\n    %s(p, %s(from));\n"
                "    %s(p + count - %d, %s(from + count - %d));\n    return;\n  }\n",
                part, store, load, store, part, load, part);
  }
  text_add(t, "  if (count) p[0] = from[0];\n}\n");
  return name;
}

const char *helper_pack(CodeText *c, const Mem *mem, int lanes, bool over) {
  bool fresh, whole = lanes == 16;
  Mem own = { .elem = mem->elem, .space = MEM_PRIVATE };
  const char *name = helper_memory_name(over ? "pack_over" : "pack", mem, lanes),
             *keep = helper_keep(c, over ? mem : &own, lanes),
             *put = over ? NULL : helper_put(c, mem, &own, lanes),
             *compress = whole ? helper_compress(c, prim_size_bytes(mem->elem)) : NULL;
  if (whole) helper_bits(c);
  Text *t = helper_begin(c, name, &fresh);
  if (!fresh) return name;
  text_printf(t, "static void %s(%s, %s x, int%d mask) {\n", name, helper_pointer(mem),
              vector_memory_type(mem->elem, lanes), lanes);
  if (whole) add_compressed(t, mem, compress);
  if (over)
    text_printf(t, "  %s(p, x, mask);\n", keep);
  else
    text_printf(t, "  %s kept[%d];\n  %s(p, kept, %s(kept, x, mask));\n",
                c_memory_type(mem->elem), lanes, put, keep);
  text_add(t, whole ? "#endif\n}\n" : "}\n");
  return name;
}

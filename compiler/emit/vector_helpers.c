// Functions on vectors that OpenCL C lacks.  A kernel's text begins with those that it calls: code
// that goes lane by lane is long, so it stands once.
#include "emit/c_vector.h"
#include <inttypes.h>
#include <math.h>

Text *helper_begin(CodeText *c, const char *name, bool *fresh) {
  Name interned = name_of(c->e->c->names, name);
  *fresh = !map_has(c->helpers, interned);
  if (*fresh) {
    if (map_count(c->helpers)) emit_end_shared(c->helper_text);
    emit_begin_shared(c->helper_text, name);
  }
  map_put(c->helpers, interned, interned);
  return c->helper_text;
}

VectorPlace vector_place(const Mem *mem) {
  if (mem->space == MEM_PRIVATE) return (VectorPlace){ "", 'p' };
  if (mem->space == MEM_LOCAL) return (VectorPlace){ "FLC_LOCAL ", 'l' };
  return (VectorPlace){ "__global ", 'g' };
}

const char *helper_memory_name(const char *what, const Mem *mem, int lanes) {
  return text_format("flc_%s_%s_%d%c", what, prim_type_name(mem->elem), lanes,
                     vector_place(mem).letter);
}

const char *helper_pointer(const Mem *mem) {
  return text_format("%s%s *p", vector_place(mem).space, c_memory_type(mem->elem));
}

// Vectors longer than OpenCL C has them, which are only loaded and permuted.
static void declare_long(CodeText *c, PrimType type, int lanes) {
  const char *name = vector_memory_type(type, lanes), *elem = c_memory_type(type);
  bool fresh;
  if (lanes <= 16) return;
  Text *t = helper_begin(c, name, &fresh);
  if (fresh)
    text_printf(t,
                "#ifdef __clang__\ntypedef %s %s __attribute__((ext_vector_type(%d)));\n"
                "#else\ntypedef struct { %s s[%d]; } %s;\n#endif\n",
                elem, name, lanes, elem, lanes, name);
}

// As its instruction is one where clang's vload and vstore go by pieces (PoCL 3.1); OpenCL C has
// no such types, so others do with those.
const char *helper_unaligned(CodeText *c, const Mem *mem, int lanes) {
  const char *name = helper_memory_name("unaligned", mem, lanes);
  bool fresh;
  declare_long(c, mem->elem, lanes);
  Text *t = helper_begin(c, name, &fresh);
  if (fresh)
    text_printf(t,
                "#ifdef __clang__\ntypedef %s %s __attribute__((aligned(%d)));\n#endif\n",
                vector_memory_type(mem->elem, lanes), name, prim_size_bytes(mem->elem));
  return name;
}

static const char *load_without_clang(const Mem *mem, int lanes) {
  if (lanes <= 16) return text_format("  return vload%d(0, p);\n", lanes);
  return text_format(
      "  %s x;\n  for (int i = 0; i < %d; i++) x.s[i] = p[i];\n  return x;\n",
      vector_memory_type(mem->elem, lanes), lanes);
}

const char *helper_load(CodeText *c, const Mem *mem, int lanes) {
  const char *name = helper_memory_name("load", mem, lanes),
             *type = helper_unaligned(c, mem, lanes);
  bool fresh;
  Text *t = helper_begin(c, name, &fresh);
  if (fresh)
    text_printf(t,
                "static %s %s(const %s) {\n#ifdef __clang__\n  return *(const %s%s *)p;\n"
                "#else\n%s#endif\n}\n",
                vector_memory_type(mem->elem, lanes), name, helper_pointer(mem),
                vector_place(mem).space, type, load_without_clang(mem, lanes));
  return name;
}

// One lane's element, at `at`.  Every second is read as volatile: of such loads LLVM makes no
// gather, which takes two to three times as long (AMD's Zen 4) as loads and insertions do.
static void add_element(Text *t, const Mem *mem, int lane, const char *at) {
  if (lane % 2)
    text_printf(t, "*(volatile %s%s *)(p + %s)", vector_place(mem).space,
                c_memory_type(mem->elem), at);
  else
    text_printf(t, "p[%s]", at);
}

// AVX-512's gathers of eight numbers, of 4 or 8 bytes, for processors on which they are quick
// (rt_gathers_quickly); of up to 16 if the indices have 32 bits.
static void add_gathers(Text *t, const Mem *mem, int lanes, bool few) {
  static const char *const halves[] = { "lo", "hi" };
  bool wide = prim_size_bytes(mem->elem) == 8,
       real = mem->elem == PRIM_F32 || mem->elem == PRIM_F64;
  int part = few && !wide ? lanes : 8;
  const char *type = vector_memory_type(mem->elem, lanes),
             *of = vector_memory_type(mem->elem, part),
             *made = real ? (wide ? "double" : "float") : (wide ? "long" : "int");
  const char *instruction = few ? (wide         ? "siv8d"
                                   : lanes == 8 ? "3siv8s"
                                                : "siv16s")
                                : (wide ? "div8d" : "div16s");
  text_printf(t, "#ifdef FLC_HAS_GATHER\n  %s x;\n", type);
  for (int i = 0; i < lanes / part; i++) {
    const char *at = lanes == part ? "" : text_format(".%s", halves[i]);
    text_printf(t,
                "  x%s = as_%s(__builtin_ia32_gather%s%c((%s%d)(0), (const void "
                "*)(size_t)p, at%s, (%s)-1, %d));\n",
                at, of, instruction, real ? 'f' : 'i', made, part, at,
                part == 16 ? "short" : "char", wide ? 8 : 4);
  }
  text_add(t, "  return x;\n#else\n");
}

// Likewise numbers of 1 or 2 bytes, out of the four bytes around each, which begin at a multiple of
// four: no such word is partly outside of what may be read.
static void add_gathers_of_words(Text *t, const Mem *mem, int lanes) {
  static const char *const halves[] = { "lo", "hi" };
  text_printf(t,
              "#ifdef FLC_HAS_GATHER\n  long%d address = at * %d + (long)(size_t)p;\n"
              "  long%d word = address & -4;\n  uint%d x;\n",
              lanes, prim_size_bytes(mem->elem), lanes, lanes);
  for (int i = 0; i < lanes / 8; i++) {
    const char *half = lanes == 8 ? "" : text_format(".%s", halves[i]);
    text_printf(
        t,
        "  x%s = as_uint8(__builtin_ia32_gatherdiv16si((int8)(0), (const void *)0, "
        "word%s, (char)-1, 1));\n",
        half, half);
  }
  text_printf(t, "  return convert_%s(x >> (convert_uint%d(address & 3) << 3));\n#else\n",
              vector_memory_type(mem->elem, lanes), lanes);
}

const char *helper_gather(CodeText *c, const Mem *mem, int lanes, bool few) {
  const char *name = helper_memory_name(few ? "gather_few" : "gather", mem, lanes);
  const char *type = vector_memory_type(mem->elem, lanes);
  bool fresh, gathers = lanes == 8 || lanes == 16;
  Text *t = helper_begin(c, name, &fresh);
  if (!fresh) return name;
  text_printf(t, "static %s %s(%s, %s%d at) {\n", type, name, helper_pointer(mem),
              few ? "int" : "long", lanes);
  if (gathers && prim_size_bytes(mem->elem) < 4)
    add_gathers_of_words(t, mem, lanes);
  else if (gathers)
    add_gathers(t, mem, lanes, few);
  text_printf(t, "  return (%s)(", type);
  for (int i = 0; i < lanes; i++) {
    text_add(t, i ? ", " : "");
    add_element(t, mem, i, text_format("at.s%c", vector_digit(i)));
  }
  text_printf(t, ");\n%s}\n", gathers ? "#endif\n" : "");
  return name;
}

static const char *repeated(const char *digits, bool twice) {
  return twice ? text_format("0x%s%sul", digits, digits) : text_format("0x%su", digits);
}

// x, `bytes` bytes of whole registers, by AVX512-VPOPCNTDQ, as text: PoCL's compiler may be told of
// an older processor.
static void add_popc_by_text(Text *t, const char *fields, int lanes, int bytes) {
  const char *count = bytes / lanes == 8 ? "vpopcntq" : "vpopcntd";
  text_add(t, "#if defined(FLC_COUNTS_BITS) && defined(__AVX512VL__)\n");
  if (bytes <= 64)
    text_printf(t,
                "  __asm__(\"%s %%0, %%0\" : \"+v\"(x));\n  return convert_int%d(x);\n",
                count, lanes);
  else
    text_printf(
        t,
        "  %s%d low = x.lo, high = x.hi;\n  __asm__(\"%s %%0, %%0\\n%s %%1, %%1\" "
        ": \"+v\"(low), \"+v\"(high));\n"
        "  return (int%d)(convert_int%d(low), convert_int%d(high));\n",
        fields, lanes / 2, count, count, lanes, lanes / 2, lanes / 2);
  text_add(t, "#else\n");
}

static void add_popc_by_sums(Text *t, int lanes, bool wide) {
  const char *odd = repeated("55555555", wide), *pairs = repeated("33333333", wide),
             *halves = repeated("0f0f0f0f", wide), *ones = repeated("01010101", wide);
  text_printf(t, "  x -= (x >> 1) & %s;\n  x = (x & %s) + ((x >> 2) & %s);\n", odd, pairs,
              pairs);
  text_printf(t, "  x = (x + (x >> 4)) & %s;\n  return convert_int%d((x * %s) >> %d);\n",
              halves, lanes, ones, wide ? 56 : 24);
}

// By the instruction, or by sums of ever wider fields; of OpenCL's own popcount LLVM makes one for
// each lane.
const char *helper_popc(CodeText *c, PrimType type, int lanes) {
  const char *name = text_format("flc_popc_%s_%d", prim_type_name(type), lanes);
  bool fresh, wide = prim_bits(type) == 64;
  Text *t = helper_begin(c, name, &fresh);
  if (!fresh) return name;
  const char *fields = wide ? "ulong" : "uint";
  int bytes = lanes * (wide ? 8 : 4);
  bool registers = bytes >= 16 && bytes <= 128;
  text_printf(t, "static int%d %s(%s a) {\n  %s%d x = convert_%s%d(as_%s(a));\n", lanes,
              name, vector_type(type, lanes), fields, lanes, fields, lanes,
              vector_type(prim_unsigned(type), lanes));
  if (registers) add_popc_by_text(t, fields, lanes, bytes);
  add_popc_by_sums(t, lanes, wide);
  text_printf(t, "%s}\n", registers ? "#endif\n" : "");
  return name;
}

// run: how many elements side by side are one piece; 0 and 1: none are.
static const char *of_run(const char *name, int run) {
  return run > 1 ? text_format("%s_by_%d", name, run) : name;
}

const char *helper_strided(CodeText *c, const Mem *mem, int run, int lanes) {
  const char *name = helper_memory_name(of_run("strided", run), mem, lanes);
  const char *type = vector_memory_type(mem->elem, lanes);
  const char *piece = run > 1 ? helper_load(c, mem, run) : NULL;
  bool fresh;
  Text *t = helper_begin(c, name, &fresh);
  if (!fresh) return name;
  text_printf(t, "static %s %s(%s, long step) {\n  return (%s)(", type, name,
              helper_pointer(mem), type);
  for (int i = 0; i < lanes / run; i++) {
    text_add(t, i ? ", " : "");
    if (run > 1)
      text_printf(t, "%s(p + %d * step)", piece, i);
    else
      add_element(t, mem, i, text_format("%d * step", i));
  }
  text_add(t, ");\n}\n");
  return name;
}

const char *helper_spread(CodeText *c, const Mem *mem, int run, int lanes) {
  const char *name = helper_memory_name(of_run("spread", run), mem, lanes);
  const char *piece = run > 1 ? helper_store(c, mem, run) : NULL;
  bool fresh;
  Text *t = helper_begin(c, name, &fresh);
  if (!fresh) return name;
  text_printf(t, "static void %s(%s, long step, %s x) {\n", name, helper_pointer(mem),
              vector_memory_type(mem->elem, lanes));
  for (int i = 0; run <= 1 && i < lanes; i++)
    text_printf(t, "  p[%d * step] = x.s%c;\n", i, vector_digit(i));
  for (int i = 0; run > 1 && i < lanes; i += run) {
    text_printf(t, "  %s(p + %d * step, x.s", piece, i / run);
    for (int k = i; k < i + run; k++)
      text_printf(t, "%c", vector_digit(k));
    text_add(t, ");\n");
  }
  text_add(t, "}\n");
  return name;
}

const char *helper_each(CodeText *c, const char *function, const ImpExp *e) {
  const ImpExp *operands[3];
  int count = imp_operands(e, operands), lanes = e->lanes;
  const char *name = text_format("%s_%d", function, lanes);
  const char *type = vector_type(e->type, lanes);
  bool fresh;
  Text *t = helper_begin(c, name, &fresh);
  if (!fresh) return name;
  text_printf(t, "static %s %s(", type, name);
  for (int i = 0; i < count; i++)
    text_printf(t, "%s%s %c", i ? ", " : "", vector_type(operands[i]->type, lanes),
                'a' + i);
  text_printf(t, ") {\n  return (%s)(", type);
  for (int lane = 0; lane < lanes; lane++) {
    text_printf(t, "%s%s(", lane ? ", " : "", function);
    for (int i = 0; i < count; i++)
      text_printf(t, "%s%c.s%c", i ? ", " : "", 'a' + i, vector_digit(lane));
    text_add(t, ")");
  }
  text_add(t, ");\n}\n");
  return name;
}

static void add_quotients(Text *t, const ImpExp *e) {
  PrimType type = e->type;
  PrimOp op = e->u.op.op;
  const char *name = vector_type(type, e->lanes), *of = vector_type(PRIM_F64, e->lanes),
             *bits = vector_type(prim_unsigned(type), e->lanes);
  bool down = prim_is_signed(type) && (op == OP_DIV || op == OP_MOD);
  text_printf(t, "  %s exact = convert_%s(a) / convert_%s(b);\n", of, of, of);
  text_printf(t, "  %s q = convert_%s(%s);\n", name, name,
              down ? "floor(exact)" : "exact");
  if (prim_is_signed(type))  // the least number has no opposite
    text_printf(t, "  q = b == (%s)(-1) ? as_%s((%s)(0) - as_%s(a)) : q;\n", name, name,
                bits, bits);
  if (op == OP_MOD || op == OP_REM)
    text_printf(t, "  q = as_%s(as_%s(a) - as_%s(q) * as_%s(b));\n", name, bits, bits,
                bits);
  text_add(t, "  return q;\n");
}

// By doubles, which are rounded right: a quotient of numbers of 32 bits that is no integer is
// further from one than it is off.
const char *helper_divide(CodeText *c, const char *function, const ImpExp *e) {
  const char *each = helper_each(c, function, e), *type = vector_type(e->type, e->lanes);
  const char *name = text_format("%s_at_once", each);
  bool fresh;
  Text *t = helper_begin(c, name, &fresh);
  if (!fresh) return name;
  text_printf(t, "static %s %s(%s a, %s b) {\n", type, name, type, type);
  text_add(t, "#ifdef cl_khr_fp64\n");
  add_quotients(t, e);
  text_printf(t, "#else\n  return %s(a, b);\n#endif\n}\n", each);
  return name;
}

// What fits 31 bits goes through ints, which machines convert in vectors.
static void add_usual_to_int(Text *t, PrimType from, PrimType to, int lanes,
                             const char *all) {
  int bits = prim_bits(to) - prim_is_signed(to);
  double above = ldexp(1, bits < 31 ? bits : 31);
  const char *suffix = from == PRIM_F32 ? "f" : "";
  text_printf(t, "  if (%s(convert_int%d(x > %.1f%s && x < %.1f%s)))\n", all, lanes,
              prim_is_signed(to) ? -above : -1.0, suffix, above, suffix);
  text_printf(t, "    return convert_%s(convert_int%d(x));\n", vector_type(to, lanes),
              lanes);
}

// By clamping, as all integers of few bits are floats.
static void add_small_to_int(Text *t, PrimType from, PrimType to, int lanes) {
  const char *in = vector_type(from, lanes);
  text_printf(t, "  %s a = x - x == (%s)(0) ? x : (%s)(0);\n", in, in, in);
  text_printf(t, "  %s least = (%s)(%.0f), most = (%s)(%.0f);\n", in, in,
              prim_to_double(prim_lowest(to)), in, prim_to_double(prim_highest(to)));
  text_add(t, "  a = a < least ? least : a;\n");
  text_printf(t, "  return convert_%s(convert_int%d(a > most ? most : a));\n}\n",
              vector_type(to, lanes), lanes);
}

// To the nearest integer, of two the even one.
const char *helper_round(CodeText *c, PrimType type, int lanes) {
  const char *name = text_format("flc_round_%s_%d", prim_type_name(type), lanes);
  const char *vector = vector_type(type, lanes);
  bool fresh;
  Text *t = helper_begin(c, name, &fresh);
  if (fresh)
    text_printf(t,
                "static %s %s(%s x) {\n#ifdef FLC_HAS_ROUNDEVEN\n"
                "  return __builtin_elementwise_roundeven(x);\n"
                "#else\n  return rint(x);\n#endif\n}\n",
                vector, name, vector);
  return name;
}

// Towards zero; NaN and infinities give 0, and what is out of range the nearest integer.
const char *helper_to_int(CodeText *c, PrimType from, PrimType to, int lanes) {
  const char *name =
      text_format("flc_%s_to_%s_%d", prim_type_name(from), prim_type_name(to), lanes);
  bool small = prim_bits(to) <= 16;
  const char *all = small ? NULL : helper_all(c, lanes);
  bool fresh;
  Text *t = helper_begin(c, name, &fresh);
  if (!fresh) return name;
  const char *in = vector_type(from, lanes), *out = vector_type(to, lanes);
  const char *mask = vector_type(from == PRIM_F64 ? PRIM_I64 : PRIM_I32, lanes);
  Prim most = prim_highest(to), least = prim_lowest(to);
  // Exact in either float type: a power of two, and its negation or zero.
  double above = prim_is_signed(to) ? -prim_to_double(least)
                                    : (double)(1ull << (prim_bits(to) - 1)) * 2;
  double below = prim_is_signed(to) ? prim_to_double(least) : 0;
  const char *suffix = from == PRIM_F32 ? "f" : "";
  text_printf(t, "static %s %s(%s x) {\n", out, name, in);
  if (small) add_small_to_int(t, from, to, lanes);
  if (small) return name;
  add_usual_to_int(t, from, to, lanes, all);
  text_printf(t, "  %s high = x >= %.1f%s, low = x <= %.1f%s;\n", mask, above, suffix,
              below, suffix);
  text_printf(t, "  %s odd = x != x || fabs(x) == INFINITY;\n", mask);
  text_printf(t, "  %s r = convert_%s(high || low || odd ? (%s)(0) : x);\n", out, out,
              in);
  const char *wide = vector_type(prim_bits(to) == 64 ? PRIM_I64 : PRIM_I32, lanes);
  text_printf(t, "  r = convert_%s(high && !odd) ? (%s)(%s) : r;\n", wide, out,
              c_exp(c, imp_const(most)));
  text_printf(t, "  return convert_%s(low && !odd) ? (%s)(%s) : r;\n}\n", wide, out,
              c_exp(c, imp_const(least)));
  return name;
}

// An i64 to the nearest float: through ints if all of them are such, as machines without AVX-512
// convert no others in vectors.
const char *helper_from_i64(CodeText *c, PrimType to, int lanes) {
  const char *name = text_format("flc_i64_to_%s_%d", prim_type_name(to), lanes);
  const char *all = helper_all(c, lanes), *out = vector_type(to, lanes);
  bool fresh;
  Text *t = helper_begin(c, name, &fresh);
  if (!fresh) return name;
  text_printf(t, "static %s %s(long%d x) {\n#ifndef __AVX512DQ__\n", out, name, lanes);
  text_printf(t, "  int%d low = convert_int%d(x);\n", lanes, lanes);
  text_printf(t, "  if (%s(convert_int%d(convert_long%d(low) == x)))\n", all, lanes,
              lanes);
  text_printf(t, "    return convert_%s(low);\n#endif\n", out);
  text_printf(t, "  return convert_%s(x);\n}\n", out);
  return name;
}

// The instructions for that, which PoCL's functions do without: of eight or sixteen numbers.
// LLVM knows widening, but takes vectors of f16 apart where a loop carries them: it sees none here.
static void half_instructions(Text *t, PrimType to, int lanes) {
  bool round = to == PRIM_F16;
  const char *type = round ? "ushort" : "float";
  if (lanes == 16) {
    text_add(t, "#if defined(__AVX512F__)\n");
    if (round)
      text_add(t, "  return as_ushort16(__builtin_ia32_vcvtps2ph512_mask(x, 0, "
                  "(short16)(0), (ushort)0xffff));\n");
    else
      text_add(t, "  return __builtin_ia32_vcvtph2ps512_mask(as_short16(x), "
                  "(float16)(0), (ushort)0xffff, 8);\n");
    text_add(t, "#elif defined(__F16C__)\n");
  } else {
    text_add(t, "#if defined(__F16C__)\n");
  }
  const char *instruction = round ? "vcvtps2ph $0, %1, %0" : "vcvtph2ps %1, %0";
  int part = lanes == 16 ? 8 : lanes;
  for (int i = 0; i < lanes / part; i++)
    text_printf(t, "  %s8 r%d;\n  __asm__(\"%s\" : \"=x\"(r%d) : \"x\"(x%s));\n", type, i,
                instruction, i,
                lanes == part ? ""
                : i == 0      ? ".lo"
                              : ".hi");
  text_printf(t, "  return %s;\n",
              lanes == 16 ? text_format("(%s16)(r0, r1)", type) : "r0");
  text_add(t, "#else\n");
}

// Between f16, which is its bits, and f32.
const char *helper_half(CodeText *c, PrimType to, int lanes) {
  const char *name =
      text_format(to == PRIM_F16 ? "flc_f32_to_f16_%d" : "flc_f16_to_f32_%d", lanes);
  bool fresh, instructions = lanes == 8 || lanes == 16;
  Text *t = helper_begin(c, name, &fresh);
  if (!fresh) return name;
  const char *from = vector_type(to == PRIM_F16 ? PRIM_F32 : PRIM_F16, lanes);
  text_printf(t, "static %s %s(%s x) {\n", vector_type(to, lanes), name, from);
  if (instructions) half_instructions(t, to, lanes);
  if (to == PRIM_F16)
    text_printf(t, "  ushort%d r;\n  vstore_half%d_rte(x, 0, (half *)&r);\n  return r;\n",
                lanes, lanes);
  else
    text_printf(t, "  return vload_half%d(0, (const half *)&x);\n", lanes);
  text_add(t, instructions ? "#endif\n}\n" : "}\n");
  return name;
}

const char *helper_pick(CodeText *c, PrimType type, int lanes) {
  const char *name = text_format("flc_pick_%s_%d", prim_type_name(type), lanes);
  const char *elem = type == PRIM_BOOL ? "int" : c_type(type);
  bool fresh;
  Text *t = helper_begin(c, name, &fresh);
  if (!fresh) return name;
  text_printf(t, "static %s %s(%s values, long lane) {\n  %s each[%d];\n", elem, name,
              vector_type(type, lanes), elem, lanes);
  text_printf(t, "  vstore%d(values, 0, each);\n  return each[lane];\n}\n", lanes);
  return name;
}

const char *helper_most(CodeText *c, int lanes) {
  const char *name = text_format("flc_most_%d", lanes);
  bool fresh;
  Text *t = helper_begin(c, name, &fresh);
  if (!fresh) return name;
  text_printf(t, "static long %s(long%d v%d) {\n", name, lanes, lanes);
  for (int half = lanes / 2; half >= 2; half /= 2)
    text_printf(t, "  long%d v%d = max(v%d.lo, v%d.hi);\n", half, half, 2 * half,
                2 * half);
  text_add(t, "  return max(v2.x, v2.y);\n}\n");
  return name;
}

// OpenCL's `any` and `all` are a test per lane in PoCL 3.1; the lanes' bytes are one number,
// or two.
const char *helper_any(CodeText *c, int lanes) {
  const char *name = text_format("flc_any_%d", lanes);
  bool fresh;
  Text *t = helper_begin(c, name, &fresh);
  if (!fresh) return name;
  text_printf(t, "static int %s(int%d mask) {\n  return %s;\n}\n", name, lanes,
              emit_any_lane("mask", lanes));
  return name;
}

const char *helper_all(CodeText *c, int lanes) {
  const char *name = text_format("flc_all_%d", lanes), *any = helper_any(c, lanes);
  bool fresh;
  Text *t = helper_begin(c, name, &fresh);
  if (!fresh) return name;
  text_printf(t, "static int %s(int%d mask) {\n  return !%s(~mask);\n}\n", name, lanes,
              any);
  return name;
}

const char *helper_first(CodeText *c, int lanes) {
  const char *name = text_format("flc_first_%d", lanes);
  bool fresh;
  Text *t = helper_begin(c, name, &fresh);
  if (!fresh) return name;
  text_printf(t, "static int %s(int%d mask) {\n  int each[%d], lane = 0;\n", name, lanes,
              lanes);
  text_printf(t, "  vstore%d(mask, 0, each);\n", lanes);
  text_printf(t, "  while (lane < %d && !each[lane]) lane++;\n  return lane;\n}\n",
              lanes - 1);
  return name;
}

const char *helper_iota(CodeText *c, PrimType type, int lanes) {
  const char *name = text_format("FLC_IOTA_%s_%d", prim_type_name(type), lanes);
  bool fresh;
  Text *t = helper_begin(c, name, &fresh);
  if (!fresh) return name;
  text_printf(t, "#define %s ((%s)(", name, vector_type(type, lanes));
  for (int i = 0; i < lanes; i++)
    text_printf(t, i ? ", %d" : "%d", i);
  text_add(t, "))\n");
  return name;
}

// ---- permutations

// How many lanes from `i` on come from the same vector, as a vector may be named: 1, 2, 4, 8 or 16.
static int run_from(const ImpExp *e, int i) {
  bool second = e->u.permute.from[i] >= e->lanes;
  int length = 1;
  while (i + length < e->lanes && (e->u.permute.from[i + length] >= e->lanes) == second)
    length++;
  int run = 16;
  while (run > length)
    run /= 2;
  return run;
}

// By runs of lanes, which clang would make of single ones again.
static void add_runs(Text *t, const ImpExp *e) {
  text_printf(t, "  return (%s)(", vector_type(e->type, e->lanes));
  for (int i = 0; i < e->lanes;) {
    int run = run_from(e, i);
    text_printf(t, "%s%s.s", i ? ", " : "", e->u.permute.from[i] < e->lanes ? "a" : "b");
    for (int k = 0; k < run; k++, i++)
      text_printf(t, "%c", vector_digit(e->u.permute.from[i] % e->lanes));
  }
  text_add(t, ");\n");
}

// Lane by lane, where a vector is longer than OpenCL C has them.
static void add_lanes(Text *t, const ImpExp *e) {
  int lanes = e->u.permute.a->lanes;
  bool is_long = e->lanes > 16;
  text_printf(t, "  return (%s)%s", vector_type(e->type, e->lanes),
              is_long ? "{ { " : "(");
  for (int i = 0; i < e->lanes; i++) {
    int from = e->u.permute.from[i];
    text_printf(t, "%s%c.s[%d]", i ? ", " : "", from < lanes ? 'a' : 'b', from % lanes);
  }
  text_add(t, is_long ? " } };\n" : ");\n");
}

// Of long vectors a number says which; of others the lanes themselves.
static const char *permutation_name(const ImpExp *e) {
  Text *label = text_new();
  uint64_t hash = 0;
  for (int i = 0; i < e->lanes; i++) {
    hash = hash * 131 + (uint64_t)e->u.permute.from[i] + 1;
    text_printf(label, "_%d", e->u.permute.from[i]);
  }
  if (e->lanes > 16)
    return text_format("flc_permute_%s_%d_%" PRIx64, prim_type_name(e->type), e->lanes,
                       hash);
  return text_format("flc_permute_%s%s%s", prim_type_name(e->type),
                     e->u.permute.a->lanes > 16 ? "_long" : "", text_str(label));
}

// 64 bytes of one vector or two by AVX512-VBMI, as text: PoCL's compiler may be told of an older
// processor, and makes dozens of instructions of it then.
static void add_bytes_by_text(Text *t, const ImpExp *e) {
  bool two = e->u.permute.b != NULL;
  const char *type = vector_type(e->type, e->lanes);
  text_add(t, "#if defined(FLC_PERMUTES_BYTES) && defined(__AVX512BW__)\n");
  text_printf(t, "  %s from = { ", type);
  for (int i = 0; i < e->lanes; i++)
    text_printf(t, "%s%d", i ? ", " : "", e->u.permute.from[i]);
  text_add(t, " };\n");
  if (two)
    text_add(t,
             "  __asm__(\"vpermi2b %2, %1, %0\" : \"+v\"(from) : \"v\"(a), \"v\"(b));\n"
             "  return from;\n");
  else
    text_printf(t,
                "  %s to;\n  __asm__(\"vpermb %%1, %%2, %%0\" : \"=v\"(to) : \"v\"(a), "
                "\"v\"(from));\n  return to;\n",
                type);
  text_add(t, "#else\n");
}

const char *helper_permute(CodeText *c, const ImpExp *e) {
  bool fresh, two = e->u.permute.b != NULL, is_long = e->u.permute.a->lanes > 16;
  const char *type = vector_type(e->type, e->lanes),
             *of = vector_type(e->type, e->u.permute.a->lanes),
             *name = permutation_name(e);
  declare_long(c, e->type, e->u.permute.a->lanes);
  Text *t = helper_begin(c, name, &fresh);
  if (!fresh) return name;
  text_printf(t, "static %s %s(%s a%s) {\n#ifdef __clang__\n", type, name, of,
              two ? text_format(", %s b", of) : "");
  bool bytes =
      prim_size_bytes(e->type) == 1 && e->lanes == 64 && e->u.permute.a->lanes == 64;
  if (bytes) add_bytes_by_text(t, e);
  text_printf(t, "  return __builtin_shufflevector(a, %s", two ? "b" : "a");
  for (int i = 0; i < e->lanes; i++)
    text_printf(t, ", %d", e->u.permute.from[i]);
  text_printf(t, ");\n%s#else\n", bytes ? "#endif\n" : "");
  if (is_long)
    add_lanes(t, e);
  else
    add_runs(t, e);
  text_add(t, "#endif\n}\n");
  return name;
}

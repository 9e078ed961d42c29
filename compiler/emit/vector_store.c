// Stores of whole vectors, as functions of a kernel's text.
#include "emit/c_vector.h"

// Stores the part of the vector, `lanes` of them from `first` on, by vectors of at most so many
// bytes, from the first on.
static void add_pieces(Text *t, CodeText *c, const Mem *mem, const char *part, int first,
                       int lanes, int bytes) {
  if (lanes * prim_size_bytes(mem->elem) > bytes) {
    add_pieces(t, c, mem, text_format("%s.lo", part), first, lanes / 2, bytes);
    add_pieces(t, c, mem, text_format("%s.hi", part), first + lanes / 2, lanes / 2,
               bytes);
    return;
  }
  text_printf(t, "  *(%s%s *)(p + %d) = %s;\n", vector_place(mem).space,
              helper_memory_name("unaligned", mem, lanes), first, part);
}

// What fills several registers is stored from the first on: clang begins with the last (up to 15),
// which takes up to twice as long where caches fetch ahead.
static void add_in_order(Text *t, CodeText *c, const Mem *mem, int lanes) {
  enum { AVX = 32, AVX_512 = 64 };
  int bytes = lanes * prim_size_bytes(mem->elem);
  bool halves = (lanes & (lanes - 1)) == 0;
  if (halves && bytes > AVX_512) {
    text_add(t, "#elif defined(__AVX512F__)\n");
    add_pieces(t, c, mem, "x", 0, lanes, AVX_512);
  }
  if (halves && bytes > AVX) {
    text_add(t, "#elif defined(__AVX__) && !defined(__AVX512F__)\n");
    add_pieces(t, c, mem, "x", 0, lanes, AVX);
  }
  text_add(t, "#else\n");
  add_pieces(t, c, mem, "x", 0, lanes, bytes);
}

const char *helper_store(CodeText *c, const Mem *mem, int lanes) {
  const char *name = helper_memory_name("store", mem, lanes);
  bool fresh;
  for (int n = lanes; n == lanes || n * prim_size_bytes(mem->elem) > 16; n /= 2)
    helper_unaligned(c, mem, n);
  Text *t = helper_begin(c, name, &fresh);
  if (!fresh) return name;
  text_printf(t, "static void %s(%s, %s x) {\n#ifndef __clang__\n  vstore%d(x, 0, p);\n",
              name, helper_pointer(mem), vector_memory_type(mem->elem, lanes), lanes);
  add_in_order(t, c, mem, lanes);
  text_add(t, "#endif\n}\n");
  return name;
}

// What zlib has packed comes back, whatever its level and strategy; damaged data is
// refused.
#include "../unit.h"
#include "program.h"
#include <zlib.h>

enum { MOST = 200000 };

static uint32_t random_number(uint64_t *state) {
  *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
  return (uint32_t)(*state >> 33);
}

// Text of `letters` different letters with repetitions of all lengths and distances.
static size_t make_text(char *text, size_t length, unsigned letters, uint64_t *state) {
  size_t at = 0;
  while (at < length) {
    size_t run = 1 + random_number(state) % 300;
    bool repeat = at > 10 && random_number(state) % 3 == 0;
    size_t from = repeat ? random_number(state) % at : 0;
    for (size_t i = 0; i < run && at < length; i++, at++)
      text[at] =
          (char)(repeat ? (unsigned char)text[from + i] : random_number(state) % letters);
  }
  return length;
}

static size_t pack(const char *text, size_t length, char *out, int level, int strategy) {
  z_stream z;
  memset(&z, 0, sizeof z);
  CHECK(deflateInit2(&z, level, Z_DEFLATED, 15 + 16, 8, strategy) == Z_OK);
  gz_header header;
  memset(&header, 0, sizeof header);
  Bytef name[] = "a name", comment[] = "a comment", extra[] = "more";
  header.name = name;
  header.comment = comment;
  header.extra = extra;
  header.extra_len = 4;
  header.hcrc = 1;
  if (level > 5) deflateSetHeader(&z, &header);
  z.next_in = (Bytef *)(uintptr_t)text;
  z.avail_in = (uInt)length;
  z.next_out = (Bytef *)out;
  z.avail_out = 2 * MOST;
  CHECK(deflate(&z, Z_FINISH) == Z_STREAM_END);
  deflateEnd(&z);
  return z.total_out;
}

// A copy in host memory, which rt_gunzip may free.
static char *owned(const char *bytes, size_t length) {
  char *copy = (char *)rt_host_alloc(length + 1);
  memcpy(copy, bytes, length);
  return copy;
}

static void comes_back(const char *packed, size_t packed_length, const char *text,
                       size_t length) {
  char *bytes = owned(packed, packed_length);
  size_t got = packed_length;
  CHECK(rt_gunzip(&bytes, &got) && got == length && memcmp(bytes, text, length) == 0);
  free(bytes);
}

static void is_refused(const char *packed, size_t length) {
  char *bytes = owned(packed, length);
  size_t got = length;
  CHECK(!rt_gunzip(&bytes, &got));
  free(bytes);
}

// It does not crash, and what it accepts has the right checksum.
static void is_survived(const char *packed, size_t length) {
  char *bytes = owned(packed, length);
  size_t got = length;
  rt_gunzip(&bytes, &got);
  free(bytes);
}

static void every_kind(char *text, char *packed, uint64_t *state) {
  static const size_t sizes[] = { 0, 1, 3, 1000, 66000, MOST };
  static const unsigned letters[] = { 1, 2, 50, 256 };
  static const int strategies[] = { Z_DEFAULT_STRATEGY, Z_FIXED, Z_HUFFMAN_ONLY, Z_RLE };
  for (int size = 0; size < 6; size++)
    for (int k = 0; k < 4; k++)
      for (int level = 0; level <= 9; level += 3) {
        size_t length = make_text(text, sizes[size], letters[k], state);
        size_t bytes = pack(text, length, packed, level, strategies[(size + k) % 4]);
        comes_back(packed, bytes, text, length);
        is_refused(packed, bytes - 1);
        is_refused(packed, bytes / 2 > 3 ? bytes / 2 : 3);
      }
}

static void damage(char *text, char *packed, uint64_t *state) {
  for (int i = 0; i < 2000; i++) {
    size_t length = make_text(text, random_number(state) % 3000, 20, state);
    size_t bytes = pack(text, length, packed, 6, Z_DEFAULT_STRATEGY);
    for (int k = 0; k < 3; k++)
      packed[random_number(state) % bytes] ^= (char)(1 << random_number(state) % 8);
    is_survived(packed, bytes);
  }
}

static void members(char *text, char *packed, uint64_t *state) {
  size_t length = make_text(text, 5000, 20, state);
  size_t first = pack(text, 2000, packed, 9, Z_DEFAULT_STRATEGY);
  size_t second = pack(text + 2000, length - 2000, packed + first, 1, Z_FIXED);
  comes_back(packed, first + second, text, length);
  packed[first - 5] ^= 1;  // the length of the first one
  is_refused(packed, first + second);
}

int main(void) {
  char *text = (char *)malloc(MOST), *packed = (char *)malloc(3 * MOST);
  uint64_t state = 1;
  comes_back("plain [1, 2]", 12, "plain [1, 2]", 12);
  comes_back("", 0, "", 0);
  every_kind(text, packed, &state);
  members(text, packed, &state);
  damage(text, packed, &state);
  free(text);
  free(packed);
  return 0;
}

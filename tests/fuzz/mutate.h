// Random changes of texts and bytes, the same for the same seed.
#pragma once
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// A copy that ends where its bytes end, so that reading further is noticed; freed by the owner.
typedef struct Mutant {
  char *bytes;
  size_t length;
} Mutant;

static uint64_t mutate_state = 1;

// A number below `limit` (xorshift64*).
static inline uint64_t mutate_random(uint64_t limit) {
  mutate_state ^= mutate_state >> 12;
  mutate_state ^= mutate_state << 25;
  mutate_state ^= mutate_state >> 27;
  uint64_t bits = mutate_state * UINT64_C(0x2545f4914f6cdd1d);
  return (bits >> 32) % limit;
}

// Replaces `gone` bytes at `at` by `put`.
static inline void mutate_splice(Mutant *m, size_t at, size_t gone, const char *put,
                                 size_t length) {
  size_t after = m->length - at - gone;
  char *bytes = (char *)malloc(m->length - gone + length + 1);
  if (!bytes) abort();
  if (at) memcpy(bytes, m->bytes, at);
  if (length) memcpy(bytes + at, put, length);
  if (after) memcpy(bytes + at + length, m->bytes + at + gone, after);
  free(m->bytes);
  m->bytes = bytes;
  m->length = at + length + after;
}

// One change: a byte, a piece taken out, doubled, or one of `words` put in.
static inline void mutate_once(Mutant *m, const char *const *words, size_t count) {
  size_t at = mutate_random(m->length + 1), rest = m->length - at;
  size_t piece = rest ? 1 + mutate_random(rest < 12 ? rest : 12) : 0;
  char byte = (char)mutate_random(256);
  const char *word = words[mutate_random(count)];
  switch (mutate_random(6)) {
  case 0: mutate_splice(m, at, rest ? 1 : 0, &byte, 1); break;
  case 1: mutate_splice(m, at, piece, NULL, 0); break;
  case 2: {
    char copy[16] = { 0 };
    if (piece) memcpy(copy, m->bytes + at, piece);
    mutate_splice(m, mutate_random(m->length + 1), 0, copy, piece);
    break;
  }
  case 3: mutate_splice(m, at, 0, word, strlen(word)); break;
  case 4: mutate_splice(m, at, piece, word, strlen(word)); break;
  default:
    if (rest) m->bytes[at] = (char)(m->bytes[at] ^ (1 << mutate_random(8)));
  }
}

// The seed with a few changes, in memory of exactly its length.
static inline Mutant mutant_of(const char *seed, size_t length, const char *const *words,
                               size_t count) {
  Mutant m = { NULL, 0 };
  mutate_splice(&m, 0, 0, seed, length);
  for (uint64_t n = mutate_random(5) + 1; n > 0; n--)
    mutate_once(&m, words, count);
  char *exact = (char *)malloc(m.length ? m.length : 1);
  if (!exact) abort();
  if (m.length) memcpy(exact, m.bytes, m.length);
  free(m.bytes);
  m.bytes = exact;
  return m;
}

#include "base/hash.h"
#include "base/mem.h"
#include <nettle/sha2.h>
#include <stdint.h>
#include <string.h>

struct Hash {
  struct sha256_ctx sha;
};

Hash *hash_new(void) {
  Hash *h = new (Hash);
  sha256_init(&h->sha);
  return h;
}

Hash *hash_copy(const Hash *h) { return mem_copy(h, sizeof *h); }

static void add(Hash *h, const void *bytes, size_t length) {
  if (length) sha256_update(&h->sha, length, bytes);
}

void hash_bytes(Hash *h, const void *bytes, size_t length) {
  uint64_t size = length;
  add(h, &size, sizeof size);
  add(h, bytes, length);
}

void hash_text(Hash *h, const char *text) { hash_bytes(h, text, strlen(text)); }

const char *hash_digest(Hash *h) {
  uint8_t digest[SHA256_DIGEST_SIZE];
  sha256_digest(&h->sha, sizeof digest, digest);
  Text *t = text_new();
  for (size_t i = 0; i < sizeof digest; i++)
    text_printf(t, "%02x", digest[i]);
  return text_str(t);
}

const char *hash_of(const char *bytes, size_t length) {
  Hash *h = hash_new();
  add(h, bytes, length);
  return hash_digest(h);
}

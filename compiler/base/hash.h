// SHA-256, for what is found again by its hash: programs in the cache, data, kernels.
#pragma once
#include "base/text.h"

typedef struct Hash Hash;

Hash *hash_new(void);

// Goes on from the same parts, apart from the other.
Hash *hash_copy(const Hash *h);

// Adds a part with its length, so that "ab" "c" and "a" "bc" differ.
void hash_bytes(Hash *h, const void *bytes, size_t length);
void hash_text(Hash *h, const char *text);

// 64 hexadecimal digits.  Nothing can be added afterwards.
const char *hash_digest(Hash *h);

// The digest of one text alone, as `sha256sum` prints it.
const char *hash_of(const char *bytes, size_t length);

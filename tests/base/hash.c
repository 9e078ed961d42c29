#include "base/hash.h"
#include "base/mem.h"
#include "unit.h"

static const char *of_parts(const char *a, const char *b) {
  Hash *h = hash_new();
  hash_text(h, a);
  hash_text(h, b);
  return hash_digest(h);
}

int main(void) {
  mem_init();
  // The examples of the standard (FIPS 180).
  CHECK_TEXT(hash_of("", 0),
             "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK_TEXT(hash_of("abc", 3),
             "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK_TEXT(of_parts("ab", "c"), of_parts("ab", "c"));
  CHECK(strcmp(of_parts("ab", "c"), of_parts("a", "bc")) != 0);
  CHECK(strcmp(of_parts("", "abc"), of_parts("abc", "")) != 0);
  return 0;
}

#include "commands/pkg/pkg.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

// ---- reading

// Digits without a zero before others; behind them, or NULL.
static const char *read_version_number(const char *at, int64_t *out) {
  size_t digits = strspn(at, "0123456789");
  if (digits == 0 || digits > 18 || (digits > 1 && *at == '0')) return NULL;
  *out = strtoll(at, NULL, 10);
  return at + digits;
}

// Words of letters, digits and `-` with dots between; behind them, or NULL.
static const char *read_words(const char *at, const char **out) {
  const char *start = at;
  for (;; at++) {
    const char *word = at;
    while (isalnum((unsigned char)*at) || *at == '-')
      at++;
    if (at == word) return NULL;
    if (*at != '.') break;
  }
  *out = text_format("%.*s", (int)(at - start), start);
  return at;
}

bool pkg_version_read(const char *text, PkgVersion *out) {
  PkgVersion v = { 0 };
  const char *at = read_version_number(text, &v.major);
  at = at && *at == '.' ? read_version_number(at + 1, &v.minor) : NULL;
  at = at && *at == '.' ? read_version_number(at + 1, &v.patch) : NULL;
  if (at && *at == '-') at = read_words(at + 1, &v.pre);
  if (at && *at == '+') at = read_words(at + 1, &v.build);
  *out = v;
  return at && *at == '\0';
}

const char *pkg_version_text(PkgVersion v) {
  return text_format("%lld.%lld.%lld%s%s%s%s", (long long)v.major, (long long)v.minor,
                     (long long)v.patch, v.pre ? "-" : "", v.pre ? v.pre : "",
                     v.build ? "+" : "", v.build ? v.build : "");
}

// ---- order

static int compare_numbers(int64_t a, int64_t b) { return (a > b) - (a < b); }

// Numbers by their size and before words, words by their bytes.
static int compare_words(const char *a, size_t a_length, const char *b, size_t b_length) {
  bool a_number = strspn(a, "0123456789") >= a_length,
       b_number = strspn(b, "0123456789") >= b_length;
  if (a_number != b_number) return a_number ? -1 : 1;
  if (a_number && a_length != b_length) return a_length < b_length ? -1 : 1;
  int order = memcmp(a, b, a_length < b_length ? a_length : b_length);
  return order ? order : compare_numbers((int64_t)a_length, (int64_t)b_length);
}

static int compare_pre(const char *a, const char *b) {
  if (!a || !b) return (a == NULL) - (b == NULL);
  while (*a && *b) {
    size_t a_length = strcspn(a, "."), b_length = strcspn(b, ".");
    int order = compare_words(a, a_length, b, b_length);
    if (order) return order;
    a += a_length + (a[a_length] == '.');
    b += b_length + (b[b_length] == '.');
  }
  return (*a != '\0') - (*b != '\0');
}

int pkg_version_compare(PkgVersion a, PkgVersion b) {
  int order = compare_numbers(a.major, b.major);
  if (!order) order = compare_numbers(a.minor, b.minor);
  if (!order) order = compare_numbers(a.patch, b.patch);
  return order ? order : compare_pre(a.pre, b.pre);
}

// ---- commits

bool pkg_is_commit(const char *text, size_t length) {
  return length >= 7 && length <= 64 && strspn(text, "0123456789abcdef") >= length;
}

const char *pkg_version_commit(PkgVersion v) {
  bool zero = v.major == 0 && v.minor == 0 && v.patch == 0;
  return zero && v.pre && v.build && pkg_is_commit(v.build, strlen(v.build)) ? v.build
                                                                             : NULL;
}

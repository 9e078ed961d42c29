#include "base/name.h"
#include "base/mem.h"
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef struct NameEntry {
  Name name;  // NULL where free
  size_t length;
  uint32_t hash;
} NameEntry;

// Open addressing with linear probing; at most half full.
struct NameTable {
  NameEntry *entries;
  uint32_t size;  // a power of two
  uint32_t count;
};

// Small, as passes make tables for bodies of a few statements.
static const uint32_t first_size = 32;

NameTable *name_table_new(void) {
  return new_node(NameTable, .entries = new_array(NameEntry, first_size),
                  .size = first_size);
}

// FNV-1a.
static uint32_t hash(const char *text, size_t length) {
  uint32_t h = 2166136261u;
  for (size_t i = 0; i < length; i++)
    h = (h ^ (unsigned char)text[i]) * 16777619u;
  return h;
}

static bool same(const NameEntry *e, const NameEntry *wanted, const char *text) {
  return e->hash == wanted->hash && e->length == wanted->length &&
         memcmp(e->name, text, wanted->length) == 0;
}

// The entry that holds the text, or the free one where it belongs.
static NameEntry *find(const NameTable *table, const NameEntry *wanted,
                       const char *text) {
  uint32_t mask = table->size - 1;
  uint32_t i = wanted->hash & mask;
  while (table->entries[i].name && !same(&table->entries[i], wanted, text))
    i = (i + 1) & mask;
  return &table->entries[i];
}

static void grow(NameTable *table) {
  NameTable grown = { .size = table->size * 2, .count = table->count };
  grown.entries = new_array(NameEntry, grown.size);
  for (uint32_t i = 0; i < table->size; i++) {
    const NameEntry *e = &table->entries[i];
    if (e->name) *find(&grown, e, e->name) = *e;
  }
  *table = grown;
}

static Name copy_text(const char *text, size_t length) {
  char *copy = mem_alloc_plain(length + 1);
  if (length) memcpy(copy, text, length);
  return copy;
}

Name name_intern(NameTable *table, const char *text, size_t length) {
  NameEntry wanted = { .length = length, .hash = hash(text, length) };
  NameEntry *e = find(table, &wanted, text);
  if (e->name) return e->name;
  wanted.name = copy_text(text, length);
  *e = wanted;
  table->count++;
  if (table->count * 2 > table->size) grow(table);
  return wanted.name;
}

Name name_of(NameTable *table, const char *text) {
  return name_intern(table, text, strlen(text));
}

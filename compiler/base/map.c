// The bindings lie in the order in which they were put; beside them, a table of their positions
// is searched by open addressing with linear probing.  A map of a few keys, as most scopes are,
// has no table and is searched from end to end.
#include "base/map.h"
#include "base/mem.h"
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct MapBinding {
  const void *key;
  const void *value;
  bool removed;
} MapBinding;

struct Map {
  const Map *parent;
  MapBinding *bindings;
  uint32_t *table;      // 1 + position in `bindings`, 0 where free; NULL in a small map
  uint32_t used;        // bindings, the removed ones included
  uint32_t capacity;    // of `bindings`
  uint32_t table_mask;  // size of the table - 1
  int count;            // bindings that were not removed
};

enum { SMALL = 8 };

Map *map_new(const Map *parent) { return new_node(Map, .parent = parent); }

// Multiplicative hashing: blocks are aligned, so the low bits of an address say little.
static uint32_t hash_address(const void *key) {
  return (uint32_t)(((uintptr_t)key * UINT64_C(0x9E3779B97F4A7C15)) >> 32);
}

static MapBinding *find_in_table(const Map *map, const void *key) {
  for (uint32_t i = hash_address(key);; i++) {
    uint32_t position = map->table[i & map->table_mask];
    if (!position) return NULL;
    MapBinding *b = &map->bindings[position - 1];
    if (b->key == key && !b->removed) return b;
  }
}

static MapBinding *find_binding(const Map *map, const void *key) {
  if (map->table) return find_in_table(map, key);
  for (uint32_t i = 0; i < map->used; i++) {
    MapBinding *b = &map->bindings[i];
    if (b->key == key && !b->removed) return b;
  }
  return NULL;
}

static const MapBinding *find_upwards(const Map *map, const void *key) {
  for (; map; map = map->parent) {
    const MapBinding *b = find_binding(map, key);
    if (b) return b;
  }
  return NULL;
}

static void enter_table(Map *map, uint32_t position) {
  uint32_t i = hash_address(map->bindings[position].key);
  while (map->table[i & map->table_mask])
    i++;
  map->table[i & map->table_mask] = position + 1;
}

// A fresh table at most half full even when `bindings` is full.
static void build_table(Map *map) {
  uint32_t size = map->capacity * 2;
  map->table = mem_alloc_plain(size * sizeof *map->table);
  map->table_mask = size - 1;
  for (uint32_t i = 0; i < map->used; i++)
    enter_table(map, i);
}

// Room for one more binding; drops the removed ones on the way.
static void grow_map(Map *map) {
  uint32_t wanted = SMALL;
  while (wanted / 2 < (uint32_t)map->count)
    wanted *= 2;
  MapBinding *kept = new_array(MapBinding, wanted);
  uint32_t used = 0;
  for (uint32_t i = 0; i < map->used; i++) {
    if (!map->bindings[i].removed) kept[used++] = map->bindings[i];
  }
  map->bindings = kept;
  map->used = used;
  map->capacity = wanted;
  map->table = NULL;
  if (wanted > SMALL) build_table(map);
}

void map_put(Map *map, const void *key, const void *value) {
  MapBinding *old = find_binding(map, key);
  if (old) {
    old->value = value;
    return;
  }
  if (map->used == map->capacity) grow_map(map);
  map->bindings[map->used] = (MapBinding){ .key = key, .value = value };
  if (map->table) enter_table(map, map->used);
  map->used++;
  map->count++;
}

// The map does not care whether its values are const; the caller knows.
static void *without_const(const void *value) { return (void *)(uintptr_t)value; }

void *map_get(const Map *map, const void *key) {
  const MapBinding *b = find_upwards(map, key);
  return b ? without_const(b->value) : NULL;
}

bool map_has(const Map *map, const void *key) { return find_upwards(map, key) != NULL; }

void map_remove(Map *map, const void *key) {
  MapBinding *b = find_binding(map, key);
  if (!b) return;
  b->removed = true;  // its place in the table stays, so that probing passes over it
  b->value = NULL;
  map->count--;
}

int map_count(const Map *map) { return map->count; }

void map_each(const Map *map, void (*visit)(void *state, const void *key, void *value),
              void *state) {
  for (uint32_t i = 0; i < map->used; i++) {
    MapBinding b = map->bindings[i];
    if (!b.removed) visit(state, b.key, without_const(b.value));
  }
}

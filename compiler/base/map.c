// The bindings lie in the order in which they were put; beside them, a table of their positions
// is searched by open addressing with linear probing.  A map of a few keys, as most scopes are,
// has no table and is searched from end to end.
#include "base/map.h"
#include "base/mem.h"
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct MapBinding {
  const void *key;  // that of `removed`: of none
  const void *value;
} MapBinding;

static const char removed;

struct Map {
  const Map *parent;
  MapBinding *bindings;
  uint32_t *table;      // 1 + position in `bindings`, 0 where free; NULL in a small map
  uint32_t used;        // bindings, the removed ones included
  uint32_t capacity;    // of `bindings`: SMALL << 2 * its class
  uint32_t table_mask;  // size of the table - 1
  int count;            // bindings that were not removed
};

enum { SMALL = 8, CLASSES = 13 };

// ---- memory

// What maps have grown out of, or were emptied of, is kept for the next ones, by its class: most
// maps live as long as one walk over a kernel, of which there are thousands.
typedef struct Spare Spare;
struct Spare {  // in the place of the first bindings
  Spare *next;
  uint32_t *table;
};

static Spare *spares[CLASSES];

static int class_of(uint32_t capacity) {
  int number = 0;
  while ((uint32_t)SMALL << 2 * number < capacity)
    number++;
  return number;
}

// Gives the map, which has none, bindings for so many.
static void take_memory(Map *map, uint32_t capacity) {
  int number = class_of(capacity);
  Spare *known = spares[number];
  if (known) spares[number] = known->next;
  map->bindings = known ? (MapBinding *)known : new_array(MapBinding, capacity);
  map->capacity = capacity;
  map->used = 0;
  if (capacity == SMALL) return;
  map->table_mask = capacity * 2 - 1;
  size_t bytes = (map->table_mask + 1) * sizeof *map->table;
  map->table = known ? memset(known->table, 0, bytes) : mem_alloc_plain(bytes);
}

// Cleared, so that nothing that it held stays alive.
static void keep_memory(const Map *map) {
  if (!map->bindings) return;
  int number = class_of(map->capacity);
  memset(map->bindings, 0, map->used * sizeof *map->bindings);
  Spare *spare = (Spare *)map->bindings;
  *spare = (Spare){ spares[number], map->table };
  spares[number] = spare;
}

// ---- searching

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
    if (b->key == key) return b;
  }
}

static MapBinding *find_binding(const Map *map, const void *key) {
  if (map->table) return find_in_table(map, key);
  for (uint32_t i = 0; i < map->used; i++) {
    MapBinding *b = &map->bindings[i];
    if (b->key == key) return b;
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

static void add_binding(Map *map, MapBinding binding) {
  map->bindings[map->used] = binding;
  if (map->table) enter_table(map, map->used);
  map->used++;
}

// Room for one more binding; drops the removed ones on the way.  Tables are at most half full.
static void grow_map(Map *map) {
  Map old = *map;
  uint32_t wanted = SMALL;
  while (wanted <= (uint32_t)map->count + wanted / 4)
    wanted *= 4;
  map->table = NULL;
  take_memory(map, wanted);
  for (uint32_t i = 0; i < old.used; i++)
    if (old.bindings[i].key != &removed) add_binding(map, old.bindings[i]);
  keep_memory(&old);
}

void map_put(Map *map, const void *key, const void *value) {
  MapBinding *old = find_binding(map, key);
  if (old) {
    old->value = value;
    return;
  }
  if (map->used == map->capacity) grow_map(map);
  add_binding(map, (MapBinding){ .key = key, .value = value });
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
  b->key = &removed;  // its place in the table stays, so that probing passes over it
  b->value = NULL;
  map->count--;
}

void map_clear(Map *map) {
  keep_memory(map);
  *map = (Map){ .parent = map->parent };
}

int map_count(const Map *map) { return map->count; }

void map_each(const Map *map, void (*visit)(void *state, const void *key, void *value),
              void *state) {
  for (uint32_t i = 0; i < map->used; i++) {
    MapBinding b = map->bindings[i];
    if (b.key != &removed) visit(state, b.key, without_const(b.value));
  }
}

// Hash maps from addresses (interned names, binders, nodes) to addresses.  A map may have a
// parent, in which a key that it lacks is looked up: a scope.
#pragma once
#include <stdbool.h>

typedef struct Map Map;

// An empty map; `parent` may be NULL.
Map *map_new(const Map *parent);

// Binds `key` in this map (never in a parent), replacing an earlier value.
void map_put(Map *map, const void *key, const void *value);

// The value of `key` here or in the nearest ancestor that binds it, else NULL.
void *map_get(const Map *map, const void *key);

bool map_has(const Map *map, const void *key);

// Removes `key` from this map; ancestors are left alone.
void map_remove(Map *map, const void *key);

// Removes all keys of this map itself; its memory goes to the next maps, so that one which is no
// longer needed costs the collector nothing.
void map_clear(Map *map);

// The number of keys bound in this map itself.
int map_count(const Map *map);

// Calls `visit` for each key of this map itself, in the order in which the keys were put.
void map_each(const Map *map, void (*visit)(void *state, const void *key, void *value),
              void *state);

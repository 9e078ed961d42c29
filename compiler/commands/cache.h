// The cache of executables, $XDG_CACHE_HOME/flc or ~/.cache/flc, where generated programs
// keep their compiled kernels as well (runtime/cache.h).  What lies there is executed:
// the folder must belong to the user and to nobody else.  What was used least recently
// goes when it grows too large.
#pragma once
#include "base/hash.h"
#include <stdbool.h>

typedef struct Cache {
  const char *folder;   // NULL: there is none that can be trusted
  const char *problem;  // why, or NULL if the user has no home
} Cache;

Cache cache_open(void);

// The executable with this key, or NULL, also if only a part of it is there; it counts as used now.
const char *cache_find(const Cache *cache, const char *key);

// Where the executable with this key is to be written.
const char *cache_path(const Cache *cache, const char *key);

// Removes what was used least recently until the rest fits (FLC_CACHE_MIB, default 512).
void cache_trim(const Cache *cache);

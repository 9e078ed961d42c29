// Loads and stores of one block that lie side by side in memory: the numbers of a record (a point,
// a matrix).
#pragma once
#include "kern/kern_vary.h"

// Neighbours, counted from the element that the load at hand reads.
typedef struct RecordTile {
  int64_t first;
  int loads[MOST_APART];  // statements that read them; -1: none
} RecordTile;

// Four neighbours that exist if the load at `at` may run, which one or more loads behind it read,
// with nothing between them that might write there or fail; `taken`: loads that are in others.
// False: there are none.
bool record_tile(const KernBlock *block, int at, const bool *taken, RecordTile *out);
// Are lanes so many elements apart that vectors of all that lies between them are loaded: two to
// four, eight of one byte or four, or MOST_APART of one byte?  Others take more to pick from.
bool is_few_apart(int64_t elements, PrimType elem);
// The same of lanes that are `apart` elements from one another, few: two or more loads among so
// many neighbours, of which the others need not exist.
bool near_loads(const KernBlock *block, int at, const bool *taken, int apart,
                RecordTile *out);

// `size` stores, at most four, that together write the record of each lane, which is what lanes are
// apart: all that lies from the first lane's to the last one's.
typedef struct RecordStores {
  int64_t first;            // element, counted from that which the store at hand writes
  int stores[TILE_HEIGHT];  // statements, by element
  int last;                 // the last of them: until then nothing reads what they write
} RecordStores;
bool record_stores(const KernBlock *block, int at, int size, RecordStores *out);

#include "base/map.h"
#include "base/mem.h"
#include "base/name.h"
#include "base/text.h"
#include "base/vec.h"
#include "unit.h"

enum { MANY = 10000 };

static int *numbers(int count) {
  int *result = new_array(int, count);
  for (int i = 0; i < count; i++)
    result[i] = i;
  return result;
}

static void finds_what_was_put(void) {
  const int *keys = numbers(MANY);
  Map *map = map_new(NULL);
  CHECK(map_get(map, keys) == NULL);
  for (int i = 0; i < MANY; i++)
    map_put(map, &keys[i], &keys[MANY - 1 - i]);
  CHECK(map_count(map) == MANY);
  for (int i = 0; i < MANY; i++)
    CHECK(map_get(map, &keys[i]) == &keys[MANY - 1 - i]);
  map_put(map, &keys[5], &keys[0]);
  CHECK(map_get(map, &keys[5]) == &keys[0]);
  CHECK(map_count(map) == MANY);
}

static void looks_in_parents(void) {
  const int *keys = numbers(3);
  Map *outer = map_new(NULL);
  Map *inner = map_new(map_new(outer));
  map_put(outer, &keys[0], &keys[1]);
  CHECK(map_get(inner, &keys[0]) == &keys[1]);
  map_put(inner, &keys[0], &keys[2]);
  CHECK(map_get(inner, &keys[0]) == &keys[2]);
  CHECK(map_get(outer, &keys[0]) == &keys[1]);
  map_remove(inner, &keys[0]);
  CHECK(map_get(inner, &keys[0]) == &keys[1]);
  CHECK(map_count(inner) == 0);
}

static void tells_null_from_absent(void) {
  const int *keys = numbers(1);
  Map *map = map_new(NULL);
  CHECK(!map_has(map, keys));
  map_put(map, keys, NULL);
  CHECK(map_has(map, keys) && map_get(map, keys) == NULL);
}

typedef Vec(const void *) Keys;

static void collect(void *state, const void *key, void *value) {
  (void)value;
  vec_push((Keys *)state, key);
}

static void visits_in_order_of_putting(void) {
  const int *keys = numbers(MANY);
  Map *map = map_new(NULL);
  for (int i = MANY - 1; i >= 0; i--)
    map_put(map, &keys[i], keys);
  for (int i = 0; i < MANY; i += 2)
    map_remove(map, &keys[i]);
  map_put(map, &keys[0], keys);
  Keys seen = { 0 };
  map_each(map, collect, &seen);
  CHECK(seen.count == MANY / 2 + 1);
  for (int i = 0; i < MANY / 2; i++)
    CHECK(seen.at[i] == &keys[MANY - 1 - 2 * i]);
  CHECK(seen.at[MANY / 2] == &keys[0]);
}

// A map in which keys come and go stays small.
static void forgets_removed_keys(void) {
  const int *keys = numbers(MANY);
  Map *map = map_new(NULL);
  for (int i = 0; i < MANY; i++) {
    map_put(map, &keys[i], keys);
    if (i >= 20) map_remove(map, &keys[i - 20]);
  }
  CHECK(map_count(map) == 20);
  CHECK(map_has(map, &keys[MANY - 20]) && !map_has(map, &keys[MANY - 21]));
}

// What a map is emptied of serves the next one, of which it knows nothing.
static void is_empty_when_cleared(void) {
  const int *keys = numbers(MANY);
  Map *outer = map_new(NULL), *map = map_new(outer);
  map_put(outer, &keys[1], &keys[2]);
  for (int round = 0; round < 3; round++) {
    Map *other = map_new(NULL);
    for (int i = 0; i < MANY; i++) {
      map_put(map, &keys[i], &keys[0]);
      if (i % 3 == round) map_put(other, &keys[i], &keys[round]);
    }
    map_clear(map);
    CHECK(map_count(map) == 0 && !map_has(map, &keys[0]));
    CHECK(map_get(map, &keys[1]) == &keys[2]);
    for (int i = 0; i < MANY; i++)
      CHECK(map_get(other, &keys[i]) == (i % 3 == round ? &keys[round] : NULL));
  }
}

static void interns_names(void) {
  NameTable *table = name_table_new();
  Name first = name_of(table, "xs");
  for (int i = 0; i < MANY; i++)
    name_of(table, text_format("x%d", i));
  CHECK(name_of(table, "xs") == first);
  CHECK(name_intern(table, "xs_12", 2) == first);
  CHECK(name_of(table, "x77") == name_intern(table, "x777", 3));
  CHECK(name_of(table, "") != first && *name_of(table, "") == '\0');
}

int main(void) {
  mem_init();
  finds_what_was_put();
  looks_in_parents();
  tells_null_from_absent();
  visits_in_order_of_putting();
  forgets_removed_keys();
  is_empty_when_cleared();
  interns_names();
  return 0;
}

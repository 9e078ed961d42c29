#include "base/mem.h"
#include <gmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifndef HEAP_CALLOC
#  include <gc.h>
#endif

static _Noreturn void out_of_memory(size_t bytes) {
  fprintf(stderr, "flc: out of memory (%zu bytes wanted)\n", bytes);
  exit(70);
}

#ifdef HEAP_CALLOC

static void heap_init(void) {}

static void *heap_alloc(size_t bytes) { return calloc(1, bytes); }
static void *heap_alloc_plain(size_t bytes) { return calloc(1, bytes); }
static void *heap_alloc_text(size_t bytes) { return malloc(bytes); }
static void *heap_realloc(void *old, size_t bytes) { return realloc(old, bytes); }

#else

// A small program compiles within the first heap, so that it never waits for a collection.
// The pages are only reserved here; the system supplies them when they are first written.
static const size_t first_heap_bytes = (size_t)64 << 20;

// NOLINTNEXTLINE(readability-non-const-parameter): the collector gives the type
static void ignore_warning(char *message, GC_word argument) {
  (void)message;
  (void)argument;
}

// Large pages for the first heap: a page is 4 KB else, and to be given 16,000 of them takes longer
// than to write them.
static void ask_for_large_pages(void) {
  const size_t page = (size_t)2 << 20, bytes = first_heap_bytes - 2 * page;
  char *heap = GC_malloc_atomic(bytes);
  if (!heap) return;
  char *first = heap + (page - (uintptr_t)heap % page) % page;
  madvise(first, (size_t)(heap + bytes - first) / page * page, MADV_HUGEPAGE);
  GC_free(heap);
}

static void heap_init(void) {
  GC_INIT();
  GC_set_warn_proc(ignore_warning);  // it warns about large blocks, which are fine here
  GC_set_free_space_divisor(1);      // rather grow the heap than collect often
  GC_expand_hp(first_heap_bytes);
  ask_for_large_pages();
}

#  ifdef HEAP_STRESS

// Collects often, so that a block that is still used but only reachable in ways that the collector
// does not see (from malloc'ed memory, say) is lost at once and not once in a blue moon.
static void stress(void) {
  static int allocations;
  if (++allocations % 100 == 0) GC_gcollect();
}

#  else

static void stress(void) {}

#  endif

static void *heap_alloc(size_t bytes) {
  stress();
  return GC_malloc(bytes);
}

static void *heap_alloc_plain(size_t bytes) {
  stress();
  void *block = GC_malloc_atomic(bytes);
  return block ? memset(block, 0, bytes) : NULL;
}

static void *heap_alloc_text(size_t bytes) {
  stress();
  return GC_malloc_atomic(bytes);
}

static void *heap_realloc(void *old, size_t bytes) {
  stress();
  return GC_realloc(old, bytes);
}

#endif

// An empty block has an address of its own too.
static size_t at_least_one(size_t bytes) { return bytes ? bytes : 1; }

void *mem_alloc(size_t bytes) {
  void *block = heap_alloc(at_least_one(bytes));
  if (!block) out_of_memory(bytes);
  return block;
}

void *mem_alloc_plain(size_t bytes) {
  void *block = heap_alloc_plain(at_least_one(bytes));
  if (!block) out_of_memory(bytes);
  return block;
}

char *mem_alloc_text(size_t bytes) {
  void *block = heap_alloc_text(at_least_one(bytes));
  if (!block) out_of_memory(bytes);
  return block;
}

void *mem_realloc(void *old, size_t bytes) {
  if (!old) return mem_alloc(bytes);
  void *block = heap_realloc(old, at_least_one(bytes));
  if (!block) out_of_memory(bytes);
  return block;
}

void *mem_alloc_array(size_t count, size_t size) {
  if (size && count > SIZE_MAX / size) out_of_memory(SIZE_MAX);
  return mem_alloc(count * size);
}

void *mem_copy(const void *from, size_t bytes) {
  void *copy = mem_alloc(bytes);
  if (bytes) memcpy(copy, from, bytes);  // an empty array may be NULL
  return copy;
}

static void *gmp_realloc(void *old, size_t old_bytes, size_t bytes) {
  (void)old_bytes;
  return mem_realloc(old, bytes);
}

static void gmp_free(void *block, size_t bytes) {
  (void)block;
  (void)bytes;
}

void mem_init(void) {
  heap_init();
  mp_set_memory_functions(mem_alloc_plain, gmp_realloc, gmp_free);
}

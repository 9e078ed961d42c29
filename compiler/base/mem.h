// The heap: everything the compiler allocates is collected (Boehm GC) or, with the build
// option -Dheap=calloc, never freed, so that sanitizers see each block.
#pragma once
#include <stddef.h>

// Starts the heap and makes GMP allocate from it.  Call once, before anything else.
void mem_init(void);

// Zeroed memory that may hold pointers to other blocks.  Never returns NULL.
void *mem_alloc(size_t bytes);

// Zeroed memory without pointers in it (text, numbers): the collector does not scan it.
void *mem_alloc_plain(size_t bytes);
// The same for text, which is written before it is read: not zeroed.
char *mem_alloc_text(size_t bytes);

// `old` grown (or shrunk) to `bytes`; the new part of a grown block is not zeroed.
void *mem_realloc(void *old, size_t bytes);

// A zeroed array of `count` elements of `size` bytes; stops the compiler on overflow.
void *mem_alloc_array(size_t count, size_t size);

#define new(T) ((T *)mem_alloc(sizeof(T)))
#define new_array(T, count) ((T *)mem_alloc_array((size_t)(count), sizeof(T)))
// new_node(Exp, .kind = EXP_IF, .loc = loc): a block that holds the given value.
#define new_node(T, ...) ((T *)mem_copy(&(const T){ __VA_ARGS__ }, sizeof(T)))

// A fresh block with the same bytes as `from`.
void *mem_copy(const void *from, size_t bytes);

// Interned names: two names with the same text are the same pointer.
#pragma once
#include <stddef.h>

typedef const char *Name;  // NUL-terminated, never freed, compared with ==

typedef struct NameTable NameTable;
NameTable *name_table_new(void);
Name name_intern(NameTable *table, const char *text, size_t length);
Name name_of(NameTable *table, const char *text);

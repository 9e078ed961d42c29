#include "base/embed.h"
#include "unit.h"

static void prelude_begins_with_the_primitives(void) {
  CHECK(prelude_file_count > 1);
  CHECK_TEXT(prelude_files[0].path, "prelude/intrinsics.fl");
}

static void texts_are_whole(void) {
  for (int i = 0; i < prelude_file_count; i++) {
    const EmbeddedFile *file = &prelude_files[i];
    CHECK(strncmp(file->path, "prelude/", 8) == 0);
    CHECK(strlen(file->text) == file->length);
    CHECK(file->length > 0 && file->text[file->length - 1] == '\n');
  }
}

int main(void) {
  prelude_begins_with_the_primitives();
  texts_are_whole();
  return 0;
}

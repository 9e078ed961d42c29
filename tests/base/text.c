#include "base/text.h"
#include "base/file.h"
#include "base/mem.h"
#include "unit.h"
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

static void indents_lines_that_are_not_empty(void) {
  Text *t = text_new();
  text_add(t, "for {");
  text_indent(t, 2);
  text_newline(t);
  text_printf(t, "x%d = %s;", 1, "y");
  text_newline(t);
  text_newline(t);
  text_add(t, "");
  text_indent(t, -2);
  text_add(t, "}");
  CHECK_TEXT(text_str(t), "for {\n  x1 = y;\n\n}");
  CHECK(text_length(t) == strlen(text_str(t)));
}

static void holds_long_texts(void) {
  Text *t = text_new();
  for (int i = 0; i < 100000; i++)
    text_printf(t, "%05d", i);
  CHECK(text_length(t) == 500000);
  CHECK(strncmp(text_str(t) + 499995, "99999", 5) == 0);
  CHECK(strlen(text_format("%s", text_str(t))) == 500000);
}

static void writes_and_reads_files(const char *folder) {
  Text *t = text_new();
  text_add_bytes(t, "a\0b\n", 4);
  const char *path = text_format("%s/out.txt", folder);
  CHECK(file_write(path, t));
  CHECK(file_write(path, t));
  size_t length = 0;
  const char *back = text_read_file(path, &length);
  CHECK(back && length == 4 && memcmp(back, "a\0b\n", 5) == 0);
  unlink(path);
}

static void writes_through_links_and_into_devices(const char *folder) {
  const char *link = text_format("%s/link", folder),
             *path = text_format("%s/file", folder);
  Text *t = text_new();
  CHECK(file_write(path, t) && symlink(path, link) == 0);
  text_add(t, "linked");
  CHECK(file_write(link, t));
  size_t length = 0;
  CHECK_TEXT(text_read_file(path, &length), "linked");
  struct stat status;
  CHECK(lstat(link, &status) == 0 && S_ISLNK(status.st_mode));
  CHECK(file_write("/dev/null", t));
  CHECK(stat("/dev/null", &status) == 0 && S_ISCHR(status.st_mode));
  unlink(link);
  unlink(path);
}

static void says_why_files_fail(const char *folder) {
  size_t length = 0;
  CHECK(!text_read_file(text_format("%s/none", folder), &length) && errno == ENOENT);
  CHECK(!text_read_file(folder, &length) && errno == EISDIR);
  CHECK(!file_write(folder, text_new()) && errno == EISDIR);
  CHECK(!file_write(text_format("%s/none/x", folder), text_new()) && errno == ENOENT);
}

static void lines_end_in_returns_too(const char *folder) {
  Text *t = text_new();
  text_add(t, "\xef\xbb\xbf-- a\rb\r\nc\r\rd\r");
  const char *path = text_format("%s/returns.txt", folder);
  CHECK(file_write(path, t));
  size_t length = 0;
  const char *read = text_read_lines(path, &length);
  CHECK_TEXT(read, "-- a\nb\r\nc\n\nd\n");
  CHECK(length == strlen(read));
  CHECK_TEXT(text_with_newlines("a\rb\r\n", 5), "a\nb\r\n");
  unlink(path);
}

int main(void) {
  mem_init();
  char folder[] = "/tmp/flc-text-XXXXXX";
  CHECK(mkdtemp(folder));
  indents_lines_that_are_not_empty();
  holds_long_texts();
  writes_and_reads_files(folder);
  writes_through_links_and_into_devices(folder);
  says_why_files_fail(folder);
  lines_end_in_returns_too(folder);
  CHECK(rmdir(folder) == 0);  // no temporary file is left
  return 0;
}

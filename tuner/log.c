// Appending runs to the log, and reading them back.
#include "tuner/log.h"
#include "base/quote.h"
#include "base/text.h"
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

// ---- writing

static void give_up_log(TunerLog *log, const char *doing) {
  log->problem = text_format("cannot %s %s: %s", doing, log->path, strerror(errno));
  log_close(log);
}

static json_t *groups_json(const Run *run) {
  json_t *list = json_array();
  for (int i = 0; i < run->group_count; i++) {
    const RunGroup *g = &run->groups[i];
    json_array_append_new(list, json_pack("[i,i,I,b,i,f]", g->guard, g->parent,
                                          (json_int_t)g->par, g->fits, g->branch, g->us));
  }
  return list;
}

static json_t *run_json(const TunerLog *log, const Run *run) {
  json_t *line =
      json_pack("{s:s,s:s,s:s}", "key", log->key, "data", run->data, "path", run->path);
  if (run->failure) {
    json_object_set_new(line, "failure", json_string(quote_utf8(run->failure)));
    json_object_set_new(line, "timeout", json_boolean(run->kind == FAILURE_IN_TIME));
    json_object_set_new(line, "error", json_boolean(run->kind == FAILURE_ON_DATA));
    return line;
  }
  json_object_set_new(line, "us", json_real(run->us));
  json_object_set_new(line, "base_us", json_real(run->base_us));
  json_object_set_new(line, "groups", groups_json(run));
  return line;
}

// A line is written by one call, so that what is torn is torn at the end.
static void write_line(TunerLog *log, json_t *json) {
  char *text = json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(9));
  const char *line = text_format("%s\n", text ? text : "");
  free(text);
  json_decref(json);
  size_t length = strlen(line);
  off_t before = lseek(log->fd, 0, SEEK_END);
  errno = ENOSPC;  // what a short write means
  ssize_t written = write(log->fd, line, length);
  int reason = errno;
  if (written > 0 && written < (ssize_t)length && before >= 0)
    (void)!ftruncate(log->fd, before);
  errno = reason;
  if (written != (ssize_t)length || fsync(log->fd) != 0)
    if (errno != EINVAL) give_up_log(log, "write");
}

void log_append(TunerLog *log, const Run *run) {
  if (log->fd >= 0) write_line(log, run_json(log, run));
}

void log_race(TunerLog *log, const RaceLine *line) {
  if (log->fd < 0) return;
  json_t *json = json_pack(
      "{s:s,s:s,s:s,s:I,s:I,s:s,s:s,s:s,s:s,s:I}", "region", line->region, "version",
      line->version, "data", line->data, "par", (json_int_t)line->par, "local",
      (json_int_t)line->local, "what", line->what, "text", quote_utf8(line->text),
      "device", log->device, "params", log->params, "at", (json_int_t)time(NULL));
  if (json) write_line(log, json);
}

void log_close(TunerLog *log) {
  if (log->fd >= 0) close(log->fd);
  log->fd = -1;
}

// ---- reading

static const char *text_of(const json_t *json, const char *key) {
  const char *s = json_string_value(json_object_get(json, key));
  return s ? text_format("%s", s) : NULL;
}

static bool read_group(json_t *json, int position, RunGroup *g) {
  json_int_t par = 0;
  int fits = 0;
  if (json_unpack(json, "[i,i,I,b,i,F]", &g->guard, &g->parent, &par, &fits, &g->branch,
                  &g->us) != 0)
    return false;
  g->par = par;
  g->fits = fits;
  return g->parent < position && g->parent >= -1 && (g->branch == 0 || g->branch == 1);
}

static bool read_groups(const json_t *list, Run *run) {
  run->group_count = (int)json_array_size(list);
  run->groups = new_array(RunGroup, run->group_count + 1);
  for (int i = 0; i < run->group_count; i++)
    if (!read_group(json_array_get(list, (size_t)i), i, &run->groups[i])) return false;
  return true;
}

// False if the line is damaged or belongs to another program or device.
static bool read_run(const TunerLog *log, const json_t *json, Run *run) {
  const char *key = text_of(json, "key");
  if (!key || !log->key || strcmp(key, log->key) != 0) return false;
  *run = (Run){ .data = text_of(json, "data"), .path = text_of(json, "path") };
  run->failure = text_of(json, "failure");
  run->kind = json_is_true(json_object_get(json, "timeout")) ? FAILURE_IN_TIME
              : json_is_true(json_object_get(json, "error")) ? FAILURE_ON_DATA
                                                             : FAILURE_OF_VERSION;
  run->us = json_number_value(json_object_get(json, "us"));
  run->base_us = json_number_value(json_object_get(json, "base_us"));
  return run->data && run->path && read_groups(json_object_get(json, "groups"), run);
}

// Of this device, and with the same sizes of groups?
static bool read_race(const TunerLog *log, const json_t *json, RaceLine *line) {
  const char *device = text_of(json, "device"), *params = text_of(json, "params");
  *line = (RaceLine){ text_of(json, "region"),
                      text_of(json, "version"),
                      text_of(json, "data"),
                      text_of(json, "what"),
                      text_of(json, "text"),
                      json_integer_value(json_object_get(json, "par")),
                      json_integer_value(json_object_get(json, "local")) };
  return device && params && strcmp(device, log->device) == 0 &&
         (!log->params || strcmp(params, log->params) == 0) && line->region &&
         line->version && line->data && line->what && line->text;
}

static void replay_line(const TunerLog *log, const char *text, size_t length,
                        LogReader reader) {
  json_t *json = json_loadb(text, length, 0, NULL);
  Run run;
  RaceLine line;
  if (json && read_run(log, json, &run)) reader.replay(reader.state, &run);
  if (json && read_race(log, json, &line)) reader.remember(reader.state, &line);
  json_decref(json);
}

// True if its last line is torn.
static bool read_lines(const TunerLog *log, LogReader reader) {
  size_t length = 0;
  struct stat about;
  bool is_file = stat(log->path, &about) == 0 && S_ISREG(about.st_mode);
  const char *text = is_file ? text_read_file(log->path, &length) : NULL;
  for (const char *line = text; line && *line;) {
    const char *end = strchr(line, '\n');
    if (!end) break;
    replay_line(log, line, (size_t)(end - line), reader);
    line = end + 1;
  }
  return text && length && text[length - 1] != '\n';
}

void log_read(const TunerLog *log, LogReader reader) { read_lines(log, reader); }

void log_open(TunerLog *log, LogReader reader) {
  log->fd = -1;
  if (!log->path) return;
  bool torn = read_lines(log, reader);
  log->fd = open(log->path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (log->fd < 0)
    give_up_log(log, "open");
  else if (torn && write(log->fd, "\n", 1) != 1)
    give_up_log(log, "write");
}

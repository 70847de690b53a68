/* answer.c: a line of a client, taken apart; and the first and the last line of every answer. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* program_invocation_short_name */
#endif
#include "answer.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#ifndef VOLT_SIGHT
#define VOLT_SIGHT 0
#endif

static void answer_hello(const volt_ask_ *ask, volt_json_ *to, volt_answer_end_ *end) {
  (void)ask;
  volt_json_begin_(to, "hello");
  volt_json_put_text_(to, "library", volt_version());
  volt_json_put_text_(to, "program", program_invocation_short_name);
  volt_json_put_number_(to, "pid", (uint64_t)getpid());
  volt_json_put_condition_(to, "owners", VOLT_SIGHT);
  (void)volt_answer_line_(to, end);
}

static const struct {
  const char *q;
  volt_answer_fn_ *answer;
} answer_table[] = {
    {"hello", answer_hello},           {"stats", volt_answer_stats_},
    {"workers", volt_answer_workers_}, {"threads", volt_answer_threads_},
    {"tasks", volt_answer_tasks_},     {"task", volt_answer_task_},
    {"objects", volt_answer_objects_}, {"object", volt_answer_object_},
    {"dump", volt_answer_dump_},       {"deadlocks", volt_answer_deadlocks_},
};

static volt_answer_fn_ *answer_find(const char *q) {
  for (size_t i = 0; i < sizeof answer_table / sizeof answer_table[0]; i++) {
    if (strcmp(answer_table[i].q, q) == 0) return answer_table[i].answer;
  }
  return NULL;
}

/* A member of the request. Returns false: it is known, and its value is none that it can have. */
static bool answer_take(volt_ask_ *ask, const volt_json_member_ *m) {
  if (volt_json_is_(m, "volt")) return volt_json_number_of_(m, &ask->version);
  if (volt_json_is_(m, "q")) return volt_json_text_of_(m, ask->q, sizeof ask->q);
  if (volt_json_is_(m, "older_ms")) return volt_json_number_of_(m, &ask->older_ms);
  if (volt_json_is_(m, "limit")) return volt_json_number_of_(m, &ask->limit);
  if (volt_json_is_(m, "task")) return volt_json_address_of_(m, &ask->task);
  if (volt_json_is_(m, "object")) return volt_json_address_of_(m, &ask->object);
  if (volt_json_is_(m, "each")) return volt_json_condition_of_(m, &ask->each);
  if (volt_json_is_(m, "stacks")) return volt_json_condition_of_(m, &ask->stacks);
  if (volt_json_is_(m, "cursor")) return volt_json_text_of_(m, ask->cursor, sizeof ask->cursor);
  return true;
}

/* Returns NULL, or the word of the error. */
static const char *answer_read(volt_ask_ *ask, const char *line, size_t size) {
  volt_json_reader_ r = {.at = line, .end = line + size};
  volt_json_member_ m;
  bool is_valid = true;
  while (volt_json_next_(&r, &m)) is_valid = answer_take(ask, &m) && is_valid;
  if (r.is_malformed) return "malformed";
  if (ask->version != VOLT_JSON_VERSION_) return "version";
  return is_valid ? NULL : "value";
}

static const char *answer_text(const char *error) {
  if (strcmp(error, "malformed") == 0) return "a request is an object of JSON in one line";
  if (strcmp(error, "version") == 0) return "this process speaks version 1: \"volt\":1";
  return "a member has a value of another kind, or out of its range";
}

void volt_answer_error_(volt_json_ *to, const char *why, const char *text) {
  volt_json_begin_(to, "error");
  volt_json_put_text_(to, "error", why);
  volt_json_put_text_(to, "text", text);
  (void)volt_json_end_(to);
}

static void answer_end(const volt_ask_ *ask, const volt_answer_end_ *end, volt_json_ *to) {
  if (end->error) {
    volt_answer_error_(to, end->error, end->text);
    return;
  }
  volt_json_begin_(to, "end");
  volt_json_put_text_(to, "q", ask->q);
  volt_json_put_number_(to, "count", end->count);
  volt_json_put_condition_(to, "partial", end->is_partial);
  volt_json_put_text_(to, "cursor", end->cursor[0] ? end->cursor : NULL);
  (void)volt_json_end_(to);
}

void volt_answer_(const char *line, size_t size, volt_json_ *to) {
  volt_ask_ ask = {.version = 0};
  volt_answer_end_ end = {.count = 0};
  const char *error = answer_read(&ask, line, size);
  volt_answer_fn_ *answer = error ? NULL : answer_find(ask.q);
  if (error) {
    volt_answer_fail_(&end, error, answer_text(error));
  } else if (!answer) {
    volt_answer_fail_(&end, "unknown", "this process does not know what q asks for");
  } else {
    to->max -= ANSWER_LEAST_;
    answer(&ask, to, &end);
    to->max += ANSWER_LEAST_;
  }
  answer_end(&ask, &end, to);
}

/* sight_fuzz.c: any bytes as what comes over the socket of volt_sight_serve(): as lines of requests,
 * which are answered by whole lines of JSON, the last an "end" or an "error", within the room that there
 * is; and as a line that volt-top reads, whose texts can be written and read again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <volt/name.h>
#include <volt/runtime.h>
#include <volt/semaphore.h>

#include "sight/answer/answer.h"

static void check(bool is_true) {
  if (!is_true) abort();
}

/* ---- a process to be asked ---- */

static volt_sem pool;

typedef struct getter {
  volt_task task;
  volt_future permit;
} getter;

static int get(volt_task *t, volt_ctx *ctx) {
  getter *self = volt_container_of(t, getter, task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->permit, &pool, 1));
  VOLT_TASK_END(self);
}

static void begin_once(void) {
  static volt_rt *rt;
  static getter tasks[5];
  volt_rt_config config = {.flags = VOLT_RT_BY_HAND | VOLT_RT_VIRTUAL_CLOCK, .seed = 1};
  if (rt) return;
  volt_sem_init(&pool, 0);
  check(volt_name(&pool, "pool \xff\"") == VOLT_OK);
  check(volt_rt_create(&rt, &config) == VOLT_OK);
  for (size_t i = 0; i < sizeof tasks / sizeof tasks[0]; i++) {
    volt_task_init(&tasks[i].task, get);
    check(volt_spawn(rt, &tasks[i].task) == VOLT_OK);
  }
  while (volt_rt_run(rt) == 0) continue;
}

/* ---- answers ---- */

/* Returns what the line is. */
static const char *check_line(const char *line, size_t size, char what[16]) {
  volt_json_reader_ r = {.at = line, .end = line + size};
  volt_json_member_ m;
  check(volt_json_next_(&r, &m) && volt_json_is_(&m, "volt") && m.kind == VOLT_JSON_NUMBER_);
  check(volt_json_next_(&r, &m) && volt_json_is_(&m, "a") && volt_json_text_of_(&m, what, 16));
  while (volt_json_next_(&r, &m)) check(m.key_size > 0 && m.kind != VOLT_JSON_OTHER_);
  check(!r.is_malformed);
  return what;
}

static void check_answer(const char *line, size_t size, size_t room) {
  static char memory[32768];
  volt_json_ to = {.at = memory, .max = room};
  char what[16] = "";
  memset(memory + room, '#', sizeof memory - room);
  volt_answer_(line, size, &to);
  check(to.size > 0 && to.size <= room && to.max == room && memory[to.size - 1] == '\n');
  for (size_t at = 0; at < to.size;) {
    char *end = memchr(memory + at, '\n', to.size - at);
    check(end && strcmp(what, "end") != 0 && strcmp(what, "error") != 0);
    (void)check_line(memory + at, (size_t)(end - memory) - at, what);
    at = (size_t)(end - memory) + 1;
  }
  check(strcmp(what, "end") == 0 || strcmp(what, "error") == 0);
  for (size_t i = room; i < sizeof memory; i++) check(memory[i] == '#');
}

/* ---- what volt-top reads ---- */

static void check_text(const volt_json_member_ *m) {
  char text[600], again[600], line[2048];
  check(volt_json_text_of_(m, text, 200) && strlen(text) < 200);
  volt_json_ j = {.at = line, .max = sizeof line};
  volt_json_begin_(&j, "x");
  volt_json_put_text_(&j, "t", text);
  check(volt_json_end_(&j));
  volt_json_reader_ r = {.at = line, .end = line + j.size};
  volt_json_member_ found = {.key = NULL};
  while (volt_json_next_(&r, &found)) continue; /* the last is the text */
  check(!r.is_malformed && volt_json_text_of_(&found, again, sizeof again));
  check(strcmp(text, again) == 0);
}

static void read_members(const char *at, size_t size) {
  volt_json_reader_ r = {.at = at, .end = at + size};
  volt_json_member_ m;
  while (volt_json_next_(&r, &m)) {
    uint64_t number;
    bool condition;
    check(m.at >= at && m.at + m.size <= at + size);
    (void)volt_json_number_of_(&m, &number);
    (void)volt_json_address_of_(&m, &number);
    (void)volt_json_condition_of_(&m, &condition);
    if (m.kind == VOLT_JSON_STRING_) check_text(&m);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  begin_once();
  if (size < 1) return 0;
  size_t room = ANSWER_LEAST_ + (size_t)data[0] * 64;
  const char *at = (const char *)data + 1, *end = (const char *)data + size;
  while (at < end) {
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    size_t line = (size_t)((newline ? newline : end) - at);
    read_members(at, line);
    check_answer(at, line, room);
    at += line + 1;
  }
  return 0;
}

/* answer_threads.c: threads that block in a call of volt. What they wait for is a number only: it may be
 * gone. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* O_CLOEXEC */
#endif
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "../core/blocked.h"
#include "answer_parts.h"

enum { ANSWER_THREADS_AT_A_TIME = 16 };

/* The name of a thread; "" if it has ended. */
static void answer_read_name(int tid, char name[32]) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%d/comm", tid);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t length = fd < 0 ? 0 : read(fd, name, 31);
  if (fd >= 0) close(fd);
  name[length > 0 ? length - 1 : 0] = '\0'; /* a newline */
}

static bool answer_thread(const volt_blocked_ *b, uint64_t now_ns, volt_json_ *to,
                          volt_answer_end_ *end) {
  char name[32];
  answer_read_name(b->tid, name);
  volt_json_begin_(to, "thread");
  volt_json_put_number_(to, "tid", (uint64_t)b->tid);
  volt_json_put_text_(to, "thread", name[0] ? name : NULL);
  volt_json_put_number_(to, "age_ns", volt_answer_age_ns_(now_ns, b->since_ns));
  volt_json_put_text_(to, "call", b->call);
  volt_answer_put_object_(to, b->look.operation, b->look.kind, b->look.object);
  return volt_answer_line_(to, end);
}

void volt_answer_threads_(const volt_ask_ *ask, volt_json_ *to, volt_answer_end_ *end) {
  volt_blocked_ seen[ANSWER_THREADS_AT_A_TIME];
  uint64_t cursor = 0, now_ns = volt_now_ns();
  unsigned count;
  (void)ask;
  while ((count = volt_blocked_see_(seen, ANSWER_THREADS_AT_A_TIME, &cursor)) > 0) {
    for (unsigned i = 0; i < count; i++) {
      if (!answer_thread(&seen[i], now_ns, to, end)) return;
    }
  }
  if (cursor == VOLT_BLOCKED_BUSY_) end->is_partial = true;
}

/* answer_threads.c: threads that block in a call of volt. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* O_CLOEXEC */
#endif
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "../dump/thread_seen.h"
#include "../graph/deadlocks.h"
#include "answer.h"
#include "answer_tasks.h"

/* The name of a thread; "" if it has ended. */
static void answer_read_name(int tid, char name[32]) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%d/comm", tid);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t length = fd < 0 ? 0 : read(fd, name, 31);
  if (fd >= 0) close(fd);
  name[length > 0 ? length - 1 : 0] = '\0'; /* a newline */
}

static bool answer_thread(const volt_thread_seen_ *s, uint64_t now_ns, volt_json_ *to,
                          volt_answer_end_ *end) {
  const volt_sleeper_seen_ *b = &s->thread;
  char name[32], holder[128];
  answer_read_name(b->tid, name);
  volt_json_begin_(to, "thread");
  volt_json_put_number_(to, "tid", (uint64_t)b->tid);
  volt_json_put_text_(to, "thread", name[0] ? name : NULL);
  volt_json_put_number_(to, "age_ns", volt_answer_age_ns_(now_ns, b->since_ns));
  volt_json_put_text_(to, "call", b->call);
  volt_answer_put_object_(to, b->description.operation, b->description.kind, b->description.object);
  volt_json_put_text_(to, "state", b->description.state[0] ? b->description.state : NULL);
  size_t length = volt_holder_text_(&s->holder, holder, sizeof holder);
  if (length > 0) volt_json_put_bytes_(to, "owner", holder, length);
  return volt_answer_line_(to, end);
}

void volt_answer_threads_(const volt_ask_ *ask, volt_json_ *to, volt_answer_end_ *end) {
  volt_thread_seen_ seen[VOLT_THREADS_SEEN_];
  uint64_t cursor = 0, now_ns = volt_now_ns();
  unsigned count;
  (void)ask;
  while ((count = volt_threads_see_(seen, &cursor)) > 0) {
    for (unsigned i = 0; i < count; i++) {
      if (!answer_thread(&seen[i], now_ns, to, end)) return;
    }
  }
  if (cursor == VOLT_SLEEPERS_BUSY_) end->is_partial = true;
}

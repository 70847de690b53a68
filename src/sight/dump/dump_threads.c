/* dump_threads.c: the threads that sleep in a blocking call. Those that wait for the same object
 * are shown together, as tasks are. What they wait for may be gone by now, so of it a copy is read
 * (thread_seen.c). */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* O_CLOEXEC */
#endif
#include "dump.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "thread_seen.h"

enum { THREADS_RT = VOLT_DUMP_RTS_ /* the number of no runtime */ };

static void dump_thread_copy_tree(const volt_thread_seen_ *seen, uint64_t now_ns,
                                  volt_tree_ *tree) {
  tree->steps = 1;
  tree->is_cut = false;
  tree->step[0] = (volt_tree_step_){
      .awaits = true, .description = seen->thread.description, .holder = seen->holder};
  volt_description_ *description = &tree->step[0].description;
  description->left_ns = description->deadline_ns > now_ns ? description->deadline_ns - now_ns : 0;
}

static void dump_thread_count(volt_dump_ *d, const volt_thread_seen_ *sleeper, uint64_t now_ns) {
  const volt_sleeper_seen_ *seen = &sleeper->thread;
  volt_tree_sum_ sum = {.place = volt_tree_mix_(THREADS_RT, (uintptr_t)seen->description.operation),
                        .object = (uintptr_t)seen->description.object,
                        .first = seen->description.object,
                        .wanted = seen->description.wanted};
  volt_aged_ aged = {.task = (const void *)(intptr_t)seen->tid,
                     .object = seen->description.object,
                     .since_ns = seen->since_ns};
  volt_dump_group_ *g = volt_groups_count_(&d->groups, &sum, &aged);
  if (!g) d->threads_elsewhere += 1;
  if (!g || g->count > 1) return;
  g->rt = THREADS_RT;
  g->how = VOLT_SEEN_WAITS_;
  g->name = (volt_called_){.length = 0};
  dump_thread_copy_tree(sleeper, now_ns, &g->tree);
}

void volt_dump_read_threads_(volt_dump_ *d) {
  volt_thread_seen_ seen[VOLT_THREADS_SEEN_];
  uint64_t cursor = 0, now_ns = volt_now_ns();
  unsigned count;
  while ((count = volt_threads_see_(seen, &cursor)) > 0) {
    for (unsigned i = 0; i < count; i++) dump_thread_count(d, &seen[i], now_ns);
  }
  d->is_threads_lock_busy = cursor == VOLT_SLEEPERS_BUSY_;
  if (d->is_threads_lock_busy) d->result = VOLT_ETIMEDOUT;
}

/* ---- said ---- */

/* " 'name'", as the system has it; nothing if the thread has ended. */
static void dump_thread_put_name(volt_text_ *t, int tid) {
  char path[64], name[64];
  snprintf(path, sizeof path, "/proc/self/task/%d/comm", tid);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  ssize_t length = read(fd, name, sizeof name);
  close(fd);
  if (length <= 1) return;
  name[length - 1] = 0; /* a newline */
  volt_text_put_(t, " ");
  volt_text_quote_(t, name);
}

static void dump_thread_put(volt_text_ *t, const volt_aged_ *aged, uint64_t now_ns) {
  int tid = (int)(intptr_t)aged->task;
  volt_text_put_(t, "thread ");
  volt_text_put_plain_(t, (uint64_t)tid);
  dump_thread_put_name(t, tid);
  volt_text_put_(t, ", waits for ");
  volt_text_put_duration_(t, now_ns > aged->since_ns ? now_ns - aged->since_ns : 0);
}

static void dump_thread_put_group(volt_dump_ *d, volt_dump_group_ *g, uint64_t now_ns) {
  volt_text_ *t = &d->text;
  volt_group_sort_oldest_(g);
  if (g->count == 1) {
    dump_thread_put(t, &g->old[0], now_ns);
  } else {
    volt_text_count_(t, g->count, "thread");
    volt_text_put_(t, " wait");
  }
  volt_text_put_(t, "\n");
  volt_tree_put_(t, &g->tree, g->of);
  for (unsigned i = 0; i < g->oldest && g->count > 1; i++) {
    volt_text_put_(t, "  ");
    dump_thread_put(t, &g->old[i], now_ns);
    volt_dump_put_object_of_(t, g, &g->old[i]);
    volt_text_put_(t, "\n");
  }
  volt_dump_put_more_(t, g);
}

void volt_dump_print_threads_(volt_dump_ *d) {
  uint64_t now_ns = volt_now_ns();
  unsigned count = volt_groups_sort_(&d->groups, THREADS_RT, d->order);
  for (unsigned i = 0; i < count && !d->has_ended; i++) {
    volt_dump_make_room_(d);
    dump_thread_put_group(d, d->order[i], now_ns);
  }
  if (d->is_threads_lock_busy) {
    volt_text_put_(&d->text,
                   "SOME THREADS ARE NOT SHOWN: their lock was not to be had within 50 ms\n");
  }
  if (d->threads_elsewhere == 0) return;
  volt_text_put_(&d->text, "and ");
  volt_text_count_(&d->text, d->threads_elsewhere, "thread");
  volt_text_put_(&d->text, " elsewhere\n");
}

/* watchdog.c: workers that have been in the same poll for too long. A task that computes, or blocks
 * its thread, keeps the tasks behind it waiting.
 *
 * Algorithm
 *   Every 50 ms, or half of stall_ns if that is less, the thread "volt-sight" looks at each worker:
 *   is it in a poll, and in which? A worker stores both anyway as it polls. If it is in the same poll
 *   as when it first looked, it has been there all the time in between. So a stall is never
 *   reported too early; and it is reported at most two looks late.
 *   One line says which worker, which task, where, and what its thread does: the kernel knows whether
 *   it computes or sleeps. It is said again when the stall has become twice as long, and so on.
 *
 * Invariant
 *   I1  what is known of a worker is the thread's own, in a table that does not grow: nothing is
 *       allocated, so a worker that hangs in malloc() is reported, too */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dladdr */
#endif
#include "watchdog.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../../core/os/probe.h"
#include "../../rt/host/runtime.h"
#include "../../rt/sched/worker.h"
#include "../dump/dump.h"
#include "sight_enable.h"

enum { DOG_WORKERS = 512, DOG_BATCH = 64, DOG_TEXT = 4096 };
static const uint64_t dog_period_ns = 50000000;

typedef struct dog_worker {
  const volt_rt *rt; /* NULL: the place is free */
  unsigned index;
  bool is_there; /* it was in this look */
  const volt_task *task;
  uint64_t instance;
  uint64_t first_ns; /* when it was first seen in this poll */
  uint64_t next_ns;  /* after how long to report it */
} dog_worker;

/* What a look needs. */
typedef struct dog_check {
  const volt_watchdog_ *dog;
  uint64_t now_ns;
} dog_check;

/* Where the task stands that a worker runs. */
typedef struct dog_place {
  const volt_task *task;
  volt_called_ name;
  volt_where_ where;
} dog_place;

static dog_worker dog_workers[DOG_WORKERS];
static char dog_text[DOG_TEXT];

void volt_watchdog_begin_(void) {
  memset(dog_workers, 0, sizeof dog_workers);
}

/* Returns NULL: there are more workers than places. */
static dog_worker *dog_find(const volt_rt *rt, unsigned index) {
  uint64_t first = volt_tree_mix_((uintptr_t)rt, index);
  dog_worker *found = NULL;
  for (unsigned i = 0; i < DOG_WORKERS; i++) {
    dog_worker *w = &dog_workers[(first + i) % DOG_WORKERS];
    if (w->rt == rt && w->index == index) return w;
    if (!w->rt && !found) found = w;
  }
  if (found) *found = (dog_worker){.rt = rt, .index = index};
  return found;
}

/* ---- what is said ---- */

static bool dog_see(void *ctx, const volt_seen_ *seen, unsigned count) {
  dog_place *place = ctx;
  for (unsigned i = 0; i < count; i++) {
    const volt_seen_ *s = &seen[i];
    if (s->how != VOLT_SEEN_RUNS_ || s->task != place->task) continue;
    volt_where_set_(&place->where, s->site, s->line);
    volt_called_set_(&place->name, s);
  }
  return place->name.function == 0;
}

/* One line of a file of /proc, without its newline. Returns whether it was read. */
static bool dog_read(int tid, const char *file, char *text, size_t bytes) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%d/%s", tid, file);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  ssize_t length = read(fd, text, bytes - 1);
  close(fd);
  if (length <= 0) return false;
  text[length] = 0;
  text[strcspn(text, "\n")] = 0;
  return true;
}

/* The letter in /proc/PID/stat, which is behind the name in brackets. */
static char dog_state(int tid) {
  char text[256];
  if (tid == 0 || !dog_read(tid, "stat", text, sizeof text)) return 0;
  const char *behind = strrchr(text, ')');
  return behind && behind[1] == ' ' ? behind[2] : (char)0;
}

void volt_watchdog_put_state_(volt_text_ *t, int tid) {
  char channel[64];
  char state = dog_state(tid);
  if (state == 0) return;
  if (state == 'R') {
    volt_text_put_(t, "; it computes");
  } else if (state == 'T' || state == 't') {
    volt_text_put_(t, "; it is stopped");
  } else {
    bool is_known = dog_read(tid, "wchan", channel, sizeof channel) && channel[0] != '0';
    volt_text_put_(t, "; it blocks in the kernel");
    if (is_known) volt_text_put_(t, " (");
    if (is_known) volt_text_put_name_(t, channel);
    if (is_known) volt_text_put_(t, ")");
    volt_text_put_(t, ": volt_blocking_future() is for that");
  }
}

/* "    parse+0x1c", "    app+0x1234" */
static void dog_put_frame(volt_text_ *t, uintptr_t pc) {
  Dl_info info;
  char offset[32];
  bool is_known = dladdr((void *)pc, &info) != 0; /* NOLINT: a code address */
  const char *name = is_known && info.dli_sname ? info.dli_sname : NULL;
  uintptr_t base = name ? (uintptr_t)info.dli_saddr : is_known ? (uintptr_t)info.dli_fbase : 0;
  volt_text_put_(t, "    ");
  if (name) {
    volt_text_put_name_(t, name);
  } else if (is_known) {
    volt_text_put_file_(t, info.dli_fname);
  } else {
    volt_text_put_address_(t, (const void *)pc);
  }
  if (is_known) {
    snprintf(offset, sizeof offset, "+0x%llx", (unsigned long long)(pc - base));
    volt_text_put_(t, offset);
  }
  volt_text_put_(t, "\n");
}

static void dog_put_stack(volt_text_ *t, int tid) {
  uintptr_t pc[VOLT_STALL_FRAMES_];
  unsigned count = tid != 0 ? volt_stall_stack_(tid, pc) : 0;
  for (unsigned i = 0; i < count; i++) dog_put_frame(t, pc[i]);
}

/* "volt: worker 1 of 'volt' (thread 4711) has run task 0x7f21c40030c0 parse for 104 ms: parse.c:120 or
 * later, 14 tasks behind it; it computes" */
static void dog_report(const dog_check *check, volt_rt *rt, const dog_worker *w,
                       const volt_worker_seen_ *seen, uint64_t stalled_ns) {
  volt_text_ text = volt_text_in_(dog_text, sizeof dog_text - 1);
  volt_text_ *t = &text;
  dog_place place = {.task = seen->task};
  (void)volt_inspect_(rt, DOG_BATCH, dog_see, &place);
  volt_text_put_(t, "volt: worker ");
  volt_text_put_plain_(t, w->index);
  volt_text_put_(t, " of ");
  volt_text_quote_(t, rt->thread_prefix);
  volt_text_put_(t, " (thread ");
  volt_text_put_plain_(t, (uint64_t)seen->tid);
  volt_text_put_(t, ") has run task ");
  volt_text_put_address_(t, seen->task);
  volt_called_put_(t, &place.name);
  volt_text_put_(t, " for ");
  volt_text_put_duration_(t, stalled_ns);
  if (place.where.length > 0) {
    volt_text_put_(t, ": ");
    volt_text_put_bytes_(t, place.where.text, place.where.length);
    volt_text_put_(t, " or later");
  }
  volt_text_put_(t, ", ");
  volt_text_count_(t, seen->queued, "task");
  volt_text_put_(t, " behind it");
  volt_watchdog_put_state_(t, seen->tid);
  volt_text_put_(t, "\n");
  if (check->dog->with_stacks) dog_put_stack(t, seen->tid);
  if (text.is_cut) *text.at++ = '\n';
  check->dog->report(dog_text, volt_text_length_(t));
}

/* ---- a look ---- */

static void dog_check_worker(const dog_check *check, volt_rt *rt, unsigned index) {
  dog_worker *w = dog_find(rt, index);
  if (!w) return;
  volt_worker_seen_ seen;
  volt_worker_see_(rt, index, &seen);
  w->is_there = true;
  bool is_in_it = seen.task && !seen.is_parked;
  if (!is_in_it || seen.task != w->task || seen.instance != w->instance) {
    w->task = is_in_it ? seen.task : NULL;
    w->instance = seen.instance;
    w->first_ns = check->now_ns;
    w->next_ns = check->dog->stall_ns;
    return;
  }
  uint64_t stalled_ns = check->now_ns - w->first_ns;
  if (stalled_ns < w->next_ns) return;
  while (w->next_ns <= stalled_ns) w->next_ns *= 2;
  VOLT_PROBE4(poll__slow, rt, index, seen.task, stalled_ns);
  dog_report(check, rt, w, &seen, stalled_ns);
}

void volt_watchdog_check_(const volt_watchdog_ *dog, uint64_t now_ns) {
  const dog_check check = {dog, now_ns};
  for (unsigned i = 0; i < DOG_WORKERS; i++) dog_workers[i].is_there = false;
  for (volt_rt *rt = volt_rt_pin_next_(NULL); rt; rt = volt_rt_pin_next_(rt)) {
    for (unsigned i = 0; i < rt->workers; i++) dog_check_worker(&check, rt, i);
  }
  for (unsigned i = 0; i < DOG_WORKERS; i++) {
    if (!dog_workers[i].is_there) dog_workers[i].rt = NULL;
  }
}

/* ---- on the thread ---- */

static volt_watchdog_ dog_config;
static uint64_t dog_pause_ns;

static void dog_run(volt_duty_ *self, uint64_t now_ns) {
  self->at_ns = volt_sight_after_(now_ns, dog_pause_ns);
  volt_watchdog_check_(&dog_config, now_ns);
}

static volt_duty_ dog_duty = {.run = dog_run};

static int dog_start(const volt_sight_config *config) {
  dog_config.stall_ns = config->stall_ns;
  dog_config.with_stacks = config->flags & VOLT_SIGHT_STACKS;
  dog_config.report = volt_sight_report_;
  uint64_t half_ns = config->stall_ns / 2 > 0 ? config->stall_ns / 2 : 1;
  dog_pause_ns = half_ns < dog_period_ns ? half_ns : dog_period_ns;
  volt_watchdog_begin_();
  dog_duty.at_ns = 0;
  if (dog_config.with_stacks && volt_stall_signal_take_() != VOLT_OK) return VOLT_EAGAIN;
  int result = volt_sight_add_(&dog_duty);
  if (result != VOLT_OK && dog_config.with_stacks) volt_stall_signal_give_();
  return result;
}

static void dog_stop(void) {
  volt_sight_remove_(&dog_duty);
  if (dog_config.with_stacks) volt_stall_signal_give_();
}

const volt_sight_part_ volt_watchdog_part_ = {VOLT_SIGHT_WATCHDOG, dog_start, dog_stop,
                                              volt_stall_signal_forget_};

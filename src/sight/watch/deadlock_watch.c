/* deadlock_watch.c: the watcher of volt_sight_enable(VOLT_SIGHT_DEADLOCKS): a duty of the thread
 * volt-sight. It looks once in each period, and again after 100 ms if there is a reason. A period is
 * at least ten times as long as the look before took. What has been reported is not reported again
 * while it stays the same. */
#include <string.h>
#include <volt/sight.h>

#include "../../core/inspect/lock_order.h"
#include "../../core/inspect/sleepers.h"
#include "../../rt/sched/short_lock.h"
#include "../graph/deadlocks.h"
#include "sight_enable.h"
#include "sight_thread.h"

enum { MARKS_KEPT = 64 };

static struct {
  volt_deadlocks_ *d; /* while it is enabled */
  uint64_t period_ns;
  bool is_second;
  bool has_begun;
  unsigned reported_count;
  uint64_t reported[MARKS_KEPT]; /* marks, the last ones */
} watch;

/* ---- what is known ---- */

static volt_short_lock known_lock;
static char known_text[VOLT_DEADLOCK_TEXT_];
static size_t known_length;
static VOLT_ATOMIC(uint32_t) known_is_read; /* a caller of volt_deadlocks_known_() copies it */

static void deadlock_watch_known_set(const char *text, size_t length) {
  volt_short_lock_lock_(&known_lock);
  memcpy(known_text, text, length);
  known_length = length;
  volt_short_lock_unlock_(&known_lock);
}

void volt_deadlocks_known_(volt_sink *sink, void *ctx) {
  static char copy[VOLT_DEADLOCK_TEXT_]; /* the sink is called without the lock */
  size_t length = 0;
  /* relaxed, by short_lock:L1: the lock orders what is copied; another caller meanwhile shows nothing */
  if (volt_exchange_relaxed(&known_is_read, 1) != 0) return;
  if (volt_short_lock_lock_until_(&known_lock, 0)) { /* if it is free */
    length = known_length;
    memcpy(copy, known_text, length);
    volt_short_lock_unlock_(&known_lock);
  }
  if (length > 0) (void)sink(ctx, copy, length);
  volt_store_relaxed(&known_is_read, 0); /* as above */
}

size_t volt_holder_text_(const volt_holder_seen_ *seen, char *text, size_t size) {
  volt_text_ t = volt_text_in_(text, size);
  uintptr_t kind = seen->who & 3;
  if (seen->who == 0) return 0;
  if (kind == 2) {
    int32_t tid = volt_sleeper_tid_((uint32_t)(seen->who >> 2));
    volt_text_put_(&t, tid != 0 ? "held by thread " : "held by thread number ");
    volt_text_put_plain_(&t, tid != 0 ? (uint64_t)tid : seen->who >> 2);
  } else {
    volt_text_put_(&t, kind == 3 ? "granted, and not polled since, to " : "held by task ");
    volt_text_put_address_(&t, (const void *)(seen->who & ~(uintptr_t)3));
  }
  if (seen->since != 0) {
    volt_text_put_(&t, " for ");
    uint32_t now = (uint32_t)(volt_now_ns() >> 20);
    volt_text_put_duration_(&t, (uint64_t)(now - seen->since) << 20);
  }
  if (seen->file) {
    volt_text_put_(&t, " (");
    volt_text_put_file_(&t, seen->file);
    volt_text_put_(&t, ":");
    volt_text_put_plain_(&t, seen->line);
    volt_text_put_(&t, ")");
  }
  return volt_text_length_(&t);
}

/* ---- the duty ---- */

static bool deadlock_watch_is_new(uint64_t mark) {
  for (unsigned i = 0; i < MARKS_KEPT; i++) {
    if (watch.reported[i] == mark) return false;
  }
  watch.reported[watch.reported_count++ % MARKS_KEPT] = mark;
  return true;
}

static void deadlock_watch_report_order(void) {
  char text[1024];
  size_t length;
  while ((length = volt_lock_order_take_(text, sizeof text)) > 0) volt_sight_report_(text, length);
}

static void deadlock_watch_report(void) {
  volt_deadlocks_print_(watch.d);
  size_t length = volt_text_length_(&watch.d->text);
  deadlock_watch_known_set(watch.d->memory, length);
  if (deadlock_watch_is_new(watch.d->mark)) volt_sight_report_(watch.d->memory, length);
}

/* What is looked for, if that is not all. */
static void deadlock_watch_begin(void) {
  if (watch.has_begun) return;
  watch.has_begun = true;
  size_t length = strlen(volt_deadlocks_unknown_);
  if (length > 0) volt_sight_notice_(volt_deadlocks_unknown_, length);
}

static void deadlock_watch_run(volt_duty_ *self, uint64_t now_ns) {
  deadlock_watch_begin();
  deadlock_watch_report_order();
  uint64_t next_ns = watch.period_ns;
  if (watch.is_second) {
    watch.is_second = false;
    if (volt_deadlocks_search_again_(watch.d)) {
      deadlock_watch_report();
    } else {
      deadlock_watch_known_set("", 0);
    }
  } else {
    watch.is_second = volt_deadlocks_search_(watch.d);
    if (!watch.is_second) deadlock_watch_known_set("", 0);
    uint64_t took_ns = volt_now_ns() - now_ns;
    if (next_ns < 10 * took_ns) next_ns = 10 * took_ns;
    if (watch.is_second) next_ns = VOLT_DEADLOCK_BETWEEN_MS_ * UINT64_C(1000000);
  }
  self->at_ns = volt_sight_after_(volt_now_ns(), next_ns);
}

static volt_duty_ watch_duty = {.run = deadlock_watch_run};

static void deadlock_watch_wake(void) {
  volt_sight_wake_(&watch_duty);
}

static int deadlock_watch_start(const volt_sight_config *config) {
  watch.d = volt_deadlocks_new_();
  if (!watch.d) return VOLT_ENOMEM;
  watch.period_ns = config->period_ns;
  watch.is_second = false;
  watch.has_begun = false;
  watch.reported_count = 0;
  memset(watch.reported, 0, sizeof watch.reported);
  watch_duty.at_ns = volt_now_ns();
  int result = volt_sight_add_(&watch_duty);
  if (result == VOLT_OK) {
    volt_lock_order_switch_(deadlock_watch_wake);
  } else {
    volt_deadlocks_free_(watch.d);
  }
  return result;
}

static void deadlock_watch_stop(void) {
  volt_lock_order_switch_(NULL);
  volt_sight_remove_(&watch_duty);
  volt_deadlocks_free_(watch.d);
  watch.d = NULL;
  deadlock_watch_known_set("", 0);
}

/* Its memory is the parent's: it stays. */
static void deadlock_watch_forget(void) {
  volt_short_lock_init_(&known_lock);
  known_length = 0;
  volt_store_relaxed(&known_is_read, 0); /* no other thread is here */
}

const volt_sight_part_ volt_deadlocks_part_ = {VOLT_SIGHT_DEADLOCKS, deadlock_watch_start,
                                               deadlock_watch_stop, deadlock_watch_forget};

/* lints_watch.c: what is wrong with a task (lints.c), reported as it happens: VOLT_SIGHT_LINTS.
 *
 * The thread "volt-sight" looks at all tasks once a period, or more rarely, if that would take more
 * than a tenth of its core. A task is reported once: until it is polled again. */
#include <volt/sight.h>

#include "../dump/dump.h"
#include "sight_enable.h"

enum { LINTS_BATCH = 24, LINTS_FOUND = 8, LINTS_KNOWN = 256, LINTS_SHARE = 10 };

typedef struct lints_known {
  const void *task;
  uint32_t polls;
} lints_known;

/* The thread's own while the duty is there. */
static struct {
  volt_duty_ duty;
  uint64_t period_ns;
  uint64_t now_ns; /* by the clock of the runtime that is looked at */
  unsigned found;  /* in the batch that was looked at last */
  volt_dump_lint_ lint[LINTS_FOUND];
  unsigned next; /* the one of known[] to forget */
  lints_known known[LINTS_KNOWN];
  struct volt_functions_ functions;
  char text[VOLT_DUMP_ROOM_];
} lints;

/* Whether it is new. */
static bool lints_note(const volt_seen_ *seen) {
  for (unsigned i = 0; i < LINTS_KNOWN; i++) {
    const lints_known *k = &lints.known[i];
    if (k->task == seen->task && k->polls == seen->polls) return false;
  }
  lints.known[lints.next++ % LINTS_KNOWN] = (lints_known){seen->task, seen->polls};
  return true;
}

static void lints_check_task(const volt_seen_ *seen) {
  volt_tree_sum_ sum;
  if (seen->how != VOLT_SEEN_WAITS_ || lints.found == LINTS_FOUND) return;
  volt_tree_sum_up_(seen, &sum);
  uint64_t waited_ns = lints.now_ns > seen->since_ns ? lints.now_ns - seen->since_ns : 0;
  volt_lint_ lint = volt_lint_of_(seen, &sum, waited_ns);
  if (lint == VOLT_LINT_NONE_ || !lints_note(seen)) return;
  volt_dump_copy_lint_(&lints.lint[lints.found++], lint, seen, lints.now_ns);
}

static void lints_report(void) {
  for (unsigned i = 0; i < lints.found; i++) {
    volt_text_ t = volt_text_in_(lints.text, sizeof lints.text);
    t.functions = &lints.functions;
    volt_text_put_(&t, "volt: ");
    volt_dump_put_lint_(&t, &lints.lint[i]);
    volt_sight_report_(lints.text, volt_text_length_(&t));
  }
  lints.found = 0;
}

static bool lints_see(void *ctx, const volt_seen_ *seen, unsigned count) {
  (void)ctx;
  for (unsigned i = 0; i < count; i++) lints_check_task(&seen[i]);
  if (count == 0) lints_report();
  return true;
}

static void lints_run(volt_duty_ *self, uint64_t now_ns) {
  for (volt_rt *rt = volt_rt_pin_next_(NULL); rt; rt = volt_rt_pin_next_(rt)) {
    lints.now_ns = volt_rt_now_ns(rt);
    (void)volt_inspect_(rt, LINTS_BATCH, lints_see, NULL); /* what it has missed: next time */
  }
  uint64_t ended_ns = volt_now_ns();
  uint64_t pause_ns = (ended_ns - now_ns) * (LINTS_SHARE - 1);
  self->at_ns =
      volt_sight_after_(ended_ns, pause_ns > lints.period_ns ? pause_ns : lints.period_ns);
}

static int lints_start(const volt_sight_config *config) {
  lints.functions.may_ask = true; /* nothing is claimed when it is */
  lints.period_ns = config->period_ns;
  lints.found = lints.next = 0;
  for (unsigned i = 0; i < LINTS_KNOWN; i++) lints.known[i].task = NULL;
  lints.duty = (volt_duty_){.at_ns = 0, .run = lints_run};
  return volt_sight_add_(&lints.duty);
}

static void lints_stop(void) {
  volt_sight_remove_(&lints.duty);
}

const volt_sight_part_ volt_lints_part_ = {VOLT_SIGHT_LINTS, lints_start, lints_stop, NULL};

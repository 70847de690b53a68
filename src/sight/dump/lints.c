/* lints.c: see lints.h.
 *
 * Both are exact: they follow from what is counted, and from nothing that usually holds.
 *
 * LOST. A task that waits is polled again when a waker of it is called, or when it is cancelled.
 *   Each waker that may still be called is a registration, which the task's word counts. If there
 *   is none, nothing but a cancel, or the shutdown of its runtime, lets it run again. Wakers of a
 *   task are always counted: a poll counts each in volt_ctx.registered, and one that is not counted
 *   aborts, or frees the task too early, long before a dump sees it.
 *
 * GRANTED. A future of the task was granted: others may wait for what it holds, and it does not go
 *   on before a poll sees the grant. (A timer that has fired holds nothing, and is no grant.) That is so for a moment after every grant, until the granter
 *   has called the waker. A granter may lose its core there, so time proves nothing. Registrations
 *   do: every future that waits and has not been granted has one, and so has every timeout that
 *   runs. If the task has no more than these, the wake that goes with the grant has come, and a
 *   poll has followed it that did not look. Nothing makes another poll follow. A task that other
 *   threads register at, or whose futures cannot be looked into, has more, and is not reported. The
 *   time since the last poll, which came after the grant, is how long it has been so at least. A
 *   second is not a sign of an error by itself; it keeps short ones from being shown. */
#include "lints.h"

#define LINT_GRANTED_NS UINT64_C(1000000000)

volt_lint_ volt_lint_of_(const volt_seen_ *seen, const volt_tree_sum_ *sum, uint64_t waited_ns) {
  if (seen->registrations == 0) return VOLT_LINT_LOST_;
  bool was_woken = seen->registrations <= sum->waits;
  if (sum->granted > 0 && was_woken && waited_ns > LINT_GRANTED_NS) return VOLT_LINT_GRANTED_;
  return VOLT_LINT_NONE_;
}

void volt_lint_put_(volt_text_ *t, volt_lint_ lint, uint64_t waited_ns) {
  if (lint == VOLT_LINT_LOST_) {
    volt_text_put_(t, "NOTHING CAN WAKE IT: no registration is open");
  } else if (lint == VOLT_LINT_GRANTED_) {
    volt_text_put_(t, "GRANTED MORE THAN ");
    volt_text_put_duration_(t, waited_ns);
    volt_text_put_(t, " AGO, NOT POLLED: others may wait for what it holds");
  }
}

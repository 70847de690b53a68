/* answer_runtimes.c: the runtimes of this process, what they have counted, and their workers. */
#include <stdio.h>

#include "../../rt/host/runtime.h"
#include "../../rt/inspect/inspect.h"
#include "answer.h"

static void answer_runtime(volt_rt *rt, volt_json_ *to) {
  volt_rt_stats_of s;
  volt_rt_stats(rt, &s);
  volt_json_begin_(to, "runtime");
  volt_json_put_address_(to, "rt", rt);
  volt_json_put_text_(to, "name", rt->thread_prefix);
  volt_json_put_condition_(to, "by_hand", (rt->config.flags & VOLT_RT_BY_HAND) != 0);
  volt_json_put_number_(to, "workers", s.workers);
  volt_json_put_number_(to, "parked", s.parked);
  volt_json_put_number_(to, "searching", s.searching);
  volt_json_put_number_(to, "live", s.live);
  volt_json_put_number_(to, "spawned", s.spawned);
  volt_json_put_number_(to, "cancelled", s.cancelled);
  volt_json_put_number_(to, "injected", s.injected);
  volt_json_put_number_(to, "blocking_threads", s.blocking_threads);
  volt_json_put_number_(to, "blocking_idle", s.blocking_idle);
  volt_json_put_number_(to, "blocking_queued", s.blocking_queued);
  volt_json_put_number_(to, "fibers", s.fibers);
}

enum { ANSWER_KINDS = 64 };

static void answer_kinds(volt_json_ *to, volt_answer_end_ *end) {
  volt_counts_of counts[ANSWER_KINDS];
  unsigned count = volt_counts(counts, ANSWER_KINDS);
  for (unsigned i = 0; i < count && i < ANSWER_KINDS; i++) {
    volt_json_begin_(to, "kind");
    volt_json_put_text_(to, "kind", counts[i].kind);
    volt_json_put_number_(to, "waits", counts[i].waits);
    volt_json_put_number_(to, "grants", counts[i].grants);
    volt_json_put_number_(to, "cancels", counts[i].cancels);
    volt_json_put_number_(to, "timeouts", counts[i].timeouts);
    volt_json_put_number_(to, "closes", counts[i].closes);
    volt_json_put_number_(to, "sleeps", counts[i].sleeps);
    volt_json_put_number_(to, "naps", counts[i].naps);
    if (!volt_answer_line_(to, end)) return;
  }
}

void volt_answer_stats_(const volt_ask_ *ask, volt_json_ *to, volt_answer_end_ *end) {
  (void)ask;
  for (volt_rt *rt = volt_rt_pin_next_(NULL); rt; rt = volt_rt_pin_next_(rt)) {
    answer_runtime(rt, to);
    (void)volt_answer_line_(to, end); /* without room for one there is none for the next */
  }
  answer_kinds(to, end);
}

static void answer_worker(volt_rt *rt, unsigned worker, volt_json_ *to) {
  uint64_t now_ns = volt_now_ns();
  volt_worker_seen_ seen;
  volt_worker_stats s;
  char instance[24];
  volt_worker_see_(rt, worker, &seen);
  (void)volt_rt_worker_stats(rt, worker, &s);
  snprintf(instance, sizeof instance, "%llx", (unsigned long long)seen.instance);
  volt_json_begin_(to, "worker");
  volt_json_put_address_(to, "rt", rt);
  volt_json_put_number_(to, "worker", worker);
  volt_json_put_number_(to, "tid", seen.tid > 0 ? (uint64_t)seen.tid : 0);
  volt_json_put_condition_(to, "parked", seen.is_parked);
  volt_json_put_address_(to, "task", seen.task);
  if (seen.task) {
    volt_json_put_text_(to, "instance", instance);
    volt_json_put_number_(to, "looked_ns", now_ns > seen.checked_ns ? now_ns - seen.checked_ns : 0);
  }
  volt_json_put_number_(to, "queued", seen.queued);
  volt_json_put_number_(to, "homed", s.homed);
  volt_json_put_number_(to, "polls", s.polls);
  volt_json_put_number_(to, "steals", s.steals);
  volt_json_put_number_(to, "stolen", s.stolen);
  volt_json_put_number_(to, "injected", s.injected);
  volt_json_put_number_(to, "overflows", s.overflows);
  volt_json_put_number_(to, "parks", s.parks);
  volt_json_put_number_(to, "woken", s.woken);
  volt_json_put_number_(to, "wakes", s.wakes);
  volt_json_put_number_(to, "empty_searches", s.empty_searches);
  volt_json_put_number_(to, "checks", s.checks);
  volt_json_put_number_(to, "events", s.events);
  volt_json_put_number_(to, "moved", s.moved);
  volt_json_put_number_(to, "look_delay_ns", s.look_delay_ns);
}

void volt_answer_workers_(const volt_ask_ *ask, volt_json_ *to, volt_answer_end_ *end) {
  (void)ask;
  for (volt_rt *rt = volt_rt_pin_next_(NULL); rt; rt = volt_rt_pin_next_(rt)) {
    for (unsigned i = 0; i < rt->workers; i++) {
      answer_worker(rt, i, to);
      (void)volt_answer_line_(to, end);
    }
  }
}

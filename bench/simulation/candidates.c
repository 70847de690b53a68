/* candidates.c: what src/rt would do differently with groups of cores: an injection queue for each,
 * and a search that begins in the own group. Compiled as the library is. */
#include "../../src/rt/host/runtime.h"
#include "../../src/rt/sched/idle.h"
#include "../../src/rt/sched/inject.h"
#include "../../src/rt/sched/parking.h"
#include "../../src/rt/sched/ring.h"
#include "../../src/rt/sched/short_lock.h"
#include "../../src/rt/sched/thread.h"
#include "../../src/rt/sched/worker.h"

#include "../../src/core/park/spin.h"
#include "machine.h"

/* ---- injection ---- */

void volt_inject_init_(volt_inject *q) {
  (void)q; /* all-zero */
}

static unsigned own_group(void) {
  return sim_core() / sim_group % sim_injection_groups;
}

/* A worker pushes to its own group's; any other thread to each by turns. */
void volt_inject_push_(volt_inject *inject, volt_task *first, volt_task *last, uint64_t count) {
  static unsigned turn;
  unsigned group = volt_thread_here_()->worker ? own_group() : turn++ % sim_injection_groups;
  injection *q = &inject->of[group];
  last->next = NULL;
  volt_short_lock_lock_(&q->lock);
  if (q->head) {
    q->tail->next = first;
  } else {
    q->head = first;
  }
  q->tail = last;
  volt_fetch_add_seq_cst(&q->length, count);
  volt_short_lock_unlock_(&q->lock);
}

/* That of the own group, or else of the next that has any, for all groups together: the caller
 * takes its share of it. */
uint64_t volt_inject_length_(volt_inject *inject) {
  unsigned own = own_group();
  for (unsigned i = 0; i < sim_injection_groups; i++) {
    injection *q = &inject->of[(own + i) % sim_injection_groups];
    uint64_t length = volt_load_seq_cst(&q->length);
    if (length > 0) return length * sim_injection_groups;
  }
  return 0;
}

static unsigned pop_from(injection *q, volt_task **out, unsigned max) {
  unsigned count = 0;
  volt_short_lock_lock_(&q->lock);
  while (count < max && q->head) {
    volt_task *t = q->head;
    q->head = t->next;
    out[count++] = t;
  }
  volt_fetch_add_acq_rel(&q->length, UINT64_C(0) - count);
  volt_short_lock_unlock_(&q->lock);
  return count;
}

unsigned volt_inject_pop_(volt_inject *inject, volt_task **out, unsigned max) {
  unsigned own = own_group();
  for (unsigned i = 0; i < sim_injection_groups; i++) {
    injection *q = &inject->of[(own + i) % sim_injection_groups];
    if (sim_injection_groups > 1 && volt_load_relaxed(&q->length) == 0) continue;
    unsigned count = pop_from(q, out, max);
    if (count > 0) return count;
  }
  return 0;
}

/* ---- search: as parking.c does, but for the order ---- */

static uint64_t next_random(volt_worker *w) {
  uint64_t x = w->random;
  x ^= x << 13;
  x ^= x >> 7;
  x ^= x << 17;
  return w->random = x;
}

static volt_task *steal_from(volt_worker *w, unsigned victim) {
  volt_task *batch[VOLT_RT_BATCH_];
  if (victim == w->index) return NULL;
  unsigned count = volt_ring_steal_(&w->rt->worker[victim].ring, batch, VOLT_RT_BATCH_);
  if (count == 0) return NULL;
  for (unsigned at = 1; at < count; at++) volt_worker_push_back_(w, batch[at]);
  volt_worker_count_(&w->counts.steals, 1);
  volt_worker_count_(&w->counts.stolen, count);
  return batch[0];
}

static volt_task *steal(volt_worker *w, bool near_only) {
  unsigned workers = w->rt->workers;
  unsigned random = (unsigned)(next_random(w) % workers);
  unsigned begin = near_only ? w->index / sim_group * sim_group : 0;
  unsigned end = near_only && begin + sim_group < workers ? begin + sim_group : workers;
  unsigned count = end - begin;
  for (unsigned i = 0; i < count; i++) {
    volt_task *t = steal_from(w, begin + (random + i) % count);
    if (t) return t;
  }
  return NULL;
}

volt_task *volt_worker_search_(volt_worker *w) {
  volt_rt *rt = w->rt;
  if (!w->is_searching) w->is_searching = volt_idle_search_(&rt->idle, rt->workers);
  volt_task *t = NULL;
  for (unsigned round = 0; w->is_searching && round < sim_search_rounds && !t; round++) {
    if (round > 0) volt_cpu_relax_();
    t = volt_worker_take_outside_(w);
    /* three rounds of four look no further than the own group */
    bool near_only = sim_steal_near && round % 4 != 3;
    if (!t && rt->workers > 1) t = steal(w, near_only);
  }
  if (t) volt_worker_found_(w);
  return t;
}

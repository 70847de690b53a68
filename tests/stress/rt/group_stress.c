/* group_stress.c: threads spawn tasks into one group that keeps results, cancel them alone by handles
 * that outlive them, and one takes what has ended: every task once, in whatever way it ended. */
#include <sched.h>

#include <volt/runtime.h>

#include "harness.h"

enum { PLACES = 8, AT_ONCE = 500 };

typedef struct request {
  volt_task task;
  volt_future permit;
  volt_sleep_op nap;
  rng random;
} request;

/* A handle, and who may use it: to spawn with it, or to cancel by it. */
typedef struct place {
  VOLT_ATOMIC(uint32_t) busy;
  volt_group_member member;
} place;

static struct {
  volt_rt *rt;
  volt_group group;
  volt_sem never; /* granted to nobody */
  place places[PLACES];
  VOLT_ATOMIC(uint64_t) spawned;
  VOLT_ATOMIC(uint64_t) taken;
  VOLT_ATOMIC(uint64_t) asked; /* alone */
} server;

static int answer(volt_task *t, volt_ctx *ctx) {
  request *self = volt_container_of(t, request, task);
  VOLT_TASK_BEGIN(self);
  if (rng_below(&self->random, 2)) {
    VOLT_RETURN(self, rng_below(&self->random, 2) ? VOLT_EINVAL : VOLT_OK);
  }
  if (rng_below(&self->random, 2)) {
    VOLT_AWAIT(self, volt_sleep_future(&self->nap, volt_rt_timers(server.rt),
                                       volt_deadline_ns(rng_below(&self->random, 20000))));
  } else {
    VOLT_AWAIT(self, volt_sem_acquire_future(&self->permit, &server.never, 1));
  }
  VOLT_TASK_END(self);
}

static place *take_place(stress_worker *w) {
  for (;;) {
    place *p = &server.places[stress_below(w, PLACES)];
    if (volt_exchange_acq_rel(&p->busy, 1) == 0) return p;
    (void)sched_yield();
  }
}

static void give_place(place *p) {
  volt_store_release(&p->busy, 0);
}

static void spawn_one(stress_worker *w) {
  if (volt_load_relaxed(&server.spawned) - volt_load_relaxed(&server.taken) > AT_ONCE) {
    (void)sched_yield();
    return;
  }
  request *r = VOLT_TASK_NEW(server.rt, request, answer);
  STRESS_CHECK(r != NULL);
  r->random = rng_seeded(rng_next(&w->random));
  (void)volt_fetch_add_relaxed(&server.spawned, 1);
  if (stress_below(w, 4) == 0) {
    STRESS_CHECK(volt_group_spawn(&server.group, server.rt, &r->task) == VOLT_OK);
    return;
  }
  place *p = take_place(w);
  volt_group_member_drop(&p->member);
  STRESS_CHECK(volt_group_spawn_member(&server.group, server.rt, &r->task, &p->member) == VOLT_OK);
  give_place(p);
}

static void cancel_one(stress_worker *w) {
  place *p = take_place(w);
  if (volt_group_member_cancel(&p->member)) {
    (void)volt_fetch_add_relaxed(&server.asked, 1);
    w->gave_up += 1;
  }
  give_place(p);
}

/* Returns false: it was empty, or nothing has come for a while. */
static bool take_one(stress_worker *w) {
  volt_task *t;
  int result = stress_below(w, 2)
                   ? volt_group_try_next(&server.group, &t)
                   : volt_group_next_until(&server.group, &t, volt_deadline_ns(100000));
  if (result != VOLT_OK) return false;
  int ended = volt_task_result(t);
  STRESS_CHECK(ended == VOLT_OK || ended == VOLT_EINVAL || ended == VOLT_ECANCELED);
  volt_task_detach(t);
  (void)volt_fetch_add_relaxed(&server.taken, 1);
  w->acquired += 1;
  return true;
}

static void serve(stress_worker *w, void *arg) {
  (void)arg;
  while (!stress_stopping()) {
    if (w->index == 0) {
      if (!take_one(w)) (void)sched_yield();
      stress_progress(w, "take");
    } else if (stress_below(w, 2)) {
      spawn_one(w);
      stress_progress(w, "spawn");
    } else {
      cancel_one(w);
      stress_progress(w, "cancel");
    }
  }
}

/* Whoever was not taken by then is taken here, or left to destroy. */
static void serve_round(unsigned workers, bool takes_all) {
  volt_rt_config config = {.workers = workers};
  STRESS_CHECK(volt_rt_create(&server.rt, &config) == VOLT_OK);
  volt_sem_init(&server.never, 0);
  volt_group_init_how(&server.group, VOLT_GROUP_KEEP_GOING | VOLT_GROUP_KEEP_RESULTS);
  for (int i = 0; i < PLACES; i++) server.places[i] = (place){.busy = 0};
  volt_store_relaxed(&server.spawned, 0); /* published by the threads' start */
  volt_store_relaxed(&server.taken, 0);
  stress_round(stress_threads(), 100000000, serve, NULL);
  volt_group_cancel(&server.group);
  int result = volt_group_wait(&server.group);
  STRESS_CHECK(result == VOLT_OK || result == VOLT_EINVAL || result == VOLT_ECANCELED);
  uint64_t taken = volt_load_relaxed(&server.taken);
  volt_task *t;
  while (takes_all && volt_group_next(&server.group, &t) == VOLT_OK) {
    volt_task_detach(t);
    taken += 1;
  }
  STRESS_CHECK(!takes_all || taken == volt_load_relaxed(&server.spawned));
  STRESS_CHECK(!takes_all || volt_group_is_empty(&server.group));
  for (int i = 0; i < PLACES; i++)
    STRESS_CHECK(!volt_group_member_cancel(&server.places[i].member));
  volt_group_destroy(&server.group);
  volt_sem_destroy(&server.never);
  STRESS_CHECK(volt_rt_destroy(server.rt) == 0);
}

int main(void) {
  static const unsigned workers[] = {1, 2, 4};
  stress_begin("group", NULL, NULL);
  for (unsigned turn = 0; stress_time_left(); turn++) serve_round(workers[turn % 3], turn % 2 == 0);
  STRESS_CHECK(volt_load_relaxed(&server.asked) > 0);
  return stress_end();
}

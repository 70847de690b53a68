/* fiber_stress.c: fibers that wait in every way at once, on workers that they share: with deadlines,
 * cancelled by threads, shielded, for each other, for calls on the blocking pool. Half of them may
 * move, and in every second round they do so at each wait. Permits, results and errno must be right
 * afterwards; what a cancel is worth is counted: each ends at most one call. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <volt/fiber.h>

#include "harness.h"

enum { CREW = 16, PERMITS = 3, ROUND_MS = 60, DEPTH = 20 };

/* An address that the compiler would keep: so each function that asks for it does little. */
static int *(*volatile errno_here)(void) = __errno_location;

typedef struct member {
  volt_task *task;
  rng random;
  uint64_t cancelled; /* calls that were */
  VOLT_ATOMIC(uint64_t) asked;
  bool moves;
} member;

static struct {
  volt_rt *rt;
  volt_sem permits;
  volt_mutex mutex;
  uint64_t inside; /* with the mutex */
  uint64_t turns;  /* with the mutex */
  VOLT_ATOMIC(uint64_t) counted;
  VOLT_ATOMIC(uint32_t) stop;
} scene;

static member crew[CREW];

/* Returns whether the call was cancelled; it may be, or it has succeeded or timed out. */
static bool was_cancelled(member *m, int result, bool may_time_out) {
  if (result == VOLT_ECANCELED) {
    m->cancelled += 1;
    return true;
  }
  STRESS_CHECK(result == VOLT_OK || (may_time_out && result == VOLT_ETIMEDOUT));
  return false;
}

static uint64_t soon(member *m) {
  return volt_deadline_ns(rng_below(&m->random, 200000));
}

/* ---- what a fiber does ---- */

static void takes_a_permit(member *m) {
  bool in_time = rng_below(&m->random, 2);
  int result = volt_sem_acquire_until(&scene.permits, 1, in_time ? soon(m) : VOLT_NO_DEADLINE);
  if (was_cancelled(m, result, in_time) || result != VOLT_OK) return;
  if (rng_below(&m->random, 4) == 0) (void)was_cancelled(m, volt_fiber_yield(), false);
  volt_sem_release(&scene.permits, 1);
}

/* Holds it over a wait that no cancel ends. */
static void takes_the_mutex(member *m) {
  volt_future f;
  if (was_cancelled(m, volt_future_wait(volt_mutex_lock_future(&f, &scene.mutex)), false)) return;
  STRESS_CHECK(scene.inside++ == 0);
  volt_fiber_shield();
  STRESS_CHECK(volt_fiber_yield() == VOLT_OK);
  volt_fiber_unshield();
  STRESS_CHECK(--scene.inside == 0);
  scene.turns += 1;
  volt_fetch_add_relaxed(&scene.counted, 1); /* a count */
  volt_mutex_unlock(&scene.mutex);
}

static int adds_one(void *arg) {
  *(int *)arg += 1;
  return VOLT_OK;
}

static void calls_out(member *m) {
  int n = 1;
  int result = volt_fiber_offload(adds_one, &n);
  STRESS_CHECK(n == (result == VOLT_OK ? 2 : 1));
  (void)was_cancelled(m, result, false);
}

static int child(void *arg) {
  int result = volt_fiber_yield();
  return result == VOLT_OK ? *(int *)arg : result;
}

/* It joins its child however often it is cancelled. */
static void has_a_child(member *m) {
  int n = (int)rng_below(&m->random, 1000) + 10;
  const volt_fiber_config config = {.flags = m->moves ? VOLT_FIBER_MOVES : 0};
  volt_task *t = volt_fiber_new(scene.rt, child, &n, &config);
  STRESS_CHECK(t != NULL);
  int result = volt_spawn(scene.rt, t);
  if (result == VOLT_OK) {
    volt_fiber_shield();
    result = volt_task_join(t);
    volt_fiber_unshield();
    STRESS_CHECK(result == n || result == VOLT_ECANCELED); /* by the end of the runtime */
  }
  volt_task_detach(t);
}

/* Each frame has something of its own on the stack, over a wait. */
static uint64_t goes_deep(member *m, unsigned depth) {
  uint64_t mine = rng_next(&m->random);
  uint64_t kept = mine;
  if (depth == 0) {
    (void)was_cancelled(m, volt_sleep_until(soon(m)), false);
    return mine;
  }
  uint64_t below = goes_deep(m, depth - 1);
  STRESS_CHECK(kept == mine);
  return below ^ mine;
}

static void does_one(member *m) {
  int error = (int)rng_below(&m->random, 100) + 1;
  *errno_here() = error;
  switch (rng_below(&m->random, 8)) {
    case 0: calls_out(m); break;
    case 1: has_a_child(m); break;
    case 2: (void)goes_deep(m, DEPTH); break;
    case 3:
    case 4: takes_a_permit(m); break;
    default: takes_the_mutex(m);
  }
  STRESS_CHECK(*errno_here() == error);
}

static int works(void *arg) {
  member *m = (member *)arg;
  STRESS_CHECK(volt_fiber_self() == m->task);
  while (!volt_load_relaxed(&scene.stop)) does_one(m); /* it orders nothing: the join does */
  return VOLT_OK;
}

/* ---- what threads do ---- */

static void body(stress_worker *w, void *arg) {
  (void)arg;
  while (!stress_stopping()) {
    member *m = &crew[stress_below(w, CREW)];
    if (stress_below(w, 3) == 0) {
      volt_fetch_add_relaxed(&m->asked, 1); /* read after all have ended */
      (void)volt_task_cancel(m->task);
    } else if (volt_sem_acquire(&scene.permits, 1) == VOLT_OK) {
      w->acquired += 1;
      stress_count_entry();
      stress_dawdle(w);
      volt_sem_release(&scene.permits, 1);
    }
    stress_progress(w, "cancel or acquire");
  }
}

static void spawn_crew(uint64_t seed) {
  for (unsigned i = 0; i < CREW; i++) {
    member *m = &crew[i];
    memset((void *)m, 0, sizeof *m);
    m->random = rng_seeded(seed * CREW + i);
    m->moves = i % 2;
    const volt_fiber_config config = {.flags = m->moves ? VOLT_FIBER_MOVES : 0, .name = "works"};
    m->task = volt_fiber_new(scene.rt, works, m, &config);
    STRESS_CHECK(m->task && volt_spawn(scene.rt, m->task) == VOLT_OK);
  }
}

static uint64_t turns, cancelled; /* of all rounds */

static void join_crew(void) {
  for (unsigned i = 0; i < CREW; i++) {
    member *m = &crew[i];
    STRESS_CHECK(volt_task_join(m->task) == VOLT_OK);
    STRESS_CHECK(m->cancelled <= volt_load_relaxed(&m->asked));
    cancelled += m->cancelled;
    volt_task_detach(m->task);
  }
}

static void crew_round(uint32_t workers, unsigned flags, uint64_t seed) {
  memset((void *)&scene, 0, sizeof scene);
  const volt_rt_config config = {.workers = workers, .flags = flags, .seed = seed};
  STRESS_CHECK(volt_rt_create(&scene.rt, &config) == VOLT_OK);
  volt_sem_init(&scene.permits, PERMITS);
  volt_mutex_init(&scene.mutex);
  spawn_crew(seed);
  stress_round(2, ROUND_MS * UINT64_C(1000000), body, NULL);
  volt_store_relaxed(&scene.stop, 1);
  join_crew();
  STRESS_CHECK(volt_sem_available(&scene.permits) == PERMITS);
  STRESS_CHECK(scene.turns == volt_load_relaxed(&scene.counted));
  turns += scene.turns;
  volt_mutex_destroy(&scene.mutex); /* aborts if it is locked */
  volt_rt_stats_of stats;
  volt_rt_stats(scene.rt, &stats);
  STRESS_CHECK(stats.fibers == 0 && stats.fiber_stacks == 0 && stats.live == 0);
  STRESS_CHECK(volt_rt_destroy(scene.rt) == 0);
}

int main(void) {
  static const uint32_t workers[] = {2, 1, 3};
  stress_begin("fibers", NULL, NULL);
  for (unsigned turn = 0; stress_time_left(); turn++) {
    crew_round(workers[turn % 3], turn % 2 ? 0 : VOLT_RT_FIBERS_WANDER, turn + 1);
  }
  printf("  turns with the mutex %llu, calls that were cancelled %llu\n", (unsigned long long)turns,
         (unsigned long long)cancelled);
  STRESS_CHECK(turns > 0 && cancelled > 0);
  return stress_end();
}

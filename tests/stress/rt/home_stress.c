/* home_stress.c: tasks, fibers and threads in one queue, first come, first served; fibers stay on
 * their thread, unless they may move or ask for another worker.
 *
 * A member that wants the permit locks the baton, a mutex, takes a ticket, and polls the future of
 * the permit once. So it is in the queue when it unlocks the baton, and the tickets are in the order
 * of the queue, whatever waits there. The member that is granted the permit must have the next
 * ticket. Some threads give up: their tickets are crossed off. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <volt/fiber.h>

#include "harness.h"

/* pthread_self(), which a compiler may call once for a whole function: it knows nothing of fibers
 * that move. */
static pthread_t (*volatile self_here)(void) = pthread_self;

enum { FIBERS = 12, TASKS = 6, THREADS = 3, TICKETS = 1 << 10, ROUND_MS = 80 };
#define PATIENCE_NS UINT64_C(10000000000)

enum kind { FIBER, MOVING, TASK, THREAD };

typedef struct line {
  volt_rt *rt;
  uint32_t workers;
  volt_mutex baton;
  volt_sem permit;
  uint64_t tickets; /* with the baton */
  uint64_t last;    /* with the permit */
  VOLT_ATOMIC(uint32_t) gave_up[TICKETS];
  VOLT_ATOMIC(uint64_t) entries[4]; /* by kind */
  VOLT_ATOMIC(uint64_t) moves;
  VOLT_ATOMIC(uint32_t) left;
  volt_parker all_left;
} line;

typedef struct member {
  volt_task task; /* TASK */
  line *l;
  enum kind kind;
  rng random;
  volt_future future;
  uint64_t ticket;
  int result;
  pthread_t thread; /* where a fiber ran last */
} member;

static void ignore_wake(void *ctx) {
  (void)ctx; /* the member polls the future again */
}

/* With the baton: be in the queue. Returns what the first poll has returned. */
static int stand_in_line(member *m) {
  line *l = m->l;
  m->ticket = ++l->tickets;
  volt_store_relaxed(&l->gave_up[m->ticket % TICKETS], 0); /* published by the baton */
  volt_future_made(volt_sem_acquire_future(&m->future, &l->permit, 1));
  return volt_future_poll(&m->future, (volt_waker){ignore_wake, NULL});
}

/* With the permit. A thread that has given up says so a moment later. */
static void check_turn(member *m) {
  line *l = m->l;
  STRESS_CHECK(m->ticket > l->last);
  uint64_t patient_until_ns = volt_now_ns() + PATIENCE_NS;
  for (uint64_t next = l->last + 1; next < m->ticket; next++) {
    while (!volt_load_acquire(&l->gave_up[next % TICKETS])) {
      STRESS_CHECK(volt_now_ns() < patient_until_ns); /* overtaken */
      sched_yield();
    }
  }
  l->last = m->ticket;
  volt_fetch_add_relaxed(&l->entries[m->kind], 1); /* a count */
}

static void give_up(member *m) {
  volt_store_release(&m->l->gave_up[m->ticket % TICKETS], 1);
}

/* ---- fibers ---- */

/* Called after each wait of a fiber. */
static void check_place(member *m) {
  bool same = pthread_equal(m->thread, self_here());
  STRESS_CHECK(same || m->kind == MOVING);
  if (!same) volt_fetch_add_relaxed(&m->l->moves, 1); /* a count */
  m->thread = self_here();
}

static void change_home(member *m) {
  uint32_t worker = rng_below(&m->random, m->l->workers);
  STRESS_CHECK(volt_fiber_rehome(worker) == VOLT_OK);
  m->thread = self_here();
  if (m->kind == MOVING) m->kind = FIBER; /* it stays there */
}

static void leave(line *l) {
  if (volt_fetch_add_acq_rel(&l->left, UINT32_MAX) == 1) volt_unpark(&l->all_left);
}

/* Also of a thread. */
static void hold(member *m) {
  check_turn(m);
  if (rng_below(&m->random, 2)) STRESS_CHECK(volt_fiber_yield() == VOLT_OK);
  volt_sem_release(&m->l->permit, 1);
}

static int wait_in_line(member *m) {
  line *l = m->l;
  STRESS_CHECK(volt_mutex_lock_until(&l->baton, VOLT_NO_DEADLINE) == VOLT_OK);
  int result = stand_in_line(m);
  volt_mutex_unlock(&l->baton);
  return result == VOLT_PENDING ? volt_future_wait(&m->future) : result;
}

static int fiber_main(void *arg) {
  member *m = (member *)arg;
  m->thread = self_here();
  while (!stress_stopping()) {
    STRESS_CHECK(wait_in_line(m) == VOLT_OK);
    check_place(m);
    hold(m);
    check_place(m);
    if (rng_below(&m->random, m->kind == FIBER ? 16 : 1000) == 0) change_home(m);
    if (rng_below(&m->random, 4) == 0) STRESS_CHECK(volt_fiber_yield() == VOLT_OK);
    check_place(m);
  }
  leave(m->l);
  return VOLT_OK;
}

/* ---- tasks ---- */

static int task_main(volt_task *t, volt_ctx *ctx) {
  member *self = volt_container_of(t, member, task);
  line *l = self->l;
  VOLT_TASK_BEGIN(self);
  while (!stress_stopping()) {
    VOLT_AWAIT(self, volt_mutex_lock_future(&self->future, &l->baton));
    self->result = stand_in_line(self);
    volt_mutex_unlock(&l->baton);
    if (self->result == VOLT_PENDING) VOLT_AWAIT(self, &self->future);
    check_turn(self);
    if (rng_below(&self->random, 2)) VOLT_YIELD(self);
    volt_sem_release(&l->permit, 1);
    if (rng_below(&self->random, 4) == 0) VOLT_YIELD(self);
  }
  leave(l);
  VOLT_TASK_END(self);
}

/* ---- threads ---- */

static void thread_main(stress_worker *w, member *m) {
  while (!stress_stopping()) {
    stress_progress(w, "standing in line");
    if (stress_below(w, 4) != 0) {
      STRESS_CHECK(wait_in_line(m) == VOLT_OK);
      hold(m);
    } else { /* be impatient */
      line *l = m->l;
      STRESS_CHECK(volt_mutex_lock_until(&l->baton, VOLT_NO_DEADLINE) == VOLT_OK);
      int result = stand_in_line(m);
      if (result == VOLT_PENDING) {
        stress_dawdle(w);
        volt_future_cancel(&m->future); /* gives back what was granted */
        give_up(m);
      }
      volt_mutex_unlock(&l->baton);
      if (result == VOLT_OK) hold(m);
    }
    w->acquired += 1;
    stress_dawdle(w);
  }
}

/* ---- rounds ---- */

static line in_line;
static member members[FIBERS + TASKS + THREADS];

static void begin_member(member *m, enum kind kind, uint64_t seed) {
  memset((void *)m, 0, sizeof *m);
  m->l = &in_line;
  m->kind = kind;
  m->random = rng_seeded(seed);
}

static void spawn_fiber(member *m) {
  volt_fiber_config config = {.flags = m->kind == MOVING ? VOLT_FIBER_MOVES : 0};
  volt_task *t = volt_fiber_new(in_line.rt, fiber_main, m, &config);
  STRESS_CHECK(t && volt_spawn(in_line.rt, t) == VOLT_OK);
  volt_task_detach(t);
}

static void body(stress_worker *w, void *arg) {
  (void)arg;
  if (w->index == 0) {
    for (unsigned i = 0; i < FIBERS; i++) spawn_fiber(&members[i]);
    for (unsigned i = FIBERS; i < FIBERS + TASKS; i++) {
      volt_task_init(&members[i].task, task_main);
      STRESS_CHECK(volt_spawn(in_line.rt, &members[i].task) == VOLT_OK);
    }
  }
  thread_main(w, &members[FIBERS + TASKS + w->index]);
}

static uint64_t entries[4], moves; /* of all rounds */

static void line_round(uint32_t workers, bool wanders, uint64_t seed) {
  line *l = &in_line;
  memset((void *)l, 0, sizeof *l);
  volt_rt_config config = {.workers = workers, .seed = seed};
  if (wanders) config.flags = VOLT_RT_FIBERS_WANDER;
  STRESS_CHECK(volt_rt_create(&l->rt, &config) == VOLT_OK);
  l->workers = workers;
  volt_sem_init(&l->permit, 1);
  volt_store_relaxed(&l->left, FIBERS + TASKS); /* published by the spawns */
  for (unsigned i = 0; i < FIBERS + TASKS + THREADS; i++) {
    enum kind kind = i >= FIBERS + TASKS ? THREAD : i >= FIBERS ? TASK : i % 3 ? FIBER : MOVING;
    begin_member(&members[i], kind, seed + i);
  }
  stress_round(THREADS, ROUND_MS * UINT64_C(1000000), body, NULL);
  STRESS_CHECK(volt_park_until(&l->all_left, 1, VOLT_NO_DEADLINE) == VOLT_OK);
  STRESS_CHECK(volt_sem_available(&l->permit) == 1);
  STRESS_CHECK(volt_rt_shutdown(l->rt, VOLT_NO_DEADLINE) == VOLT_OK);
  for (uint32_t i = 0; i < workers; i++) {
    volt_worker_stats stats;
    STRESS_CHECK(volt_rt_worker_stats(l->rt, i, &stats) == VOLT_OK);
    STRESS_CHECK(stats.homed == 0);
  }
  volt_rt_destroy(l->rt); /* some may have been asked to end right before they returned */
  for (unsigned i = 0; i < 4; i++) entries[i] += volt_load_relaxed(&l->entries[i]);
  moves += volt_load_relaxed(&l->moves);
}

int main(void) {
  static const uint32_t workers[] = {1, 2, 4, 3};
  stress_begin("home", NULL, NULL);
  for (unsigned turn = 0; stress_time_left(); turn++) {
    line_round(workers[turn % 4], turn % 2, turn + 1);
    line_round(workers[turn % 4], (turn + 1) % 2, turn + 1);
  }
  printf("  fibers %llu, that may move %llu (%llu times), tasks %llu, threads %llu\n",
         (unsigned long long)entries[FIBER], (unsigned long long)entries[MOVING],
         (unsigned long long)moves, (unsigned long long)entries[TASK],
         (unsigned long long)entries[THREAD]);
  return stress_end();
}

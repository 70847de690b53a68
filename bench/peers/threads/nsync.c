/* nsync.c: nsync's mu, which has read locks, too; a semaphore of mu, cv and a count; and the rest,
 * when no thread waits. Engine "nsync". Conditions are waited for by nsync_cv, in a loop, as nsync_cv.h shows: who gives signals
 * after it has unlocked, which nsync_cv.h allows. */
#include <nsync.h>

#include "threads.h"

/* ---- mutex ---- */

typedef nsync_mu bench_lock;
typedef int bench_place;

static inline void bench_lock_init(bench_lock *lock) {
  nsync_mu_init(lock);
}

static inline void bench_lock_take(bench_lock *lock, bench_place *place) {
  (void)place;
  nsync_mu_lock(lock);
}

static inline void bench_lock_give(bench_lock *lock, bench_place *place) {
  (void)place;
  nsync_mu_unlock(lock);
}

/* ---- read-write lock ---- */

typedef nsync_mu bench_rw;
typedef int bench_rw_place;

static inline void bench_rw_init(bench_rw *rw) {
  nsync_mu_init(rw);
}

static inline void bench_rw_read(bench_rw *rw, bench_rw_place *place) {
  (void)place;
  nsync_mu_rlock(rw);
}

static inline void bench_rw_read_end(bench_rw *rw, bench_rw_place *place) {
  (void)place;
  nsync_mu_runlock(rw);
}

static inline void bench_rw_write(bench_rw *rw, bench_rw_place *place) {
  (void)place;
  nsync_mu_lock(rw);
}

static inline void bench_rw_write_end(bench_rw *rw, bench_rw_place *place) {
  (void)place;
  nsync_mu_unlock(rw);
}

/* ---- semaphore ---- */

typedef struct bench_sem {
  nsync_mu mu;
  nsync_cv some;
  uint32_t permits;
} bench_sem;

static inline void bench_sem_init(bench_sem *sem, uint32_t permits) {
  nsync_mu_init(&sem->mu);
  nsync_cv_init(&sem->some);
  sem->permits = permits;
}

static inline void bench_sem_take(bench_sem *sem) {
  nsync_mu_lock(&sem->mu);
  while (sem->permits == 0) nsync_cv_wait(&sem->some, &sem->mu);
  sem->permits -= 1;
  nsync_mu_unlock(&sem->mu);
}

static inline void bench_sem_give(bench_sem *sem) {
  nsync_mu_lock(&sem->mu);
  sem->permits += 1;
  nsync_mu_unlock(&sem->mu);
  nsync_cv_signal(&sem->some);
}

static inline bool bench_sem_try_take(bench_sem *sem) {
  nsync_mu_lock(&sem->mu);
  bool taken = sem->permits > 0;
  sem->permits -= taken;
  nsync_mu_unlock(&sem->mu);
  return taken;
}

typedef bench_sem bench_permit;

static inline void bench_permit_init(bench_permit *permit) {
  bench_sem_init(permit, 1);
}

static inline void bench_permit_take(bench_permit *permit) {
  bench_sem_take(permit);
}

static inline bool bench_permit_take_within(bench_permit *permit, uint64_t ns) {
  nsync_time deadline = nsync_time_add(nsync_time_now(), nsync_time_s_ns(0, (unsigned)ns));
  int outcome = 0;
  nsync_mu_lock(&permit->mu);
  while (permit->permits == 0 && outcome == 0) {
    outcome = nsync_cv_wait_with_deadline(&permit->some, &permit->mu, deadline, NULL);
  }
  bool taken = permit->permits > 0;
  permit->permits -= taken;
  nsync_mu_unlock(&permit->mu);
  return taken;
}

static inline void bench_permit_give(bench_permit *permit) {
  bench_sem_give(permit);
}

#include "lock_loops.h"
#include "permit_loops.h"
#include "rwlock_loops.h"
#include "sem_loops.h"

/* ---- what else there is, when no thread waits: once, counter, condition variable, note ---- */

static unsigned calls;

static void call(void) {
  calls++;
}

/* come when it is done */
static void come(bench_member *m) {
  for (uint64_t i = 0; i < m->operations; i++) nsync_run_once((nsync_once *)m->object, call);
}

static bench_outcome alone_once(const bench_options *o) {
  static bench_crew crew;
  static nsync_once once = NSYNC_ONCE_INIT;
  bench_outcome outcome = bench_march(&crew, o, &once, come);
  bench_require(calls == 1, "it was done once");
  return outcome;
}

/* a life: made for one, counted down, awaited, freed */
static void count_down(bench_member *m) {
  uint64_t went = 0; /* as it should */
  for (uint64_t i = 0; i < m->operations; i++) {
    nsync_counter left = nsync_counter_new(1);
    nsync_counter_add(left, -1);
    went += nsync_counter_wait(left, nsync_time_no_deadline) == 0;
    nsync_counter_free(left);
  }
  bench_require(went == m->operations, "it has come to zero");
}

static bench_outcome alone_latch(const bench_options *o) {
  static bench_crew crew;
  return bench_march(&crew, o, NULL, count_down);
}

/* signal, without the mutex */
static void tell(bench_member *m) {
  for (uint64_t i = 0; i < m->operations; i++) nsync_cv_signal((nsync_cv *)m->object);
}

static bench_outcome alone_cond(const bench_options *o) {
  static bench_crew crew;
  static nsync_cv cond = NSYNC_CV_INIT;
  return bench_march(&crew, o, &cond, tell);
}

/* is it notified? */
static void look(bench_member *m) {
  uint64_t went = 0; /* as it should */
  nsync_note note = (nsync_note)m->object;
  for (uint64_t i = 0; i < m->operations; i++) went += !nsync_note_is_notified(note);
  bench_require(went == m->operations, "nobody has notified it");
}

static bench_outcome alone_token(const bench_options *o) {
  static bench_crew crew;
  nsync_note note = nsync_note_new(NULL, nsync_time_no_deadline);
  bench_outcome outcome = bench_march(&crew, o, note, look);
  nsync_note_free(note);
  return outcome;
}

static const char *version(void) {
  return "nsync " VERSION_TEXT;
}

static const bench_workload workloads[] = {
    BENCH_LOCK_WORKLOADS,       BENCH_RW_WORKLOADS,           BENCH_SEM_WORKLOADS,
    BENCH_PERMIT_WORKLOADS,     {"alone-once", alone_once},   {"alone-latch", alone_latch},
    {"alone-cond", alone_cond}, {"alone-token", alone_token}, {NULL, NULL}};

const bench_engine BENCH_ENGINE = {"nsync", version, workloads};

/* glibc_family.c: what else pthreads have, when nobody waits: barrier, once, condition variable.
 * Engine "default". */
#include <pthread.h>

#include "crew.h"
#include "glibc.h"

/* a barrier for one */
static void meet(bench_member *m) {
  uint64_t went = 0; /* as it should */
  pthread_barrier_t *barrier = (pthread_barrier_t *)m->object;
  for (uint64_t i = 0; i < m->operations; i++) {
    went += pthread_barrier_wait(barrier) == PTHREAD_BARRIER_SERIAL_THREAD;
  }
  bench_require(went == m->operations, "the only one leads");
}

static bench_outcome alone_barrier(const bench_options *o) {
  static bench_crew crew;
  pthread_barrier_t barrier;
  bench_require(pthread_barrier_init(&barrier, NULL, 1) == 0, "there is a barrier");
  bench_outcome outcome = bench_march(&crew, o, &barrier, meet);
  pthread_barrier_destroy(&barrier);
  return outcome;
}

static unsigned calls;

static void call(void) {
  calls++;
}

/* come when it is done */
static void come(bench_member *m) {
  for (uint64_t i = 0; i < m->operations; i++) pthread_once((pthread_once_t *)m->object, call);
}

static bench_outcome alone_once(const bench_options *o) {
  static bench_crew crew;
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  bench_outcome outcome = bench_march(&crew, o, &once, come);
  bench_require(calls == 1, "it was done once");
  return outcome;
}

/* signal, without the mutex */
static void tell(bench_member *m) {
  for (uint64_t i = 0; i < m->operations; i++) pthread_cond_signal((pthread_cond_t *)m->object);
}

static bench_outcome alone_cond(const bench_options *o) {
  static bench_crew crew;
  static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  return bench_march(&crew, o, &cond, tell);
}

static const bench_workload workloads[] = {{"alone-barrier", alone_barrier},
                                           {"alone-once", alone_once},
                                           {"alone-cond", alone_cond},
                                           {NULL, NULL}};

const bench_engine BENCH_ENGINE = {"default", glibc_version, workloads};

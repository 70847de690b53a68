/* glibc_rwlock.c: pthread_rwlock: engine "default", which lets readers overtake writers that wait,
 * or, with -DWRITER, engine "writer", which does not. */
#include <pthread.h>

#include "crew.h"
#include "glibc.h"

#ifdef WRITER
enum { KIND = PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP };
static const char name[] = "writer";
#else
enum { KIND = PTHREAD_RWLOCK_DEFAULT_NP };
static const char name[] = "default";
#endif

typedef pthread_rwlock_t bench_rw;
typedef int bench_rw_place;

static inline void bench_rw_init(bench_rw *rw) {
  pthread_rwlockattr_t attributes;
  pthread_rwlockattr_init(&attributes);
  pthread_rwlockattr_setkind_np(&attributes, KIND);
  pthread_rwlock_init(rw, &attributes);
  pthread_rwlockattr_destroy(&attributes);
}

static inline void bench_rw_read(bench_rw *rw, bench_rw_place *place) {
  (void)place;
  pthread_rwlock_rdlock(rw);
}

static inline void bench_rw_read_end(bench_rw *rw, bench_rw_place *place) {
  (void)place;
  pthread_rwlock_unlock(rw);
}

static inline void bench_rw_write(bench_rw *rw, bench_rw_place *place) {
  (void)place;
  pthread_rwlock_wrlock(rw);
}

static inline void bench_rw_write_end(bench_rw *rw, bench_rw_place *place) {
  (void)place;
  pthread_rwlock_unlock(rw);
}

#include "rwlock_loops.h"

static const bench_workload workloads[] = {BENCH_RW_WORKLOADS, {NULL, NULL}};

const bench_engine BENCH_ENGINE = {name, glibc_version, workloads};

/* ck_rwlock.c: Concurrency Kit's read-write locks, which never sleep: engine "rwlock", which
 * prefers writers; or, with -DTFLOCK or -DPFLOCK, engine "tflock", which serves in order, or
 * "pflock", where readers and writers take turns. */
#include <ck_pflock.h>
#include <ck_rwlock.h>
#include <ck_tflock.h>

#include "crew.h"

typedef int bench_rw_place;

#if defined(TFLOCK)
static const char name[] = "tflock";
typedef ck_tflock_ticket_t bench_rw;
#define CK_RW(operation) ck_tflock_ticket_##operation
#elif defined(PFLOCK)
static const char name[] = "pflock";
typedef ck_pflock_t bench_rw;
#define CK_RW(operation) ck_pflock_##operation
#else
static const char name[] = "rwlock";
typedef ck_rwlock_t bench_rw;
#define CK_RW(operation) ck_rwlock_##operation
#endif

static inline void bench_rw_init(bench_rw *rw) {
  CK_RW(init)(rw);
}

static inline void bench_rw_read(bench_rw *rw, bench_rw_place *place) {
  (void)place;
  CK_RW(read_lock)(rw);
}

static inline void bench_rw_read_end(bench_rw *rw, bench_rw_place *place) {
  (void)place;
  CK_RW(read_unlock)(rw);
}

static inline void bench_rw_write(bench_rw *rw, bench_rw_place *place) {
  (void)place;
  CK_RW(write_lock)(rw);
}

static inline void bench_rw_write_end(bench_rw *rw, bench_rw_place *place) {
  (void)place;
  CK_RW(write_unlock)(rw);
}

#include "rwlock_loops.h"

static const char *version(void) {
  return "ck " VERSION_TEXT;
}

static const bench_workload workloads[] = {BENCH_RW_WORKLOADS, {NULL, NULL}};

const bench_engine BENCH_ENGINE = {name, version, workloads};

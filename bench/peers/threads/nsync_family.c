/* nsync_family.c: what else nsync has, when nobody waits: once, counter, condition variable, note.
 * Engine "nsync". */
#include <nsync.h>

#include "crew.h"

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

static const bench_workload workloads[] = {{"alone-once", alone_once},
                                           {"alone-latch", alone_latch},
                                           {"alone-cond", alone_cond},
                                           {"alone-token", alone_token},
                                           {NULL, NULL}};

const bench_engine BENCH_ENGINE = {"nsync", version, workloads};

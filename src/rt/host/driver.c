/* driver.c: the driver of a runtime, from beginning to end; and what it asks of the runtime.
 * driver.h; how a worker sleeps in it: parking.c. */
#include "driver.h"

#include "../../core/os/check.h"
#include "../sched/parking.h"
#include "../sched/worker.h"
#include "doorbell.h"
#include "runtime.h"

enum {
  CHECK_AGE_NS = 150000
}; /* and as long as a watcher sleeps: what I/O may wait behind a long poll */

/* ---- life ---- */

static void driver_give_doorbells(volt_rt *rt) {
  for (unsigned i = 0; i < rt->workers; i++) {
    if (rt->worker[i].doorbell) volt_doorbell_give_(rt->worker[i].doorbell);
    rt->worker[i].doorbell = NULL;
  }
}

int volt_rt_open_driver_(volt_rt *rt) {
  const volt_io_kind *kind = rt->config.io;
  if (!kind) return VOLT_OK;
  int eventfd[VOLT_RT_WORKERS_MAX];
  int result = VOLT_OK;
  for (unsigned i = 0; i < rt->workers && result == VOLT_OK; i++) {
    volt_doorbell *bell = volt_doorbell_take_();
    rt->worker[i].doorbell = bell;
    if (!bell) result = VOLT_ENOMEM;
    eventfd[i] = bell ? bell->eventfd : -1;
  }
  if (result == VOLT_OK) result = kind->create(&rt->driver, rt, &rt->config, eventfd);
  if (result == VOLT_OK) return VOLT_OK;
  rt->driver = NULL;
  driver_give_doorbells(rt);
  return result;
}

bool volt_rt_driver_is_used_(volt_rt *rt) {
  volt_driver_ *driver = rt->driver;
  return driver && driver->ops->is_used && driver->ops->is_used(driver);
}

void volt_rt_close_driver_(volt_rt *rt) {
  if (!rt->driver) return;
  rt->driver->ops->destroy(rt->driver);
  rt->driver = NULL;
  driver_give_doorbells(rt);
}

void volt_worker_begin_driver_(volt_worker *w) {
  volt_driver_ *driver = w->rt->driver;
  if (!driver) return;
  driver->ops->begin(driver, w->index);
  w->driver_checked_ns = volt_now_ns();
}

void volt_worker_end_driver_(volt_worker *w) {
  volt_driver_ *driver = w->rt->driver;
  if (driver) driver->ops->end(driver, w->index);
}

static void driver_count_delay(volt_worker *w, uint64_t now_ns) {
  uint64_t delay_ns = now_ns - w->driver_checked_ns;
  /* relaxed: this worker alone writes it, for statistics */
  if (delay_ns > volt_load_relaxed(&w->counts.look_delay_ns)) {
    volt_store_relaxed(&w->counts.look_delay_ns, delay_ns); /* as above */
  }
}

bool volt_worker_check_driver_(volt_worker *w, uint64_t now_ns) {
  volt_driver_ *driver = w->rt->driver;
  driver_count_delay(w, now_ns);
  unsigned events = driver->ops->check(driver, w->index);
  w->driver_checked_ns = volt_now_ns();
  volt_worker_note_check_(w, w->driver_checked_ns);
  volt_worker_count_check_(w, events);
  return events > 0 || volt_worker_has_tasks_(w);
}

/* Whether a worker keeps watch there, or has looked a moment ago: hints. */
static bool driver_was_checked(volt_rt *rt, uint64_t now_ns) {
  if (volt_worker_any_keeps_(rt)) return true;
  for (unsigned i = 0; i < rt->workers; i++) {
    if (volt_load_relaxed(&rt->worker[i].driver_seen_ns) + CHECK_AGE_NS > now_ns)
      return true; /* a hint */
  }
  return false;
}

/* If no other worker is awake, none has anything to steal. If this one is going to sleep in the driver,
 * it looks there, and that is one system call instead of two. A watcher that comes back need not look
 * where the keeper sleeps; what its own share waits for would have ended its sleep. */
bool volt_worker_check_before_search_(volt_worker *w, uint64_t now_ns) {
  bool has_mail = volt_worker_has_mail_(w);
  bool is_kept = !has_mail && w->back == VOLT_BACK_TO_POLLS_ && driver_was_checked(w->rt, now_ns);
  w->has_skipped_check = !has_mail && !is_kept && volt_worker_goes_to_drive_(w);
  if (!is_kept && !w->has_skipped_check) return volt_worker_check_driver_(w, now_ns);
  driver_count_delay(w, now_ns);
  return false;
}

/* ---- what the driver asks ---- */

volt_driver_ *volt_rt_driver_(volt_rt *rt) {
  return rt->driver;
}

int volt_rt_worker_here_(volt_rt *rt) {
  volt_worker *w = volt_worker_here_(rt);
  return w ? (int)w->index : -1;
}

/* ---- inspection ---- */

const char *volt_rt_io_name(volt_rt *rt) {
  return rt->driver ? rt->driver->ops->name : "none";
}

int volt_rt_io_descriptor(volt_rt *rt) {
  VOLT_CHECK(rt->config.flags & VOLT_RT_BY_HAND, "volt_rt_io_descriptor",
             "%p has workers of its own", (void *)rt);
  volt_driver_ *driver = rt->driver;
  return driver && driver->ops->descriptor ? driver->ops->descriptor(driver) : -1;
}

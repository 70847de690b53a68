/* cluster_driver_stress.c: threads use semaphores of the cluster, change limits, open and close, while
 * one task drives an ensemble in memory that answers at once; and the host is closed under them. */
#include <volt/cluster.h>

#include "cluster_hand.h"
#include "harness.h"
#include "ledger.h"

enum { SEMS = 3, MOST = 8, OPENED = 40, LIMITS = 4 };

static struct {
  volt_rt *rt;
  volt_cluster *cluster;
  volt_cluster_sem *sems[SEMS];
  ledger held[SEMS]; /* of permits that are not lost */
  VOLT_ATOMIC(uint32_t) opened;
  VOLT_ATOMIC(uint32_t) closes; /* the host is being closed */
  VOLT_ATOMIC(uint64_t) changed;
} world;

static const char *const names[SEMS] = {"a", "b", "c"};

static void use(stress_worker *w, uint32_t i, volt_cluster_permit *p) {
  bool is_valid = volt_cluster_permit_is_valid(p);
  if (is_valid) ledger_take(&world.held[i], 1);
  STRESS_CHECK(volt_cluster_permit_fence(p).slot < MOST);
  stress_dawdle(w);
  if (is_valid) ledger_give(&world.held[i], 1);
  volt_cluster_release(p);
  w->acquired += 1;
}

static void acquire(stress_worker *w) {
  uint32_t i = stress_below(w, SEMS);
  volt_cluster_permit p;
  int result;
  if (stress_below(w, 4) == 0) {
    result = volt_cluster_try_acquire(world.sems[i], &p);
    STRESS_CHECK(result == VOLT_OK || result == VOLT_EAGAIN || result == VOLT_ECLOSED);
  } else {
    result = volt_cluster_acquire_until(world.sems[i], &p, volt_deadline_ns(300000));
    STRESS_CHECK(result == VOLT_OK || result == VOLT_ETIMEDOUT || result == VOLT_ECLOSED);
    STRESS_CHECK(result != VOLT_ECLOSED || volt_load_relaxed(&world.closes));
  }
  if (result == VOLT_OK) use(w, i, &p);
  if (result == VOLT_ETIMEDOUT) w->gave_up += 1;
}

static void change(stress_worker *w) {
  volt_cluster_change limit;
  volt_future *f = volt_cluster_sem_set_limit_future(&limit, world.sems[stress_below(w, SEMS)],
                                                     2 + stress_below(w, LIMITS) * 2);
  int result = volt_future_wait_until(f, volt_deadline_ns(stress_below(w, 400000)));
  STRESS_CHECK(result == VOLT_OK || result == VOLT_ETIMEDOUT || result == VOLT_ECLOSED ||
               result == VOLT_CLUSTER_EAWAY);
  if (result == VOLT_OK) (void)volt_fetch_add_relaxed(&world.changed, 1);
}

static void open_and_close(stress_worker *w) {
  uint32_t number = volt_fetch_add_relaxed(&world.opened, 1);
  if (number >= OPENED) return;
  char name[16];
  snprintf(name, sizeof name, "n%u", (unsigned)(number % 4)); /* names are used again */
  volt_cluster_sem *s;
  volt_cluster_sem_config config = {.limit = 2};
  int result = volt_cluster_sem_open(&s, world.cluster, name, &config);
  STRESS_CHECK(result == VOLT_OK || result == VOLT_EINVAL || result == VOLT_ECLOSED);
  if (result != VOLT_OK) return;
  volt_cluster_permit p;
  result = volt_cluster_acquire_until(s, &p, volt_deadline_ns(1000000));
  if (result == VOLT_OK && stress_below(w, 2)) {
    volt_cluster_sem_close(s);
    volt_cluster_release(&p);
    return;
  }
  if (result == VOLT_OK) volt_cluster_release(&p);
  volt_cluster_sem_close(s);
}

static void look(stress_worker *w) {
  volt_cluster_stats_of host;
  volt_cluster_lease_stats lease;
  volt_cluster_stats(world.cluster, &host);
  volt_cluster_sem_stats(world.sems[stress_below(w, SEMS)], &lease);
  STRESS_CHECK(lease.leased <= MOST);
}

static void ask_for_the_end(void) {
  volt_future f;
  int result =
      volt_future_wait_until(volt_cluster_close_future(&f, world.cluster), volt_deadline_ns(1000));
  STRESS_CHECK(result == VOLT_OK || result == VOLT_ETIMEDOUT);
}

static void body(stress_worker *w, void *arg) {
  (void)arg;
  while (!stress_stopping()) {
    uint32_t what = stress_below(w, 100);
    if (what < 80) {
      acquire(w);
    } else if (what < 90) {
      change(w);
    } else if (what < 95) {
      open_and_close(w);
    } else {
      look(w);
    }
    if (volt_load_relaxed(&world.closes) && stress_below(w, 50) == 0) ask_for_the_end();
    stress_progress(w, "use");
  }
}

/* is_closed: the host is closed while it is in use. */
static void round_of(unsigned workers, bool is_closed) {
  hand_begin();
  hand->answers_itself = true;
  hand->session = 1;
  volt_rt_config config = {.workers = workers};
  STRESS_CHECK(volt_rt_create(&world.rt, &config) == VOLT_OK);
  volt_cluster_config host = {.rt = world.rt, .kind = &hand_kind};
  STRESS_CHECK(volt_cluster_open(&world.cluster, &host) == VOLT_OK);
  volt_store_relaxed(&world.opened, 0);
  volt_store_relaxed(&world.closes, 0);
  for (uint32_t i = 0; i < SEMS; i++) {
    volt_cluster_sem_config sem = {.limit = MOST, .linger_ns = 200000};
    ledger_init(&world.held[i], MOST);
    STRESS_CHECK(volt_cluster_sem_open(&world.sems[i], world.cluster, names[i], &sem) == VOLT_OK);
  }
  stress_round(stress_threads(), 50000000, body, NULL);
  if (is_closed) {
    volt_store_relaxed(&world.closes, 1);
    stress_round(stress_threads(), 20000000, body, NULL);
  }
  volt_future f;
  STRESS_CHECK(volt_future_wait(volt_cluster_close_future(&f, world.cluster)) == VOLT_OK);
  volt_cluster_destroy(world.cluster);
  STRESS_CHECK(volt_rt_destroy(world.rt) == 0);
  hand_end();
}

int main(void) {
  static const unsigned workers[] = {1, 2, 4};
  stress_begin("cluster driver", NULL, NULL);
  for (unsigned turn = 0; stress_time_left(); turn++) round_of(workers[turn % 3], turn % 2 == 1);
  STRESS_CHECK(volt_load_relaxed(&world.changed) > 0);
  return stress_end();
}

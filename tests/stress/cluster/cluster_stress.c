/* cluster_stress.c: threads share the slots that a driver leases: it adds, takes back by number and by
 * count, collects, and loses, at random. No slot has two permits of one lease at a time; numbers of a
 * slot's permits rise; a slot that is collected has none; a permit that is lost stays so, and wakes
 * the thread that waits for that. In the end every slot comes back, and every place is unused.
 *
 * The driver is a thread, too. Sometimes it asks all slots back, and sleeps until it is rung: so a
 * slot that is forgotten, or a ring that is lost, stops the test, and the watchdog says where. */
#include <volt/cluster.h>

#include "fake_lease.h"
#include "harness.h"

enum { SLOTS = 6, PLACES = 8, VALID_UNTIL = 7 };

/* Of a slot: the number of its last permit, and whether that is out: number * 2 + 1. A number is the
 * lease's epoch, and 24 bits of its count of permits. */
static VOLT_ATOMIC(uint64_t) books[SLOTS];

static struct {
  volt_cluster_sem *sem;
  volt_parker parker;     /* the driver's: unparked by each ring */
  uint32_t rings;         /* that it has taken */
  uint64_t leased[SLOTS]; /* the epoch, or 0 */
  uint32_t count;         /* of those that are leased */
  uint64_t epoch;
} driver;

static void on_ring(void *arg) {
  volt_unpark((volt_parker *)arg);
}

static uint64_t epoch_of(uint64_t entry) {
  return entry >> 25;
}

/* ---- the driver ---- */

static void drive_add(stress_worker *w) {
  cluster_slot slots[SLOTS];
  uint32_t count = 0, room = fake_local()->room(driver.sem);
  driver.epoch += 1;
  for (uint32_t i = 0; i < SLOTS && count < room; i++) {
    if (driver.leased[i] || stress_below(w, 2)) continue;
    driver.leased[i] = driver.epoch;
    slots[count++] = (cluster_slot){.slot = i, .era = 1, .epoch = driver.epoch};
  }
  driver.count += count;
  fake_local()->add(driver.sem, slots, count);
}

static void drive_collect(void) {
  cluster_slot slots[4];
  for (uint32_t count; (count = fake_local()->collect(driver.sem, slots, 4)) > 0;) {
    for (uint32_t i = 0; i < count; i++) {
      uint32_t slot = slots[i].slot;
      STRESS_CHECK(driver.leased[slot] == slots[i].epoch);
      uint64_t entry = volt_load_relaxed(&books[slot]); /* ordered by what has brought it back */
      STRESS_CHECK((entry & 1) == 0 || epoch_of(entry) < slots[i].epoch);
      driver.leased[slot] = 0;
    }
    driver.count -= count;
  }
}

static void drive_lose(stress_worker *w) {
  uint32_t slot = stress_below(w, 3 * SLOTS);
  if (slot < SLOTS) {
    fake_local()->lose(driver.sem, &(cluster_slot){.slot = slot});
    if (driver.leased[slot]) driver.count -= 1;
    driver.leased[slot] = 0;
  } else {
    fake_local()->lose(driver.sem, NULL);
    driver.count = 0;
    memset(driver.leased, 0, sizeof driver.leased);
  }
}

/* As the driver of the library looks: it takes the ring first. */
static void drive_look(void) {
  if (fake_lease_take_ring()) driver.rings += 1;
  (void)fake_local()->wanted(driver.sem);
  drive_collect();
}

/* Ask all back, and sleep until it is there. */
static void drive_empty(stress_worker *w) {
  fake_local()->take_back(driver.sem, driver.count);
  stress_progress(w, "sleep until all is back");
  for (drive_look(); driver.count > 0; drive_look()) {
    volt_park_until(&driver.parker, driver.rings + 1, VOLT_NO_DEADLINE);
  }
}

static void drive(stress_worker *w) {
  while (!stress_stopping()) {
    switch (stress_below(w, 12)) {
      case 0:
      case 1:
      case 2: drive_add(w); break;
      case 3: fake_local()->take_back(driver.sem, 1 + stress_below(w, 4)); break;
      case 4: (void)fake_local()->take_back_from(driver.sem, stress_below(w, SLOTS)); break;
      case 5: drive_lose(w); break;
      case 6: drive_empty(w); break;
      default: drive_look();
    }
    stress_progress(w, "drive");
    stress_dawdle(w);
  }
}

/* ---- the users ---- */

static uint64_t soon(stress_worker *w) {
  return volt_deadline_ns(stress_below(w, 100000));
}

static bool is_lost(const volt_cluster_permit *p) {
  uint64_t until_ns = volt_cluster_permit_valid_until_ns(p);
  STRESS_CHECK(until_ns == 0 || until_ns == VALID_UNTIL);
  return until_ns == 0;
}

/* The permit is the slot's only one, and the newest; or it is lost. Returns its entry in the books. */
static uint64_t enter(const volt_cluster_permit *p, const volt_cluster_fence *fence) {
  uint64_t mine = (fence->epoch << 24 | fence->grant) * 2 + 1;
  uint64_t entry = volt_load_relaxed(&books[fence->slot]);
  do {
    if (epoch_of(entry) > fence->epoch) {
      STRESS_CHECK(is_lost(p));
      return 0;
    }
    STRESS_CHECK((entry & 1) == 0 || epoch_of(entry) < fence->epoch);
    STRESS_CHECK(entry < mine);
  } while (!volt_cas_relaxed(&books[fence->slot], &entry, mine));
  return mine;
}

static void wait_for_loss(stress_worker *w, const volt_cluster_permit *p) {
  volt_future f;
  bool lost = volt_future_wait_until(volt_cluster_permit_lost_future(&f, p), soon(w)) == VOLT_OK;
  if (lost) STRESS_CHECK(is_lost(p));
  if (!is_lost(p)) return;
  stress_dawdle(w);
  STRESS_CHECK(is_lost(p));
  int again = volt_future_wait(volt_cluster_permit_lost_future(&f, p));
  STRESS_CHECK(again == VOLT_OK);
}

static void use(stress_worker *w, volt_cluster_permit *p) {
  volt_cluster_fence fence = volt_cluster_permit_fence(p);
  uint64_t mine = enter(p, &fence), entry = mine;
  stress_dawdle(w);
  if (stress_below(w, 4) == 0) wait_for_loss(w, p);
  bool is_last = mine && volt_cas_relaxed(&books[fence.slot], &entry, mine - 1);
  if (!is_last) STRESS_CHECK(is_lost(p));
  volt_cluster_release(p);
  w->acquired += 1;
  stress_count_entry();
}

static void block(stress_worker *w) {
  volt_cluster_permit p;
  if (volt_cluster_acquire_until(driver.sem, &p, soon(w)) == VOLT_OK) {
    use(w, &p);
  } else {
    w->gave_up += 1;
  }
}

/* By hand; it may be granted as it is dropped. */
static void poll_and_drop(stress_worker *w) {
  static const volt_waker nobody = {NULL, NULL};
  volt_cluster_acquire_op a;
  volt_cluster_permit p;
  volt_future *f = volt_cluster_acquire_future(&a, driver.sem, &p);
  int result = VOLT_PENDING;
  for (uint32_t i = stress_below(w, 3); i > 0 && result == VOLT_PENDING; i--) {
    result = volt_future_poll(f, nobody);
    stress_dawdle(w);
  }
  volt_future_cancel(f);
  if (result == VOLT_OK) use(w, &p);
}

static void try(stress_worker *w) {
  volt_cluster_permit p;
  if (volt_cluster_try_acquire(driver.sem, &p) == VOLT_OK) use(w, &p);
}

static void body(stress_worker *w, void *arg) {
  (void)arg;
  if (w->index == 0) {
    drive(w);
    return;
  }
  while (!stress_stopping()) {
    switch (stress_below(w, 4)) {
      case 0: try(w); break;
      case 1: poll_and_drop(w); break;
      default: block(w);
    }
    stress_progress(w, "use");
  }
}

/* ---- rounds ---- */

static void expect_all_back(void) {
  fake_local()->take_back(driver.sem, driver.count);
  drive_collect();
  STRESS_CHECK(driver.count == 0);
  STRESS_CHECK(fake_local()->is_free(driver.sem));
  STRESS_CHECK(fake_local()->room(driver.sem) == PLACES);
  volt_cluster_lease_stats stats;
  volt_cluster_sem_stats(driver.sem, &stats);
  STRESS_CHECK(stats.used == 0 && stats.owed == 0 && stats.lost == 0 && stats.waiting == 0);
}

static void round_of(unsigned threads) {
  const volt_cluster_sem_config config = {.capacity = PLACES};
  volt_store_relaxed(&driver.parker.word, 0); /* no thread rings */
  driver.rings = 0;
  STRESS_CHECK(volt_cluster_sem_open(&driver.sem, &fake_cluster, "it", &config) == VOLT_OK);
  stress_round(threads, 10000000, body, NULL);
  expect_all_back();
  fake_local()->destroy(driver.sem);
}

int main(void) {
  stress_begin("permits of the cluster", NULL, NULL);
  volt_store_relaxed(&fake_cluster.valid_until_ns, VALID_UNTIL); /* one thread so far */
  fake_lease.on_ring = on_ring;
  fake_lease.arg = &driver.parker;
  for (unsigned turn = 0; stress_time_left(); turn++) round_of(2 + turn % (stress_threads() - 1));
  return stress_end();
}

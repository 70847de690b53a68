/* cluster_crowd.h: a semaphore of the cluster, tasks that want its permits, polled by hand, and the
 * driver's calls. For the unit tests of src/cluster/host/sem.c: includes what they all need. */
#ifndef VOLT_TEST_CLUSTER_CROWD_H
#define VOLT_TEST_CLUSTER_CROWD_H

#include "fake_lease.h"
#include "fake_waker.h"
#include "unit.h"

enum { TASKS = 8, SLOTS = 64 };

typedef struct crowd_task {
  volt_cluster_acquire_op acquire;
  volt_cluster_permit permit;
  volt_future lost;
  fake_waker waker;
  fake_waker lost_waker;
} crowd_task;

static volt_cluster_sem *sem;
static crowd_task tasks[TASKS];
static wake_log wake_order;
static uint32_t next_slot;  /* that add() gives */
static uint64_t next_epoch; /* the transaction that gives it */
static uint32_t owned;      /* slots that the driver has given, less those it got back or lost */
static cluster_slot collected[SLOTS];

static const volt_waker no_waker = {NULL, NULL};

static inline const cluster_local *local(void) {
  return fake_local();
}

static inline void begin(uint32_t capacity) {
  volt_cluster_sem_config config = {.capacity = capacity};
  memset((void *)tasks, 0, sizeof tasks);
  wake_log_init(&wake_order);
  for (uint32_t i = 0; i < TASKS; i++) {
    fake_waker_init(&tasks[i].waker, i, &wake_order);
    fake_waker_init(&tasks[i].lost_waker, i, NULL);
  }
  next_slot = 0;
  next_epoch = 100;
  owned = 0;
  volt_store_relaxed(&fake_cluster.now_ns, 1000); /* one thread */
  volt_store_relaxed(&fake_cluster.valid_until_ns, 2000);
  assert_result(volt_cluster_sem_open(&sem, &fake_cluster, "it", &config), VOLT_OK);
}

/* ---- the driver ---- */

/* More slots, with the numbers that follow. */
static inline void add(uint32_t count) {
  cluster_slot slots[SLOTS];
  next_epoch += 1;
  for (uint32_t i = 0; i < count; i++)
    slots[i] = (cluster_slot){.slot = next_slot++, .era = 1, .epoch = next_epoch};
  local()->add(sem, slots, count);
  owned += count;
}

/* Returns how many; they are in `collected`. The next slots that are added have the numbers of those
 * that were leased, if they are the last ones. */
static inline uint32_t collect(void) {
  uint32_t count = local()->collect(sem, collected, SLOTS);
  owned -= count;
  next_slot = owned;
  return count;
}

static inline uint32_t take_back_and_collect(uint32_t count) {
  local()->take_back(sem, count);
  return collect();
}

static inline void lose_all(void) {
  local()->lose(sem, NULL);
  owned = 0;
  next_slot = 0;
}

static inline uint32_t wanted(void) {
  return local()->wanted(sem);
}

static inline volt_cluster_lease_stats stats_now(void) {
  volt_cluster_lease_stats stats;
  volt_cluster_sem_stats(sem, &stats);
  return stats;
}

static inline void expect_stats(uint32_t used, uint32_t asked_back, uint32_t lost,
                                uint32_t waiting) {
  volt_cluster_lease_stats stats = stats_now();
  assert_int_equal(stats.used, used);
  assert_int_equal(stats.owed, asked_back);
  assert_int_equal(stats.lost, lost);
  assert_int_equal(stats.waiting, waiting);
}

/* ---- the tasks ---- */

static inline void ask(int i) {
  volt_future_made(volt_cluster_acquire_future(&tasks[i].acquire, sem, &tasks[i].permit));
}

static inline void expect(int i, int result) {
  assert_result(volt_future_poll(&tasks[i].acquire.future, fake_waker_of(&tasks[i].waker)), result);
}

static inline void expect_wakes(int i, uint32_t count) {
  assert_int_equal(fake_waker_calls(&tasks[i].waker), count);
}

/* At once. */
static inline void take(int i) {
  ask(i);
  expect(i, VOLT_OK);
}

static inline void queue(int i) {
  ask(i);
  expect(i, VOLT_PENDING);
}

static inline void give(int i) {
  volt_cluster_release(&tasks[i].permit);
}

static inline uint32_t slot_of(int i) {
  return volt_cluster_permit_fence(&tasks[i].permit).slot;
}

/* Wait for the loss of its permit. */
static inline void watch(int i) {
  volt_future_made(volt_cluster_permit_lost_future(&tasks[i].lost, &tasks[i].permit));
}

static inline void expect_lost(int i, int result) {
  assert_result(volt_future_poll(&tasks[i].lost, fake_waker_of(&tasks[i].lost_waker)), result);
}

static inline void expect_lost_wakes(int i, uint32_t count) {
  assert_int_equal(fake_waker_calls(&tasks[i].lost_waker), count);
}

static inline bool is_valid(int i) {
  bool valid = volt_cluster_permit_is_valid(&tasks[i].permit);
  assert_int_equal(volt_cluster_permit_valid_until_ns(&tasks[i].permit) != 0, valid);
  return valid;
}

/* ---- the end ---- */

static inline void end_with_permits(uint32_t out) {
  assert_int_equal(local()->is_free(sem), out == 0);
  local()->close(sem);
  uint32_t count = collect();
  assert_int_equal(owned, out);
  (void)count;
  local()->destroy(sem);
  sem = NULL;
}

/* All permits are back, so all slots are. */
static inline void end(void) {
  end_with_permits(0);
}

#endif

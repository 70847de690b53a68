// cluster_sem_model: a semaphore of the cluster on one host: tasks that acquire and release, and a driver
// that adds, takes back, collects and loses. Checks sem.c I1-I5, R1-R10, slot_stack.h R1, R2 and
// semaphore.c R15; a case names what it is after.
// PROGRAM: cluster BATCH 2 MUTANTS SOURCES sem.c permit.c semaphore.c semaphore_limit.c
// PROGRAM: cluster SOURCES permits.c future.c fifo.c grant.c park.c fiber_futex.c
// PROGRAM: cluster SOURCES latch.c notify.c monitor.c share.c
#include "cluster/host/local_sem.h"
#include "model.hpp"

struct volt_cluster {
  VOLT_ATOMIC(uint64_t) valid_until_ns;
};

struct volt_cluster_lease {
  VOLT_ATOMIC(uint32_t) is_rung;
  void *ctx;
};

// As lease.c and cluster.c say.
void lease_ring_(volt_cluster_lease *l) {
  volt_exchange_acq_rel(&l->is_rung, 1);
}

void *lease_ctx_(const volt_cluster_lease *l) {
  return l->ctx;
}

void cluster_check_fork_(const volt_cluster *, const char *) {
}

uint64_t cluster_valid_until_(const volt_cluster *c) {
  return volt_load_acquire(&c->valid_until_ns);
}

uint64_t volt_cluster_now_ns(const volt_cluster *) {
  return 0;
}

// A semaphore with a few places, tasks, and what the driver knows.
struct cluster_model : model {
  enum { PLACES = 3, TASKS = 3 };
  volt_cluster cluster;
  volt_cluster_lease lease;
  volt_cluster_sem sem{};
  cluster_place places[PLACES]{};
  volt_cluster_acquire_op acquire[TASKS];
  volt_cluster_permit permit[TASKS];
  int result[TASKS] = {VOLT_EAGAIN, VOLT_EAGAIN, VOLT_EAGAIN};
  wake_count woken[TASKS];
  VOLT_PLAIN(uint32_t) guarded; // by the only slot
  const cluster_local &local = cluster_sem_local_;
  uint32_t capacity, added = 0, collected = 0;
  cluster_slot back[PLACES];

  // There are as many places as slots, or two.
  explicit cluster_model(uint32_t slots) : capacity(slots > 0 ? slots : 2) {
    cluster_sem_init_(&sem, &cluster, places, capacity);
    sem.lease = &lease;
    volt_store_relaxed(&cluster.valid_until_ns, 7);
    add(slots);
  }
  void add(uint32_t count) {
    cluster_slot slots[PLACES];
    for (uint32_t i = 0; i < count; i++) slots[i] = cluster_slot{added + i, 1, 100 + added + i};
    local.add(&sem, slots, count);
    added += count;
  }
  uint32_t collect() {
    uint32_t count = local.collect(&sem, back, PLACES);
    collected += count;
    return count;
  }
  bool take(unsigned i) {
    result[i] = volt_cluster_try_acquire(&sem, &permit[i]);
    return result[i] == VOLT_OK;
  }
  void release(unsigned i) {
    result[i] = VOLT_EAGAIN;
    volt_cluster_release(&permit[i]);
  }
  void ask(unsigned i) {
    volt_future_made(volt_cluster_acquire_future(&acquire[i], &sem, &permit[i]));
  }
  bool poll(unsigned i) {
    result[i] = volt_future_poll(&acquire[i].future, woken[i].waker());
    return result[i] == VOLT_OK;
  }
  void queue(unsigned i) {
    ask(i);
    EXPECT(!poll(i));
    volt_store_relaxed(&lease.is_rung, 0);
  }
  void cancel(unsigned i) {
    volt_future_cancel(&acquire[i].future);
    result[i] = VOLT_EAGAIN;
  }
  volt_cluster_fence fence_of(unsigned i) {
    return volt_cluster_permit_fence(&permit[i]);
  }
  bool lost(unsigned i) {
    return volt_cluster_permit_valid_until_ns(&permit[i]) == 0;
  }
  // The driver looks again, if something has rung.
  void answer_the_ring() {
    if (volt_exchange_acq_rel(&lease.is_rung, 0)) collect();
  }
  uint32_t in_stack() {
    uint32_t count = 0;
    uint32_t at = slot_stack_top_(volt_load_relaxed(&sem.stack.head));
    for (; at; count++) at = volt_load_relaxed(&places[at - 1].next);
    return count;
  }
  // At quiescence, with no permit out and no task waiting: what is left is there to be used, by a
  // permit each, and there is nothing more to collect.
  void expect_all_back(uint32_t left) {
    EXPECT(local.is_free(&sem));
    EXPECT(local.room(&sem) == capacity - left);
    EXPECT(volt_sem_limit(&sem.local) == left && volt_sem_available(&sem.local) == left);
    EXPECT(in_stack() == left);
    EXPECT(volt_load_relaxed(&sem.asked) == 0 && sem.lost == 0);
  }
};

// R1, R2: a slot is asked back while it is released.
struct cluster_release_x_take_back : cluster_model {
  cluster_release_x_take_back() : cluster_model(1) {
    EXPECT(take(0));
  }
  void thread(unsigned index) override {
    if (index == 0) release(0);
    if (index == 1) {
      local.take_back(&sem, 1);
      collect();
    }
  }
  void check() override {
    answer_the_ring();
    EXPECT(collected == 1);
    expect_all_back(0);
  }
};
MODEL(cluster_release_x_take_back, 2, bounded)

// R1 while a task is queued: it does not get the slot.
struct cluster_release_x_take_back_while_queued : cluster_model {
  cluster_release_x_take_back_while_queued() : cluster_model(1) {
    EXPECT(take(0));
    queue(1);
  }
  void thread(unsigned index) override {
    if (index == 0) release(0);
    if (index == 1) {
      local.take_back(&sem, 1);
      collect();
    }
  }
  void check() override {
    answer_the_ring();
    EXPECT(collected == (poll(1) ? 0u : 1u));
    if (result[1] == VOLT_OK) release(1);
    if (collected == 1) cancel(1);
    answer_the_ring();
    EXPECT(collected == 1);
    expect_all_back(0);
  }
};
MODEL(cluster_release_x_take_back_while_queued, 2, bounded)

// R1, R2: two are released, one is asked back.
struct cluster_two_releases_x_take_back : cluster_model {
  cluster_two_releases_x_take_back() : cluster_model(2) {
    EXPECT(take(0) && take(1));
  }
  void thread(unsigned index) override {
    if (index < 2) release(index);
    if (index == 2) {
      local.take_back(&sem, 1);
      collect();
    }
  }
  void check() override {
    answer_the_ring();
    EXPECT(collected == 1);
    expect_all_back(1);
  }
};
MODEL(cluster_two_releases_x_take_back, 3, bounded)

// I3: a task takes the slot of one release with the permit of another.
struct cluster_two_releases_x_acquire : cluster_model {
  cluster_two_releases_x_acquire() : cluster_model(2) {
    EXPECT(take(0) && take(1));
    volt_store_relaxed(&lease.is_rung, 0);
  }
  void thread(unsigned index) override {
    if (index < 2) release(index);
    if (index == 2 && take(2)) EXPECT(fence_of(2).grant == 2);
  }
  void check() override {
    if (result[2] == VOLT_OK) release(2);
    expect_all_back(2);
  }
};
MODEL(cluster_two_releases_x_acquire, 3, bounded)

// R3: the slot is free, and asked back while a task takes it and gives it back.
struct cluster_acquire_x_take_back : cluster_model {
  cluster_acquire_x_take_back() : cluster_model(1) {
  }
  void thread(unsigned index) override {
    if (index == 0 && take(0)) release(0);
    if (index == 1) {
      local.take_back(&sem, 1);
      collect();
    }
  }
  void check() override {
    answer_the_ring();
    EXPECT(collected == 1);
    expect_all_back(0);
  }
};
MODEL(cluster_acquire_x_take_back, 2, bounded)

// R3: one slot is for the task that was granted it, the other is released and asked back.
struct cluster_granted_x_release_x_take_back : cluster_model {
  cluster_granted_x_release_x_take_back() : cluster_model(2) {
    EXPECT(take(0) && take(1));
    queue(2);
    release(0);
  }
  void thread(unsigned index) override {
    if (index == 0) EXPECT(poll(2));
    if (index == 1) release(1);
    if (index == 2) {
      local.take_back(&sem, 1);
      collect();
    }
  }
  void check() override {
    answer_the_ring();
    EXPECT(collected == 1);
    release(2);
    expect_all_back(1);
  }
};
MODEL(cluster_granted_x_release_x_take_back, 3, bounded)

// I3: what is added is there for the permit that it makes; the slot's numbers are seen.
struct cluster_add_x_acquire : cluster_model {
  cluster_add_x_acquire() : cluster_model(0) {
    queue(1);
  }
  void thread(unsigned index) override {
    if (index == 0) add(2);
    if (index == 1 && poll(1)) expect_fence(1);
    if (index == 2 && take(2)) expect_fence(2);
  }
  void expect_fence(unsigned i) {
    volt_cluster_fence fence = volt_cluster_permit_fence(&permit[i]);
    EXPECT(fence.epoch == 100 + fence.slot && fence.grant == 1);
  }
  void check() override {
    if (result[1] != VOLT_OK) EXPECT(poll(1));
    EXPECT(woken[1].seen() == 1);
    release(1);
    if (result[2] == VOLT_OK) release(2);
    expect_all_back(2);
  }
};
MODEL(cluster_add_x_acquire, 3, bounded)

// slot_stack.h R1: others take two slots, and give the upper one back.
struct cluster_take_x_take_two : cluster_model {
  cluster_take_x_take_two() : cluster_model(3) {
    ask(0);
  }
  void thread(unsigned index) override {
    if (index == 0) EXPECT(poll(0)); // the quick way
    if (index == 1) {
      EXPECT(take(1) && take(2));
      release(1);
    }
  }
  void check() override {
    EXPECT(permit[0].place != permit[2].place);
    EXPECT(in_stack() == 1);
    release(0);
    release(2);
    expect_all_back(3);
  }
};
MODEL(cluster_take_x_take_two, 2, bounded)

// Two tasks by turns: each permit has a number of its own, and the holder is alone.
struct cluster_by_turns : cluster_model {
  volt_cluster_fence fences[2];
  cluster_by_turns() : cluster_model(1) {
  }
  void thread(unsigned index) override {
    fences[index].grant = 0;
    if (!take(index)) return;
    guarded += 1;
    fences[index] = volt_cluster_permit_fence(&permit[index]);
    release(index);
  }
  void check() override {
    EXPECT(fences[0].grant != fences[1].grant);
    EXPECT(fences[0].grant <= guarded && fences[1].grant <= guarded);
    expect_all_back(1);
  }
};
MODEL(cluster_by_turns, 2, full)

// The same with a task that is queued.
struct cluster_handed_on : cluster_model {
  cluster_handed_on() : cluster_model(1) {
    EXPECT(take(0));
    ask(1);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      guarded += 1;
      release(0);
    }
    if (index == 1 && poll(1)) guarded += 1;
  }
  void check() override {
    if (result[1] != VOLT_OK) {
      EXPECT(woken[1].seen() == 1 && poll(1));
      guarded += 1;
    }
    EXPECT(guarded == 2 && fence_of(1).grant == 2);
    release(1);
    expect_all_back(1);
  }
};
MODEL(cluster_handed_on, 2, bounded)

// R8: a task queues, and the driver looks whether a task wants slots.
struct cluster_queue_x_look : cluster_model {
  uint32_t wanted = 0;
  cluster_queue_x_look() : cluster_model(0) {
    lease_ring_(&lease);
    ask(0);
  }
  void thread(unsigned index) override {
    if (index == 0) EXPECT(!poll(0));
    if (index == 1 && volt_exchange_acq_rel(&lease.is_rung, 0)) wanted = local.wanted(&sem);
  }
  void check() override {
    EXPECT(wanted == 1 || volt_load_relaxed(&lease.is_rung) == 1);
    cancel(0);
    expect_all_back(0);
  }
};
MODEL(cluster_queue_x_look, 2, full)

// R1: a task that was granted a permit leaves.
struct cluster_drop_x_take_back : cluster_model {
  cluster_drop_x_take_back() : cluster_model(1) {
    EXPECT(take(0));
    queue(1);
    release(0);
  }
  void thread(unsigned index) override {
    if (index == 0) cancel(1);
    if (index == 1) {
      local.take_back(&sem, 1);
      collect();
    }
  }
  void check() override {
    answer_the_ring();
    EXPECT(collected == 1);
    expect_all_back(0);
  }
};
MODEL(cluster_drop_x_take_back, 2, bounded)

// ---- slots beyond a lower limit ----

// A slot with a number beyond the limit is released.
struct cluster_release_x_retire : cluster_model {
  cluster_release_x_retire() : cluster_model(1) {
    EXPECT(take(0));
  }
  void thread(unsigned index) override {
    if (index == 0) release(0);
    if (index == 1) {
      EXPECT(local.take_back_from(&sem, 0) == 1);
      collect();
    }
  }
  void check() override {
    answer_the_ring();
    EXPECT(collected == 1);
    expect_all_back(0);
  }
};
MODEL(cluster_release_x_retire, 2, bounded)

// The same while a task is queued, and another slot stays.
struct cluster_release_x_retire_while_queued : cluster_model {
  cluster_release_x_retire_while_queued() : cluster_model(2) {
    EXPECT(take(0) && take(1));
    EXPECT(fence_of(0).slot == 1);
    queue(2);
  }
  void thread(unsigned index) override {
    if (index == 0) release(0);
    if (index == 1) {
      local.take_back_from(&sem, 1);
      collect();
    }
  }
  void check() override {
    answer_the_ring();
    if (poll(2)) {
      EXPECT(collected == 0);
      release(2);
      answer_the_ring();
    } else {
      cancel(2);
    }
    EXPECT(collected == 1 && back[0].slot == 1);
    release(1);
    expect_all_back(1);
  }
};
MODEL(cluster_release_x_retire_while_queued, 2, bounded)

// One of two free slots is beyond the limit, and a task takes one and gives it back.
struct cluster_acquire_x_retire : cluster_model {
  cluster_acquire_x_retire() : cluster_model(2) {
  }
  void thread(unsigned index) override {
    if (index == 0 && take(0)) release(0);
    if (index == 1) {
      local.take_back_from(&sem, 1);
      collect();
    }
  }
  void check() override {
    answer_the_ring();
    EXPECT(collected == 1 && back[0].slot == 1);
    expect_all_back(1);
  }
};
MODEL(cluster_acquire_x_retire, 2, bounded)

// A task was granted a permit, and has to find a slot, although one of the two is retired.
struct cluster_granted_x_retire : cluster_model {
  cluster_granted_x_retire() : cluster_model(2) {
    EXPECT(take(0) && take(1));
    queue(2);
    release(0);
  }
  void thread(unsigned index) override {
    if (index == 0) EXPECT(poll(2));
    if (index == 1) {
      local.take_back_from(&sem, 1);
      collect();
    }
  }
  void check() override {
    release(2);
    release(1);
    answer_the_ring();
    EXPECT(collected == 1 && back[0].slot == 1);
    expect_all_back(1);
  }
};
MODEL(cluster_granted_x_retire, 2, bounded)

// Both slots are asked back, one by its number and one by count; one is released meanwhile.
struct cluster_release_x_both_ways : cluster_model {
  cluster_release_x_both_ways() : cluster_model(2) {
    EXPECT(take(0) && take(1));
  }
  void thread(unsigned index) override {
    if (index == 0) release(0);
    if (index == 1) {
      EXPECT(local.take_back_from(&sem, 1) <= 1);
      local.take_back(&sem, 1);
      collect();
    }
  }
  void check() override {
    answer_the_ring();
    release(1);
    answer_the_ring();
    EXPECT(collected == 2);
    expect_all_back(0);
  }
};
MODEL(cluster_release_x_both_ways, 2, bounded)

// ---- loss ----

// R5: all leases are lost while the only permit is released.
struct cluster_release_x_lose : cluster_model {
  cluster_release_x_lose() : cluster_model(1) {
    EXPECT(take(0));
  }
  void thread(unsigned index) override {
    if (index == 0) release(0);
    if (index == 1) local.lose(&sem, nullptr);
  }
  void check() override {
    expect_all_back(0);
    EXPECT(collect() == 0);
  }
};
MODEL(cluster_release_x_lose, 2, bounded)

// R4: ... while a slot is taken: either the permit is lost, or there is none.
struct cluster_acquire_x_lose : cluster_model {
  cluster_acquire_x_lose() : cluster_model(1) {
    ask(0);
  }
  void thread(unsigned index) override {
    if (index == 0) poll(0);
    if (index == 1) local.lose(&sem, nullptr);
  }
  void check() override {
    if (result[0] == VOLT_OK) {
      EXPECT(lost(0));
      release(0);
    } else {
      EXPECT(local.wanted(&sem) == 1);
      add(1);
      EXPECT(woken[0].seen() == 1 && poll(0) && !lost(0));
      release(0);
      local.take_back(&sem, 1);
      collect();
    }
    expect_all_back(0);
  }
};
MODEL(cluster_acquire_x_lose, 2, bounded)

// R4, R5: a release, a task that is queued, a loss. The task waits, or waits again.
struct cluster_release_x_lose_while_queued : cluster_model {
  cluster_release_x_lose_while_queued() : cluster_model(1) {
    EXPECT(take(0));
    queue(1);
  }
  void thread(unsigned index) override {
    if (index == 0) release(0);
    if (index == 1) local.lose(&sem, nullptr);
  }
  void check() override {
    EXPECT(!poll(1));
    EXPECT(local.wanted(&sem) == 1);
    add(1);
    EXPECT(poll(1) && !lost(1));
    release(1);
    expect_all_back(1);
  }
};
MODEL(cluster_release_x_lose_while_queued, 2, bounded)

// R4: a task that was granted a permit takes its slot, or finds it lost; and another releases.
struct cluster_granted_x_release_x_lose : cluster_model {
  cluster_granted_x_release_x_lose() : cluster_model(2) {
    EXPECT(take(0) && take(1));
    queue(2);
    release(0);
  }
  void thread(unsigned index) override {
    if (index == 0) poll(2); // the long way
    if (index == 1) release(1);
    if (index == 2) local.lose(&sem, nullptr);
  }
  void check() override {
    if (result[2] == VOLT_OK) {
      EXPECT(lost(2));
      release(2);
    } else {
      EXPECT(!poll(2));
      cancel(2);
    }
    expect_all_back(0);
  }
};
MODEL(cluster_granted_x_release_x_lose, 3, bounded)

// R4: a task that was granted a slot that is lost gets the next one, before the task behind it.
struct cluster_slotless_model : cluster_model {
  explicit cluster_slotless_model(uint32_t slots) : cluster_model(slots) {
  }
  void look() {
    if (volt_exchange_acq_rel(&lease.is_rung, 0)) (void)local.wanted(&sem);
  }
  void expect_served(unsigned i) {
    look();
    if (result[i] == VOLT_PENDING) EXPECT(woken[i].seen() > 0);
    if (result[i] != VOLT_OK) EXPECT(poll(i));
    EXPECT(!lost(i));
    release(i);
    look();
  }
};
struct cluster_slotless_x_add : cluster_slotless_model {
  cluster_slotless_x_add() : cluster_slotless_model(1) {
    EXPECT(take(0));
    queue(1);
    queue(2);
    release(0);
    local.lose(&sem, nullptr);
    volt_store_relaxed(&woken[1].wakes, 0);
  }
  void thread(unsigned index) override {
    if (index == 0) poll(1);
    if (index == 1) {
      add(1);
      look();
    }
  }
  void check() override {
    EXPECT(woken[2].seen() == 0);
    expect_served(1);
    expect_served(2);
    expect_all_back(1);
  }
};
MODEL(cluster_slotless_x_add, 2, bounded)
// The same, but the task leaves: the slot is for the task behind it.
struct cluster_slotless_leaves_x_add : cluster_slotless_x_add {
  void thread(unsigned index) override {
    if (index == 0 && !poll(1)) cancel(1);
    if (index == 1) add(1);
  }
  void check() override {
    if (result[1] == VOLT_OK) release(1);
    look();
    expect_served(2);
    expect_all_back(1);
  }
};
MODEL(cluster_slotless_leaves_x_add, 2, bounded)
// The same by a release of another task, on the same host.
struct cluster_slotless_x_release : cluster_slotless_model {
  cluster_slotless_x_release() : cluster_slotless_model(2) {
    EXPECT(take(0) && take(1));
    queue(2);
    release(0);
    cluster_slot slot{1, 1, 0};
    local.lose(&sem, &slot);
    volt_store_relaxed(&woken[2].wakes, 0);
  }
  void thread(unsigned index) override {
    if (index == 0) poll(2);
    if (index == 1) release(1);
    if (index == 2) look();
  }
  void check() override {
    look();
    expect_served(2);
    expect_all_back(1);
  }
};
MODEL(cluster_slotless_x_release, 3, bounded)

// R10: the driver wants to know of the next release, while there is one.
struct cluster_release_x_watch_idle : cluster_model {
  uint32_t idle = 0;
  cluster_release_x_watch_idle() : cluster_model(1) {
    EXPECT(take(0));
    volt_store_relaxed(&lease.is_rung, 0);
  }
  void thread(unsigned index) override {
    if (index == 0) release(0);
    if (index == 1) idle = local.watch_idle(&sem, true);
  }
  void check() override {
    EXPECT(idle == 1 || volt_exchange_acq_rel(&lease.is_rung, 0));
    EXPECT(local.watch_idle(&sem, false) == 1);
    expect_all_back(1);
  }
};
MODEL(cluster_release_x_watch_idle, 2, bounded)

// R9: tasks are turned away while a permit is released: the one that waits has it, or sees why not.
struct cluster_refuse_x_release : cluster_model {
  cluster_refuse_x_release() : cluster_model(1) {
    EXPECT(take(0));
    queue(1);
  }
  void thread(unsigned index) override {
    if (index == 0) release(0);
    if (index == 1) local.refuse(&sem, VOLT_CLUSTER_EDATA);
    if (index == 2) poll(1);
  }
  void check() override {
    if (result[1] == VOLT_PENDING) {
      EXPECT(woken[1].seen() > 0);
      poll(1);
    }
    EXPECT(result[1] == VOLT_OK || result[1] == VOLT_CLUSTER_EDATA);
    if (result[1] == VOLT_OK) release(1);
    expect_all_back(1);
  }
};
MODEL(cluster_refuse_x_release, 3, bounded)

// R9: a task queues as those that wait are turned away: the driver looks again.
struct cluster_refuse_x_queue : cluster_model {
  cluster_refuse_x_queue() : cluster_model(1) {
    EXPECT(take(0));
    ask(1);
  }
  void thread(unsigned index) override {
    if (index == 0) poll(1);
    if (index == 1) local.refuse(&sem, VOLT_CLUSTER_EDATA);
  }
  void check() override {
    if (volt_exchange_acq_rel(&lease.is_rung, 0)) local.refuse(&sem, VOLT_CLUSTER_EDATA);
    if (result[1] == VOLT_PENDING) poll(1);
    EXPECT(result[1] == VOLT_CLUSTER_EDATA);
    release(0);
    expect_all_back(1);
  }
};
MODEL(cluster_refuse_x_queue, 2, bounded)

// R9: what was wrong is mended before the task asks: it waits again, and the driver knows.
struct cluster_refuse_x_mended : cluster_model {
  cluster_refuse_x_mended() : cluster_model(1) {
    EXPECT(take(0));
    queue(1);
  }
  void thread(unsigned index) override {
    if (index == 0) poll(1);
    if (index == 1) {
      local.refuse(&sem, VOLT_CLUSTER_EDATA);
      local.refuse(&sem, VOLT_OK);
    }
  }
  void check() override {
    if (result[1] == VOLT_PENDING && woken[1].seen() > 0) {
      poll(1);
      if (result[1] == VOLT_PENDING) EXPECT(volt_exchange_acq_rel(&lease.is_rung, 0));
    }
    EXPECT(result[1] == VOLT_PENDING || result[1] == VOLT_CLUSTER_EDATA);
    release(0);
    if (result[1] == VOLT_PENDING) {
      EXPECT(poll(1));
      release(1);
    }
    expect_all_back(1);
  }
};
MODEL(cluster_refuse_x_mended, 2, bounded)

// R9: a task that has a permit, and waits for a slot, is told, too.
struct cluster_refuse_x_slotless : cluster_slotless_model {
  cluster_refuse_x_slotless() : cluster_slotless_model(1) {
    EXPECT(take(0));
    queue(1);
    release(0);
    local.lose(&sem, nullptr);
    volt_store_relaxed(&woken[1].wakes, 0);
  }
  void thread(unsigned index) override {
    if (index == 0) poll(1);
    if (index == 1) local.refuse(&sem, VOLT_CLUSTER_EDATA);
  }
  void check() override {
    if (result[1] == VOLT_PENDING) {
      EXPECT(woken[1].seen() > 0 || volt_load_relaxed(&lease.is_rung));
      local.refuse(&sem, VOLT_CLUSTER_EDATA);
      poll(1);
    }
    EXPECT(result[1] == VOLT_CLUSTER_EDATA);
    look();
    expect_all_back(0);
  }
};
MODEL(cluster_refuse_x_slotless, 2, bounded)

// The semaphore: one that waits is turned away while the limit is lower than what is held.
struct cluster_refuse_x_cancel : cluster_model {
  cluster_refuse_x_cancel() : cluster_model(1) {
    EXPECT(take(0));
    queue(1);
    queue(2);
    local.take_back(&sem, 1);
  }
  void thread(unsigned index) override {
    if (index == 0) cancel(1);
    if (index == 1) local.refuse(&sem, VOLT_CLUSTER_EDATA);
  }
  void check() override {
    EXPECT(!poll(2) && result[2] == VOLT_CLUSTER_EDATA);
    release(0);
    (void)volt_exchange_acq_rel(&lease.is_rung, 0);
    EXPECT(collect() == 1);
    expect_all_back(0);
  }
};
MODEL(cluster_refuse_x_cancel, 2, bounded)

// One of two leases is lost while both permits are released: the other one stays.
struct cluster_two_releases_x_lose_one : cluster_model {
  cluster_two_releases_x_lose_one() : cluster_model(2) {
    EXPECT(take(0) && take(1));
  }
  void thread(unsigned index) override {
    if (index < 2) release(index);
    if (index == 2) {
      cluster_slot slot{1, 1, 0};
      local.lose(&sem, &slot);
    }
  }
  void check() override {
    expect_all_back(1);
    EXPECT(take(0) && fence_of(0).slot == 0);
  }
};
MODEL(cluster_two_releases_x_lose_one, 3, bounded)

// Two lost permits come back, and the driver uses a place again: no permit has it any more.
struct cluster_lost_come_back : cluster_model {
  cluster_lost_come_back() : cluster_model(3) {
    EXPECT(take(0) && take(1) && take(2));
    local.lose(&sem, nullptr);
  }
  void thread(unsigned index) override {
    if (index < 2) {
      EXPECT(volt_cluster_permit_fence(&permit[index]).grant == 1);
      release(index);
    }
    if (index == 2 && local.room(&sem) > 0) add(1);
  }
  void check() override {
    release(2);
    uint32_t left = added - 3;
    expect_all_back(left);
    if (left) EXPECT(take(0) && !lost(0) && fence_of(0).grant == 1);
  }
};
MODEL(cluster_lost_come_back, 3, bounded)

// R6: all is lost, and a new session is valid for longer: a lost permit is not.
struct cluster_lose_x_valid : cluster_model {
  uint64_t seen = 0;
  cluster_lose_x_valid() : cluster_model(1) {
    EXPECT(take(0));
  }
  void thread(unsigned index) override {
    if (index == 0) seen = volt_cluster_permit_valid_until_ns(&permit[0]);
    if (index == 1) {
      volt_store_release(&cluster.valid_until_ns, 0);
      local.lose(&sem, nullptr);
      volt_store_release(&cluster.valid_until_ns, 9);
    }
  }
  void check() override {
    EXPECT(seen == 7 || seen == 0);
    EXPECT(lost(0));
  }
};
MODEL(cluster_lose_x_valid, 2, full)

// R7: a task that waits for the loss of its permit is woken once, and finds it lost. Then the permit is
// released.
struct cluster_lose_x_lost_future : cluster_model {
  volt_future f;
  int seen = VOLT_EAGAIN;
  cluster_lose_x_lost_future() : cluster_model(1) {
    EXPECT(take(0));
    volt_future_made(volt_cluster_permit_lost_future(&f, &permit[0]));
  }
  void thread(unsigned index) override {
    if (index == 0) {
      seen = volt_future_poll(&f, woken[0].waker());
      if (seen == VOLT_OK) {
        EXPECT(lost(0));
        release(0);
      }
    }
    if (index == 1) local.lose(&sem, nullptr);
  }
  void check() override {
    EXPECT(woken[0].seen() == (seen == VOLT_PENDING ? 1u : 0u));
    if (seen == VOLT_PENDING) {
      EXPECT(volt_future_poll(&f, woken[0].waker()) == VOLT_OK && lost(0));
      release(0);
    }
    expect_all_back(0);
    add(1); // its place waits for the next loss
    EXPECT(take(1));
    volt_future_made(volt_cluster_permit_lost_future(&f, &permit[1]));
    EXPECT(volt_future_poll(&f, woken[1].waker()) == VOLT_PENDING);
    volt_future_cancel(&f);
  }
};
MODEL(cluster_lose_x_lost_future, 2, bounded)

// R7: the waker itself finds the permit lost.
struct cluster_lost_waker : cluster_model {
  volt_future f;
  uint32_t called = 0;
  cluster_lost_waker() : cluster_model(1) {
    EXPECT(take(0));
    volt_future_made(volt_cluster_permit_lost_future(&f, &permit[0]));
    volt_waker waker = {look, this};
    EXPECT(volt_future_poll(&f, waker) == VOLT_PENDING);
  }
  static void look(void *ctx) {
    cluster_lost_waker *m = static_cast<cluster_lost_waker *>(ctx);
    m->called += 1;
    EXPECT(m->lost(0));
  }
  void thread(unsigned index) override {
    if (index == 0) local.lose(&sem, nullptr);
    if (index == 1) (void)lost(0);
  }
  void check() override {
    EXPECT(called == 1);
  }
};
MODEL(cluster_lost_waker, 2, full)

// ---- close ----

// A task that waits is refused; what is held comes back.
struct cluster_close_x_release_x_acquire : cluster_model {
  cluster_close_x_release_x_acquire() : cluster_model(1) {
    EXPECT(take(0));
    ask(1);
  }
  void thread(unsigned index) override {
    if (index == 0) release(0);
    if (index == 1) poll(1);
    if (index == 2) {
      local.close(&sem);
      collect();
    }
  }
  void check() override {
    if (result[1] == VOLT_PENDING) poll(1);
    EXPECT(result[1] == VOLT_OK || result[1] == VOLT_ECLOSED);
    if (result[1] == VOLT_OK) release(1);
    answer_the_ring();
    EXPECT(collected == 1);
    expect_all_back(0);
  }
};
MODEL(cluster_close_x_release_x_acquire, 3, bounded)

// ---- a lease alone: share.c R1 ----

struct share_model : model {
  volt_cluster_lease lease;
  cluster_share share{};
  cluster_slot slot[2];
  VOLT_ATOMIC(uint32_t) holds; // the program's own count, which orders nothing
  uint32_t collected = 0;
  bool looked = false;
  const cluster_local &local = cluster_share_local_;

  share_model() {
    lease.ctx = &share;
    share.user = volt_cluster_lease_user{held, held, set_limit, nullptr, this};
    share.slot = slot;
    share.capacity = 2;
    cluster_slot s{0, 1, 100};
    local.add(&share, &s, 1);
    volt_store_relaxed(&holds, 1);
  }
  static uint32_t held(void *ctx) {
    return volt_load_relaxed(&static_cast<share_model *>(ctx)->holds);
  }
  static void set_limit(uint32_t, void *) {
  }
  void collect() {
    cluster_slot back[2];
    collected += local.collect(&share, back, 2);
  }
};

struct share_release_x_take_back : share_model {
  void thread(unsigned index) override {
    if (index == 0) {
      volt_store_relaxed(&holds, 0);
      if (volt_cluster_lease_is_waiting(&lease)) looked = true;
    }
    if (index == 1) {
      local.take_back(&share, 1);
      collect();
    }
  }
  void check() override {
    if (looked) collect();
    EXPECT(collected == 1);
  }
};
MODEL(share_release_x_take_back, 2, full)

// The same for a driver that wants to know of the next release.
struct share_release_x_watch_idle : share_model {
  uint32_t idle = 0;
  void thread(unsigned index) override {
    if (index == 0) {
      volt_store_relaxed(&holds, 0);
      if (volt_cluster_lease_is_waiting(&lease)) looked = true;
    }
    if (index == 1) idle = local.watch_idle(&share, true);
  }
  void check() override {
    EXPECT(idle == 1 || looked);
    EXPECT(local.watch_idle(&share, false) == 1 && !volt_cluster_lease_is_waiting(&lease));
  }
};
MODEL(share_release_x_watch_idle, 2, full)

// admission_model: how a client of voltgate gets its permit: apps/voltgate/gate/admission.c and
// turns.c, as they are shipped. Checks turns.c I1-I6, R1-R5.
// PROGRAM: voltgate BATCH 2 MUTANTS SOURCES voltgate DEFINES voltgate
#include "gate/admission.h"
#include "model.hpp"

static const struct gate_settings model_settings = {0, 0, 0};

// A gate, two tenants and their clients. held: permits of those that have been admitted.
struct gate_model : model {
  enum { A, B, NONE };
  struct gate g;
  struct tenant t[2];
  struct client c[5];
  struct admission a[5];
  wake_count woken[5];
  VOLT_ATOMIC(uint32_t) held;
  uint32_t limit;

  gate_model(uint32_t limit_, uint32_t limit_of_a = VOLT_SEM_MAX, uint32_t cost_of_a = 1)
      : limit(limit_) {
    g.settings = &model_settings;
    volt_sem_init(&g.permits, limit);
    turns_init(&g.turns, &g.permits);
    g.queue_bound.value = 9;
    turns_member_init(&t[A].turns, &g.turns, limit_of_a, 1, cost_of_a);
    turns_member_init(&t[B].turns, &g.turns, VOLT_SEM_MAX, 1, 1);
  }
  void come(unsigned i, unsigned tenant) {
    c[i].tenant = tenant == NONE ? nullptr : &t[tenant];
    admission_init(&a[i], &g, &c[i]);
  }
  void admitted(unsigned i) {
    EXPECT(volt_fetch_add_relaxed(&held, a[i].cost) + a[i].cost <= limit);
  }
  bool try_(unsigned i) {
    if (admission_try(&a[i], 0) != VOLT_OK) return false;
    admitted(i);
    return true;
  }
  int poll(unsigned i) {
    return volt_future_poll(admission_future(&a[i]), woken[i].waker());
  }
  // Queue, and admit it if it is granted at once.
  void queue_up(unsigned i) {
    EXPECT(admission_join(&a[i], 0) == VOLT_OK);
    if (poll(i) == VOLT_OK) pick_up(i);
  }
  void pick_up(unsigned i) {
    EXPECT(admission_leave(&a[i], 0));
    admitted(i);
  }
  void hang_up(unsigned i) {
    EXPECT(!admission_leave(&a[i], 0));
  }
  void release(unsigned i) {
    volt_fetch_sub_release(&held, a[i].cost);
    admission_release(&a[i], 0);
  }
  // At quiescence: whether it has been granted; then it has been woken once, if it had to wait.
  bool is_granted(unsigned i) {
    if (!a[i].is_queued) return admission_holds(&a[i]);
    uint32_t wakes = woken[i].seen();
    if (poll(i) != VOLT_OK) {
      EXPECT(wakes == 0);
      return false;
    }
    EXPECT(wakes == 1);
    pick_up(i);
    return true;
  }
  // Nothing is left when all have gone.
  void expect_all_back() {
    EXPECT(volt_sem_available(&g.permits) == volt_sem_limit(&g.permits));
    EXPECT(volt_sem_waiters(&g.permits) == 0 && volt_load_relaxed(&g.queued) == 0);
    EXPECT(volt_load_relaxed(&g.turns.notes) == nullptr);
    for (struct tenant &one : t) {
      struct turns_member *m = &one.turns;
      EXPECT(volt_load_relaxed(&m->demand) == 0 && volt_sem_available(&m->grants) == 0);
      EXPECT(volt_sem_available(&m->permits) == volt_sem_limit(&m->permits));
    }
  }
};

// R2: it hangs up as it is granted: the next tenant's client gets the permit, whoever was first.
struct admission_hang_up_x_release : gate_model {
  admission_hang_up_x_release() : gate_model(1) {
    come(0, A), come(1, A), come(2, B);
    EXPECT(try_(0));
    queue_up(1), queue_up(2);
  }
  void thread(unsigned index) override {
    if (index == 0) release(0);
    if (index == 1) hang_up(1);
  }
  void check() override {
    EXPECT(is_granted(2));
    release(2);
    expect_all_back();
  }
};
MODEL(admission_hang_up_x_release, 2, bounded)

// The same, and there is no other: the permit is free.
struct admission_last_hang_up_x_release : gate_model {
  admission_last_hang_up_x_release() : gate_model(1) {
    come(0, A), come(1, A);
    EXPECT(try_(0));
    queue_up(1);
  }
  void thread(unsigned index) override {
    if (index == 0) release(0);
    if (index == 1) hang_up(1);
  }
  void check() override {
    expect_all_back();
  }
};
MODEL(admission_last_hang_up_x_release, 2, bounded)

// The same within a tenant that has a limit of its own: its permit is not lost either.
struct admission_hang_up_x_release_of_one_tenant : gate_model {
  admission_hang_up_x_release_of_one_tenant() : gate_model(2, 1) {
    come(0, A), come(1, A), come(2, A);
    EXPECT(try_(0));
    queue_up(1), queue_up(2);
  }
  void thread(unsigned index) override {
    if (index == 0) release(0);
    if (index == 1) hang_up(1);
  }
  void check() override {
    EXPECT(is_granted(2));
    release(2);
    expect_all_back();
  }
};
MODEL(admission_hang_up_x_release_of_one_tenant, 2, bounded)

// It hangs up before its first poll: what it was dealt is there for nobody, and is taken back.
struct admission_hang_up_before_poll_x_join : gate_model {
  admission_hang_up_before_poll_x_join() : gate_model(1) {
    come(0, A), come(1, B);
    EXPECT(admission_join(&a[0], 0) == VOLT_OK);
  }
  void thread(unsigned index) override {
    if (index == 0) hang_up(0);
    if (index == 1) queue_up(1);
  }
  void check() override {
    EXPECT(is_granted(1));
    release(1);
    expect_all_back();
  }
};
MODEL(admission_hang_up_before_poll_x_join, 2, bounded)

// Both queue while the permit comes: one is granted, the other after it.
struct admission_joins_x_release : gate_model {
  admission_joins_x_release() : gate_model(1) {
    come(0, A), come(1, A), come(2, B);
    EXPECT(try_(0));
  }
  void thread(unsigned index) override {
    if (index == 0) {
      release(0);
    } else {
      queue_up(index);
    }
  }
  void check() override {
    unsigned first = is_granted(1) ? 1 : 2;
    EXPECT(is_granted(first) && !is_granted(3 - first));
    release(first);
    EXPECT(is_granted(3 - first));
    release(3 - first);
    expect_all_back();
  }
};
MODEL(admission_joins_x_release, 3, bounded)

// I5, R4: whatever comes free, goes to those that were there before: of its tenant...
struct admission_no_overtaking : gate_model {
  explicit admission_no_overtaking(unsigned tenant = A) : gate_model(2) {
    come(0, A), come(1, A), come(2, A), come(3, A), come(4, tenant);
    EXPECT(try_(0) && try_(1));
    queue_up(2), queue_up(3);
  }
  void thread(unsigned index) override {
    release(index);
    if (index == 1) EXPECT(!try_(4));
  }
  void check() override {
    EXPECT(is_granted(2) && is_granted(3));
    release(2), release(3);
    expect_all_back();
  }
};
MODEL(admission_no_overtaking, 2, bounded)

// I6: ... and of another.
struct admission_no_overtaking_of_tenants : admission_no_overtaking {
  admission_no_overtaking_of_tenants() : admission_no_overtaking(B) {
  }
};
MODEL(admission_no_overtaking_of_tenants, 2, bounded)

// I5: within a tenant at its limit the first of the queue is granted first; another tenant is not
// held up. One of the queue hangs up.
struct admission_limit_of_a_tenant : gate_model {
  bool is_admitted = false;
  admission_limit_of_a_tenant() : gate_model(2, 1) {
    come(0, A), come(1, A), come(2, A), come(3, A), come(4, B);
    EXPECT(try_(0));
    queue_up(1), queue_up(2), queue_up(3);
  }
  void thread(unsigned index) override {
    if (index == 0) release(0);
    if (index == 1) hang_up(2);
    if (index == 2) queue_up(4);
  }
  void check() override {
    EXPECT(is_granted(1) && !is_granted(3) && is_granted(4));
    release(1);
    EXPECT(is_granted(3));
    release(3), release(4);
    expect_all_back();
  }
};
MODEL(admission_limit_of_a_tenant, 3, bounded)

// I4: the last one that waits for its tenant's limit hangs up as it would be granted.
struct admission_limit_withdrawn_x_release : gate_model {
  admission_limit_withdrawn_x_release() : gate_model(2, 1) {
    come(0, A), come(1, A), come(2, A);
    EXPECT(try_(0));
    queue_up(1);
  }
  void thread(unsigned index) override {
    if (index == 0) release(0);
    if (index == 1) hang_up(1);
    if (index == 2) queue_up(2);
  }
  void check() override {
    EXPECT(is_granted(2));
    release(2);
    expect_all_back();
  }
};
MODEL(admission_limit_withdrawn_x_release, 3, bounded)

// I5, R4: two permits of the tenant come free while the gate has enough of its own: those that queue
// get them.
struct admission_no_overtaking_at_a_limit : gate_model {
  admission_no_overtaking_at_a_limit() : gate_model(4, 2) {
    come(0, A), come(1, A), come(2, A), come(3, A), come(4, A);
    EXPECT(try_(0) && try_(1));
    queue_up(2), queue_up(3);
  }
  void thread(unsigned index) override {
    release(index);
    if (index == 1) EXPECT(!try_(4));
  }
  void check() override {
    EXPECT(is_granted(2) && is_granted(3));
    release(2), release(3);
    expect_all_back();
  }
};
MODEL(admission_no_overtaking_at_a_limit, 2, bounded)

// The first poll is that of another task, without a waker: the grant is not missed.
struct admission_second_poll_x_release : gate_model {
  int result = VOLT_ECANCELED;
  admission_second_poll_x_release() : gate_model(1) {
    come(0, A), come(1, A);
    EXPECT(try_(0));
    EXPECT(admission_join(&a[1], 0) == VOLT_OK);
    static const volt_waker none = {nullptr, nullptr};
    EXPECT(volt_future_poll(admission_future(&a[1]), none) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) release(0);
    if (index == 1) result = poll(1);
  }
  void check() override {
    EXPECT(woken[1].seen() == (result == VOLT_OK ? 0u : 1u));
    EXPECT(poll(1) == VOLT_OK);
    pick_up(1);
    release(1);
    expect_all_back();
  }
};
MODEL(admission_second_poll_x_release, 2, bounded)

// I1, R3: the cost changes as the grant is picked up: what was taken is given back.
struct admission_cost_x_pickup : gate_model {
  admission_cost_x_pickup() : gate_model(2, VOLT_SEM_MAX, 2) {
    come(0, A), come(1, A), come(2, A);
    EXPECT(try_(0));
    queue_up(1), queue_up(2);
    release(0);
  }
  void thread(unsigned index) override {
    if (index == 0) turns_member_set(&t[A].turns, VOLT_SEM_MAX, 1, 1);
    if (index == 1) {
      EXPECT(is_granted(1));
      EXPECT(a[1].cost == 2);
      release(1);
    }
  }
  void check() override {
    EXPECT(is_granted(2)); // at the old cost, if that was before the change
    release(2);
    EXPECT(volt_load_relaxed(&t[A].turns.cost) == 1);
    expect_all_back();
  }
};
MODEL(admission_cost_x_pickup, 2, bounded)

// The limit falls while permits come back: no more are granted than it says.
struct admission_lower_x_release : gate_model {
  admission_lower_x_release() : gate_model(2) {
    come(0, A), come(1, B), come(2, A), come(3, B);
    EXPECT(try_(0) && try_(1));
    queue_up(2), queue_up(3);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_sem_set_limit(&g.permits, 1);
      turns_report(&t[A].turns.note);
    }
    if (index == 1) release(0);
  }
  void check() override {
    bool is_late = is_granted(2); // before the limit fell
    EXPECT(!is_granted(3) && volt_sem_excess(&g.permits) == (is_late ? 1u : 0u));
    release(1);
    EXPECT(is_granted(2) != is_granted(3) || is_late);
    limit = 1;
    if (!is_granted(2)) hang_up(2);
    if (is_granted(2)) release(2);
    if (!is_granted(3)) hang_up(3);
    if (is_granted(3)) release(3);
    expect_all_back();
  }
};
MODEL(admission_lower_x_release, 2, bounded)

// The bound of the queue is exact.
struct admission_bound : gate_model {
  int result[2];
  admission_bound() : gate_model(1) {
    come(0, NONE), come(1, NONE), come(2, NONE);
    EXPECT(try_(0));
    g.queue_bound.value = 1;
  }
  void thread(unsigned index) override {
    result[index] = admission_join(&a[1 + index], 0);
    if (result[index] == VOLT_OK) EXPECT(poll(1 + index) == VOLT_PENDING);
  }
  void check() override {
    EXPECT((result[0] == VOLT_OK) != (result[1] == VOLT_OK));
    EXPECT(volt_sem_waiters(&g.permits) == 1 && volt_load_relaxed(&g.queued) == 1);
    unsigned queued = result[0] == VOLT_OK ? 1 : 2;
    hang_up(queued);
    release(0);
    expect_all_back();
  }
};
MODEL(admission_bound, 2, full)

// What a lease's driver does, as volt_cluster's: it looks when it is told to, counts what could be
// used, and sets the limit. told: somebody has called look since it looked last.
struct leased_model : gate_model {
  struct fake_lease : lease {
    leased_model *model;
  } fake;
  VOLT_ATOMIC(uint32_t) told, waits;
  uint32_t most; // permits that it may lease

  static void look(struct lease *l) {
    volt_exchange_acq_rel(&static_cast<fake_lease *>(l)->model->told, 1u);
  }
  static void released(struct lease *l) {
    leased_model *m = static_cast<fake_lease *>(l)->model;
    // as volt_cluster_lease_is_waiting(): a change, so that it comes before or behind the driver's
    if (volt_fetch_add_acq_rel(&m->waits, 0u) != 0) look(l);
  }

  leased_model(uint32_t leased, uint32_t most_, uint32_t limit_of_a = VOLT_SEM_MAX)
      : gate_model(leased, limit_of_a), most(most_) {
    static const struct lease_calls calls = {look, released, nullptr, nullptr};
    fake.calls = &calls;
    fake.model = this;
    g.lease = &fake;
    turns_set_lease(&g.turns, &fake);
    limit = most;
  }
  uint32_t wants() {
    uint32_t at_permits = volt_sem_waiters(&g.permits);
    uint32_t by_turns = volt_load_relaxed(&g.turns.wants);
    return at_permits > by_turns ? at_permits : by_turns;
  }
  uint32_t holds() {
    int64_t excess = volt_sem_excess(&g.permits);
    return (uint32_t)(volt_sem_limit(&g.permits) + excess - volt_sem_available(&g.permits));
  }
  // Lease what is wanted, if it was told to look.
  void drive() {
    if (!volt_exchange_acq_rel(&told, 0u)) return;
    uint32_t wanted = holds() + wants();
    if (wanted > most) wanted = most;
    if (wanted > volt_sem_limit(&g.permits)) volt_sem_set_limit(&g.permits, wanted);
  }
  // Take all back. Returns whether nothing is held any more.
  bool take_back() {
    volt_store_relaxed(&waits, 1u);
    volt_sem_set_limit(&g.permits, 0);
    volt_fetch_add_acq_rel(&waits, 0u);
    return holds() == 0;
  }
};

// A client queues, of no tenant, as the driver looks: it is counted, or the driver is told.
struct admission_lease_join_x_look : leased_model {
  admission_lease_join_x_look() : leased_model(0, 2) {
    come(0, NONE), come(1, NONE);
    queue_up(0);
  }
  void thread(unsigned index) override {
    if (index == 0) queue_up(1);
    if (index == 1) drive();
  }
  void check() override {
    drive();
    EXPECT(is_granted(0) && is_granted(1));
    release(0), release(1);
    expect_all_back();
  }
};
MODEL(admission_lease_join_x_look, 2, bounded)

// The same by tenants, one of which is at its own limit: that one wants nothing of the gate's.
struct admission_lease_turns_x_look : leased_model {
  admission_lease_turns_x_look() : leased_model(0, 3, 1) {
    come(0, A), come(1, B), come(2, A);
    queue_up(0), queue_up(2);
  }
  void thread(unsigned index) override {
    if (index == 0) queue_up(1);
    if (index == 1) drive();
  }
  void check() override {
    drive();
    EXPECT(is_granted(0) && is_granted(1) && !is_granted(2));
    EXPECT(volt_sem_limit(&g.permits) == 2 && wants() == 0);
    release(0);
    EXPECT(is_granted(2)); // by the permit that came back
    release(1), release(2);
    EXPECT(wants() == 0);
    expect_all_back();
  }
};
MODEL(admission_lease_turns_x_look, 2, bounded)

// Two that want hang up as the driver looks: in the end nothing is wanted.
struct admission_lease_hang_up_x_look : leased_model {
  admission_lease_hang_up_x_look() : leased_model(0, 2) {
    come(0, A), come(1, B);
    queue_up(0), queue_up(1);
  }
  void thread(unsigned index) override {
    if (index == 0) hang_up(0);
    if (index == 1) drive();
  }
  void check() override {
    drive();
    EXPECT(is_granted(1));
    release(1);
    EXPECT(wants() == 0 && holds() == 0);
    expect_all_back();
  }
};
MODEL(admission_lease_hang_up_x_look, 2, bounded)

// A permit is taken back as it is released: it is found to be free, or the driver is told.
struct admission_lease_release_x_take_back : leased_model {
  bool is_free;
  admission_lease_release_x_take_back() : leased_model(1, 1), is_free(false) {
    come(0, NONE);
    EXPECT(try_(0));
  }
  void thread(unsigned index) override {
    if (index == 0) release(0);
    if (index == 1) is_free = take_back();
  }
  void check() override {
    EXPECT(is_free || volt_load_relaxed(&told) != 0);
    EXPECT(holds() == 0);
    expect_all_back();
  }
};
MODEL(admission_lease_release_x_take_back, 2, bounded)

// The same as a client hangs up that was granted it and has not seen that.
struct admission_lease_hang_up_x_take_back : leased_model {
  bool is_free;
  admission_lease_hang_up_x_take_back() : leased_model(1, 1), is_free(false) {
    come(0, NONE), come(1, NONE);
    EXPECT(try_(0));
    queue_up(1);
    release(0);
    drive();
  }
  void thread(unsigned index) override {
    if (index == 0) hang_up(1);
    if (index == 1) is_free = take_back();
  }
  void check() override {
    EXPECT(is_free || volt_load_relaxed(&told) != 0);
    EXPECT(holds() == 0);
    expect_all_back();
  }
};
MODEL(admission_lease_hang_up_x_take_back, 2, bounded)

// The same of a tenant's client.
struct admission_lease_release_of_a_tenant_x_take_back : leased_model {
  bool is_free;
  admission_lease_release_of_a_tenant_x_take_back() : leased_model(1, 1), is_free(false) {
    come(0, A);
    EXPECT(try_(0));
  }
  void thread(unsigned index) override {
    if (index == 0) release(0);
    if (index == 1) is_free = take_back();
  }
  void check() override {
    EXPECT(is_free || volt_load_relaxed(&told) != 0);
    EXPECT(holds() == 0);
    expect_all_back();
  }
};
MODEL(admission_lease_release_of_a_tenant_x_take_back, 2, bounded)

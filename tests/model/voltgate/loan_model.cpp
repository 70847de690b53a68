// loan_model: the permits of a gate between two processes: apps/voltgate/handover/ledger.c, as it is
// shipped, on admission.c and turns.c. ledger.c L1 to L4, R1, R2. A process is a gate and the thread of
// its handover, which has no clock here: it looks when it was told to, or a message has come. A process
// that dies does nothing from then on.
// PROGRAM: loan BATCH 2 MUTANTS SOURCES voltgate apps/voltgate/handover/ledger.c
// PROGRAM: loan DEFINES voltgate -DVOLT_MODEL_LOANS
#include "handover/ledger.h"

#include "gate/admission.h"
#include "model.hpp"

static const struct gate_settings model_settings = {0, 0, 0};

struct process {
  struct gate g;
  struct tenants tenants;
  struct tenant t;
  struct client c[3];
  struct admission a[3];
  wake_count woken[3];
  struct ledger_says says[8]; // messages to the other
  VOLT_ATOMIC(uint32_t) said;
  unsigned heard = 0; // of the other's
  VOLT_ATOMIC(uint32_t) told;

  process(uint32_t limit, uint32_t cost) {
    g.settings = &model_settings;
    volt_sem_init(&g.permits, limit);
    turns_init(&g.turns, &g.permits);
    g.tenants = cost == 0 ? nullptr : &tenants;
    g.queue_bound.value = 9;
    if (cost != 0) turns_member_init(&t.turns, &g.turns, VOLT_SEM_MAX, 1, cost);
    for (unsigned i = 0; i < 3; i++) {
      c[i].tenant = cost == 0 ? nullptr : &t;
      admission_init(&a[i], &g, &c[i]);
    }
  }
  // The write to an eventfd, and the read.
  static void tell(void *p) {
    volt_exchange_acq_rel(&static_cast<process *>(p)->told, 1u);
  }
  bool was_told() {
    return volt_exchange_acq_rel(&told, 0u) != 0;
  }
  void say(struct ledger_says what) {
    if (what.give == 0 && what.want == 0 && what.want_not == 0) return;
    uint32_t i = volt_load_relaxed(&said);
    EXPECT(i < 8);
    says[i] = what;
    volt_store_release(&said, i + 1);
  }
  // What the other has said; NULL: no more.
  const struct ledger_says *hear(process *other) {
    if (heard == volt_load_acquire(&other->said)) return nullptr;
    return &other->says[heard++];
  }
};

struct loan_model : model {
  process before, after;
  struct giver giver;
  struct keeper keeper;
  VOLT_ATOMIC(uint32_t) held; // by clients of both
  uint32_t limit;
  bool before_lives = true, after_lives = true;

  // cost: of a client; 0: there are no tenants.
  explicit loan_model(uint32_t limit_, uint32_t cost = 0)
      : before(limit_, cost), after(limit_, cost), limit(limit_) {
    keeper_begin(&keeper, &after.g, limit, (struct ledger_tell){process::tell, &after});
  }
  void lend() {
    giver_begin(&giver, &before.g, (struct ledger_tell){process::tell, &before});
  }

  // ---- clients ----

  void admitted(process &p, unsigned i) {
    EXPECT(volt_fetch_add_relaxed(&held, p.a[i].cost) + p.a[i].cost <= limit);
  }
  bool try_(process &p, unsigned i) {
    if (admission_try(&p.a[i], 0) != VOLT_OK) return false;
    admitted(p, i);
    return true;
  }
  int poll(process &p, unsigned i) {
    return volt_future_poll(admission_future(&p.a[i]), p.woken[i].waker());
  }
  void pick_up(process &p, unsigned i) {
    EXPECT(admission_leave(&p.a[i], 0));
    admitted(p, i);
  }
  void queue_up(process &p, unsigned i) {
    EXPECT(admission_join(&p.a[i], 0) == VOLT_OK);
    if (poll(p, i) == VOLT_OK) pick_up(p, i);
  }
  // It has read that there is no loan, and comes only now.
  void queue_up_late(process &p, unsigned i) {
    volt_future_made(volt_sem_acquire_future(&p.a[i].leaf, &p.g.permits, 1));
    p.a[i].is_queued = true;
    volt_fetch_add_relaxed(&p.g.queued, 1u);
    if (poll(p, i) == VOLT_OK) pick_up(p, i);
  }
  // Returns whether it was too late, and it has its permits.
  bool hang_up(process &p, unsigned i) {
    bool has = admission_leave(&p.a[i], 0);
    if (has) admitted(p, i);
    return has;
  }
  void release(process &p, unsigned i) {
    volt_fetch_sub_release(&held, p.a[i].cost);
    admission_release(&p.a[i], 0);
  }
  // At quiescence.
  bool is_granted(process &p, unsigned i) {
    if (!p.a[i].is_queued) return admission_holds(&p.a[i]);
    if (poll(p, i) != VOLT_OK) return false;
    pick_up(p, i);
    return true;
  }

  // ---- the threads of the handover ----

  void look_before() {
    struct ledger_says says = giver_look(&giver);
    if (after_lives) before.say(says);
  }
  void look_after() {
    if (!keeper.is_over) after.say((struct ledger_says){keeper_look(&keeper), 0, 0, false});
  }
  bool hear_after() {
    const struct ledger_says *m = after_lives && !keeper.is_over ? after.hear(&before) : nullptr;
    if (!m) return false;
    EXPECT(keeper_given(&keeper, m->give));
    keeper_want_not(&keeper, m->want_not);
    if (m->want) {
      EXPECT(m->together ? keeper_want_together(&keeper, m->want)
                         : keeper_want_each(&keeper, m->want));
    }
    look_after();
    return true;
  }
  bool hear_before() {
    const struct ledger_says *m = before_lives && !giver.is_over ? before.hear(&after) : nullptr;
    if (!m) return false;
    EXPECT(giver_bring(&giver, m->give));
    look_before();
    return true;
  }
  bool step_before() {
    bool is_told = before_lives && before.was_told();
    if (is_told) look_before();
    return hear_before() || is_told;
  }
  bool step_after() {
    bool is_told = after_lives && after.was_told();
    if (is_told) look_after();
    return hear_after() || is_told;
  }
  void settle() {
    for (bool more = true; more;) {
      more = step_before();
      more = step_after() || more;
    }
  }

  // ---- what has to be so ----

  // Of the process that is left: nothing is away, and at the loan is nothing that no client has.
  void expect_alone(process &p, uint32_t with_clients) {
    EXPECT(p.g.away.value == 0);
    EXPECT(volt_sem_available(&p.g.permits) == limit - with_clients);
    EXPECT(volt_sem_available(&giver.loan.permits) == 0);
    EXPECT(volt_sem_waiters(&p.g.permits) == 0 && volt_load_relaxed(&p.g.queued) == 0);
  }
  // L2: of both: the old process has what its clients hold.
  void expect_shared(uint32_t held_before, uint32_t held_after) {
    EXPECT(after.g.away.value == held_before);
    EXPECT(volt_sem_limit(&before.g.permits) - before.g.away.value == held_before);
    EXPECT(volt_sem_available(&after.g.permits) == limit - held_before - held_after);
    EXPECT(volt_sem_available(&giver.loan.permits) == 0);
    EXPECT(volt_load_relaxed(&held) == held_before + held_after);
  }
  void end() {
    keeper_end(&keeper);
    giver_end(&giver);
  }
};

// ---- both live ----

// L3: a client queues at the loan as the thread looks: its permit is asked for.
struct loan_join_x_look : loan_model {
  loan_join_x_look() : loan_model(1) {
    lend();
    look_before();
    settle();
  }
  void thread(unsigned index) override {
    if (index == 0) queue_up(before, 0);
    if (index == 1) step_before();
  }
  void check() override {
    settle();
    EXPECT(is_granted(before, 0));
    expect_shared(1, 0);
    release(before, 0);
    settle();
    expect_shared(0, 0);
    end();
  }
};
MODEL(loan_join_x_look, 2, bounded)

// L1, L2: a client releases while the other process's clients queue, and the threads look.
struct loan_release_x_join_after : loan_model {
  loan_release_x_join_after() : loan_model(1) {
    EXPECT(try_(before, 0));
    lend();
  }
  void thread(unsigned index) override {
    if (index == 0) release(before, 0);
    if (index == 1) queue_up(after, 0);
    if (index == 2) {
      look_before();
      step_after();
    }
  }
  void check() override {
    settle();
    EXPECT(is_granted(after, 0));
    expect_shared(0, 1);
    release(after, 0);
    expect_shared(0, 0);
    end();
  }
};
MODEL(loan_release_x_join_after, 3, bounded)

// Clients of both are served one after the other; the limit is one.
struct loan_joins_of_both : loan_model {
  loan_joins_of_both() : loan_model(1) {
    lend();
    look_before();
    settle();
  }
  void thread(unsigned index) override {
    if (index == 0) queue_up(before, 0);
    if (index == 1) queue_up(after, 0);
    if (index == 2) {
      step_before();
      step_after();
      step_before();
    }
  }
  void check() override {
    settle();
    bool is_first = is_granted(before, 0);
    process &first = is_first ? before : after, &second = is_first ? after : before;
    EXPECT(is_granted(first, 0) && !is_granted(second, 0));
    release(first, 0);
    settle();
    EXPECT(is_granted(second, 0));
    release(second, 0);
    settle();
    expect_shared(0, 0);
    end();
  }
};
MODEL(loan_joins_of_both, 3, bounded)

// A client hangs up as its permit is brought: it goes back.
struct loan_hang_up_x_bring : loan_model {
  loan_hang_up_x_bring() : loan_model(1) {
    lend();
    look_before();
    settle();
    queue_up(before, 0);
    look_before();
    hear_after(), hear_after();
  }
  void thread(unsigned index) override {
    if (index == 0 && hang_up(before, 0)) release(before, 0);
    if (index == 1) step_before();
  }
  void check() override {
    settle();
    expect_shared(0, 0);
    end();
  }
};
MODEL(loan_hang_up_x_bring, 2, bounded)

// A client that has queued before the handover hangs up as a permit comes back.
struct loan_early_hang_up_x_release : loan_model {
  loan_early_hang_up_x_release() : loan_model(1) {
    EXPECT(try_(before, 0));
    queue_up(before, 1);
    lend();
    look_before();
    settle();
  }
  void thread(unsigned index) override {
    if (index == 0) release(before, 0);
    if (index == 1 && hang_up(before, 1)) release(before, 1);
    if (index == 2) step_before();
  }
  void check() override {
    settle();
    expect_shared(0, 0);
    end();
  }
};
MODEL(loan_early_hang_up_x_release, 3, bounded)

// R2: two clients that have seen no loan queue at the gate's permits as one is brought for another.
struct loan_bring_x_late_joins : loan_model {
  loan_bring_x_late_joins() : loan_model(1) {
    lend();
    look_before();
    settle();
    queue_up(before, 0);
    look_before();
    hear_after(), hear_after();
  }
  void thread(unsigned index) override {
    if (index == 0) EXPECT(hear_before());
    if (index == 1) queue_up_late(before, 1), queue_up_late(before, 2);
  }
  void check() override {
    look_before(); // after 50 ms
    for (unsigned left = 3; left > 0; left--) {
      settle();
      unsigned i = 0;
      while (i < 3 && !(before.a[i].is_queued && is_granted(before, i)) && !before.a[i].cost) i++;
      EXPECT(i < 3);
      release(before, i);
    }
    settle();
    expect_shared(0, 0);
    end();
  }
};
MODEL(loan_bring_x_late_joins, 2, bounded)

// ---- one dies ----

// R1: the new process dies as a client of the old one hangs up, that was queued at the loan.
struct loan_hang_up_x_new_dies : loan_model {
  loan_hang_up_x_new_dies() : loan_model(1) {
    lend();
    look_before();
    settle();
    EXPECT(try_(after, 0));
    queue_up(before, 0);
    settle();
  }
  void new_dies() {
    volt_store_relaxed(&held, 0u);
    after_lives = false;
    giver_take_back(&giver);
  }
  void thread(unsigned index) override {
    if (index == 0 && hang_up(before, 0)) release(before, 0);
    if (index == 1) new_dies();
  }
  void check() override {
    settle();
    expect_alone(before, 0);
    end();
  }
};
MODEL(loan_hang_up_x_new_dies, 2, bounded)

// A client queues as the new process dies: at the loan, or not, it is served.
struct loan_join_x_new_dies : loan_hang_up_x_new_dies {
  void thread(unsigned index) override {
    if (index == 0) queue_up(before, 1);
    if (index == 1) new_dies();
  }
  void check() override {
    settle();
    bool is_first = is_granted(before, 0);
    EXPECT(is_first || is_granted(before, 1));
    release(before, is_first ? 0 : 1);
    settle();
    EXPECT(is_granted(before, is_first ? 1 : 0));
    release(before, is_first ? 1 : 0);
    settle();
    expect_alone(before, 0);
    end();
  }
};
MODEL(loan_join_x_new_dies, 2, bounded)

// The same as a client releases, for which another waits at the loan.
struct loan_release_x_new_dies : loan_model {
  loan_release_x_new_dies() : loan_model(1) {
    EXPECT(try_(before, 0));
    lend();
    look_before();
    settle();
    queue_up(before, 1);
    settle();
  }
  void thread(unsigned index) override {
    if (index == 0) release(before, 0);
    if (index == 1) {
      after_lives = false;
      giver_take_back(&giver);
      step_before();
    }
  }
  void check() override {
    settle();
    EXPECT(is_granted(before, 1));
    release(before, 1);
    settle();
    expect_alone(before, 0);
    end();
  }
};
MODEL(loan_release_x_new_dies, 2, bounded)

// The old process dies as the new one's client hangs up, behind what was asked for.
struct loan_old_dies_x_release : loan_model {
  loan_old_dies_x_release() : loan_model(1) {
    lend();
    look_before();
    settle();
    EXPECT(try_(after, 0));
    queue_up(before, 0);
    settle();
    queue_up(after, 1);
  }
  void thread(unsigned index) override {
    if (index == 0) release(after, 0);
    if (index == 1) {
      before_lives = false;
      step_after();
      keeper_end(&keeper);
    }
  }
  void check() override {
    EXPECT(is_granted(after, 1));
    release(after, 1);
    EXPECT(volt_sem_available(&after.g.permits) == 1 && after.g.away.value == 0);
  }
};
MODEL(loan_old_dies_x_release, 2, bounded)

// ---- with tenants ----

// turns.c deals from the loan: a client joins as the thread looks.
struct loan_tenant_join_x_look : loan_model {
  loan_tenant_join_x_look() : loan_model(2, 2) {
    lend();
    look_before();
    settle();
  }
  void thread(unsigned index) override {
    if (index == 0) queue_up(before, 0);
    if (index == 1) {
      step_before();
      step_after();
      step_before();
    }
  }
  void check() override {
    settle();
    EXPECT(is_granted(before, 0));
    expect_shared(2, 0);
    release(before, 0);
    settle();
    expect_shared(0, 0);
    end();
  }
};
MODEL(loan_tenant_join_x_look, 2, bounded)

// It hangs up as its permits are brought.
struct loan_tenant_hang_up_x_bring : loan_model {
  loan_tenant_hang_up_x_bring() : loan_model(2, 2) {
    lend();
    look_before();
    settle();
    queue_up(before, 0);
    look_before();
    hear_after(), hear_after();
  }
  void thread(unsigned index) override {
    if (index == 0 && hang_up(before, 0)) release(before, 0);
    if (index == 1) EXPECT(hear_before());
  }
  void check() override {
    settle();
    expect_shared(0, 0);
    end();
  }
};
MODEL(loan_tenant_hang_up_x_bring, 2, bounded)

// The new process dies as it joins.
struct loan_tenant_join_x_new_dies : loan_model {
  loan_tenant_join_x_new_dies() : loan_model(2, 2) {
    lend();
    look_before();
    settle();
  }
  void thread(unsigned index) override {
    if (index == 0) queue_up(before, 0);
    if (index == 1) {
      after_lives = false;
      giver_take_back(&giver);
    }
  }
  void check() override {
    settle();
    EXPECT(is_granted(before, 0));
    release(before, 0);
    settle();
    expect_alone(before, 0);
    end();
  }
};
MODEL(loan_tenant_join_x_new_dies, 2, bounded)

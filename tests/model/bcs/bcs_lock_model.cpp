// bcs_lock_model: the lock that runs closures, over both queues. bcs_lock.c I1-I4, R1-R4, R7,
// R8, bcs_job.c R5 and R6. Built with a batch of one, so that the role is handed over whenever somebody waits,
// and with one that is never full.
// PROGRAM: bcs BATCH 1 MUTANTS SOURCES bcs DEFINES small_sections
// PROGRAM: bcs_long BATCH 1 MUTANTS SOURCES bcs DEFINES -DVOLT_BCS_WAKERS=2
#include "core/os/futex.h"
#include "model.hpp"

struct bcs_lock_model : model {
  volt_bcs_lock lock;
  VOLT_PLAIN(unsigned) ran; // touched in sections only

  explicit bcs_lock_model(bool lockfree) {
    if (lockfree) {
      volt_bcs_lock_init_lockfree(&lock);
    } else {
      volt_bcs_lock_init(&lock);
    }
  }
  static void count(void *arg) {
    static_cast<bcs_lock_model *>(arg)->ran += 1;
  }
  void run() {
    volt_bcs_node node;
    volt_bcs_lock_run(&lock, &node, count, this);
  }
  void expect_ran(unsigned times) {
    EXPECT(ran == times && !volt_bcs_lock_is_busy(&lock));
    volt_bcs_lock_destroy(&lock);
  }
};

// ---- threads ----

// A job and what it leaves to the one who asked for it.
struct errand {
  bcs_lock_model *model;
  VOLT_PLAIN(unsigned) ticket;
  static void go(void *arg) {
    errand *e = static_cast<errand *>(arg);
    e->model->ran += 1;
    e->ticket = e->model->ran;
  }
};

template <bool lockfree, unsigned threads, unsigned each>
struct bcs_runs : bcs_lock_model {
  bcs_runs() : bcs_lock_model(lockfree) {
  }
  void thread(unsigned) override {
    for (unsigned i = 0; i < each; i++) {
      volt_bcs_node node;
      errand e;
      e.model = this;
      volt_bcs_lock_run(&lock, &node, errand::go, &e);
      EXPECT(e.ticket != 0); // it has run, and we see what it did
    }
  }
  void check() override {
    expect_ran(threads * each);
  }
};
struct bcs_run_2x1 : bcs_runs<false, 2, 1> {};
struct bcs_run_2x2 : bcs_runs<false, 2, 2> {};
struct bcs_run_3x1 : bcs_runs<false, 3, 1> {};
struct bcs_run_lockfree_2x1 : bcs_runs<true, 2, 1> {};
struct bcs_run_lockfree_2x2 : bcs_runs<true, 2, 2> {};
struct bcs_run_lockfree_3x1 : bcs_runs<true, 3, 1> {};
MODEL(bcs_run_2x1, 2, full)
MODEL(bcs_run_2x2, 2, bounded)
MODEL(bcs_run_3x1, 3, bounded)
MODEL(bcs_run_lockfree_2x1, 2, bounded)
MODEL(bcs_run_lockfree_2x2, 2, bounded)
MODEL(bcs_run_lockfree_3x1, 3, bounded)

// R8: sections keep coming until the waker of the first has been called.
struct bcs_waker_x_sections : bcs_lock_model {
  volt_bcs_section first, again[2], other;
  VOLT_ATOMIC(uint32_t) called;
  VOLT_PLAIN(unsigned) next; // touched in sections only
  bcs_waker_x_sections() : bcs_lock_model(false) {
    next = 0;
  }
  static void call(void *m) {
    volt_store_relaxed(&static_cast<bcs_waker_x_sections *>(m)->called, 1u);
  }
  static void submit_again(void *m) {
    bcs_waker_x_sections *self = static_cast<bcs_waker_x_sections *>(m);
    if (volt_load_relaxed(&self->called)) return;
    self->next = 1 - self->next;
    volt_waker none = {nullptr, nullptr};
    volt_bcs_lock_submit(&self->lock, &self->again[self->next], submit_again, self, none);
    volt_yield_(); // it may be another thread that is about to call the waker
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_bcs_lock_submit(&lock, &first, submit_again, this, volt_waker{call, this});
    } else {
      volt_bcs_lock_submit(&lock, &other, count, this, volt_waker{nullptr, nullptr});
    }
  }
  void check() override {
    EXPECT(volt_load_relaxed(&called) == 1);
    expect_ran(1);
  }
};
MODEL(bcs_waker_x_sections, 2, bounded)

// I4: the last of two users frees the lock as soon as its own section has run.
template <bool lockfree>
struct bcs_last_frees : model {
  struct owned : bcs_lock_model {
    owned() : bcs_lock_model(lockfree) {
    }
    void thread(unsigned) override {
    }
  };
  owned *o = new owned;
  static void use(void *arg) {
    errand::go(arg);
  }
  void thread(unsigned) override {
    volt_bcs_node node;
    errand e;
    e.model = o;
    volt_bcs_lock_run(&o->lock, &node, use, &e);
    if (e.ticket == 2) delete o;
  }
};
struct bcs_last_user_frees : bcs_last_frees<false> {};
struct bcs_last_user_frees_lockfree : bcs_last_frees<true> {};
MODEL(bcs_last_user_frees, 2, full)
MODEL(bcs_last_user_frees_lockfree, 2, bounded)

// I3, R3: one who submitted before it ran something is handed the role, hands it on before its own
// turn, and waits again.
template <bool lockfree>
struct bcs_order : bcs_lock_model {
  volt_bcs_section first;
  VOLT_PLAIN(unsigned) first_ran;
  bcs_order() : bcs_lock_model(lockfree) {
  }
  static void go_first(void *arg) {
    bcs_order *self = static_cast<bcs_order *>(arg);
    self->ran += 1;
    self->first_ran = 1;
  }
  static void go_second(void *arg) {
    bcs_order *self = static_cast<bcs_order *>(arg);
    self->ran += 1;
    EXPECT(self->first_ran == 1);
  }
  void thread(unsigned index) override {
    if (index != 1) {
      run();
      return;
    }
    volt_bcs_lock_submit(&lock, &first, go_first, this, volt_waker{nullptr, nullptr});
    volt_bcs_node node;
    volt_bcs_lock_run(&lock, &node, go_second, this);
  }
  void check() override {
    expect_ran(4);
  }
};
struct bcs_submit_then_run : bcs_order<false> {};
struct bcs_submit_then_run_lockfree : bcs_order<true> {};
MODEL(bcs_submit_then_run, 3, bounded)
MODEL(bcs_submit_then_run_lockfree, 3, bounded)

// ---- wakers ----

// The waker frees the section.
struct bcs_waker_frees : bcs_lock_model {
  VOLT_ATOMIC(uint32_t) woken;
  struct own {
    volt_bcs_section section;
    bcs_waker_frees *model;
  };
  bcs_waker_frees() : bcs_lock_model(false) {
  }
  static void wake(void *ctx) {
    own *o = static_cast<own *>(ctx);
    volt_fetch_add_relaxed(&o->model->woken, 1);
    delete o;
  }
  void thread(unsigned index) override {
    if (index == 0) {
      run();
      return;
    }
    own *o = new own;
    o->model = this;
    volt_bcs_lock_submit(&lock, &o->section, count, this, volt_waker{wake, o});
  }
  void check() override {
    EXPECT(volt_load_relaxed(&woken) == 1);
    expect_ran(2);
  }
};
MODEL(bcs_waker_frees, 2, bounded)

struct bcs_waker_frees_3 : bcs_waker_frees {
  void check() override {
    EXPECT(volt_load_relaxed(&woken) == 2);
    expect_ran(3);
  }
};
MODEL(bcs_waker_frees_3, 3, bounded)

// R7: the waker uses the lock, from wherever it is called: after the batch, or in the middle.
struct bcs_waker_reenters : bcs_lock_model {
  volt_bcs_section sections[3];
  unsigned expected = 3;
  bcs_waker_reenters() : bcs_lock_model(false) {
  }
  static void wake(void *ctx) {
    static_cast<bcs_waker_reenters *>(ctx)->run();
  }
  void submit(volt_bcs_section *section) {
    volt_bcs_lock_submit(&lock, section, count, this, volt_waker{wake, this});
  }
  void thread(unsigned index) override {
    if (index == 0) {
      run();
    } else {
      submit(&sections[0]);
    }
  }
  void check() override {
    expect_ran(expected);
  }
};
MODEL(bcs_waker_reenters, 2, bounded)

// R3: three deep.
struct bcs_wakers_reenter : bcs_waker_reenters {
  bcs_wakers_reenter() {
    expected = 7;
  }
  void thread(unsigned index) override {
    if (index == 0) {
      run();
    } else {
      submit(&sections[0]);
      submit(&sections[1]);
      submit(&sections[2]);
    }
  }
};
MODEL(bcs_wakers_reenter, 2, bounded)

// R3: one thread waits three deep. Its first section asks for two more; the first waker runs something,
// behind a producer that has swapped the tail and not linked yet, and so does, or waits otherwise,
// the second, which is called while the thread serves the first one's. The missing link takes the
// role from it, with two jobs of its own in the queue, and the producer looks for one to hand it to.
template <bool lockfree>
struct bcs_deep : bcs_lock_model {
  volt_bcs_section sections[3];
  volt_future f;
  volt_bcs_section of_future;
  wake_count woken;
  unsigned expected = 6;
  bcs_deep() : bcs_lock_model(lockfree) {
    volt_future_made(volt_bcs_lock_run_future(&f, &lock, &of_future, count, this));
  }
  static void ask(void *arg) {
    auto *self = static_cast<bcs_deep *>(arg);
    self->ran += 1;
    volt_bcs_lock_submit(&self->lock, &self->sections[1], count, self, volt_waker{second, self});
    volt_bcs_lock_submit(&self->lock, &self->sections[2], count, self, volt_waker{});
  }
  static void first(void *arg) {
    static_cast<bcs_deep *>(arg)->run();
  }
  static void second(void *arg) {
    static_cast<bcs_deep *>(arg)->wait();
  }
  virtual void wait() {
    run();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_bcs_lock_submit(&lock, &sections[0], ask, this, volt_waker{first, this});
    } else {
      run();
    }
  }
  void check() override {
    expect_ran(expected);
  }
};
struct bcs_waits_deep : bcs_deep<false> {};
struct bcs_waits_deep_lockfree : bcs_deep<true> {};
struct bcs_waits_deep_3 : bcs_deep<false> {
  bcs_waits_deep_3() {
    expected = 7;
  }
};
MODEL(bcs_waits_deep, 2, bounded)
MODEL(bcs_waits_deep_lockfree, 2, bounded)
MODEL(bcs_waits_deep_3, 3, bounded)

// R3: the second waker blocks on a future.
struct bcs_blocks_deep : bcs_deep<false> {
  void wait() override {
    EXPECT(volt_future_wait(&f) == VOLT_OK);
  }
};
MODEL(bcs_blocks_deep, 2, bounded)

// R3: the second waker cancels a future, and waits for the queue to pass it.
struct bcs_cancels_deep : bcs_deep<false> {
  void wait() override {
    if (volt_future_poll(&f, woken.waker()) == VOLT_PENDING) volt_future_cancel(&f);
  }
  void check() override {
    expect_ran(ran == 5 ? 5 : 6);
  }
};
MODEL(bcs_cancels_deep, 2, bounded)

// R3: a waker cancels a future whose job is ahead of that of the waker's own thread, which was given the
// role for that, and then runs a section. The cancel takes the role, and passes it on: but not to the job
// of its own thread, which does not look.
template <bool lockfree>
struct bcs_cancel_ahead : bcs_lock_model {
  volt_bcs_section section, of_future;
  volt_future f;
  wake_count woken;
  bcs_cancel_ahead() : bcs_lock_model(lockfree) {
    volt_future_made(volt_bcs_lock_run_future(&f, &lock, &of_future, count, this));
  }
  static void cancel_and_run(void *arg) {
    auto *self = static_cast<bcs_cancel_ahead *>(arg);
    volt_future_cancel(&self->f);
    self->run();
  }
  static void ask(void *arg) {
    auto *self = static_cast<bcs_cancel_ahead *>(arg);
    self->ran += 1;
    volt_bcs_lock_submit(&self->lock, &self->section, count, self,
                         volt_waker{cancel_and_run, self});
    EXPECT(volt_future_poll(&self->f, self->woken.waker()) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      run();
    } else {
      volt_bcs_node node;
      volt_bcs_lock_run(&lock, &node, ask, this);
    }
  }
  void check() override {
    expect_ran(ran == 5 ? 5 : 4);
  }
};
struct bcs_cancels_ahead : bcs_cancel_ahead<false> {};
struct bcs_cancels_ahead_lockfree : bcs_cancel_ahead<true> {};
MODEL(bcs_cancels_ahead, 2, bounded)
MODEL(bcs_cancels_ahead_lockfree, 2, bounded)

// R4: what nobody is told of is freed by a later section.
template <bool lockfree>
struct bcs_forget : bcs_lock_model {
  volt_bcs_section *section = new volt_bcs_section;
  bcs_forget() : bcs_lock_model(lockfree) {
  }
  static void free_it(void *arg) {
    bcs_forget *self = static_cast<bcs_forget *>(arg);
    if (self->ran == 0) return;
    self->ran += 1;
    self->section->job.kind = 0; // whoever still reads it is reported
    self->section->job.wake = nullptr;
    delete self->section;
  }
  static void again(void *arg) { // in case the first came too early
    bcs_forget *self = static_cast<bcs_forget *>(arg);
    if (self->ran == 1) free_it(arg);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_bcs_lock_submit(&lock, section, count, this, volt_waker{nullptr, nullptr});
    } else {
      volt_bcs_node node;
      volt_bcs_lock_run(&lock, &node, free_it, this);
    }
  }
  void check() override {
    volt_bcs_node node;
    volt_bcs_lock_run(&lock, &node, again, this);
    expect_ran(2);
  }
};
struct bcs_forgotten_is_freed : bcs_forget<false> {};
struct bcs_forgotten_is_freed_lockfree : bcs_forget<true> {};
MODEL(bcs_forgotten_is_freed, 2, full)
MODEL(bcs_forgotten_is_freed_lockfree, 2, bounded)

// ---- futures ----

struct bcs_future_model : bcs_lock_model {
  volt_future f;
  volt_bcs_section section;
  wake_count woken[2];
  VOLT_PLAIN(unsigned) effect; // what the future's section does

  bcs_future_model() : bcs_lock_model(false) {
    volt_future_made(volt_bcs_lock_run_future(&f, &lock, &section, act, this));
  }
  static void act(void *arg) {
    bcs_future_model *self = static_cast<bcs_future_model *>(arg);
    self->ran += 1;
    self->effect = 1;
  }
  void poison_all() {
    poison(&f.waiter);
    section.job.fn = nullptr;
    section.job.waiter = nullptr;
    section.job.flag = false;
  }
};

// A thread blocks on a future, another runs.
struct bcs_future_x_run : bcs_future_model {
  void thread(unsigned index) override {
    if (index == 0) {
      run();
      return;
    }
    EXPECT(volt_future_wait(&f) == VOLT_OK);
    EXPECT(effect == 1);
    poison_all();
  }
  void check() override {
    expect_ran(2);
  }
};
MODEL(bcs_future_x_run, 2, bounded)

// R5: polled with one waker, then with another: the result comes, and one wake if it was pending.
struct bcs_future_migrates : bcs_future_model {
  int first = VOLT_OK, second = VOLT_OK;
  void thread(unsigned index) override {
    if (index == 0) {
      run();
      return;
    }
    first = volt_future_poll(&f, woken[0].waker());
    second = volt_future_poll(&f, woken[1].waker());
    if (second == VOLT_OK) {
      EXPECT(effect == 1);
      poison_all();
    }
  }
  void check() override {
    expect_ran(2);
    uint32_t wakes = woken[0].seen() + woken[1].seen();
    EXPECT(wakes == (first == VOLT_PENDING ? 1u : 0u));
    if (second == VOLT_PENDING) EXPECT(woken[1].seen() == 1);
  }
};
MODEL(bcs_future_migrates, 2, bounded)

struct bcs_future_migrates_3 : bcs_future_migrates {
  void thread(unsigned index) override {
    bcs_future_migrates::thread(index == 2 ? 0 : index);
  }
  void check() override {
    ran -= 1;
    bcs_future_migrates::check();
  }
};
MODEL(bcs_future_migrates_3, 3, bounded)

// R6: cancelled: it has not run and nobody is woken; or it was too late: it has, and one wake
// comes.
struct bcs_future_x_cancel : bcs_future_model {
  int polled = VOLT_OK;
  unsigned seen = 0;
  void thread(unsigned index) override {
    if (index == 0) {
      run();
      return;
    }
    polled = volt_future_poll(&f, woken[0].waker());
    volt_future_cancel(&f);
    seen = effect;
    poison_all();
  }
  void check() override {
    EXPECT(effect == seen);
    expect_ran(1 + seen);
    if (polled == VOLT_OK) EXPECT(seen == 1);
    EXPECT(woken[0].seen() == (polled == VOLT_PENDING && seen == 1 ? 1u : 0u));
  }
};
MODEL(bcs_future_x_cancel, 2, bounded)

struct bcs_future_x_cancel_3 : bcs_future_x_cancel {
  void thread(unsigned index) override {
    bcs_future_x_cancel::thread(index == 2 ? 0 : index);
  }
  void check() override {
    ran -= 1;
    bcs_future_x_cancel::check();
  }
};
MODEL(bcs_future_x_cancel_3, 3, bounded)

// R7: a waker cancels another future of the same lock, which its own thread has served or would.
struct bcs_waker_cancels : bcs_lock_model {
  volt_future futures[2];
  volt_bcs_section sections[2];
  VOLT_PLAIN(unsigned) effect[2];
  wake_count woken;
  VOLT_ATOMIC(uint32_t) both_polled;
  VOLT_ATOMIC(uint32_t) cancels;
  int polled[2] = {VOLT_OK, VOLT_OK};
  bcs_waker_cancels() : bcs_lock_model(false) {
    volt_future_made(volt_bcs_lock_run_future(&futures[0], &lock, &sections[0], act_0, this));
    volt_future_made(volt_bcs_lock_run_future(&futures[1], &lock, &sections[1], act_1, this));
  }
  static void act_0(void *arg) {
    static_cast<bcs_waker_cancels *>(arg)->effect[0] = 1;
  }
  static void act_1(void *arg) {
    static_cast<bcs_waker_cancels *>(arg)->effect[1] = 1;
  }
  static void wake(void *ctx) {
    auto *self = static_cast<bcs_waker_cancels *>(ctx);
    volt_fetch_add_relaxed(&self->cancels, 1);
    if (volt_load_acquire(&self->both_polled) == 1) volt_future_cancel(&self->futures[1]);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      run();
      return;
    }
    polled[0] = volt_future_poll(&futures[0], volt_waker{wake, this});
    polled[1] = volt_future_poll(&futures[1], woken.waker());
    volt_store_release(&both_polled, 1u); // from now on futures[1] is the waker's
  }
  void check() override {
    expect_ran(1);
    EXPECT(effect[0] == 1 && volt_load_relaxed(&cancels) == (polled[0] == VOLT_PENDING ? 1u : 0u));
    EXPECT(woken.seen() == (polled[1] == VOLT_PENDING ? unsigned(effect[1]) : 0u));
  }
};
MODEL(bcs_waker_cancels, 2, bounded)

// R7: a waker blocks on a future of the same lock.
struct bcs_waker_blocks : bcs_lock_model {
  volt_bcs_section sections[2];
  bcs_waker_blocks() : bcs_lock_model(false) {
  }
  static void wake(void *ctx) {
    auto *self = static_cast<bcs_waker_blocks *>(ctx);
    volt_future f;
    volt_bcs_section section;
    volt_future_made(volt_bcs_lock_run_future(&f, &self->lock, &section, count, self));
    EXPECT(volt_future_wait(&f) == VOLT_OK);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      run();
      return;
    }
    volt_bcs_lock_submit(&lock, &sections[0], count, this, volt_waker{wake, this});
    volt_bcs_lock_submit(&lock, &sections[1], count, this, volt_waker{wake, this});
  }
  void check() override {
    expect_ran(5);
  }
};
MODEL(bcs_waker_blocks, 2, bounded)

// R7: a waker blocks on a future that was polled before.
struct bcs_waker_blocks_on_pending : bcs_future_model {
  volt_bcs_section first;
  VOLT_ATOMIC(uint32_t) polled;
  static void wake(void *ctx) {
    auto *self = static_cast<bcs_waker_blocks_on_pending *>(ctx);
    if (volt_load_acquire(&self->polled) == 0) return;
    EXPECT(volt_future_wait(&self->f) == VOLT_OK); // ours from now on
    EXPECT(self->effect == 1);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      run();
      return;
    }
    volt_bcs_lock_submit(&lock, &first, count, this, volt_waker{wake, this});
    volt_future_poll(&f, woken[0].waker());
    volt_store_release(&polled, 1u);
  }
  void check() override {
    EXPECT(effect == 1 && woken[0].seen() <= 1);
    expect_ran(3);
  }
};
MODEL(bcs_waker_blocks_on_pending, 2, bounded)

// A deadline that may pass at any moment.
struct bcs_future_deadline : bcs_future_model {
  int result = VOLT_OK;
  void thread(unsigned index) override {
    if (index == 0) {
      run();
      return;
    }
    result = volt_future_wait_until(&f, 1);
    EXPECT(effect == (result == VOLT_OK ? 1u : 0u));
    poison_all();
  }
  void check() override {
    expect_ran(result == VOLT_OK ? 2 : 1);
  }
};
MODEL(bcs_future_deadline, 2, bounded)

// bypass_model: a mutex with bypass. A newcomer is a caller that does not queue; at most k of them
// pass the head, the oldest waiter.
// bypass.c I1-I5, R1-R8, R10, R11.
// PROGRAM: bypass BATCH 1 MUTANTS
//
// Each model checks that every registration is settled by one wake or one drop (I4), and that the
// word is zero in the end. The holders of the lock count themselves in plain variables, so two
// holders at once are a race.
#include "blocker.hpp"
#include "poller.hpp"

struct bypass_model : model {
  volt_mutex m;
  uint32_t k;
  VOLT_PLAIN(uint32_t) takes;  // the holder's
  VOLT_PLAIN(uint32_t) queued; // the holder's: how many waiters were queued before the threads ran
  VOLT_PLAIN(uint32_t) passed; // the holder's: by how many newcomers, since one of those was served

  // Locked.
  explicit bypass_model(uint32_t k_) : k(k_) {
    volt_mutex_init_bypass(&m, k);
    EXPECT(volt_mutex_try_lock(&m) == VOLT_OK);
  }
  void unlock() {
    volt_mutex_unlock(&m);
  }
  // In the constructor: one more waiter is queued.
  void queue(blocker *b, volt_future *f) {
    EXPECT(b->poll(volt_mutex_lock_future(f, &m)) == VOLT_PENDING);
    queued += 1;
  }
  // The same by a poller that ends at once: it is freed by its wake or its drop.
  void queue(poller::trace *left, volt_future *f) {
    poller *p = new poller(left);
    EXPECT(p->poll(volt_mutex_lock_future(f, &m)) == VOLT_PENDING);
    EXPECT(p->end() == 1);
    queued += 1;
  }
  void queue(wake_count *woken, volt_waiter *w) {
    EXPECT(volt_mutex_lock_waiter(&m, w, woken->waker()) == VOLT_PENDING);
    queued += 1;
  }
  // In the constructor: lock, and keep it, as a newcomer.
  void pass() {
    EXPECT(volt_mutex_try_lock(&m) == VOLT_OK);
    passes();
  }

  // The holder: it has not queued.
  void passes() {
    takes += 1;
    if (queued == 0) return;
    passed += 1;
    EXPECT(passed <= k); // I5
  }
  // The holder: it was among those who were queued first.
  void served() {
    takes += 1;
    queued -= 1;
    passed = 0;
  }
  void try_section() {
    if (volt_mutex_try_lock(&m) != VOLT_OK) return;
    passes();
    unlock();
  }
  void serve_section(blocker *b, volt_future *f) {
    EXPECT(b->await(f) == VOLT_OK);
    served();
    unlock();
  }

  // At quiescence: nothing is held, and f has been woken and not been polled since.
  void take_at_end(volt_future *f) {
    blocker late;
    EXPECT(late.poll(f) == VOLT_OK);
    served();
    unlock();
    EXPECT(late.settled());
  }
  void take_at_end(volt_waiter *w, wake_count *woken) {
    EXPECT(granted(w) && woken->seen() == 1);
    served();
    unlock();
  }
  void expect_free() {
    EXPECT(volt_mutex_waiters(&m) == 0 && !volt_mutex_is_locked(&m));
    EXPECT(volt_load_relaxed(&m.queue.word) == 0);
  }
};

// ---- release x newcomer x head: R1, R2, I1, I5 ----

// A newcomer meets the release that wakes the head: it gets the lock once or not at all, and the
// head is woken, once.
struct release_x_newcomer : bypass_model {
  volt_future f;
  poller::trace left;
  explicit release_x_newcomer(uint32_t k) : bypass_model(k) {
    queue(&left, &f);
  }
  void thread(unsigned index) override {
    index == 0 ? unlock() : try_section();
  }
  void check() override {
    EXPECT(left.gone(1, 0));
    take_at_end(&f);
    expect_free();
  }
};
struct bypass_release_x_newcomer_1 : with_bypass<release_x_newcomer, 1> {};
MODEL(bypass_release_x_newcomer_1, 2, full)
struct bypass_release_x_newcomer_2 : with_bypass<release_x_newcomer, 2> {};
MODEL(bypass_release_x_newcomer_2, 2, full)

// I5: the thread that unlocks comes back as a newcomer.
struct release_and_again : release_x_newcomer {
  using release_x_newcomer::release_x_newcomer;
  void thread(unsigned index) override {
    if (index == 0) unlock();
    try_section();
    if (index == 1) try_section();
  }
};
struct bypass_release_and_again_1 : with_bypass<release_and_again, 1> {};
MODEL(bypass_release_and_again_1, 2, bounded)
struct bypass_release_and_again_2 : with_bypass<release_and_again, 2> {};
MODEL(bypass_release_and_again_2, 2, bounded)

// I5: one thread comes k + 1 times while the head polls: the last time it is refused, or the head
// has got the lock.
struct come_too_often : bypass_model {
  volt_future f;
  blocker b;
  explicit come_too_often(uint32_t k) : bypass_model(k) {
    queue(&b, &f);
    unlock();
  }
  void thread(unsigned index) override {
    if (index == 1) {
      serve_section(&b, &f);
      return;
    }
    for (uint32_t i = 0; i <= k; i++) try_section();
  }
  void check() override {
    EXPECT(b.settled());
    expect_free();
  }
};
struct bypass_come_too_often_1 : with_bypass<come_too_often, 1> {};
MODEL(bypass_come_too_often_1, 2, bounded)
struct bypass_come_too_often_2 : with_bypass<come_too_often, 2> {};
MODEL(bypass_come_too_often_2, 2, bounded)

struct release_x_newcomer_x_head : bypass_model {
  volt_future f;
  blocker b;
  explicit release_x_newcomer_x_head(uint32_t k) : bypass_model(k) {
    queue(&b, &f);
  }
  void thread(unsigned index) override {
    if (index == 0) unlock();
    if (index == 1) try_section();
    if (index == 2) serve_section(&b, &f);
  }
  void check() override {
    EXPECT(b.settled() && b.ctx.registered <= 2); // at most one look in vain
    expect_free();
  }
};
struct bypass_release_x_newcomer_x_head_1 : with_bypass<release_x_newcomer_x_head, 1> {};
MODEL(bypass_release_x_newcomer_x_head_1, 3, bounded)
struct bypass_release_x_newcomer_x_head_2 : with_bypass<release_x_newcomer_x_head, 2> {};
MODEL(bypass_release_x_newcomer_x_head_2, 3, bounded)

// Two newcomers, and the head, which was nudged, try to take the lock.
struct two_newcomers_x_head : bypass_model {
  volt_future f;
  blocker b;
  explicit two_newcomers_x_head(uint32_t k) : bypass_model(k) {
    queue(&b, &f);
    unlock();
  }
  void thread(unsigned index) override {
    if (index < 2) {
      try_section();
    } else {
      serve_section(&b, &f);
    }
  }
  void check() override {
    EXPECT(b.settled() && b.ctx.registered <= 2);
    expect_free();
  }
};
struct bypass_two_newcomers_x_head_1 : with_bypass<two_newcomers_x_head, 1> {};
MODEL(bypass_two_newcomers_x_head_1, 3, bounded)
struct bypass_two_newcomers_x_head_2 : with_bypass<two_newcomers_x_head, 2> {};
MODEL(bypass_two_newcomers_x_head_2, 3, bounded)

// A newcomer that may queue takes the lock if it is free, or queues behind the head.
struct head_x_queueing_newcomer : bypass_model {
  volt_future f, g;
  blocker b, c;
  explicit head_x_queueing_newcomer(uint32_t k) : bypass_model(k) {
    queue(&b, &f);
    volt_future_made(volt_mutex_lock_future(&g, &m));
  }
  void thread(unsigned index) override {
    if (index == 0) unlock();
    if (index == 1) {
      EXPECT(c.poll_or_await(&g) == VOLT_OK);
      takes += 1;
      unlock();
    }
    if (index == 2) serve_section(&b, &f);
  }
  void check() override {
    EXPECT(b.settled() && c.settled() && takes == 2);
    expect_free();
  }
};
struct bypass_head_x_queueing_newcomer_1 : with_bypass<head_x_queueing_newcomer, 1> {};
MODEL(bypass_head_x_queueing_newcomer_1, 3, bounded)
struct bypass_head_x_queueing_newcomer_2 : with_bypass<head_x_queueing_newcomer, 2> {};
MODEL(bypass_head_x_queueing_newcomer_2, 3, bounded)

// I5: a waiter queues behind the head while a newcomer has the lock. So not one more may pass.
struct queue_after_passes : bypass_model {
  volt_future f, g;
  poller::trace left[2];
  poller *p = new poller(&left[1]);
  explicit queue_after_passes(uint32_t k) : bypass_model(k) {
    queue(&left[0], &f);
    unlock();
    pass();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      unlock();
      try_section();
      return;
    }
    EXPECT(p->poll(volt_mutex_lock_future(&g, &m)) == VOLT_PENDING);
    p->end();
  }
  void check() override {
    EXPECT(left[0].gone(1, 0));
    take_at_end(&f);
    EXPECT(left[1].gone(1, 0));
    blocker late;
    EXPECT(late.poll(&g) == VOLT_OK);
    unlock();
    expect_free();
  }
};
struct bypass_queue_after_passes_1 : with_bypass<queue_after_passes, 1> {};
MODEL(bypass_queue_after_passes_1, 2, full)

// The first waiter queues while the holder unlocks.
struct start_x_release : bypass_model {
  volt_future f;
  blocker b;
  explicit start_x_release(uint32_t k) : bypass_model(k) {
    volt_future_made(volt_mutex_lock_future(&f, &m));
  }
  void thread(unsigned index) override {
    if (index == 0) {
      unlock();
      return;
    }
    EXPECT(b.poll_or_await(&f) == VOLT_OK);
    takes += 1;
    unlock();
  }
  void check() override {
    EXPECT(b.settled());
    expect_free();
  }
};
struct bypass_start_x_release_1 : with_bypass<start_x_release, 1> {};
MODEL(bypass_start_x_release_1, 2, full)

// Two waiters are queued. The first gets the lock and unlocks it, while newcomers come.
struct two_heads_x_newcomers : bypass_model {
  volt_future f, g;
  blocker b;
  poller::trace left;
  explicit two_heads_x_newcomers(uint32_t k) : bypass_model(k) {
    queue(&b, &f);
    queue(&left, &g);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      unlock();
      try_section();
    } else {
      serve_section(&b, &f);
      try_section();
    }
  }
  void check() override {
    EXPECT(b.settled() && left.gone(1, 0));
    take_at_end(&g);
    expect_free();
  }
};
struct bypass_two_heads_x_newcomers_1 : with_bypass<two_heads_x_newcomers, 1> {};
MODEL(bypass_two_heads_x_newcomers_1, 2, bounded)

// ---- nudge x cancel: R4, R5, R7 ----

// The head gives up while it is nudged. Its poller is freed by the one wake or drop that it is
// owed.
struct nudge_x_cancel : bypass_model {
  volt_future f;
  poller::trace left;
  explicit nudge_x_cancel(uint32_t k) : bypass_model(k) {
    queue(&left, &f);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      unlock();
    } else {
      volt_future_cancel(&f);
      poison(&f.waiter);
    }
  }
  void check() override {
    EXPECT(left.gone(1));
    expect_free();
  }
};
struct bypass_nudge_x_cancel_1 : with_bypass<nudge_x_cancel, 1> {};
MODEL(bypass_nudge_x_cancel_1, 2, full)

// The waiter behind it is nudged instead.
struct nudge_x_cancel_x_next : nudge_x_cancel {
  volt_future next;
  poller::trace next_left;
  explicit nudge_x_cancel_x_next(uint32_t k) : nudge_x_cancel(k) {
    queue(&next_left, &next);
  }
  void check() override {
    EXPECT(left.gone(1) && next_left.gone(1, 0));
    take_at_end(&next);
    expect_free();
  }
};
struct bypass_nudge_x_cancel_x_next_1 : with_bypass<nudge_x_cancel_x_next, 1> {};
MODEL(bypass_nudge_x_cancel_x_next_1, 2, full)
struct bypass_nudge_x_cancel_x_next_2 : with_bypass<nudge_x_cancel_x_next, 2> {};
MODEL(bypass_nudge_x_cancel_x_next_2, 2, full)

// The waiter behind it is of volt_mutex_lock_waiter(): its waker means that it has the lock.
struct nudge_x_cancel_x_raw_next : nudge_x_cancel {
  volt_waiter next;
  wake_count next_woken;
  explicit nudge_x_cancel_x_raw_next(uint32_t k) : nudge_x_cancel(k) {
    queue(&next_woken, &next);
  }
  void check() override {
    EXPECT(left.gone(1));
    take_at_end(&next, &next_woken);
    expect_free();
  }
};
struct bypass_nudge_x_cancel_x_raw_next_1 : with_bypass<nudge_x_cancel_x_raw_next, 1> {};
MODEL(bypass_nudge_x_cancel_x_raw_next_1, 2, full)

// The head was nudged, and gives up as a newcomer comes. Whether the lock is free or held then, the
// next waiter gets it.
struct cancel_x_newcomer : bypass_model {
  volt_future f, next;
  poller::trace left, next_left;
  explicit cancel_x_newcomer(uint32_t k) : bypass_model(k) {
    queue(&left, &f);
    queue(&next_left, &next);
    unlock();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_future_cancel(&f);
      poison(&f.waiter);
    } else {
      try_section();
    }
  }
  void check() override {
    EXPECT(left.gone(1, 0) && next_left.gone(1, 0));
    take_at_end(&next);
    expect_free();
  }
};
struct bypass_cancel_x_newcomer_1 : with_bypass<cancel_x_newcomer, 1> {};
MODEL(bypass_cancel_x_newcomer_1, 2, full)
struct bypass_cancel_x_newcomer_2 : with_bypass<cancel_x_newcomer, 2> {};
MODEL(bypass_cancel_x_newcomer_2, 2, full)

// I5: the head gives up while a newcomer has the lock: that newcomer counts for the next head, too.
// But a head that was granted the lock, and gives it back, has got it: the count begins again.
struct cancel_after_passes : cancel_x_newcomer {
  bool had_its_turn = false;
  using cancel_x_newcomer::cancel_x_newcomer;
  void thread(unsigned index) override {
    if (index == 0) {
      volt_future_cancel(&f);
      had_its_turn = volt_waiter_result(&f.waiter) == VOLT_OK;
      poison(&f.waiter);
      return;
    }
    for (unsigned i = 0; i < 2; i++) {
      if (volt_mutex_try_lock(&m) != VOLT_OK) continue;
      takes += 1;
      unlock();
    }
  }
  void check() override {
    EXPECT(takes <= (had_its_turn ? 2 * k : k));
    cancel_x_newcomer::check();
  }
};
struct bypass_cancel_after_passes_1 : with_bypass<cancel_after_passes, 1> {};
MODEL(bypass_cancel_after_passes_1, 2, bounded)

// The same, and the next waiter polls as soon as it is nudged.
struct cancel_x_newcomer_x_next : bypass_model {
  volt_future f, next;
  poller::trace left;
  blocker b;
  explicit cancel_x_newcomer_x_next(uint32_t k) : bypass_model(k) {
    queue(&left, &f);
    queue(&b, &next);
    unlock();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_future_cancel(&f);
      poison(&f.waiter);
    }
    if (index == 1) try_section();
    if (index == 2) serve_section(&b, &next);
  }
  void check() override {
    EXPECT(left.gone(1, 0) && b.settled());
    expect_free();
  }
};
struct bypass_cancel_x_newcomer_x_next_1 : with_bypass<cancel_x_newcomer_x_next, 1> {};
MODEL(bypass_cancel_x_newcomer_x_next_1, 3, bounded)

// The waiter behind the head gives up while the head is nudged.
struct release_x_cancel_of_next : nudge_x_cancel_x_next {
  using nudge_x_cancel_x_next::nudge_x_cancel_x_next;
  void thread(unsigned index) override {
    if (index == 0) {
      unlock();
    } else {
      volt_future_cancel(&next);
      poison(&next.waiter);
    }
  }
  void check() override {
    EXPECT(left.gone(1, 0) && next_left.gone(0, 1));
    take_at_end(&f);
    expect_free();
  }
};
struct bypass_release_x_cancel_of_next_1 : with_bypass<release_x_cancel_of_next, 1> {};
MODEL(bypass_release_x_cancel_of_next_1, 2, full)

// Both give up.
struct release_x_two_cancels : nudge_x_cancel_x_next {
  using nudge_x_cancel_x_next::nudge_x_cancel_x_next;
  void thread(unsigned index) override {
    if (index == 0) unlock();
    if (index == 1) volt_future_cancel(&f);
    if (index == 2) volt_future_cancel(&next);
  }
  void check() override {
    EXPECT(left.gone(1) && next_left.gone(1));
    expect_free();
  }
};
struct bypass_release_x_two_cancels_1 : with_bypass<release_x_two_cancels, 1> {};
MODEL(bypass_release_x_two_cancels_1, 3, bounded)

// The head was nudged, and LEFT is 0. It gives up while it is granted the lock, which comes without
// a wake.
struct silent_grant_x_cancel : bypass_model {
  volt_future f;
  poller::trace left;
  explicit silent_grant_x_cancel(uint32_t k) : bypass_model(k) {
    queue(&left, &f);
    unlock();
    pass();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      unlock();
    } else {
      volt_future_cancel(&f);
      poison(&f.waiter);
    }
  }
  void check() override {
    EXPECT(left.gone(1, 0));
    expect_free();
  }
};
struct bypass_silent_grant_x_cancel_1 : with_bypass<silent_grant_x_cancel, 1> {};
MODEL(bypass_silent_grant_x_cancel_1, 2, full)

// ---- the head looks: R3, R6, R8 ----

// R6, R8: LEFT is 0, and the holder grants the head the lock without a wake while the head looks.
struct silent_grant_x_look : bypass_model {
  volt_future f;
  blocker b;
  explicit silent_grant_x_look(uint32_t k) : bypass_model(k) {
    queue(&b, &f);
    unlock();
    for (uint32_t i = 1; i < k; i++) {
      pass();
      unlock();
    }
    pass();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      unlock();
    } else {
      serve_section(&b, &f);
    }
  }
  void check() override {
    EXPECT(b.settled() && b.ctx.registered <= 2);
    expect_free();
  }
};
struct bypass_silent_grant_x_look_1 : with_bypass<silent_grant_x_look, 1> {};
MODEL(bypass_silent_grant_x_look_1, 2, full)
struct bypass_silent_grant_x_look_2 : with_bypass<silent_grant_x_look, 2> {};
MODEL(bypass_silent_grant_x_look_2, 2, full)

// The same with a waiter behind it, so that the FIFO is not empty once the head is claimed.
struct silent_grant_x_look_x_raw_next : silent_grant_x_look {
  volt_waiter next;
  wake_count next_woken;
  explicit silent_grant_x_look_x_raw_next(uint32_t k) : silent_grant_x_look(k) {
    queue(&next_woken, &next);
  }
  void check() override {
    EXPECT(b.settled());
    take_at_end(&next, &next_woken);
    expect_free();
  }
};
struct bypass_silent_grant_x_look_x_raw_next_1 : with_bypass<silent_grant_x_look_x_raw_next, 1> {};
MODEL(bypass_silent_grant_x_look_x_raw_next_1, 2, full)

// R3: the head looks while a newcomer has the lock, and the newcomer leaves the lock free because
// it has read NUDGED.
struct look_in_vain_x_release : bypass_model {
  volt_future f;
  blocker b;
  explicit look_in_vain_x_release(uint32_t k) : bypass_model(k) {
    queue(&b, &f);
    unlock();
    pass();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      unlock();
      try_section();
    } else {
      serve_section(&b, &f);
    }
  }
  void check() override {
    EXPECT(b.settled() && b.ctx.registered <= 2);
    expect_free();
  }
};
struct bypass_look_in_vain_x_release_2 : with_bypass<look_in_vain_x_release, 2> {};
MODEL(bypass_look_in_vain_x_release_2, 2, bounded)

// The head looks while a newcomer has the lock. If it looks in vain, it is woken once more, by its
// grant.
struct one_look_x_release : bypass_model {
  volt_future f;
  poller::trace left;
  poller *p = new poller(&left);
  int result = VOLT_PENDING;
  explicit one_look_x_release(uint32_t k) : bypass_model(k) {
    EXPECT(p->poll(volt_mutex_lock_future(&f, &m)) == VOLT_PENDING);
    queued += 1;
    unlock();
    pass();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      unlock();
      return;
    }
    result = p->poll(&f);
    EXPECT(p->end() == (result == VOLT_PENDING ? 2u : 1u));
  }
  void check() override {
    EXPECT(left.gone(result == VOLT_PENDING ? 2 : 1, 0));
    take_at_end(&f);
    expect_free();
  }
};
struct bypass_one_look_x_release_1 : with_bypass<one_look_x_release, 1> {};
MODEL(bypass_one_look_x_release_1, 2, full)
struct bypass_one_look_x_release_2 : with_bypass<one_look_x_release, 2> {};
MODEL(bypass_one_look_x_release_2, 2, full)

// The same with a newcomer.
struct look_x_release_x_newcomer : look_in_vain_x_release {
  using look_in_vain_x_release::look_in_vain_x_release;
  void thread(unsigned index) override {
    if (index == 0) unlock();
    if (index == 1) serve_section(&b, &f);
    if (index == 2) try_section();
  }
};
struct bypass_look_x_release_x_newcomer_2 : with_bypass<look_x_release_x_newcomer, 2> {};
MODEL(bypass_look_x_release_x_newcomer_2, 3, bounded)

// The head looks, and then gives up: its new registration is dropped, or has been woken.
struct look_then_cancel_x_release : one_look_x_release {
  uint32_t owed = 0;
  using one_look_x_release::one_look_x_release;
  void thread(unsigned index) override {
    if (index == 0) {
      unlock();
      return;
    }
    result = p->poll(&f);
    volt_future_cancel(&f); // changes nothing if it is ready
    if (result == VOLT_OK) {
      served();
      unlock();
    }
    poison(&f.waiter);
    owed = p->end();
  }
  void check() override {
    EXPECT(left.gone(owed) && left.wakes >= 1);
    expect_free();
  }
};
struct bypass_look_then_cancel_x_release_1 : with_bypass<look_then_cancel_x_release, 1> {};
MODEL(bypass_look_then_cancel_x_release_1, 2, bounded)
struct bypass_look_then_cancel_x_release_2 : with_bypass<look_then_cancel_x_release, 2> {};
MODEL(bypass_look_then_cancel_x_release_2, 2, bounded)

// ---- set_waker x nudge: R7 ----

// Another poller takes the future over while the waker of the first is called.
struct set_waker_x_nudge : bypass_model {
  volt_future f;
  poller::trace left[2];
  poller *after = new poller(&left[1]);
  int result = VOLT_PENDING;
  explicit set_waker_x_nudge(uint32_t k) : bypass_model(k) {
    queue(&left[0], &f);
  }
  void take_over() {
    result = after->poll(&f);
    EXPECT(after->end() == (result == VOLT_PENDING ? 1u : 0u));
  }
  void thread(unsigned index) override {
    if (index == 0) unlock();
    if (index == 1) take_over();
    if (index == 2) try_section();
  }
  void check() override {
    EXPECT(left[0].gone(1));
    EXPECT(result == VOLT_PENDING ? left[1].gone(1, 0) : left[1].gone(0, 0));
    take_at_end(&f);
    expect_free();
  }
};
struct bypass_set_waker_x_nudge_1 : with_bypass<set_waker_x_nudge, 1> {};
MODEL(bypass_set_waker_x_nudge_1, 2, full)
struct bypass_set_waker_x_nudge_x_newcomer_1 : with_bypass<set_waker_x_nudge, 1> {};
MODEL(bypass_set_waker_x_nudge_x_newcomer_1, 3, bounded)
struct bypass_set_waker_x_nudge_x_newcomer_2 : with_bypass<set_waker_x_nudge, 2> {};
MODEL(bypass_set_waker_x_nudge_x_newcomer_2, 3, bounded)

// The head was nudged, and another poller takes it over while a newcomer holds the lock and
// unlocks.
struct set_waker_x_release : set_waker_x_nudge {
  explicit set_waker_x_release(uint32_t k) : set_waker_x_nudge(k) {
    unlock();
    pass();
  }
  void check() override {
    EXPECT(left[0].gone(1, 0));
    set_waker_x_nudge::check();
  }
};
struct bypass_set_waker_x_release_1 : with_bypass<set_waker_x_release, 1> {};
MODEL(bypass_set_waker_x_release_1, 2, full)
struct bypass_set_waker_x_release_2 : with_bypass<set_waker_x_release, 2> {};
MODEL(bypass_set_waker_x_release_2, 2, full)

// The head is left without a waker, as in a select that keeps its losers, and polled again later.
struct leave_x_nudge : set_waker_x_nudge {
  explicit leave_x_nudge(uint32_t k) : set_waker_x_nudge(k) {
    EXPECT(after->end() == 0);
  }
  void thread(unsigned index) override {
    if (index == 0) unlock();
    if (index == 1) volt_future_leave_(&f);
    if (index == 2) try_section();
  }
  void check() override {
    EXPECT(left[0].gone(1));
    take_at_end(&f);
    expect_free();
  }
};
struct bypass_leave_x_nudge_1 : with_bypass<leave_x_nudge, 1> {};
MODEL(bypass_leave_x_nudge_1, 2, full)
struct bypass_leave_x_nudge_x_newcomer_2 : with_bypass<leave_x_nudge, 2> {};
MODEL(bypass_leave_x_nudge_x_newcomer_2, 3, bounded)

struct leave_x_release : leave_x_nudge {
  explicit leave_x_release(uint32_t k) : leave_x_nudge(k) {
    unlock();
    pass();
  }
};
struct bypass_leave_x_release_1 : with_bypass<leave_x_release, 1> {};
MODEL(bypass_leave_x_release_1, 2, full)
struct bypass_leave_x_release_2 : with_bypass<leave_x_release, 2> {};
MODEL(bypass_leave_x_release_2, 2, full)

// ---- blocking calls, and the death of the mutex: R5, R11 ----

struct blocking_bypass : bypass_model {
  explicit blocking_bypass(uint32_t k) : bypass_model(k) {
    unlock();
  }
  void section() {
    EXPECT(volt_mutex_lock_until(&m, VOLT_NO_DEADLINE) == VOLT_OK);
    takes += 1;
    unlock();
  }
  bool timed_section() {
    if (volt_mutex_lock_until(&m, 1) != VOLT_OK) return false;
    takes += 1;
    unlock();
    return true;
  }
};

struct blocking_2x2 : blocking_bypass {
  using blocking_bypass::blocking_bypass;
  void thread(unsigned) override {
    section();
    section();
  }
  void check() override {
    EXPECT(takes == 4);
    expect_free();
  }
};
struct bypass_blocking_2x2_1 : with_bypass<blocking_2x2, 1> {};
MODEL(bypass_blocking_2x2_1, 2, bounded)
struct bypass_blocking_2x2_2 : with_bypass<blocking_2x2, 2> {};
MODEL(bypass_blocking_2x2_2, 2, bounded)

struct blocking_3x1 : blocking_bypass {
  using blocking_bypass::blocking_bypass;
  void thread(unsigned) override {
    section();
  }
  void check() override {
    EXPECT(takes == 3);
    expect_free();
  }
};
struct bypass_blocking_3x1_1 : with_bypass<blocking_3x1, 1> {};
MODEL(bypass_blocking_3x1_1, 3, bounded)
struct bypass_blocking_3x1_2 : with_bypass<blocking_3x1, 2> {};
MODEL(bypass_blocking_3x1_2, 3, bounded)

// The deadline of a blocking call passes at any moment, also when its waiter was nudged: the call
// waits for that wake before its parker ends.
struct deadline_x_lock : blocking_bypass {
  bool in_time = false;
  using blocking_bypass::blocking_bypass;
  void thread(unsigned index) override {
    if (index == 0) {
      section();
      section();
    } else {
      in_time = timed_section();
    }
  }
  void check() override {
    EXPECT(takes == (in_time ? 3u : 2u));
    expect_free();
  }
};
struct bypass_deadline_x_lock_1 : with_bypass<deadline_x_lock, 1> {};
MODEL(bypass_deadline_x_lock_1, 2, bounded)

// The holder unlocks while a thread waits with a deadline, and another one without.
struct deadline_x_unlock : bypass_model {
  using bypass_model::bypass_model;
  void thread(unsigned index) override {
    if (index == 0) {
      unlock();
      return;
    }
    if (volt_mutex_lock_until(&m, index == 1 ? 1 : VOLT_NO_DEADLINE) != VOLT_OK) return;
    takes += 1;
    unlock();
  }
  void check() override {
    expect_free();
  }
};
struct bypass_deadline_x_unlock_1 : with_bypass<deadline_x_unlock, 1> {};
MODEL(bypass_deadline_x_unlock_1, 2, bounded)
struct bypass_deadline_x_unlock_x_lock_1 : with_bypass<deadline_x_unlock, 1> {};
MODEL(bypass_deadline_x_unlock_x_lock_1, 3, bounded)

// A future whose thread gives up at a deadline.
struct block_on_deadline_x_unlock : bypass_model {
  volt_future f;
  int result = VOLT_PENDING;
  explicit block_on_deadline_x_unlock(uint32_t k) : bypass_model(k) {
    volt_future_made(volt_mutex_lock_future(&f, &m));
  }
  void thread(unsigned index) override {
    if (index == 0) {
      unlock();
      try_section();
    } else {
      result = volt_future_wait_until(&f, 1);
      if (result == VOLT_OK) {
        takes += 1;
        unlock();
      }
      poison(&f.waiter);
    }
  }
  void check() override {
    EXPECT(result == VOLT_OK || result == VOLT_ETIMEDOUT);
    expect_free();
  }
};
struct bypass_block_on_deadline_x_unlock_1 : with_bypass<block_on_deadline_x_unlock, 1> {};
MODEL(bypass_block_on_deadline_x_unlock_1, 2, bounded)

// R11: "lock, see that we are the last user, unlock, free".
struct last_bypass_user_frees : model {
  volt_mutex *m;
  VOLT_PLAIN(int) users;
  explicit last_bypass_user_frees(int threads, uint32_t k = 1)
      : m(new volt_mutex()), users(threads) {
    volt_mutex_init_bypass(m, k);
  }
  void leave() {
    bool last = --users == 0;
    volt_mutex_unlock(m);
    if (!last) return;
    poison(&m->queue);
    delete m;
  }
  void thread(unsigned) override {
    EXPECT(volt_mutex_lock_until(m, VOLT_NO_DEADLINE) == VOLT_OK);
    leave();
  }
};

struct bypass_last_of_two_frees : last_bypass_user_frees {
  bypass_last_of_two_frees() : last_bypass_user_frees(2) {
  }
};
MODEL(bypass_last_of_two_frees, 2, full)

struct bypass_last_of_three_frees : last_bypass_user_frees {
  bypass_last_of_three_frees() : last_bypass_user_frees(3) {
  }
};
MODEL(bypass_last_of_three_frees, 3, bounded)

// The head, which was nudged, is the last user, while a newcomer leaves the lock free because of
// NUDGED. And the head polls without a wake, while the holder nudges it.
struct polling_user_frees : last_bypass_user_frees {
  volt_future f;
  blocker b;
  explicit polling_user_frees(bool told) : last_bypass_user_frees(2, 2) {
    EXPECT(volt_mutex_try_lock(m) == VOLT_OK);
    EXPECT(b.poll(volt_mutex_lock_future(&f, m)) == VOLT_PENDING);
    if (!told) return;
    volt_mutex_unlock(m);
    EXPECT(volt_mutex_try_lock(m) == VOLT_OK);
  }
  void thread(unsigned index) override {
    if (index == 1) EXPECT(b.poll_or_await(&f) == VOLT_OK);
    leave();
  }
  void check() override {
    EXPECT(b.settled());
  }
};
struct bypass_told_user_frees : polling_user_frees {
  bypass_told_user_frees() : polling_user_frees(true) {
  }
};
MODEL(bypass_told_user_frees, 2, bounded)
struct bypass_nudged_user_frees : polling_user_frees {
  bypass_nudged_user_frees() : polling_user_frees(false) {
  }
};
MODEL(bypass_nudged_user_frees, 2, full)

// ---- the strict ways: fair unlock, raw waiters, waiters from a condition variable ----

// After a fair unlock no newcomer passes.
struct unlock_fair_x_head : bypass_model {
  volt_future f;
  blocker b;
  explicit unlock_fair_x_head(uint32_t k) : bypass_model(k) {
    queue(&b, &f);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_mutex_unlock_fair(&m);
      EXPECT(volt_mutex_try_lock(&m) == VOLT_EAGAIN); // it is the head's, which keeps it
    } else {
      EXPECT(b.await(&f) == VOLT_OK);
    }
  }
  void check() override {
    EXPECT(b.settled());
    served();
    unlock();
    expect_free();
  }
};
struct bypass_unlock_fair_x_head_1 : with_bypass<unlock_fair_x_head, 1> {};
MODEL(bypass_unlock_fair_x_head_1, 2, full)

// The same when the head was nudged before, and may be looking.
struct unlock_fair_x_look : unlock_fair_x_head {
  explicit unlock_fair_x_look(uint32_t k) : unlock_fair_x_head(k) {
    unlock();
    pass();
  }
};
struct bypass_unlock_fair_x_look_2 : with_bypass<unlock_fair_x_look, 2> {};
MODEL(bypass_unlock_fair_x_look_2, 2, full)

// The head gives up: the lock is free then, also for the thread that unlocked it.
struct unlock_fair_x_cancel : nudge_x_cancel {
  using nudge_x_cancel::nudge_x_cancel;
  void thread(unsigned index) override {
    if (index == 0) {
      volt_mutex_unlock_fair(&m);
    } else {
      volt_future_cancel(&f);
      poison(&f.waiter);
    }
  }
};
struct bypass_unlock_fair_x_cancel_1 : with_bypass<unlock_fair_x_cancel, 1> {};
MODEL(bypass_unlock_fair_x_cancel_1, 2, full)

// The head is a waiter of volt_mutex_lock_waiter(), a raw waiter: no newcomer passes it, and its wake
// means that it has the lock.
struct raw_head_x_newcomer : bypass_model {
  volt_waiter w;
  wake_count woken;
  explicit raw_head_x_newcomer(uint32_t k) : bypass_model(k) {
    queue(&woken, &w);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      unlock();
    } else {
      EXPECT(volt_mutex_try_lock(&m) == VOLT_EAGAIN);
    }
  }
  void check() override {
    take_at_end(&w, &woken);
    expect_free();
  }
};
struct bypass_raw_head_x_newcomer_1 : with_bypass<raw_head_x_newcomer, 1> {};
MODEL(bypass_raw_head_x_newcomer_1, 2, full)

// A raw waiter gives up or unlocks; newcomers may pass the next waiter.
struct raw_head_x_cancel_x_next : bypass_model {
  volt_waiter w;
  wake_count woken;
  volt_future f;
  poller::trace left;
  bool was_cancelled = false;
  explicit raw_head_x_cancel_x_next(uint32_t k) : bypass_model(k) {
    queue(&woken, &w);
    queue(&left, &f);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      unlock();
      return;
    }
    was_cancelled = volt_mutex_cancel(&m, &w);
    if (!was_cancelled) unlock();
  }
  void check() override {
    EXPECT(woken.seen() == (was_cancelled ? 0u : 1u));
    EXPECT(left.gone(1, 0));
    take_at_end(&f);
    expect_free();
  }
};
struct bypass_raw_head_x_cancel_x_next_1 : with_bypass<raw_head_x_cancel_x_next, 1> {};
MODEL(bypass_raw_head_x_cancel_x_next_1, 2, full)

// A signal moves its waiter to the mutex while the holder unlocks.
struct move_x_unlock : bypass_model {
  volt_cond c;
  volt_waiter w;
  wake_count woken;
  explicit move_x_unlock(uint32_t k) : bypass_model(k) {
    volt_cond_init(&c);
    EXPECT(volt_cond_wait_waiter(&c, &m, &w, woken.waker()) == VOLT_PENDING);
    EXPECT(volt_mutex_try_lock(&m) == VOLT_OK);
  }
  void thread(unsigned index) override {
    index == 0 ? volt_cond_signal(&c) : unlock();
  }
  void check() override {
    EXPECT(granted(&w) && woken.seen() == 1);
    unlock();
    expect_free();
  }
};
struct bypass_move_x_unlock_1 : with_bypass<move_x_unlock, 1> {};
MODEL(bypass_move_x_unlock_1, 2, full)

// The mutex is free, and a newcomer comes.
struct move_x_newcomer : move_x_unlock {
  explicit move_x_newcomer(uint32_t k) : move_x_unlock(k) {
    unlock();
  }
  void thread(unsigned index) override {
    index == 0 ? volt_cond_signal(&c) : try_section();
  }
};
struct bypass_move_x_newcomer_1 : with_bypass<move_x_newcomer, 1> {};
MODEL(bypass_move_x_newcomer_1, 2, full)

// The waiter is moved behind a head that was nudged, and looks; or a newcomer comes.
struct move_x_look : move_x_unlock {
  volt_future f;
  blocker b;
  explicit move_x_look(uint32_t k) : move_x_unlock(k) {
    queue(&b, &f);
    unlock();
  }
  void thread(unsigned index) override {
    if (index == 0) volt_cond_signal(&c);
    if (index == 1) serve_section(&b, &f);
    if (index == 2) try_section();
  }
  void check() override {
    EXPECT(b.settled());
    move_x_unlock::check();
  }
};
struct bypass_move_x_look_1 : with_bypass<move_x_look, 1> {};
MODEL(bypass_move_x_look_1, 2, full)
struct bypass_move_x_look_x_newcomer_1 : with_bypass<move_x_look, 1> {};
MODEL(bypass_move_x_look_x_newcomer_1, 3, bounded)

// I5: a waiter is moved behind the head while a newcomer has the lock. So not one more may pass.
struct move_after_passes : move_x_look {
  explicit move_after_passes(uint32_t k) : move_x_look(k) {
    pass();
  }
  void thread(unsigned index) override {
    if (index == 1) {
      serve_section(&b, &f);
      return;
    }
    volt_cond_signal(&c);
    unlock();
    try_section();
  }
};
struct bypass_move_after_passes_1 : with_bypass<move_after_passes, 1> {};
MODEL(bypass_move_after_passes_1, 2, bounded)

// The waiter is moved behind a head that was nudged, and gives up.
struct move_x_cancel : move_x_unlock {
  volt_future f;
  poller::trace left;
  explicit move_x_cancel(uint32_t k) : move_x_unlock(k) {
    queue(&left, &f);
    unlock();
  }
  void thread(unsigned index) override {
    index == 0 ? volt_cond_signal(&c) : volt_future_cancel(&f);
  }
  void check() override {
    EXPECT(left.gone(1, 0));
    move_x_unlock::check();
  }
};
struct bypass_move_x_cancel_1 : with_bypass<move_x_cancel, 1> {};
MODEL(bypass_move_x_cancel_1, 2, full)

// ---- who calls, and who chooses ----

// The waker that a nudge calls uses the mutex: nothing is held when it is called.
struct waker_reenters : bypass_model {
  volt_future f;
  volt_waker waker{reenter, this};
  volt_ctx ctx = VOLT_CTX_INIT(waker);
  VOLT_ATOMIC(uint32_t) wakes;
  explicit waker_reenters(uint32_t k) : bypass_model(k) {
    EXPECT(volt_future_poll_ctx(volt_mutex_lock_future(&f, &m), &ctx) == VOLT_PENDING);
    queued += 1;
  }
  static void reenter(void *arg) {
    waker_reenters *self = static_cast<waker_reenters *>(arg);
    volt_fetch_add_relaxed(&self->wakes, 1);
    EXPECT(volt_mutex_waiters(&self->m) <= 1);
    self->try_section();
  }
  void thread(unsigned index) override {
    index == 0 ? unlock() : try_section();
  }
  void check() override {
    EXPECT(volt_load_relaxed(&wakes) == 1);
    take_at_end(&f);
    expect_free();
  }
};
struct bypass_waker_reenters_1 : with_bypass<waker_reenters, 1> {};
MODEL(bypass_waker_reenters_1, 2, full)
struct bypass_waker_reenters_2 : with_bypass<waker_reenters, 2> {};
MODEL(bypass_waker_reenters_2, 2, full)

// One branch of a select is nudged, and the other wins: the waiter behind it still gets the lock.
struct select_x_nudge : bypass_model {
  volt_future f, permit;
  volt_sem sem;
  volt_future *branches[2] = {&f, &permit};
  volt_select select;
  blocker b;
  volt_waiter next;
  wake_count next_woken;
  explicit select_x_nudge(uint32_t k) : bypass_model(k) {
    volt_sem_init(&sem, 0);
    volt_future_made(volt_mutex_lock_future(&f, &m));
    volt_future_made(volt_sem_acquire_future(&permit, &sem, 1));
    volt_future_made(volt_select_future(&select, branches, 2, VOLT_SELECT_BIASED));
    EXPECT(b.poll(&select.future) == VOLT_PENDING);
    queue(&next_woken, &next);
  }
  void thread(unsigned index) override {
    if (index == 0) unlock();
    if (index == 1) volt_sem_release(&sem, 1);
    if (index == 2) {
      EXPECT(b.await(&select.future) == VOLT_OK);
      if (volt_select_winner(&select) == 0) unlock();
    }
  }
  void check() override {
    EXPECT(b.settled());
    EXPECT(volt_sem_available(&sem) == (volt_select_winner(&select) == 0 ? 1u : 0u));
    take_at_end(&next, &next_woken);
    expect_free();
  }
};
struct bypass_select_x_nudge_1 : with_bypass<select_x_nudge, 1> {};
MODEL(bypass_select_x_nudge_1, 3, bounded)

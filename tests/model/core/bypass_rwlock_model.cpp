// bypass_rwlock_model: a read-write lock with bypass: at most k callers pass the head, if it is a
// writer.
// bypass.c I1-I6, R3, R4, R6, R9, R11, R12.
// PROGRAM: bypass_rwlock BATCH 1 MUTANTS
//
// As in bypass_model.cpp: one wake or one drop for each registration, and the word is zero in the
// end. A writer writes a plain variable that the readers read.
#include "blocker.hpp"
#include "poller.hpp"

struct bypass_rwlock_model : model {
  volt_rwlock rw;
  uint32_t k;
  VOLT_PLAIN(uint32_t) value;
  VOLT_ATOMIC(uint32_t) entries; // by newcomers, while the writers that queued first wait
  VOLT_ATOMIC(uint32_t) served;  // 1: the last of those has been in

  explicit bypass_rwlock_model(uint32_t k_) : k(k_) {
    volt_rwlock_init_bypass(&rw, k);
  }
  // In the constructor.
  void hold_read() {
    EXPECT(volt_rwlock_try_read(&rw) == VOLT_OK);
  }
  void hold_write() {
    EXPECT(volt_rwlock_try_write(&rw) == VOLT_OK);
  }
  void queue_write(blocker *b, volt_future *f) {
    EXPECT(b->poll(volt_rwlock_write_future(f, &rw)) == VOLT_PENDING);
  }
  void queue_write(poller::trace *left, volt_future *f) {
    poller *p = new poller(left);
    EXPECT(p->poll(volt_rwlock_write_future(f, &rw)) == VOLT_PENDING);
    EXPECT(p->end() == 1);
  }
  void queue_read(wake_count *woken, volt_waiter *w) {
    EXPECT(volt_rwlock_read_waiter(&rw, w, woken->waker()) == VOLT_PENDING);
  }

  // I5. relaxed: a count; an entry after the writer's is ordered after it by the lock.
  void enters() {
    if (volt_load_relaxed(&served)) return;
    EXPECT(volt_fetch_add_relaxed(&entries, 1) < k);
  }
  void look_inside() {
    uint32_t seen = value;
    EXPECT(seen == value);
  }
  void read_unlock() {
    look_inside();
    volt_rwlock_read_unlock(&rw);
  }
  void write_unlock() {
    value += 1;
    volt_rwlock_write_unlock(&rw);
  }
  void try_read_section() {
    if (volt_rwlock_try_read(&rw) != VOLT_OK) return;
    enters();
    read_unlock();
  }
  void try_write_section() {
    if (volt_rwlock_try_write(&rw) != VOLT_OK) return;
    enters();
    write_unlock();
  }
  void serve_write(blocker *b, volt_future *f) {
    EXPECT(b->await(f) == VOLT_OK);
    volt_store_relaxed(&served, 1);
    write_unlock();
  }
  void cancel_or_unlock(volt_waiter *w) {
    if (!volt_rwlock_cancel(&rw, w)) read_unlock();
  }

  // At quiescence: nothing is held, and f has been woken and not been polled since.
  void write_at_end(volt_future *f) {
    blocker late;
    EXPECT(late.poll(f) == VOLT_OK && late.settled());
    write_unlock();
  }
  void expect_free() {
    EXPECT(volt_rwlock_waiters(&rw) == 0 && volt_rwlock_readers(&rw) == 0);
    EXPECT(volt_load_relaxed(&rw.queue.word) == 0);
  }
};

// ---- last reader x nudge x entering reader: R9, I1, I5 ----

struct last_reader_x_entering : bypass_rwlock_model {
  volt_future f;
  poller::trace left;
  explicit last_reader_x_entering(uint32_t k) : bypass_rwlock_model(k) {
    hold_read();
    queue_write(&left, &f);
  }
  void thread(unsigned index) override {
    index == 0 ? read_unlock() : try_read_section();
  }
  void check() override {
    EXPECT(left.gone(1, 0));
    write_at_end(&f);
    expect_free();
  }
};
struct bypass_last_reader_x_entering_1 : with_bypass<last_reader_x_entering, 1> {};
MODEL(bypass_last_reader_x_entering_1, 2, full)
struct bypass_last_reader_x_entering_2 : with_bypass<last_reader_x_entering, 2> {};
MODEL(bypass_last_reader_x_entering_2, 2, full)

// I5: readers that overlap for ever do not starve the writer: each of their entries counts.
struct overlapping_readers : last_reader_x_entering {
  using last_reader_x_entering::last_reader_x_entering;
  void enter_and_leave_each_other() {
    unsigned inside = 0;
    for (unsigned i = 0; i < 2; i++) {
      if (volt_rwlock_try_read(&rw) != VOLT_OK) continue;
      enters();
      inside += 1;
    }
    while (inside-- > 0) read_unlock();
  }
  void thread(unsigned index) override {
    if (index == 0) read_unlock();
    enter_and_leave_each_other();
  }
};
struct bypass_overlapping_readers_1 : with_bypass<overlapping_readers, 1> {};
MODEL(bypass_overlapping_readers_1, 2, bounded)
struct bypass_overlapping_readers_2 : with_bypass<overlapping_readers, 2> {};
MODEL(bypass_overlapping_readers_2, 2, bounded)

// A writer comes after the head was nudged, and before it looks.
struct last_reader_x_entering_writer : last_reader_x_entering {
  using last_reader_x_entering::last_reader_x_entering;
  void thread(unsigned index) override {
    index == 0 ? read_unlock() : try_write_section();
  }
};
struct bypass_last_reader_x_entering_writer_1 : with_bypass<last_reader_x_entering_writer, 1> {};
MODEL(bypass_last_reader_x_entering_writer_1, 2, full)

// Two readers leave, and the one that is the last nudges the head.
struct two_last_readers : last_reader_x_entering {
  explicit two_last_readers(uint32_t k) : last_reader_x_entering(k) {
    hold_read();
    EXPECT(volt_fetch_add_relaxed(&entries, 1) < k);
  }
  void thread(unsigned index) override {
    index < 2 ? read_unlock() : try_read_section();
  }
};
struct bypass_two_last_readers_1 : with_bypass<two_last_readers, 1> {};
MODEL(bypass_two_last_readers_1, 2, full)
struct bypass_two_last_readers_x_entering_2 : with_bypass<two_last_readers, 2> {};
MODEL(bypass_two_last_readers_x_entering_2, 3, bounded)

// The last reader leaves, a reader enters, and the writer looks.
struct last_reader_x_entering_x_writer : bypass_rwlock_model {
  volt_future f;
  blocker b;
  explicit last_reader_x_entering_x_writer(uint32_t k) : bypass_rwlock_model(k) {
    hold_read();
    queue_write(&b, &f);
  }
  void thread(unsigned index) override {
    if (index == 0) read_unlock();
    if (index == 1) try_read_section();
    if (index == 2) serve_write(&b, &f);
  }
  void check() override {
    EXPECT(b.settled() && b.ctx.registered <= 2 && value == 1);
    expect_free();
  }
};
struct bypass_last_reader_x_entering_x_writer_1 : with_bypass<last_reader_x_entering_x_writer, 1> {
};
MODEL(bypass_last_reader_x_entering_x_writer_1, 3, bounded)
struct bypass_last_reader_x_entering_x_writer_2 : with_bypass<last_reader_x_entering_x_writer, 2> {
};
MODEL(bypass_last_reader_x_entering_x_writer_2, 3, bounded)

// R6: one reader has passed, and leaves while the writer, which was nudged, looks: the writer is
// granted the lock without a wake, or finds it free.
struct writer_looks_x_last_reader : last_reader_x_entering_x_writer {
  explicit writer_looks_x_last_reader(uint32_t k) : last_reader_x_entering_x_writer(k) {
    volt_rwlock_read_unlock(&rw);
    hold_read();
    enters();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      read_unlock();
      try_read_section();
    } else {
      serve_write(&b, &f);
    }
  }
};
struct bypass_writer_looks_x_last_reader_1 : with_bypass<writer_looks_x_last_reader, 1> {};
MODEL(bypass_writer_looks_x_last_reader_1, 2, bounded)
struct bypass_writer_looks_x_last_reader_2 : with_bypass<writer_looks_x_last_reader, 2> {};
MODEL(bypass_writer_looks_x_last_reader_2, 2, bounded)

// The writer was nudged; then readers enter and leave, and it looks.
struct two_entering_x_writer : last_reader_x_entering_x_writer {
  explicit two_entering_x_writer(uint32_t k) : last_reader_x_entering_x_writer(k) {
    volt_rwlock_read_unlock(&rw);
  }
  void thread(unsigned index) override {
    if (index < 2) try_read_section();
    if (index == 2) serve_write(&b, &f);
  }
};
struct bypass_two_entering_x_writer_1 : with_bypass<two_entering_x_writer, 1> {};
MODEL(bypass_two_entering_x_writer_1, 3, bounded)
struct bypass_two_entering_x_writer_2 : with_bypass<two_entering_x_writer, 2> {};
MODEL(bypass_two_entering_x_writer_2, 3, bounded)

// Another poller takes the writer over while it is nudged.
struct writer_set_waker_x_nudge : last_reader_x_entering {
  poller::trace after_left;
  poller *after = new poller(&after_left);
  int result = VOLT_PENDING;
  using last_reader_x_entering::last_reader_x_entering;
  void thread(unsigned index) override {
    if (index == 0) {
      read_unlock();
    } else {
      result = after->poll(&f);
      after->end();
    }
  }
  void check() override {
    EXPECT(left.gone(1) && after_left.gone(result == VOLT_PENDING ? 1 : 0, 0));
    write_at_end(&f);
    expect_free();
  }
};
struct bypass_writer_set_waker_x_nudge_1 : with_bypass<writer_set_waker_x_nudge, 1> {};
MODEL(bypass_writer_set_waker_x_nudge_1, 2, bounded)

// ---- a writer leaves ----

// The FIFO has readers, and then a writer. The readers are admitted. Others may enter until LEFT is
// 0.
struct write_unlock_x_readers_x_writer : bypass_rwlock_model {
  volt_waiter r;
  wake_count woken;
  volt_future f;
  poller::trace left;
  explicit write_unlock_x_readers_x_writer(uint32_t k) : bypass_rwlock_model(k) {
    hold_write();
    queue_read(&woken, &r);
    queue_write(&left, &f);
  }
  void thread(unsigned index) override {
    if (index == 0) write_unlock();
    if (index == 1) cancel_or_unlock(&r);
    if (index == 2) try_read_section();
  }
  void check() override {
    EXPECT(left.gone(1, 0) && woken.seen() == (granted(&r) ? 1u : 0u));
    write_at_end(&f);
    expect_free();
  }
};
struct bypass_write_unlock_x_reader_cancels_1 : with_bypass<write_unlock_x_readers_x_writer, 1> {};
MODEL(bypass_write_unlock_x_reader_cancels_1, 2, full)
struct bypass_write_unlock_x_reader_cancels_x_entering_2
    : with_bypass<write_unlock_x_readers_x_writer, 2> {};
MODEL(bypass_write_unlock_x_reader_cancels_x_entering_2, 3, bounded)

// R12: more readers than a batch holds, and a writer behind them.
struct write_unlock_x_batches : bypass_rwlock_model {
  volt_waiter r[2];
  wake_count woken[2];
  volt_future f;
  poller::trace left;
  explicit write_unlock_x_batches(uint32_t k) : bypass_rwlock_model(k) {
    hold_write();
    for (unsigned i = 0; i < 2; i++) queue_read(&woken[i], &r[i]);
    queue_write(&left, &f);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      write_unlock();
      return;
    }
    if (index == 1) cancel_or_unlock(&r[1]);
    if (index == 2) try_read_section();
  }
  void check() override {
    for (unsigned i = 0; i < 2; i++) EXPECT(woken[i].seen() == (granted(&r[i]) ? 1u : 0u));
    EXPECT(granted(&r[0]) && volt_rwlock_readers(&rw) == 1);
    read_unlock();
    EXPECT(left.gone(1, 0));
    write_at_end(&f);
    expect_free();
  }
};
struct bypass_write_unlock_x_batches_1 : with_bypass<write_unlock_x_batches, 1> {};
MODEL(bypass_write_unlock_x_batches_1, 2, bounded)
struct bypass_write_unlock_x_batches_x_entering_1 : with_bypass<write_unlock_x_batches, 1> {};
MODEL(bypass_write_unlock_x_batches_x_entering_1, 3, bounded)

// R12: the first reader of two batches leaves, the second gives up or leaves, and the lock is
// ended. The thread that ends it sees what the first reader's waker did.
struct batches_x_destroy : model {
  volt_rwlock *rw = new volt_rwlock();
  volt_waiter r[2];
  wake_count woken;
  VOLT_PLAIN(uint32_t) first_wakes;
  batches_x_destroy() {
    volt_rwlock_init_bypass(rw, 1);
    EXPECT(volt_rwlock_try_write(rw) == VOLT_OK);
    EXPECT(volt_rwlock_read_waiter(rw, &r[0], volt_waker{count_first, this}) == VOLT_PENDING);
    EXPECT(volt_rwlock_read_waiter(rw, &r[1], woken.waker()) == VOLT_PENDING);
  }
  static void count_first(void *ctx) {
    static_cast<batches_x_destroy *>(ctx)->first_wakes += 1;
  }
  void end() {
    volt_rwlock_destroy(rw);
    EXPECT(first_wakes == 1);
    delete rw;
    rw = nullptr;
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_rwlock_write_unlock(rw);
      return;
    }
    if (!granted(&r[0])) return;
    if (!volt_rwlock_cancel(rw, &r[1])) volt_rwlock_read_unlock(rw);
    volt_rwlock_read_unlock(rw);
    end();
  }
  ~batches_x_destroy() override {
    if (!rw) return;
    volt_rwlock_read_unlock(rw);
    volt_rwlock_read_unlock(rw);
    end();
  }
};
struct bypass_batches_x_destroy : batches_x_destroy {};
MODEL(bypass_batches_x_destroy, 2, bounded)

// The head is a writer.
struct write_unlock_x_writer : bypass_rwlock_model {
  volt_future f;
  blocker b;
  explicit write_unlock_x_writer(uint32_t k) : bypass_rwlock_model(k) {
    hold_write();
    queue_write(&b, &f);
  }
  void thread(unsigned index) override {
    if (index == 0) write_unlock();
    if (index == 1) serve_write(&b, &f);
    if (index == 2) try_read_section();
  }
  void check() override {
    EXPECT(b.settled() && b.ctx.registered <= 2 && value == 2);
    expect_free();
  }
};
struct bypass_write_unlock_x_writer_1 : with_bypass<write_unlock_x_writer, 1> {};
MODEL(bypass_write_unlock_x_writer_1, 2, full)
struct bypass_write_unlock_x_writer_x_entering_1 : with_bypass<write_unlock_x_writer, 1> {};
MODEL(bypass_write_unlock_x_writer_x_entering_1, 3, bounded)
struct bypass_write_unlock_x_writer_x_entering_2 : with_bypass<write_unlock_x_writer, 2> {};
MODEL(bypass_write_unlock_x_writer_x_entering_2, 3, bounded)

// After a fair unlock no caller enters before the head, a writer.
struct write_unlock_fair_x_writer : bypass_rwlock_model {
  volt_future f;
  blocker b;
  explicit write_unlock_fair_x_writer(uint32_t k) : bypass_rwlock_model(k) {
    hold_write();
    queue_write(&b, &f);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_rwlock_write_unlock_fair(&rw);
      EXPECT(volt_rwlock_try_read(&rw) == VOLT_EAGAIN); // it is the head's, which keeps it
    } else {
      EXPECT(b.await(&f) == VOLT_OK);
    }
  }
  void check() override {
    EXPECT(b.settled());
    write_unlock();
    expect_free();
  }
};
struct bypass_write_unlock_fair_x_writer_1 : with_bypass<write_unlock_fair_x_writer, 1> {};
MODEL(bypass_write_unlock_fair_x_writer_1, 2, full)

// The writer becomes a reader: a queued reader enters beside it, and no writer does.
struct downgrade_x_readers : bypass_rwlock_model {
  volt_waiter r;
  wake_count woken;
  volt_future f;
  poller::trace left;
  explicit downgrade_x_readers(uint32_t k) : bypass_rwlock_model(k) {
    hold_write();
    value += 1;
    queue_read(&woken, &r);
    queue_write(&left, &f);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_rwlock_downgrade(&rw);
      read_unlock();
    }
    if (index == 1) cancel_or_unlock(&r);
    if (index == 2) try_read_section();
  }
  void check() override {
    EXPECT(left.gone(1, 0) && value == 1 && woken.seen() == (granted(&r) ? 1u : 0u));
    write_at_end(&f);
    expect_free();
  }
};
struct bypass_downgrade_x_reader_1 : with_bypass<downgrade_x_readers, 1> {};
MODEL(bypass_downgrade_x_reader_1, 2, bounded)
struct bypass_downgrade_x_reader_x_entering_1 : with_bypass<downgrade_x_readers, 1> {};
MODEL(bypass_downgrade_x_reader_x_entering_1, 3, bounded)

// When the downgrade returns, the queued reader is inside, beside the former writer.
struct downgrade_admits : downgrade_x_readers {
  using downgrade_x_readers::downgrade_x_readers;
  void thread(unsigned index) override {
    if (index == 1) {
      try_read_section();
      return;
    }
    volt_rwlock_downgrade(&rw);
    EXPECT(granted(&r) && woken.seen() == 1);
    read_unlock();
    read_unlock();
  }
};
struct bypass_downgrade_admits_1 : with_bypass<downgrade_admits, 1> {};
MODEL(bypass_downgrade_admits_1, 2, bounded)

// The head is a writer: it waits on, and a reader may enter before it.
struct downgrade_x_head_writer : bypass_rwlock_model {
  volt_future f;
  blocker b;
  explicit downgrade_x_head_writer(uint32_t k) : bypass_rwlock_model(k) {
    hold_write();
    queue_write(&b, &f);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      value += 1;
      volt_rwlock_downgrade(&rw);
      EXPECT(value == 1);
      read_unlock();
    }
    if (index == 1) try_read_section();
    if (index == 2) serve_write(&b, &f);
  }
  void check() override {
    if (!volt_load_relaxed(&served)) { // two threads: nobody has polled it
      EXPECT(value == 1);
      write_at_end(&f);
    }
    EXPECT(b.settled() && value == 2);
    expect_free();
  }
};
struct bypass_downgrade_x_entering_1 : with_bypass<downgrade_x_head_writer, 1> {};
MODEL(bypass_downgrade_x_entering_1, 2, full)
struct bypass_downgrade_x_entering_x_writer_1 : with_bypass<downgrade_x_head_writer, 1> {};
MODEL(bypass_downgrade_x_entering_x_writer_1, 3, bounded)

// ---- a writer gives up: R4 ----

// The readers behind it are admitted at once, beside those that are inside.
struct writer_cancels_x_read_unlock : bypass_rwlock_model {
  volt_future f;
  poller::trace left;
  volt_waiter r;
  wake_count woken;
  explicit writer_cancels_x_read_unlock(uint32_t k) : bypass_rwlock_model(k) {
    hold_write();
    queue_write(&left, &f);
    queue_read(&woken, &r);
    volt_rwlock_downgrade(&rw);
  }
  void give_up() {
    volt_future_cancel(&f);
    poison(&f.waiter);
  }
  void thread(unsigned index) override {
    if (index == 0) give_up();
    if (index == 1) read_unlock();
    if (index == 2) try_read_section();
  }
  void check() override {
    EXPECT(left.gone(1) && granted(&r) && woken.seen() == 1);
    EXPECT(volt_rwlock_readers(&rw) == 1);
    read_unlock();
    expect_free();
  }
};
struct bypass_writer_cancels_x_read_unlock_1 : with_bypass<writer_cancels_x_read_unlock, 1> {};
MODEL(bypass_writer_cancels_x_read_unlock_1, 2, full)
struct bypass_writer_cancels_x_read_unlock_x_entering_1
    : with_bypass<writer_cancels_x_read_unlock, 1> {};
MODEL(bypass_writer_cancels_x_read_unlock_x_entering_1, 3, bounded)

// The same while a reader stays inside.
struct writer_cancels_x_entering : writer_cancels_x_read_unlock {
  using writer_cancels_x_read_unlock::writer_cancels_x_read_unlock;
  void thread(unsigned index) override {
    index == 0 ? give_up() : try_read_section();
  }
  void check() override {
    EXPECT(left.gone(0, 1) && granted(&r) && woken.seen() == 1);
    EXPECT(volt_rwlock_readers(&rw) == 2);
    read_unlock();
    read_unlock();
    expect_free();
  }
};
struct bypass_writer_cancels_x_entering_1 : with_bypass<writer_cancels_x_entering, 1> {};
MODEL(bypass_writer_cancels_x_entering_1, 2, bounded)

// The head was nudged, and gives up while a newcomer comes.
struct told_writer_cancels : writer_cancels_x_read_unlock {
  bool writes;
  explicit told_writer_cancels(uint32_t k, bool writes_ = false)
      : writer_cancels_x_read_unlock(k), writes(writes_) {
    volt_rwlock_read_unlock(&rw);
  }
  void thread(unsigned index) override {
    if (index == 0) give_up();
    if (index == 1) writes ? try_write_section() : try_read_section();
  }
  void check() override {
    EXPECT(left.gone(1, 0));
    writer_cancels_x_read_unlock::check();
  }
};
struct bypass_told_writer_cancels_x_reader : told_writer_cancels {
  bypass_told_writer_cancels_x_reader() : told_writer_cancels(1, false) {
  }
};
MODEL(bypass_told_writer_cancels_x_reader, 2, bounded)
struct bypass_told_writer_cancels_x_writer : told_writer_cancels {
  bypass_told_writer_cancels_x_writer() : told_writer_cancels(1, true) {
  }
};
MODEL(bypass_told_writer_cancels_x_writer, 2, bounded)

// A writer behind it is nudged instead.
struct writer_cancels_x_next_writer : bypass_rwlock_model {
  volt_future f, next;
  poller::trace left, next_left;
  explicit writer_cancels_x_next_writer(uint32_t k) : bypass_rwlock_model(k) {
    hold_read();
    queue_write(&left, &f);
    queue_write(&next_left, &next);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_future_cancel(&f);
      poison(&f.waiter);
    }
    if (index == 1) read_unlock();
    if (index == 2) try_read_section();
  }
  void check() override {
    EXPECT(left.gone(1) && next_left.gone(1, 0));
    write_at_end(&next);
    expect_free();
  }
};
struct bypass_writer_cancels_x_next_writer_1 : with_bypass<writer_cancels_x_next_writer, 1> {};
MODEL(bypass_writer_cancels_x_next_writer_1, 2, full)
struct bypass_writer_cancels_x_next_writer_x_entering_1
    : with_bypass<writer_cancels_x_next_writer, 1> {};
MODEL(bypass_writer_cancels_x_next_writer_x_entering_1, 3, bounded)

// The head was granted the lock without a wake, and gives up: the lock is given back.
struct silent_writer_cancels : writer_cancels_x_next_writer {
  explicit silent_writer_cancels(uint32_t k) : writer_cancels_x_next_writer(k) {
    volt_rwlock_read_unlock(&rw);
    hold_read();
    enters();
  }
  void check() override {
    EXPECT(left.gone(1, 0));
    writer_cancels_x_next_writer::check();
  }
};
struct bypass_silent_writer_cancels_1 : with_bypass<silent_writer_cancels, 1> {};
MODEL(bypass_silent_writer_cancels_1, 2, full)

// A reader at the head gives up while a writer is inside; the writer behind it is the head then.
struct head_reader_cancels : bypass_rwlock_model {
  volt_waiter r;
  wake_count woken;
  volt_future f;
  poller::trace left;
  bool was_cancelled = false;
  explicit head_reader_cancels(uint32_t k) : bypass_rwlock_model(k) {
    hold_write();
    queue_read(&woken, &r);
    queue_write(&left, &f);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      write_unlock();
      return;
    }
    was_cancelled = volt_rwlock_cancel(&rw, &r);
    if (!was_cancelled) read_unlock();
    try_read_section();
  }
  void check() override {
    EXPECT(woken.seen() == (was_cancelled ? 0u : 1u) && left.gone(1, 0));
    write_at_end(&f);
    expect_free();
  }
};
struct bypass_head_reader_cancels_1 : with_bypass<head_reader_cancels, 1> {};
MODEL(bypass_head_reader_cancels_1, 2, bounded)

// The same with a reader behind it, which waits until the writer inside leaves.
struct first_reader_cancels : bypass_rwlock_model {
  volt_waiter r[2];
  wake_count woken[2];
  explicit first_reader_cancels(uint32_t k) : bypass_rwlock_model(k) {
    hold_write();
    for (unsigned i = 0; i < 2; i++) queue_read(&woken[i], &r[i]);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      EXPECT(volt_rwlock_readers(&rw) == 0 && woken[1].seen() == 0);
      write_unlock();
    } else {
      cancel_or_unlock(&r[0]);
    }
  }
  void check() override {
    EXPECT(granted(&r[1]) && woken[1].seen() == 1);
    read_unlock();
    expect_free();
  }
};
struct bypass_first_reader_cancels_1 : with_bypass<first_reader_cancels, 1> {};
MODEL(bypass_first_reader_cancels_1, 2, bounded)

// ---- blocking calls, raw writers, the death of the lock ----

struct blocking_bypass_rwlock : bypass_rwlock_model {
  using bypass_rwlock_model::bypass_rwlock_model;
  void read() {
    EXPECT(volt_rwlock_read_until(&rw, VOLT_NO_DEADLINE) == VOLT_OK);
    read_unlock();
  }
  void write() {
    EXPECT(volt_rwlock_write_until(&rw, VOLT_NO_DEADLINE) == VOLT_OK);
    write_unlock();
  }
  bool write_in_time() {
    if (volt_rwlock_write_until(&rw, 1) != VOLT_OK) return false;
    write_unlock();
    return true;
  }
};

struct blocking_reader_x_writer : blocking_bypass_rwlock {
  using blocking_bypass_rwlock::blocking_bypass_rwlock;
  void thread(unsigned index) override {
    index == 0 ? read() : write();
  }
  void check() override {
    EXPECT(value > 0);
    expect_free();
  }
};
struct bypass_blocking_reader_x_writer_1 : with_bypass<blocking_reader_x_writer, 1> {};
MODEL(bypass_blocking_reader_x_writer_1, 2, full)
struct bypass_blocking_reader_x_two_writers_1 : with_bypass<blocking_reader_x_writer, 1> {};
MODEL(bypass_blocking_reader_x_two_writers_1, 3, bounded)

struct blocking_two_readers_x_writer : blocking_bypass_rwlock {
  using blocking_bypass_rwlock::blocking_bypass_rwlock;
  void thread(unsigned index) override {
    index < 2 ? read() : write();
  }
  void check() override {
    EXPECT(value == 1);
    expect_free();
  }
};
struct bypass_blocking_two_readers_x_writer_1 : with_bypass<blocking_two_readers_x_writer, 1> {};
MODEL(bypass_blocking_two_readers_x_writer_1, 3, bounded)

struct blocking_writer_x_writer : blocking_bypass_rwlock {
  using blocking_bypass_rwlock::blocking_bypass_rwlock;
  void thread(unsigned) override {
    write();
  }
  void check() override {
    EXPECT(value == 2);
    expect_free();
  }
};
struct bypass_blocking_writer_x_writer_1 : with_bypass<blocking_writer_x_writer, 1> {};
MODEL(bypass_blocking_writer_x_writer_1, 2, full)

// A writer whose deadline passes at any moment, beside readers.
struct writer_deadline_x_readers : blocking_bypass_rwlock {
  bool in_time = false;
  explicit writer_deadline_x_readers(uint32_t k) : blocking_bypass_rwlock(k) {
    hold_read();
  }
  void thread(unsigned index) override {
    if (index == 0) read_unlock();
    if (index == 1) in_time = write_in_time();
    if (index == 2) read();
  }
  void check() override {
    EXPECT(value == (in_time ? 1u : 0u));
    expect_free();
  }
};
struct bypass_writer_deadline_x_read_unlock_1 : with_bypass<writer_deadline_x_readers, 1> {};
MODEL(bypass_writer_deadline_x_read_unlock_1, 2, bounded)
struct bypass_writer_deadline_x_readers_1 : with_bypass<writer_deadline_x_readers, 1> {};
MODEL(bypass_writer_deadline_x_readers_1, 3, bounded)

// The head is a writer of volt_rwlock_write_waiter(), a raw writer: no caller enters, by whatever call,
// and the wake means that it has the lock.
struct raw_writer_x_entering : bypass_rwlock_model {
  volt_waiter w, r;
  wake_count woken[2];
  explicit raw_writer_x_entering(uint32_t k) : bypass_rwlock_model(k) {
    hold_read();
    EXPECT(volt_rwlock_write_waiter(&rw, &w, woken[0].waker()) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      read_unlock();
      return;
    }
    EXPECT(volt_rwlock_try_read(&rw) == VOLT_EAGAIN && volt_rwlock_try_write(&rw) == VOLT_EAGAIN);
    EXPECT(volt_rwlock_read_waiter(&rw, &r, woken[1].waker()) == VOLT_PENDING);
  }
  void check() override {
    EXPECT(granted(&w) && woken[0].seen() == 1 && woken[1].seen() == 0);
    write_unlock();
    EXPECT(granted(&r) && woken[1].seen() == 1);
    read_unlock();
    expect_free();
  }
};
struct bypass_raw_writer_x_entering_1 : with_bypass<raw_writer_x_entering, 1> {};
MODEL(bypass_raw_writer_x_entering_1, 2, full)

// R11: the last user, a writer, frees the lock; the holder before was a reader or a writer.
struct last_rwlock_user_frees : model {
  volt_rwlock *rw;
  VOLT_PLAIN(int) users;
  explicit last_rwlock_user_frees(int threads) : rw(new volt_rwlock()), users(threads) {
    volt_rwlock_init_bypass(rw, 1);
  }
  void leave_writing() {
    EXPECT(volt_rwlock_write_until(rw, VOLT_NO_DEADLINE) == VOLT_OK);
    bool last = --users == 0;
    volt_rwlock_write_unlock(rw);
    if (!last) return;
    poison(&rw->queue);
    delete rw;
  }
  void thread(unsigned index) override {
    if (index == 0) {
      EXPECT(volt_rwlock_read_until(rw, VOLT_NO_DEADLINE) == VOLT_OK);
      volt_rwlock_read_unlock(rw);
    }
    leave_writing();
  }
};
struct bypass_last_of_two_frees_rwlock : last_rwlock_user_frees {
  bypass_last_of_two_frees_rwlock() : last_rwlock_user_frees(2) {
  }
};
MODEL(bypass_last_of_two_frees_rwlock, 2, bounded)

// The last reader leaves. The writer that gets the lock frees it.
struct bypass_read_unlock_x_free : model {
  volt_rwlock *rw = new volt_rwlock();
  volt_future f;
  blocker b;
  bypass_read_unlock_x_free() {
    volt_rwlock_init_bypass(rw, 1);
    EXPECT(volt_rwlock_try_read(rw) == VOLT_OK);
    EXPECT(b.poll(volt_rwlock_write_future(&f, rw)) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_rwlock_read_unlock(rw);
      return;
    }
    EXPECT(b.await(&f) == VOLT_OK);
    poison(&rw->queue);
    delete rw;
  }
  void check() override {
    EXPECT(b.settled());
  }
};
MODEL(bypass_read_unlock_x_free, 2, full)

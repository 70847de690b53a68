// sleepers_model: threads that say for what they sleep, and an inspector: sleepers.c I1, I2, R1,
// R2; and a look along a queue while its waiters are granted and moved: describe.c I2, R2, R3.
// PROGRAM: sleepers BATCH 1 MUTANTS SOURCES sleepers.c describe.c future.c monitor.c
// PROGRAM: sleepers SOURCES fifo.c grant.c park.c
// PROGRAM: sleepers SOURCES fiber_futex.c permits.c bypass.c mutex.c cond.c
#include "core/inspect/describe.h"
#include "core/inspect/sleepers.h"
#include "model.hpp"

extern volt_sleeper_list_ *volt_model_sleepers;
extern volt_sleeper_slot_ *volt_model_slots[8];

// ---- slots ----

struct sleepers_model : model {
  volt_sleeper_list_ list;
  volt_sleeper_slot_ *slots[2];
  volt_sleeper_seen_ seen;

  // So many threads have slots of their own, which they free when they end.
  explicit sleepers_model(unsigned count) {
    volt_model_sleepers = &list;
    for (unsigned i = 0; i < 8; i++) volt_model_slots[i] = nullptr;
    for (unsigned i = 0; i < count; i++) volt_model_slots[i] = slots[i] = new volt_sleeper_slot_();
  }
  // In the constructor, which is no thread: the first sleeps.
  void begin_first() {
    volt_sleeper_slot_ *all[8];
    for (unsigned i = 0; i < 8; i++) {
      all[i] = volt_model_slots[i];
      volt_model_slots[i] = slots[0];
    }
    begin(0);
    for (unsigned i = 0; i < 8; i++) volt_model_slots[i] = all[i];
  }
  // A wait for this object, which is named after its number.
  static void begin(uint32_t object) {
    volt_call_ call = {};
    call.name = names[object];
    call.kind = kinds[object];
    call.object = const_cast<char *>(objects + object);
    volt_sleep_begin_(&call, 100 + object);
  }
  // What was seen is one wait.
  void expect_one_wait() const {
    unsigned object = unsigned(seen.deadline_ns - 100);
    EXPECT(object < 3);
    EXPECT(seen.call == names[object] && seen.description.operation == names[object]);
    EXPECT(seen.description.kind == kinds[object] && seen.description.object == objects + object);
  }
  unsigned see(uint64_t *cursor) {
    unsigned count = volt_sleepers_copy_(&seen, 1, cursor);
    if (count) expect_one_wait();
    return count;
  }
  // As a thread that ends.
  void end(unsigned index) {
    volt_sleeper_slot_ *own = slots[index];
    volt_sleeper_unlink_(&list, own);
    volt_model_slots[index] = nullptr;
    own->next = nullptr; // its memory is used for something else
    own->prev = nullptr;
    delete own;
  }

  static const char *const names[3];
  static const volt_kind_ kinds[3];
  static const char objects[3];
};
const char *const sleepers_model::names[3] = {"first", "second", "third"};
const volt_kind_ sleepers_model::kinds[3] = {VOLT_KIND_MUTEX_, VOLT_KIND_RWLOCK_,
                                             VOLT_KIND_SEMAPHORE_};
const char sleepers_model::objects[3] = {};

// R1: what is seen is of one wait, and the count says of which.
struct sleeper_next_wait_x_see : sleepers_model {
  sleeper_next_wait_x_see() : sleepers_model(1) {
    begin_first();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_sleep_end_();
      begin(1);
      volt_sleep_end_();
      begin(2);
    } else {
      uint64_t cursor = 0;
      if (see(&cursor)) EXPECT(seen.wait == 1 + 2 * (seen.deadline_ns - 100));
    }
  }
  void check() override {
    uint64_t cursor = 0;
    EXPECT(see(&cursor) == 1 && seen.deadline_ns == 102 && see(&cursor) == 0);
    delete slots[0];
  }
};
MODEL(sleeper_next_wait_x_see, 2, bounded)

// R2: a thread ends, and its memory is used for something else.
struct sleeper_end_x_see : sleepers_model {
  sleeper_end_x_see() : sleepers_model(1) {
  }
  void thread(unsigned index) override {
    if (index == 0) {
      begin(0);
      volt_sleep_end_();
      end(0);
    } else {
      uint64_t cursor = 0;
      (void)see(&cursor);
    }
  }
  void check() override {
    uint64_t cursor = 0;
    EXPECT(see(&cursor) == 0);
  }
};
MODEL(sleeper_end_x_see, 2, bounded)

// I1: the first sleeps all the time, and is seen once; the second comes and goes.
struct blocked_come_and_go_x_see : sleepers_model {
  blocked_come_and_go_x_see() : sleepers_model(2) {
    begin_first();
  }
  void thread(unsigned index) override {
    if (index == 0) return; // it sleeps
    if (index == 1) {
      begin(1);
      volt_sleep_end_();
      end(1);
      return;
    }
    unsigned first = 0;
    for (uint64_t cursor = 0; see(&cursor) != 0;) first += seen.deadline_ns == 100;
    EXPECT(first == 1);
  }
  void check() override {
    uint64_t cursor = 0;
    EXPECT(see(&cursor) == 1 && seen.deadline_ns == 100 && see(&cursor) == 0);
    delete slots[0];
  }
};
MODEL(blocked_come_and_go_x_see, 3, bounded)

// Two threads link their slots at once.
struct blocked_link_x_link : sleepers_model {
  blocked_link_x_link() : sleepers_model(2) {
  }
  void thread(unsigned index) override {
    begin(index);
  }
  void check() override {
    uint64_t cursor = 0;
    unsigned all = 0;
    while (see(&cursor) != 0) all += unsigned(seen.deadline_ns - 99);
    EXPECT(all == 3);
    delete slots[0];
    delete slots[1];
  }
};
MODEL(blocked_link_x_link, 2, bounded)

// ---- a look along a queue ----

struct look_model : model {
  volt_mutex mutex;
  volt_cond cond;
  volt_future f[2];
  wake_count woken[2];
  volt_description_ description;

  look_model() {
    for (unsigned i = 0; i < 8; i++) volt_model_slots[i] = nullptr;
    volt_mutex_init(&mutex);
    volt_cond_init(&cond);
    EXPECT(volt_mutex_try_lock(&mutex) == VOLT_OK);
  }
  void queue(unsigned i, volt_future *future) {
    EXPECT(volt_future_poll(future, woken[i].waker()) == VOLT_PENDING);
  }
  // The owner's, or an inspector's that has the owner's task.
  void look_for(unsigned i) {
    volt_describe_(&f[i], &description);
    volt_describe_place_(&f[i], &description, 4);
  }
};

// R2: the place is one that it has had; the walk meets no waiter that has been granted.
struct describe_place_x_unlock : look_model {
  describe_place_x_unlock() {
    for (unsigned i = 0; i < 2; i++) queue(i, volt_mutex_lock_future(&f[i], &mutex));
  }
  void thread(unsigned index) override {
    if (index == 0) {
      look_for(1);
      EXPECT(description.place <= 2 && description.place <= description.waiters);
      EXPECT(description.object == &mutex && description.ends == VOLT_ENDS_HOLDERS_);
    } else {
      volt_mutex_unlock(&mutex); // to the first, which uses its waiter for something else
      EXPECT(volt_future_poll(&f[0], woken[0].waker()) == VOLT_OK);
      poison(&f[0].waiter);
    }
  }
  void check() override {
    look_for(1);
    EXPECT(description.place == 1 && description.waiters == 1 && !description.is_granted);
    volt_mutex_unlock(&mutex);
    EXPECT(volt_future_poll(&f[1], woken[1].waker()) == VOLT_OK);
  }
};
MODEL(describe_place_x_unlock, 2, full)

// A look does not keep a waiter from being granted, and an unlock finds it whatever the look does.
struct describe_x_unlock : look_model {
  describe_x_unlock() {
    queue(0, volt_mutex_lock_future(&f[0], &mutex));
  }
  void thread(unsigned index) override {
    if (index == 0) {
      look_for(0);
      if (description.is_granted) EXPECT(description.place == 0);
    } else {
      volt_mutex_unlock(&mutex);
    }
  }
  void check() override {
    look_for(0);
    EXPECT(description.is_granted && description.place == 0 && woken[0].seen() == 1);
    EXPECT(volt_future_poll(&f[0], woken[0].waker()) == VOLT_OK);
  }
};
MODEL(describe_x_unlock, 2, full)

// R3: a waiter of the condition variable is moved to the mutex while it is looked for.
struct describe_place_x_signal : look_model {
  describe_place_x_signal() {
    volt_future_made(volt_cond_wait_future(&f[0], &cond, &mutex));
    queue(0, &f[0]);
    EXPECT(volt_mutex_try_lock(&mutex) == VOLT_OK);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      look_for(0);
      bool is_moved = description.object == &mutex;
      EXPECT(is_moved || description.object == &cond);
      EXPECT(description.ends == (is_moved ? VOLT_ENDS_HOLDERS_ : VOLT_ENDS_UNKNOWN_));
    } else {
      volt_cond_signal(&cond);
    }
  }
  void check() override {
    look_for(0);
    EXPECT(description.object == &mutex && description.place == 1 && description.waiters == 1);
    volt_mutex_unlock(&mutex);
    EXPECT(volt_future_poll(&f[0], woken[0].waker()) == VOLT_OK);
  }
};
MODEL(describe_place_x_signal, 2, full)

// fiber_park_model: fibers that park, and what unparks them. fiber_futex.c I1, I2, R1-R3; park.c
// R4; mpsc.c R3 with a fiber as the actor. A fiber is a thread of the model whose hook suspends it
// on a word of its own.
// PROGRAM: library
#include "core/os/futex.h"
#include "core/park/blocker.h"
#include "model.hpp"

extern volt_fifo_ *volt_model_fiber_futex;

// As a fiber's task does: it polls, sleeps until a wake or a drop, polls again; and ends when each of
// its registrations is settled.
class fiber : public volt_blocker_ {
 public:
  fiber() : volt_blocker_() {
    block_on = wait;
  }
  void begins() {
    *volt_thread_blocker_() = this;
  }

  bool cancels =
      false; // the next wait that suspends it is cancelled at once, unless it is shielded
  unsigned waits = 0;

 private:
  static void settle(void *self) {
    fiber *f = static_cast<fiber *>(self);
    volt_fetch_add_acq_rel(&f->settled_, 1); // the fiber lives until it has seen this
    volt_futex_wake32_(&f->settled_, 1);
  }
  // Returns false: the deadline has passed.
  bool sleep(uint32_t settled, uint64_t deadline_ns) {
    while (volt_load_acquire(&settled_) == settled) {
      if (volt_futex_wait32_(&settled_, settled, deadline_ns) == VOLT_ETIMEDOUT) {
        return volt_load_acquire(&settled_) != settled;
      }
    }
    return true;
  }
  static int wait(volt_blocker_ *self, volt_future *f, uint64_t deadline_ns) {
    return static_cast<fiber *>(self)->await(f, deadline_ns);
  }
  int await(volt_future *f, uint64_t deadline_ns) {
    volt_waker waker = {settle, this};
    volt_ctx ctx = VOLT_CTX_INIT(waker);
    ctx.drop = settle;
    ctx.registered = registered_;
    int result, ended = VOLT_ECANCELED;
    waits += 1;
    for (;;) {
      uint32_t settled = volt_load_relaxed(&settled_);
      result = volt_future_poll_ctx(f, &ctx);
      if (result != VOLT_PENDING) break;
      bool cancelled = cancels && shields == 0;
      if (!cancelled && sleep(settled, deadline_ns)) continue;
      ended = cancelled ? VOLT_ECANCELED : VOLT_ETIMEDOUT;
      if (cancelled) cancels = false;
      volt_future_cancel(f);
      result = volt_future_poll_ctx(f, &ctx) == VOLT_ECANCELED ? ended : VOLT_OK;
      break;
    }
    registered_ = ctx.registered;
    for (uint32_t settled; (settled = volt_load_acquire(&settled_)) != registered_;) {
      volt_futex_wait32_(&settled_, settled, VOLT_NO_DEADLINE);
    }
    return result;
  }

  VOLT_ATOMIC(uint32_t) settled_;
  uint32_t registered_ = 0;
};

// All addresses share the queue.
struct fiber_futex_model : model {
  volt_fifo_ queue;
  VOLT_PLAIN(int) message;

  fiber_futex_model() {
    volt_model_fiber_futex = &queue;
  }
  void check() override {
    EXPECT(volt_fifo_count_(&queue) == 0);
  }
};

struct unpark_x_fiber_park : fiber_futex_model {
  fiber own;
  volt_parker parker;

  void thread(unsigned index) override {
    if (index == 0) {
      own.begins();
      EXPECT(volt_park_until(&parker, 1, VOLT_NO_DEADLINE) == VOLT_OK);
      EXPECT(message == 1);
    } else {
      message = 1;
      volt_unpark(&parker);
    }
  }
  void check() override {
    fiber_futex_model::check();
    EXPECT(volt_load_relaxed(&parker.word) ==
           VOLT_PARKER_UNPARK_); // an unpark after it takes no lock
  }
};
MODEL(unpark_x_fiber_park, 2, full)

// Once it has counted, an unpark touches the parker no more.
struct unpark_last_access : fiber_futex_model {
  fiber own;
  volt_parker *parker = new volt_parker();

  void thread(unsigned index) override {
    volt_parker *mine = parker;
    if (index == 0) {
      own.begins();
      EXPECT(volt_park_until(mine, 1, VOLT_NO_DEADLINE) == VOLT_OK);
      delete mine;
    } else {
      volt_unpark(mine);
    }
  }
};
MODEL(unpark_last_access, 2, full)

// Another fiber parks at the same address meanwhile, and is woken for nothing.
struct unpark_x_next_fiber : fiber_futex_model {
  fiber own;
  volt_parker parker;

  void thread(unsigned index) override {
    if (index == 0) {
      own.begins();
      EXPECT(volt_park_until(&parker, 1, VOLT_NO_DEADLINE) == VOLT_OK);
      EXPECT(message == 1);
      volt_store_relaxed(&parker.word, 0); // another parker
      EXPECT(volt_park_until(&parker, 1, 1) == VOLT_ETIMEDOUT);
    } else {
      message = 1;
      volt_unpark(&parker);
    }
  }
};
MODEL(unpark_x_next_fiber, 2, bounded)

struct fiber_parks_for_two : fiber_futex_model {
  fiber own;
  volt_parker parker;
  VOLT_PLAIN(int) messages[2];

  void thread(unsigned index) override {
    if (index == 2) {
      own.begins();
      EXPECT(volt_park_until(&parker, 2, VOLT_NO_DEADLINE) == VOLT_OK);
      EXPECT(messages[0] == 1 && messages[1] == 1);
    } else {
      messages[index] = 1;
      volt_unpark(&parker);
    }
  }
};
MODEL(fiber_parks_for_two, 3, bounded)

// Its deadline passes, or it is cancelled: never a wake lost, never one made up, no cancel lost.
struct unpark_x_fiber_deadline : fiber_futex_model {
  fiber own;
  volt_parker parker;

  void thread(unsigned index) override {
    if (index == 1) {
      message = 1;
      volt_unpark(&parker);
      return;
    }
    own.begins();
    int result = volt_park_until(&parker, 1, 1);
    EXPECT(result == VOLT_OK || result == VOLT_ETIMEDOUT);
    EXPECT(!own.kept_cancel);
    if (result != VOLT_OK) volt_park_out_(&parker, 1);
    EXPECT(message == 1);
  }
};
MODEL(unpark_x_fiber_deadline, 2, bounded)

struct unpark_x_fiber_cancel : fiber_futex_model {
  fiber own;
  volt_parker parker;

  void thread(unsigned index) override {
    if (index == 1) {
      message = 1;
      volt_unpark(&parker);
      return;
    }
    own.begins();
    own.cancels = true;
    int result = volt_park_until(&parker, 1, VOLT_NO_DEADLINE);
    EXPECT(result == VOLT_OK || result == VOLT_ECANCELED);
    EXPECT((result == VOLT_ECANCELED) + own.kept_cancel + own.cancels == 1);
    if (result != VOLT_OK) volt_park_out_(&parker, 1);
    EXPECT(message == 1);
  }
};
MODEL(unpark_x_fiber_cancel, 2, bounded)

// A cancel waits while the fiber is shielded.
struct unpark_x_fiber_shielded : fiber_futex_model {
  fiber own;
  volt_parker parker;

  void thread(unsigned index) override {
    if (index == 1) {
      message = 1;
      volt_unpark(&parker);
      return;
    }
    own.begins();
    own.cancels = true;
    volt_park_out_(&parker, 1);
    EXPECT(message == 1 && own.cancels && !own.kept_cancel && own.shields == 0);
  }
};
MODEL(unpark_x_fiber_shielded, 2, full)

// A fiber and a thread, in one list and in one queue of addresses.
struct unpark_all_fibers : fiber_futex_model {
  fiber own[2];
  volt_parker parker[2];

  void thread(unsigned index) override {
    if (index < 2) {
      if (index == 0) own[0].begins();
      EXPECT(volt_park_until(&parker[index], 1, VOLT_NO_DEADLINE) == VOLT_OK);
      EXPECT(message == 1);
      return;
    }
    message = 1;
    volt_unpark_list list;
    list.count = 0;
    volt_unpark_later(&parker[0], &list);
    volt_unpark_later(&parker[1], &list);
    volt_unpark_all(&list);
  }
};
MODEL(unpark_all_fibers, 3, bounded)

// Two fibers at two addresses: each is woken, whichever is first in the queue.
struct two_fibers_park : fiber_futex_model {
  fiber own[2];
  volt_parker parker[2];

  void thread(unsigned index) override {
    if (index < 2) {
      own[index].begins();
      EXPECT(volt_park_until(&parker[index], 1, VOLT_NO_DEADLINE) == VOLT_OK);
      return;
    }
    volt_unpark(&parker[1]);
    volt_unpark(&parker[0]);
  }
};
MODEL(two_fibers_park, 3, bounded)

// A fiber is the actor: it sleeps by the word of the actor's signal.
struct actor_is_a_fiber : fiber_futex_model {
  fiber own;
  volt_actor actor;
  volt_bcs_node node;
  VOLT_PLAIN(int) handled;

  static void handle(volt_bcs_node *, void *self) {
    static_cast<actor_is_a_fiber *>(self)->handled += 1;
  }
  void thread(unsigned index) override {
    if (index == 0) {
      own.begins();
      own.cancels = true; // it ends by stop() only
      volt_actor_run(&actor, handle, this);
      EXPECT(handled == 1 && own.cancels);
    } else {
      volt_actor_submit(&actor, &node);
      volt_actor_stop(&actor);
    }
  }
};
MODEL(actor_is_a_fiber, 2, bounded)

// A fiber in run(): it is served by the combiner, or is the combiner, and does not spin.
struct fibers_run_sections : fiber_futex_model {
  fiber own[2];
  volt_bcs_lock lock;
  volt_bcs_node node[2];
  VOLT_PLAIN(int) total;

  static void add(void *self) {
    static_cast<fibers_run_sections *>(self)->total += 1;
  }
  void thread(unsigned index) override {
    if (index == 0) own[0].begins();
    volt_bcs_lock_run(&lock, &node[index], add, this);
  }
  void check() override {
    fiber_futex_model::check();
    EXPECT(total == 2 && !volt_bcs_lock_is_busy(&lock));
  }
};
MODEL(fibers_run_sections, 2, bounded)

struct two_fibers_run_sections : fibers_run_sections {
  void thread(unsigned index) override {
    own[index].begins();
    volt_bcs_lock_run(&lock, &node[index], add, this);
  }
};
MODEL(two_fibers_run_sections, 2, bounded)

// A signal or a broadcast meets the cancel of a fiber that waits: it has the mutex in any case, and
// either the signal, or the cancel and no signal.
struct signal_x_fiber_cancel : fiber_futex_model {
  fiber own;
  volt_mutex mutex;
  volt_cond cond;

  void thread(unsigned index) override {
    if (index == 1) {
      volt_mutex_lock(&mutex);
      message = 1;
      volt_mutex_unlock(&mutex);
      volt_cond_signal(&cond);
      return;
    }
    own.begins();
    own.cancels = true;
    volt_mutex_lock(&mutex);
    if (message == 0) {
      int result = volt_cond_wait(&cond, &mutex);
      EXPECT((result == VOLT_ECANCELED) + own.kept_cancel + own.cancels == 1);
      if (result == VOLT_OK) EXPECT(message == 1);
    }
    volt_mutex_unlock(&mutex);
  }
  void check() override {
    fiber_futex_model::check();
    EXPECT(volt_cond_waiters(&cond) == 0 && !volt_mutex_is_locked(&mutex));
  }
};
MODEL(signal_x_fiber_cancel, 2, bounded)

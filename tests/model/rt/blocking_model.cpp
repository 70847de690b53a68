// blocking_model: calls on threads that block: queued, taken, cancelled, as the threads come and go.
// blocking.c I1-I3, R1-R4, R6. The deadline of an idle thread may pass at any moment.
// PROGRAM: rt
#include "model_rt.hpp"
#include "poller.hpp"

enum { RESULT = 5 };

struct blocking_model : model {
  model_rt rt;
  VOLT_PLAIN(uint32_t) calls[2];
  struct call {
    volt_blocking b;
    VOLT_PLAIN(uint32_t) *calls;
  };

  explicit blocking_model(unsigned threads, unsigned max = 1) : rt(0, max) {
    model_threads_to_start(threads);
  }
  volt_future *future(call *c, unsigned i) {
    c->calls = &calls[i];
    return volt_blocking_future(&c->b, rt.handle(), count, c);
  }
  static int count(void *arg) {
    *static_cast<call *>(arg)->calls += 1;
    return RESULT;
  }
  // The memory of a call is its owner's again.
  static void poison_call(call *c) {
    poison(&c->b.future.waiter);
    c->b.next = nullptr;
    c->b.prev = nullptr;
    c->b.stage = 0;
    c->b.result = 0;
    c->calls = nullptr;
  }
  // By the one thread that calls: no thread is left, and the pool is gone.
  void end() {
    volt_blocking_pool_close_(&rt->blocking);
    model_no_threads_run();
    rt->blocking.head = nullptr; // whoever still uses it is reported
    rt->blocking.threads = 0;
    rt->blocking.closer = nullptr;
    rt->blocking.late = 0xdead;
    volt_store_relaxed(&rt->blocking.lock.word, 1u); // for ever
    model_no_more_threads();
  }
  void check() override {
    rt.abandon();
  }
};

// A call, and the end: the thread is started, serves, idles, is told to leave or leaves by itself. R3
struct blocking_call_x_close : blocking_model {
  blocking_call_x_close() : blocking_model(1) {
  }
  void thread(unsigned index) override {
    if (index == 0) {
      model_serve(0);
      return;
    }
    call c;
    EXPECT(volt_future_wait(future(&c, 0)) == RESULT);
    poison_call(&c);
    end();
    EXPECT(calls[0] == 1);
  }
};
MODEL(blocking_call_x_close, 2, bounded)

// R1, I2: a second call comes as the thread's time is up: it is served by it or by another.
struct blocking_call_x_idle_end : blocking_model {
  blocking_call_x_idle_end() : blocking_model(2) {
  }
  void thread(unsigned index) override {
    if (index < 2) {
      model_serve(index);
      return;
    }
    for (unsigned i = 0; i < 2; i++) {
      call c;
      EXPECT(volt_future_wait(future(&c, i)) == RESULT);
      poison_call(&c);
    }
    end();
    EXPECT(calls[0] == 1 && calls[1] == 1);
  }
};
MODEL(blocking_call_x_idle_end, 3, bounded)

// R2: cancelled as it is taken: then it has not run and never will, or it has, and is waited for.
struct blocking_cancel_x_take : blocking_model {
  poller::trace left;
  blocking_cancel_x_take() : blocking_model(1) {
  }
  void thread(unsigned index) override {
    if (index == 0) {
      model_serve(0);
      return;
    }
    call c;
    poller *p = new poller(&left);
    EXPECT(p->poll(future(&c, 0)) == VOLT_PENDING);
    p->end();
    volt_future_cancel(&c.b.future);
    poison_call(&c);
    end();
    EXPECT(left.gone(1) && calls[0] == left.wakes);
  }
};
MODEL(blocking_cancel_x_take, 2, bounded)

// Polled by somebody else as it ends.
struct blocking_set_waker_x_end : blocking_model {
  poller::trace left[2];
  blocking_set_waker_x_end() : blocking_model(1) {
  }
  void thread(unsigned index) override {
    if (index == 0) {
      model_serve(0);
      return;
    }
    call c;
    poller *before = new poller(&left[0]);
    EXPECT(before->poll(future(&c, 0)) == VOLT_PENDING);
    before->end();
    poller *after = new poller(&left[1]);
    int result = after->poll(&c.b.future);
    EXPECT(after->end() == (result == VOLT_PENDING ? 1u : 0u));
    if (result == VOLT_PENDING) {
      volt_future_cancel(&c.b.future);
      EXPECT(left[0].gone(0, 1));
    } else {
      EXPECT(result == RESULT && calls[0] == 1);
    }
    poison_call(&c);
    end();
    EXPECT(left[0].gone(1) && left[1].gone(result == VOLT_PENDING ? 1 : 0));
  }
};
MODEL(blocking_set_waker_x_end, 2, bounded)

// The thread cannot be started: the call fails, and is its owner's again.
struct blocking_no_thread : blocking_model {
  blocking_no_thread() : blocking_model(0) {
  }
  void thread(unsigned index) override {
    if (index == 0) {
      model_serve(0);
      return;
    }
    call c;
    EXPECT(volt_future_wait(future(&c, 0)) == VOLT_ENOMEM);
    poison_call(&c);
    end();
    EXPECT(calls[0] == 0);
  }
};
MODEL(blocking_no_thread, 2, full)

// Two calls and no thread for either: neither waits for ever.
struct blocking_no_thread_for_two : blocking_model {
  blocking_no_thread_for_two() : blocking_model(0, 2) {
  }
  void thread(unsigned index) override {
    call c;
    EXPECT(volt_future_wait(future(&c, index)) == VOLT_ENOMEM);
    poison_call(&c);
  }
};
MODEL(blocking_no_thread_for_two, 2, bounded)

// Two calls from two threads share the one thread there may be.
struct blocking_two_calls : blocking_model {
  VOLT_ATOMIC(uint32_t) done;
  blocking_two_calls() : blocking_model(1) {
  }
  void thread(unsigned index) override {
    if (index == 2) {
      model_serve(0);
      return;
    }
    call c;
    int result = volt_future_wait(future(&c, index));
    EXPECT(result == RESULT || result == VOLT_ENOMEM); // it has left, and no other can be started
    if (result == RESULT) EXPECT(calls[index] == 1);
    poison_call(&c);
    if (volt_fetch_add_acq_rel(&done, 1u) == 1) end();
  }
};
MODEL(blocking_two_calls, 3, bounded)

// R6: a call is under way, the runtime was given up, and ends as the call is cancelled, or polled by
// somebody else.
template <bool cancels>
struct blocking_given_up : blocking_model {
  poller::trace left[2];
  poller *after;
  call c;
  blocking_given_up() : blocking_model(1), after(new poller(&left[1])) {
    poller *p = new poller(&left[0]);
    EXPECT(p->poll(future(&c, 0)) == VOLT_PENDING);
    p->end();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      model_serve(0);
    } else if (index == 2) {
      end();
    } else if (cancels) {
      volt_future_cancel(&c.b.future);
      poison_call(&c);
    } else {
      (void)after->poll(&c.b.future);
    }
  }
  void check() override {
    if (!cancels) EXPECT(volt_waiter_result(&c.b.future.waiter) == VOLT_OK && calls[0] == 1);
    after->end();
    EXPECT(left[0].gone(1) && left[1].freed == 1);
    blocking_model::check();
  }
};
struct blocking_cancel_x_given_up : blocking_given_up<true> {};
struct blocking_set_waker_x_given_up : blocking_given_up<false> {};
MODEL(blocking_cancel_x_given_up, 3, bounded)
MODEL(blocking_set_waker_x_given_up, 3, bounded)

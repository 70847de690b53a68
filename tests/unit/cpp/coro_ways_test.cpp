/* coro_ways_test.cpp: each operation of C++ is awaited by a coroutine in each way: ready, waiting,
 * cancelled, late, dropped.
 * STANDARD: C++20 */
#include "coro_kit.hpp"
#include "cpp_scene.hpp"

using namespace std::chrono_literals;

static hand *by; /* what runs */

enum how { PLAIN, AS_RESULT, WITHIN, AS_RESULT_WITHIN, UNTIL, SELECT, ALL, CHILD, HOWS };

static volt::semaphore never(0);
static volt::semaphore always(1);

struct scene : scene_base {
  virtual volt::task<int> wait(how way) = 0;
};

template <class Its>
struct scene_of : scene {
  Its &its() {
    return *static_cast<Its *>(this);
  }
  volt::task<int> below() {
    (void)co_await its().operation();
    co_return VOLT_OK;
  }
  volt::task<int> once(how way) {
    using std::chrono::steady_clock;
    auto at = steady_clock::time_point(std::chrono::nanoseconds(volt_rt_now_ns(by->rt))) + 10ms;
    try {
      if (way == PLAIN) (void)co_await its().operation();
      if (way == AS_RESULT) {
        auto r = co_await volt::as_result(its().operation());
        co_return r.code();
      }
      if (way == WITHIN) (void)co_await volt::within(by->rt, its().operation(), 10ms);
      if (way == UNTIL) (void)co_await volt::until(by->rt, its().operation(), at);
      if (way == AS_RESULT_WITHIN) {
        auto r = co_await volt::as_result(volt::within(by->rt, its().operation(), 10ms));
        co_return r.code();
      }
      if (way == SELECT) {
        auto v = co_await volt::select(never.acquire(), its().operation());
        EXPECT(v.index() == 1);
      }
      if (way == ALL) {
        auto both = co_await volt::all(always.acquire(), its().operation());
        EXPECT(std::get<0>(both).count() == 1);
      }
      if (way == CHILD) co_return co_await below();
    } catch (const volt::error &e) {
      co_return e.code();
    }
    co_return VOLT_OK;
  }
  volt::task<int> wait(how way) override {
    tracked local;
    this->before();
    int code = VOLT_OK;
    while (!this->is_over()) {
      code = co_await once(way);
      if (code != VOLT_OK || !this->repeats()) break;
    }
    this->relocks = code == VOLT_OK;
    this->after();
    co_return code;
  }
};

#include "cpp_scenes.hpp"

SCENE(a_sleep){auto operation(){return volt::sleep_for(by->rt, 5ms);
}
void let() override {
  by->advance(5ms);
}
}
;

SCENE(a_tick) {
  volt::interval every{by->rt, 5ms};
  a_tick() {
    EXPECT_CODE(volt_future_wait(volt_interval_tick_future(every.c())), VOLT_OK);
  }
  auto operation() {
    return every.tick();
  }
  void let() override {
    by->advance(5ms);
  }
};

static volt::task<std::string> acquires(volt::semaphore &s) {
  auto permit = co_await s.acquire();
  co_return "text";
}

SCENE(a_task) {
  volt::semaphore s{0};
  auto operation() {
    return volt::task_operation<std::string>(acquires(s));
  }
  void let() override {
    s.release(1);
  }
};

SCENE(a_join) {
  volt::semaphore s{0};
  volt::join_handle<std::string> handle;
  a_join() {
    handle = volt::spawn(by->rt, acquires(s));
    by->run();
  }
  ~a_join() override {
    if (!handle) return;
    handle.cancel();
    by->run();
  }
  auto operation() {
    return handle.join();
  }
  void let() override {
    s.release(1);
    by->run();
  }
};

static const std::vector<maker> more = {OF(a_sleep), OF(a_tick), OF(a_task), OF(a_join)};

/* ---- trials ---- */

template <class Trial>
static void each(Trial trial) {
  auto try_one = [&](const maker &m) {
    for (int way = 0; way < HOWS; way++) {
      std::printf("  %s, way %d\n", m.name, way);
      std::fflush(stdout);
      hand h;
      by = &h;
      trial(m, static_cast<how>(way));
      EXPECT(tracked::alive == 0);
      EXPECT(never.waiters() == 0 && always.available() == 1);
    }
  };
  for (const maker &m : makers) try_one(m);
  for (const maker &m : more) try_one(m);
}

static bool is_late(how way) {
  return way == WITHIN || way == UNTIL || way == AS_RESULT_WITHIN;
}

/* Some scenes need somebody who waits before the wait can be ended. */
static bool lets_first(const maker &m) {
  std::string name = m.name;
  return name != "a_cond" && name != "a_barrier" && name != "a_sleep";
}

TEST(what_is_ready_is_not_waited_for) {
  each([](const maker &m, how way) {
    if (!lets_first(m)) return;
    auto s = m.make();
    s->let();
    auto h = volt::spawn(by->rt, s->wait(way));
    by->run();
    EXPECT(h.is_done());
    EXPECT(volt_is_ok(h.get()));
  });
}

TEST(what_waits_goes_on) {
  each([](const maker &m, how way) {
    auto s = m.make();
    auto h = volt::spawn(by->rt, s->wait(way));
    by->run();
    EXPECT(!h.is_done());
    s->let();
    by->run();
    EXPECT(h.is_done());
    EXPECT(volt_is_ok(h.get()));
  });
}

TEST(what_is_cancelled_ends) {
  each([](const maker &m, how way) {
    auto s = m.make();
    auto h = volt::spawn(by->rt, s->wait(way));
    by->run();
    EXPECT(h.cancel());
    by->run();
    EXPECT(h.is_done());
    EXPECT_CODE(h.get(), VOLT_ECANCELED);
  });
}

/* Both at once: it has got what it waited for, or has given it back, or leaves it to the next. */
TEST(what_is_cancelled_and_granted_ends) {
  each([](const maker &m, how way) {
    auto s = m.make();
    auto h = volt::spawn(by->rt, s->wait(way));
    by->run();
    s->let();
    h.cancel();
    by->run();
    EXPECT(h.is_done());
    int code = h.get();
    EXPECT(volt_is_ok(code) || code == VOLT_ECANCELED);
  });
}

TEST(what_is_late_times_out) {
  each([](const maker &m, how way) {
    if (!is_late(way) || std::string(m.name) == "a_sleep" || std::string(m.name) == "a_tick")
      return;
    auto s = m.make();
    auto h = volt::spawn(by->rt, s->wait(way));
    by->run();
    by->advance(9999us);
    EXPECT(!h.is_done());
    by->advance(1us);
    EXPECT(h.is_done());
    EXPECT_CODE(h.get(), VOLT_ETIMEDOUT);
  });
}

/* The frames are destroyed where they stand. */
TEST(what_is_dropped_leaves_nothing) {
  each([](const maker &m, how way) {
    auto s = m.make();
    volt::task_future<int> f(s->wait(way));
    EXPECT_CODE(volt_future_poll(f.c(), volt_waker{nullptr, nullptr}), VOLT_PENDING);
    EXPECT(tracked::alive == 1);
  });
}

TEST(what_is_granted_and_dropped_is_given_back) {
  each([](const maker &m, how way) {
    auto s = m.make();
    {
      volt::task_future<int> f(s->wait(way));
      EXPECT_CODE(volt_future_poll(f.c(), volt_waker{nullptr, nullptr}), VOLT_PENDING);
      s->let();
    }
    EXPECT(tracked::alive == 0);
  });
}

/* As C drops an async function: it comes to its end, with every await cancelled. */
TEST(what_c_drops_comes_to_its_end) {
  each([](const maker &m, how way) {
    auto s = m.make();
    volt::task_future<int> f(s->wait(way));
    EXPECT_CODE(volt_future_poll(f.c(), volt_waker{nullptr, nullptr}), VOLT_PENDING);
    volt_future_cancel(f.c());
    EXPECT(tracked::alive == 0);
    EXPECT_CODE(f.take(), VOLT_ECANCELED);
  });
}

/* The runtime ends with coroutines that wait. */
TEST(what_waits_at_the_end_is_cancelled) {
  each([](const maker &m, how way) {
    auto s = m.make();
    volt::spawn(by->rt, s->wait(way)).detach();
    by->run();
    if (std::string(m.name) == "a_join") return; /* which owns another task */
    by->end(1);
    by->rt = nullptr;
  });
}

static volt::task<void> sends_and_waits(volt::channel<std::unique_ptr<int>, 4> &c) {
  (void)co_await volt::as_result(volt::all(c.send(std::make_unique<int>(7)), never.acquire()));
}

/* What was sent is the receiver's, also if what it was sent with is dropped. */
TEST(a_result_of_several_that_is_dropped_drops_each) {
  volt::channel<std::unique_ptr<int>, 4> c;
  {
    volt::task_future<void> f(sends_and_waits(c));
    EXPECT_CODE(volt_future_poll(f.c(), volt_waker{nullptr, nullptr}), VOLT_PENDING);
    EXPECT(c.size() == 1);
  }
  auto sent = c.try_recv();
  EXPECT(sent && *sent && **sent == 7);
}

int main() {
  return run_unit_tests();
}

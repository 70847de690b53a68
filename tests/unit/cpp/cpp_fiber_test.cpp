/* cpp_fiber_test.cpp: volt/cpp/fiber.hpp, group.hpp, runtime.hpp, time.hpp, batch.hpp: what
 * functions return and throw, when their captures end, cancel. By hand and in virtual time, where
 * threads are not what is tested. */
#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <typeinfo>

#include "unit.hpp"
extern "C" {
#include "death.h"
}

using namespace std::chrono_literals;

static volt_rt_config by_hand() {
  volt_rt_config config{};
  config.flags = VOLT_RT_BY_HAND | VOLT_RT_VIRTUAL_CLOCK;
  return config;
}

static volt_rt_config two_workers() {
  volt_rt_config config{};
  config.workers = 2;
  return config;
}

static void run(volt::runtime &rt) {
  while (rt.run() == 0) {
  }
}

/* How many of them there are. */
struct counted {
  static std::atomic<int> alive;
  counted() {
    alive += 1;
  }
  counted(const counted &) {
    alive += 1;
  }
  ~counted() {
    alive -= 1;
  }
};
std::atomic<int> counted::alive{0};

/* ---- runtime ---- */

TEST(a_runtime_moves_and_ends) {
  volt::runtime rt(by_hand());
  volt_rt *c = rt.c();
  volt::runtime moved(std::move(rt));
  EXPECT(rt.c() == nullptr && moved.c() == c);
  rt = std::move(moved);
  EXPECT(rt.c() == c && rt.stats().live == 0);
  EXPECT(rt.destroy() == 0 && rt.c() == nullptr);
  volt_rt_config wrong{};
  wrong.workers = 1000;
  EXPECT_THROWS(volt::error, VOLT_EINVAL, volt::runtime(wrong));
  EXPECT_CODE(volt::runtime::make(wrong).code(), VOLT_EINVAL);
  auto made = volt::runtime::make(by_hand());
  EXPECT(made && made->c());
  EXPECT(made->shutdown_for(1h));
}

TEST(virtual_time) {
  volt::runtime rt(by_hand());
  auto before = rt.now();
  rt.advance(5s);
  EXPECT(rt.now() - before == 5s);
  rt.run_until(volt::sleep_for(rt, 3s));
  EXPECT(rt.now() - before == 8s);
  EXPECT_CODE(rt.result_of(volt::sleep_for(rt, 1s)).code(), VOLT_OK);
  EXPECT(rt.now() - before == 9s);
}

/* ---- fibers ---- */

TEST(a_fiber_returns_a_value) {
  volt::runtime rt(by_hand());
  volt::fiber text(rt, [] { return std::string("a text that is too long for a short string"); });
  volt::fiber pointer(rt, [p = std::make_unique<int>(3)]() mutable { return std::move(p); });
  bool ran = false;
  volt::fiber nothing(rt, [&] { ran = true; });
  static_assert(std::is_same_v<decltype(text), volt::fiber<std::string>>);
  static_assert(std::is_same_v<decltype(pointer), volt::fiber<std::unique_ptr<int>>>);
  static_assert(std::is_same_v<decltype(nothing), volt::fiber<void>>);
  EXPECT(text && !text.has_ended() && !ran);
  EXPECT(rt.run_until(text.join()) == "a text that is too long for a short string");
  EXPECT(*rt.run_until(pointer.join()) == 3);
  EXPECT(rt.result_of(nothing.join()) && ran);
  volt::fiber<int> moved(rt, [] { return 4; });
  volt::fiber<int> other(std::move(moved));
  EXPECT(!moved && moved.has_ended() && other);
  moved = std::move(other);
  EXPECT(rt.run_until(moved.join()) == 4);
}

static int called(void) {
  return 7;
}

TEST(a_fiber_of_a_function_and_of_a_config) {
  volt::runtime rt(by_hand());
  volt_fiber_config config{};
  config.name = "named";
  config.stack_bytes = 64 * 1024;
  volt::fiber f(rt.c(), called, config);
  EXPECT(std::strcmp(volt_fiber_name(f.c()), "named") == 0);
  EXPECT(rt.run_until(f.join()) == 7);
  config.stack_bytes = 1;
  config.flags = 1000;
  EXPECT_THROWS(volt::error, VOLT_ENOMEM, volt::fiber(rt, called, config));
  counted c;
  EXPECT_CODE(volt::fiber<>::make(
                  rt, [c] { (void)c; }, config)
                  .code(),
              VOLT_ENOMEM);
  EXPECT(counted::alive == 1);
}

TEST(a_fiber_throws) {
  volt::runtime rt(by_hand());
  volt::fiber<int> wrong(rt, []() -> int { throw std::runtime_error("wrong"); });
  for (int i = 0; i < 2; i++) {
    try {
      if (i == 0)
        (void)rt.run_until(wrong.join());
      else
        (void)rt.result_of(wrong.join()); /* what is not volt's is thrown */
      EXPECT(false);
    } catch (const std::runtime_error &e) {
      EXPECT(std::strcmp(e.what(), "wrong") == 0);
    }
  }
  EXPECT_CODE(volt_task_result(wrong.c()), VOLT_EINVAL);
  volt::fiber<> closed(rt, [] { volt::throw_(VOLT_ECLOSED); });
  EXPECT_THROWS(volt::closed, VOLT_ECLOSED, (rt.run_until(closed.join()), 0));
  EXPECT_CODE(rt.result_of(closed.join()).code(), VOLT_ECLOSED);
  EXPECT_CODE(volt_task_result(closed.c()), VOLT_ECLOSED);
  volt::fiber<> odd(rt, [] { throw volt::error(VOLT_PENDING); });
  run(rt);
  EXPECT_CODE(volt_task_result(odd.c()), VOLT_EINVAL);
}

/* Two fibers that handle exceptions by turns do not mix them up. */
TEST(exceptions_across_waits) {
  volt::runtime rt(by_hand());
  auto handle = [&](const char *text) {
    try {
      throw std::runtime_error(text);
    } catch (const std::runtime_error &) {
      volt::sleep_for(1ms).wait();
      try {
        throw std::logic_error("another");
      } catch (const std::logic_error &e) {
        volt::sleep_for(1ms).wait();
        EXPECT(std::strcmp(e.what(), "another") == 0);
      }
      volt::sleep_for(1ms).wait();
      throw;
    }
  };
  volt::fiber<> one(rt, [&] { handle("one"); });
  volt::fiber<> two(rt, [&] { handle("two"); });
  for (auto *f : {&one, &two}) {
    try {
      rt.run_until(f->join());
      EXPECT(false);
    } catch (const std::runtime_error &e) {
      EXPECT(std::strcmp(e.what(), f == &one ? "one" : "two") == 0);
    }
  }
  EXPECT(std::current_exception() == nullptr && std::uncaught_exceptions() == 0);
}

TEST(captures_end_with_the_fiber) {
  volt::runtime rt(by_hand());
  EXPECT(counted::alive == 0);
  counted c;
  volt::fiber<> f(rt, [c] { (void)c; });
  EXPECT(counted::alive == 2);
  run(rt);
  EXPECT(counted::alive == 1);
  rt.run_until(f.join());
}

TEST(a_fiber_that_is_cancelled_unwinds) {
  volt::runtime rt(by_hand());
  volt::semaphore pool(1);
  volt::mutex never;
  volt::lock held(never);
  volt::fiber<> f(rt, [&] {
    volt::permits p(pool);
    volt::lock guard(never);
    EXPECT(false);
  });
  run(rt);
  EXPECT(pool.available() == 0 && f.cancel());
  EXPECT_THROWS(volt::canceled, VOLT_ECANCELED, (rt.run_until(f.join()), 0));
  EXPECT(pool.available() == 1);
  EXPECT(!f.cancel());
}

TEST(a_shield_keeps_a_cancel_away) {
  volt::runtime rt(by_hand());
  int step = 0;
  volt::fiber<> f(rt, [&] {
    {
      volt::shield no_cancel;
      volt::sleep_for(1s).wait();
      step = 1;
    }
    volt::sleep_for(1s).wait();
    step = 2;
  });
  run(rt);
  f.cancel();
  EXPECT_THROWS(volt::canceled, VOLT_ECANCELED, (rt.run_until(f.join()), 0));
  EXPECT(step == 1);
}

TEST(a_fiber_that_is_detached_ends_by_itself) {
  volt::runtime rt(by_hand());
  EXPECT(counted::alive == 0);
  bool waits = false;
  volt::notify news;
  volt::fiber<std::shared_ptr<counted>> f(rt, [&] {
    auto c = std::make_shared<counted>();
    waits = true;
    news.notified().wait();
    return c;
  });
  run(rt);
  EXPECT(waits && counted::alive == 1);
  f.detach();
  EXPECT(!f);
  news.one();
  run(rt);
  EXPECT(counted::alive == 0);
  volt::fiber<std::shared_ptr<counted>> ended(rt, [] { return std::make_shared<counted>(); });
  run(rt);
  EXPECT(counted::alive == 1);
  ended.detach();
  EXPECT(counted::alive == 0);
  counted c;
  volt::fiber<> never(rt, [c, &news] { news.notified().wait(); }); /* ends with the runtime */
  never.detach();
  EXPECT(rt.destroy() == 1 && counted::alive == 1);
}

/* The fiber ends on a worker while this thread is in the middle of detaching it. */
TEST(fibers_that_end_as_they_are_detached) {
  volt::runtime rt(two_workers());
  std::atomic<int> ran{0};
  for (int i = 0; i < 2000; i++) {
    volt::fiber<> f(rt, [&, c = counted()] { ran += 1; });
    f.detach();
  }
  UNTIL(ran == 2000 && counted::alive == 0);
}

TEST(an_exception_that_leaves_a_detached_fiber) {
  const char *const needles[] = {"an exception has left a fiber that is detached", nullptr};
  for (int is_late = 0; is_late < 2; is_late++) {
    EXPECT(death_of(
        [](void *late) {
          volt::runtime rt(by_hand());
          volt::fiber<> f(rt, [] { throw std::runtime_error("unheard"); });
          if (late) run(rt);
          f.detach();
          run(rt);
        },
        is_late ? &is_late : nullptr, needles));
  }
  volt::runtime rt(by_hand());
  volt::fiber<> f(rt, [] { volt::throw_(VOLT_ECLOSED); });
  f.detach();
  run(rt);
}

TEST(a_handle_that_ends_cancels_and_waits) {
  volt::runtime rt(two_workers());
  volt::notify news;
  bool ended = false;
  {
    volt::fiber<> f(rt, [&] {
      try {
        news.notified().wait();
      } catch (const volt::canceled &) {
        volt::sleep_for(1ms).wait(); /* only one wait is cancelled */
        ended = true;
        throw;
      }
    });
    UNTIL(news.waiters() == 1);
  }
  EXPECT(ended);
  /* a fiber whose handle ends in another fiber that is cancelled itself */
  ended = false;
  volt::fiber<> outer(rt, [&] {
    volt::fiber<> inner(rt, [&] {
      try {
        news.notified().wait();
      } catch (const volt::canceled &) {
        ended = true;
      }
    });
    inner.join().wait();
  });
  UNTIL(news.waiters() == 1);
  outer.cancel();
  EXPECT_CODE(outer.join().result().code(), VOLT_ECANCELED);
  EXPECT(ended && news.waiters() == 0);
}

TEST(a_join_times_out_and_the_fiber_does_not) {
  volt::runtime rt(two_workers());
  volt::notify news;
  volt::fiber<int> f(rt, [&] {
    news.notified().wait();
    return 5;
  });
  EXPECT_CODE(f.join().result_for(1us).code(), VOLT_ETIMEDOUT);
  EXPECT_THROWS(volt::timed_out, VOLT_ETIMEDOUT, f.join().wait_for(1us));
  EXPECT(!f.has_ended());
  news.one();
  EXPECT(f.join().wait() == 5);
  volt::fiber<int> late(rt, []() -> int { throw volt::timed_out(); });
  EXPECT_THROWS(volt::timed_out, VOLT_ETIMEDOUT, late.join().wait());
  EXPECT(late.has_ended());
}

TEST(an_empty_handle_has_no_fiber) {
  const char *const needles[] = {"a volt::fiber that is empty, moved or detached", nullptr};
  EXPECT(death_of([](void *) { (void)volt::fiber<>().join(); }, nullptr, needles));
}

TEST(a_runtime_that_ends_takes_no_fiber) {
  volt::runtime rt(by_hand());
  EXPECT(rt.shutdown_for(1s));
  EXPECT_THROWS(volt::closed, VOLT_ECLOSED, volt::fiber(rt, [] {}));
  volt::group g;
  EXPECT_CODE(g.try_spawn(rt, [] {}), VOLT_ECLOSED);
  EXPECT_THROWS(volt::closed, VOLT_ECLOSED, (g.spawn(rt, [] {}), 0));
}

/* ---- time ---- */

TEST(sleeps_and_ticks) {
  volt::runtime rt(by_hand());
  auto begin = rt.now();
  volt::fiber<> f(rt, [&] {
    volt::sleep_for(2s).wait();
    EXPECT(rt.now() - begin == 2s);
    volt::sleep_for(rt, 2s).wait();
    EXPECT(rt.now() - begin == 4s);
    volt::sleep_until(std::chrono::steady_clock::time_point(rt.now() + 1s)).wait();
    EXPECT(rt.now() - begin == 5s);
    EXPECT_CODE(volt::sleep_for(5s).result_for(1s).code(), VOLT_ETIMEDOUT);
    EXPECT(rt.now() - begin == 6s);
    EXPECT_CODE(volt::sleep_for(rt, 5s).result_for(1s).code(), VOLT_ETIMEDOUT);
    EXPECT(rt.now() - begin == 7s);
    volt::sleep_for(-1s).wait();
    volt::sleep_until(rt, std::chrono::steady_clock::time_point()).wait();
    volt::interval every(rt, 1s);
    for (int i = 0; i < 3; i++) every.tick().wait();
    EXPECT(rt.now() - begin == 9s && every.due() - begin == 9s);
  });
  rt.run_until(f.join());
  EXPECT(rt.now() - begin == 9s);
  volt::sleep_for(1us).wait(); /* a thread */
  volt::sleep_until(std::chrono::steady_clock::now()).wait();
  EXPECT_CODE(volt::sleep_for(1h).result_for(1us).code(), VOLT_ETIMEDOUT);
}

/* ---- groups ---- */

TEST(a_group_waits_for_all) {
  volt::runtime rt(by_hand());
  volt::group g;
  int done = 0;
  for (int i = 1; i <= 3; i++) {
    g.spawn(rt, [&, i, c = counted()] {
      volt::sleep_for(std::chrono::milliseconds(i)).wait();
      done += i;
    });
  }
  EXPECT(g.size() == 3 && counted::alive == 3);
  rt.run_until(g.joined());
  EXPECT(done == 6 && g.size() == 0 && counted::alive == 0);
}

TEST(the_first_exception_of_a_group) {
  volt::runtime rt(by_hand());
  volt::group g;
  int cancelled = 0;
  volt::notify news;
  for (int i = 0; i < 3; i++) {
    g.spawn(rt, [&] {
      try {
        news.notified().wait();
      } catch (const volt::canceled &) {
        cancelled += 1;
        throw;
      }
    });
  }
  g.spawn(rt, [] { throw std::runtime_error("first"); });
  try {
    rt.run_until(g.joined());
    EXPECT(false);
  } catch (const std::runtime_error &e) {
    EXPECT(std::strcmp(e.what(), "first") == 0);
  }
  EXPECT(cancelled == 3 && g.is_cancelled());
  EXPECT_CODE(rt.result_of(g.joined()).code(), VOLT_EINVAL);
  counted c;
  EXPECT_CODE(g.try_spawn(rt, [c] { (void)c; }), VOLT_ECANCELED);
  EXPECT(counted::alive == 1);
  volt::group others(VOLT_GROUP_KEEP_GOING);
  others.spawn(rt, [] { volt::throw_(VOLT_ECLOSED); });
  bool went_on = false;
  others.spawn(rt, [&] {
    volt::sleep_for(1s).wait();
    went_on = true;
  });
  EXPECT_THROWS(volt::closed, VOLT_ECLOSED, (rt.run_until(others.joined()), 0));
  EXPECT(went_on);
}

TEST(a_group_that_ends_cancels_and_waits) {
  volt::runtime rt(two_workers());
  volt::notify news;
  std::atomic<int> ended{0};
  {
    volt::group g;
    for (int i = 0; i < 3; i++) {
      g.spawn(rt, [&] {
        counted c;
        auto r = news.notified().result();
        if (r.code() == VOLT_ECANCELED) ended += 1;
      });
    }
    UNTIL(news.waiters() == 3);
  }
  EXPECT(ended == 3 && counted::alive == 0);
  volt::group g;
  g.spawn(rt, [&] { news.notified().wait(); });
  EXPECT_CODE(g.joined().result_for(1us).code(), VOLT_ETIMEDOUT);
  g.cancel();
  EXPECT_CODE(g.joined().result().code(), VOLT_ECANCELED);
}

/* A fiber is cancelled as it waits in the end of a group: that waits on, and the cancel meets the first
 * wait behind it. */
TEST(a_group_that_ends_keeps_a_cancel_away) {
  volt::runtime rt(by_hand());
  bool ended = false;
  int code = VOLT_OK;
  volt::fiber<> f(rt, [&] {
    {
      volt::group g;
      g.spawn(rt, [&] {
        volt::shield no_cancel;
        volt::sleep_for(1s).wait();
        ended = true;
      });
    }
    EXPECT(ended);
    code = volt::sleep_for(1s).result().code();
  });
  run(rt);
  EXPECT(!ended && f.cancel());
  EXPECT_CODE(rt.result_of(f.join()).code(), VOLT_OK);
  EXPECT_CODE(code, VOLT_ECANCELED);
}

/* ---- batched sections ---- */

TEST(a_batch_lock_runs_functions) {
  volt::batch_lock lock;
  long total = 0;
  EXPECT(lock.run([&] { return total += 3; }) == 3);
  lock.run([&]() noexcept { total += 1; });
  auto add = [&] { total += 1; };
  lock.run(add);
  EXPECT(total == 5 && !lock.is_busy());
  try {
    lock.run([]() -> int { throw std::runtime_error("within"); });
    EXPECT(false);
  } catch (const std::runtime_error &e) {
    EXPECT(std::strcmp(e.what(), "within") == 0);
  }
  std::thread threads[3];
  for (std::thread &t : threads) {
    t = std::thread([&] {
      for (int i = 0; i < 1000; i++) lock.run([&] { total += 1; });
    });
  }
  volt::runtime rt(two_workers());
  volt::group g;
  for (int f = 0; f < 10; f++) {
    g.spawn(rt, [&] {
      for (int i = 0; i < 100; i++) lock.run([&] { total += 1; });
    });
  }
  g.joined().wait();
  for (std::thread &t : threads) t.join();
  EXPECT(total == 4005);
}

/* ---- threads and fibers share ---- */

TEST(threads_and_fibers_in_one_queue) {
  volt::runtime rt(two_workers());
  volt::mutex m;
  volt::channel<int, 4> numbers;
  long sum = 0;
  auto work = [&] {
    for (int n : numbers) {
      volt::lock guard(m);
      sum += n;
    }
  };
  {
    volt::group g;
    std::thread one(work), two(work);
    for (int i = 0; i < 4; i++) g.spawn(rt, work);
    for (int i = 1; i <= 2000; i++) numbers.send(i).wait();
    numbers.close();
    one.join();
    two.join();
    g.joined().wait();
  }
  EXPECT(sum == 2000 * 2001 / 2);
}

int main() {
  return run_unit_tests();
}

/* cpp_signals_test.cpp: volt/cpp/cond.hpp and signals.hpp: cond, notify, latch, barrier, once, token. */
#include <chrono>
#include <stdexcept>
#include <thread>
#include <typeinfo>

#include "unit.hpp"
extern "C" {
#include "death.h"
}

using namespace std::chrono_literals;

static_assert(sizeof(volt::cond) == sizeof(volt_cond) &&
              sizeof(volt::notify) == sizeof(volt_notify));
static_assert(sizeof(volt::latch) == sizeof(volt_latch));
static_assert(sizeof(volt::barrier) == sizeof(volt_barrier));
static_assert(sizeof(volt::once) == sizeof(volt_once) && sizeof(volt::token) == sizeof(volt_token));
static_assert(!std::is_copy_constructible_v<volt::token> &&
              !std::is_move_constructible_v<volt::token>);
static_assert(!std::is_constructible_v<volt::token, volt::token &>);

static const volt_waker no_waker = {nullptr, nullptr};

/* ---- cond ---- */

TEST(a_condition_is_waited_for_with_the_lock_held_before_and_after) {
  volt::mutex m;
  volt::cond changed;
  bool ready = false;
  bool held = false;
  std::thread other([&] {
    volt::lock guard(m);
    while (!ready) changed.wait(guard).wait();
    held = guard && m.is_locked();
  });
  UNTIL(changed.waiters() == 1);
  {
    volt::lock guard(m);
    ready = true;
    changed.signal();
  }
  other.join();
  EXPECT(held && !m.is_locked());
}

/* Each signal has it look once more. */
TEST(a_condition_with_a_predicate_is_waited_for_until_it_is_true) {
  for (bool by_future : {false, true}) {
    volt::mutex m;
    volt::cond changed;
    int count = 0, looks = 0;
    bool held = false;
    std::thread other([&] {
      volt::lock guard(m);
      auto is_three = [&] { return ++looks, count == 3; };
      if (by_future) {
        EXPECT(volt::select(changed.wait(guard, is_three)).result());
      } else {
        changed.wait(guard, is_three).wait();
      }
      held = guard && m.is_locked();
    });
    for (int i = 1; i <= 3; i++) {
      UNTIL(changed.waiters() == 1);
      volt::lock guard(m);
      EXPECT(looks == i);
      count = i;
      changed.signal();
    }
    other.join();
    EXPECT(held && looks == 4 && !m.is_locked());
    volt::lock guard(m);
    auto never = [] { return false; };
    EXPECT_CODE(changed.wait(guard, never).result_for(1us).code(), VOLT_ETIMEDOUT);
    EXPECT(guard && m.is_locked() && changed.waiters() == 0);
    EXPECT_CODE(changed.wait(guard, never).result_now().code(), VOLT_EAGAIN);
    EXPECT(changed.wait(guard, [] { return true; }).result_now());
  }
}

TEST(a_condition_times_out_with_the_lock_held) {
  volt::mutex m;
  volt::cond changed;
  volt::lock guard(m);
  EXPECT_CODE(changed.wait(guard).result_for(1us).code(), VOLT_ETIMEDOUT);
  EXPECT(guard && m.is_locked());
  EXPECT_THROWS(volt::timed_out, VOLT_ETIMEDOUT, (changed.wait(guard).wait_for(1us), 0));
  EXPECT(guard && m.is_locked() && changed.waiters() == 0);
}

/* As a coroutine waits: by a future. */
TEST(a_condition_by_its_future) {
  volt::mutex m;
  volt::cond changed;
  volt::lock guard(m);
  volt_future f;
  volt::cond_operation op = changed.wait(guard);
  volt_future *begun = op.begin(f);
  EXPECT(!guard && !m.is_locked());
  EXPECT_CODE(volt_future_poll(begun, no_waker), VOLT_PENDING);
  changed.broadcast();
  EXPECT_CODE(volt_future_poll(begun, no_waker), VOLT_OK);
  op.finish(VOLT_OK, f);
  EXPECT(guard && m.is_locked());
  volt::cond_operation dropped = changed.wait(guard);
  begun = dropped.begin(f);
  EXPECT_CODE(volt_future_poll(begun, no_waker), VOLT_PENDING);
  dropped.drop(begun, f);
  EXPECT(!guard && !m.is_locked() && changed.waiters() == 0);
}

TEST(a_condition_needs_a_lock_that_is_held) {
  const char *const needles[] = {"cond.wait() with a volt::lock that holds no mutex", nullptr};
  volt::cond changed;
  EXPECT(death_of(
      [](void *arg) {
        volt::lock none;
        (void)static_cast<volt::cond *>(arg)->wait(none).result();
      },
      &changed, needles));
}

/* ---- notify ---- */

TEST(a_notification_is_stored_or_wakes) {
  volt::notify news;
  EXPECT_CODE(news.notified().result_for(1us).code(), VOLT_ETIMEDOUT);
  EXPECT_THROWS(volt::timed_out, VOLT_ETIMEDOUT, (news.notified().wait_for(1us), 0));
  news.one();
  news.notified().wait();
  std::thread one([&] { news.notified().wait(); });
  std::thread two([&] { news.notified().wait(); });
  UNTIL(news.waiters() == 2);
  news.all();
  one.join();
  two.join();
}

/* ---- latch ---- */

TEST(a_latch_opens) {
  volt::latch done(2);
  EXPECT(!done.is_open() && done.count() == 2);
  EXPECT_CODE(done.opened().result_now().code(), VOLT_EAGAIN);
  EXPECT_CODE(done.opened().result_for(1us).code(), VOLT_ETIMEDOUT);
  done.add();
  done.count_down(2);
  std::thread other([&] { done.opened().wait(); });
  UNTIL(done.waiters() == 1);
  done.count_down();
  other.join();
  EXPECT(done.is_open() && done.opened().result_now());
}

/* ---- barrier ---- */

TEST(the_last_to_arrive_is_told) {
  volt::barrier round(2);
  EXPECT_CODE(round.arrive().result_for(1us).code(), VOLT_ETIMEDOUT);
  for (int i = 0; i < 3; i++) {
    bool first = true;
    std::thread other([&] { first = round.arrive().wait(); });
    UNTIL(round.waiters() == 1);
    volt::result<bool> last = round.arrive().result();
    EXPECT_CODE(last.code(), VOLT_LEADER);
    other.join();
    EXPECT(*last && !first);
  }
}

/* ---- once ---- */

TEST(a_once_is_done_once) {
  volt::once loaded;
  int calls = 0;
  EXPECT(!loaded.is_done());
  try {
    loaded.call([&] {
      calls += 1;
      throw std::runtime_error("not today");
    });
    EXPECT(false);
  } catch (const std::runtime_error &e) {
    EXPECT(std::strcmp(e.what(), "not today") == 0);
  }
  EXPECT(!loaded.is_done());
  loaded.call([&] { calls += 1; });
  loaded.call([&] { calls += 1; });
  EXPECT(loaded.is_done() && calls == 2);
  EXPECT(!loaded.begin().wait());
  EXPECT_CODE(loaded.begin().result().code(), VOLT_DONE);
}

TEST(a_turn_that_is_not_done_goes_to_the_next) {
  volt::once loaded;
  volt::initialiser turn = loaded.begin().wait();
  EXPECT(turn);
  EXPECT_CODE(loaded.begin().result_for(1us).code(), VOLT_ETIMEDOUT);
  bool mine = false;
  std::thread other([&] {
    volt::initialiser its = loaded.begin().wait();
    mine = bool(its);
    its.done();
  });
  UNTIL(loaded.waiters() == 1);
  volt::initialiser moved(std::move(turn));
  EXPECT(!turn && moved);
  turn = std::move(moved);
  turn.failed();
  other.join();
  EXPECT(mine && loaded.is_done());
}

/* ---- token ---- */

TEST(a_token_is_cancelled_with_its_parent) {
  volt::token shutdown;
  volt::token request = volt::token::child_of(shutdown);
  EXPECT(!request.is_cancelled());
  EXPECT_CODE(request.cancelled().result_now().code(), VOLT_EAGAIN);
  EXPECT_CODE(request.cancelled().result_for(1us).code(), VOLT_ETIMEDOUT);
  std::thread other([&] { request.cancelled().wait(); });
  UNTIL(request.waiters() == 1);
  shutdown.cancel();
  other.join();
  EXPECT(request.is_cancelled() && request.cancelled().result_now());
}

int main() {
  return run_unit_tests();
}

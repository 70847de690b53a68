/* cpp_lock_test.cpp: volt/cpp/mutex.hpp and semaphore.hpp: each way to wait, each thing a guard
 * does. */
#include <chrono>
#include <stdexcept>
#include <thread>
#include <typeinfo>

#include "unit.hpp"
extern "C" {
#include "death.h"
}

using namespace std::chrono_literals;
using std::chrono::steady_clock;

static_assert(sizeof(volt::mutex) == sizeof(volt_mutex));
static_assert(sizeof(volt::semaphore) == sizeof(volt_sem));
static_assert(sizeof(volt::lock) == sizeof(volt_mutex *));
static_assert(!std::is_copy_constructible_v<volt::lock> && !std::is_copy_assignable_v<volt::lock>);
static_assert(std::is_nothrow_move_constructible_v<volt::lock>);
static_assert(std::is_nothrow_move_assignable_v<volt::permits>);
static_assert(!std::is_copy_constructible_v<volt::permits>);
static_assert(!std::is_move_constructible_v<volt::mutex>);
static_assert(!std::is_copy_constructible_v<volt::result<volt::lock>>);

/* initialised before any code runs */
static volt::mutex a_static_mutex;
static volt::semaphore a_static_semaphore(3);

TEST(a_mutex_is_locked_and_unlocked_by_its_guard) {
  {
    volt::lock guard(a_static_mutex);
    EXPECT(guard && guard.c() == a_static_mutex.c());
    EXPECT(a_static_mutex.is_locked());
    EXPECT(!a_static_mutex.try_lock());
    EXPECT_CODE(a_static_mutex.try_lock().code(), VOLT_EAGAIN);
  }
  EXPECT(!a_static_mutex.is_locked());
  volt::result<volt::lock> r = a_static_mutex.try_lock();
  EXPECT(r && r->c() == a_static_mutex.c());
}

TEST(a_lock_times_out) {
  volt::mutex m;
  volt::lock guard(m);
  EXPECT_CODE(m.lock().result_for(1us).code(), VOLT_ETIMEDOUT);
  EXPECT_CODE(m.lock().result_for(-1s).code(), VOLT_ETIMEDOUT);
  EXPECT_CODE(m.lock().result_until(steady_clock::time_point()).code(), VOLT_ETIMEDOUT);
  EXPECT_CODE(m.lock().result_until(steady_clock::now() + 100us).code(), VOLT_ETIMEDOUT);
  EXPECT_CODE(m.lock().result_now().code(), VOLT_EAGAIN);
  EXPECT_CODE(volt::try_(m.lock()).code(), VOLT_EAGAIN);
  EXPECT_THROWS(volt::timed_out, VOLT_ETIMEDOUT, m.lock().wait_for(1us));
  EXPECT_THROWS(volt::timed_out, VOLT_ETIMEDOUT, m.lock().wait_until(steady_clock::now()));
  EXPECT_CODE(volt::as_result(m.lock()).wait_for(1us).code(), VOLT_ETIMEDOUT);
  EXPECT(m.waiters() == 0);
}

/* The deadline has passed, but nothing has to be waited for. */
TEST(what_is_free_does_not_time_out) {
  volt::mutex m;
  EXPECT(m.lock().result_for(-1s));
  EXPECT(m.lock().result_until(steady_clock::time_point()));
  EXPECT(m.lock().wait_until(steady_clock::time_point::min()));
  EXPECT(volt::as_result(m.lock()).wait());
  EXPECT(!m.is_locked());
}

TEST(a_lock_is_waited_for_in_each_way) {
  volt::mutex m;
  int way = 0;
  for (way = 0; way < 6; way++) {
    volt::lock guard(m);
    bool got = false;
    std::thread other([&] {
      if (way == 0) got = bool(m.lock().wait());
      if (way == 1) got = bool(m.lock().wait_for(1h));
      if (way == 2) got = bool(m.lock().wait_until(steady_clock::now() + 1h));
      if (way == 3) got = bool(m.lock().result());
      if (way == 4) got = bool(m.lock().result_until(steady_clock::time_point::max()));
      if (way == 5) got = bool(volt::lock(m));
    });
    UNTIL(m.waiters() == 1);
    guard.unlock();
    EXPECT(!guard);
    other.join();
    EXPECT(got);
    EXPECT(!m.is_locked());
  }
}

TEST(a_guard_unlocks_once) {
  volt::mutex m;
  volt::mutex n;
  volt::lock guard(m);
  volt::lock moved(std::move(guard));
  EXPECT(!guard && moved && m.is_locked());
  guard.unlock(); /* holds nothing: does nothing */
  EXPECT(m.is_locked());
  volt::lock other(n);
  other = std::move(moved); /* unlocks n */
  EXPECT(!n.is_locked() && m.is_locked() && !moved);
  volt::lock &self = other;
  other = std::move(self);
  EXPECT(other && m.is_locked());
  EXPECT(other.release() == m.c() && !other && m.is_locked());
  EXPECT(other.release() == nullptr);
  {
    volt::lock adopted(m, volt::adopt);
    EXPECT(adopted);
  }
  EXPECT(!m.is_locked());
  EXPECT_CODE(volt_mutex_try_lock(m.c()), VOLT_OK);
  {
    volt::lock adopted(*m.c(), volt::adopt);
    adopted.unlock_fair();
    EXPECT(!m.is_locked() && !adopted);
  }
  volt::lock none;
  EXPECT(!none && none.c() == nullptr);
}

TEST(a_mutex_of_c) {
  volt_mutex c = VOLT_MUTEX_INIT;
  {
    volt::lock guard = volt::lock_operation(c).wait();
    EXPECT(volt_mutex_is_locked(&c));
  }
  EXPECT(!volt_mutex_is_locked(&c));
  volt_mutex_destroy(&c);
  volt::mutex with = volt::mutex::with_bypass(VOLT_BYPASS);
  volt::lock guard(with);
  EXPECT(with.c()->bypass == VOLT_BYPASS);
}

TEST(a_lock_is_dropped_while_it_waits_and_after_its_grant) {
  volt::mutex m;
  volt::lock guard(m);
  volt::lock_operation op = m.lock();
  volt_future f;
  volt_future *begun = op.begin(f);
  EXPECT_CODE(volt_future_poll(begun, volt_waker{nullptr, nullptr}), VOLT_PENDING);
  op.drop(begun, f);
  EXPECT(m.waiters() == 0);
  begun = op.begin(f);
  EXPECT_CODE(volt_future_poll(begun, volt_waker{nullptr, nullptr}), VOLT_PENDING);
  guard.unlock(); /* grants it */
  EXPECT(m.is_locked());
  op.drop(begun, f);
  EXPECT(!m.is_locked());
}

TEST(permits_are_taken_and_released) {
  {
    volt::permits one(a_static_semaphore);
    volt::permits two(a_static_semaphore, 2);
    EXPECT(one.count() == 1 && two.count() == 2 && a_static_semaphore.available() == 0);
    EXPECT_CODE(a_static_semaphore.try_acquire().code(), VOLT_EAGAIN);
    EXPECT_CODE(a_static_semaphore.acquire().result_for(1us).code(), VOLT_ETIMEDOUT);
    EXPECT_THROWS(volt::timed_out, VOLT_ETIMEDOUT, a_static_semaphore.acquire(2).wait_for(1us));
  }
  EXPECT(a_static_semaphore.available() == 3);
  EXPECT(a_static_semaphore.try_acquire(3));
  EXPECT(a_static_semaphore.available() == 3);
  EXPECT_CODE(a_static_semaphore.try_acquire(VOLT_SEM_MAX + 1).code(), VOLT_EINVAL);
  EXPECT_THROWS(volt::error, VOLT_EINVAL, a_static_semaphore.acquire(VOLT_SEM_MAX + 1).wait());
}

TEST(permits_are_split_moved_and_let_go) {
  volt::semaphore s(10);
  volt::permits p = s.acquire(5).wait();
  volt::permits q = p.split(2);
  EXPECT(p.count() == 3 && q.count() == 2 && s.available() == 5);
  p.release(1);
  EXPECT(p.count() == 2 && s.available() == 6);
  p = std::move(q); /* releases the two of p */
  EXPECT(p.count() == 2 && !q && s.available() == 8);
  volt::permits &self = p;
  p = std::move(self);
  EXPECT(p.count() == 2);
  volt::permits r(std::move(p));
  EXPECT(!p && r.count() == 2);
  EXPECT(r.disown() == 2 && !r && s.available() == 8);
  s.release(2);
  EXPECT(s.available() == 10);
  volt::permits none;
  none.release();
  EXPECT(!none);
  volt::permits forgotten(s, 4);
  forgotten.forget();
  EXPECT(s.limit() == 6 && s.available() == 6);
  EXPECT_CODE(volt_sem_try_acquire(s.c(), 3), VOLT_OK);
  {
    volt::permits adopted(s, 3, volt::adopt);
    EXPECT(adopted.count() == 3);
  }
  EXPECT(s.available() == 6);
  EXPECT(s.drain().count() == 6);
  EXPECT(s.available() == 6);
}

TEST(a_semaphore_is_waited_for) {
  volt::semaphore s(1);
  volt::permits held(s);
  uint32_t got = 0;
  std::thread other([&] { got = s.acquire(1).wait().count(); });
  UNTIL(s.waiters() == 1);
  held.release();
  other.join();
  EXPECT(got == 1 && s.available() == 1);
}

TEST(all_permits_of_the_limit) {
  volt::semaphore s(4);
  volt::permits held(s, 3);
  EXPECT_CODE(s.acquire_all().result_for(1us).code(), VOLT_ETIMEDOUT);
  s.set_limit(2);
  EXPECT(s.excess() == 1 && s.limit() == 2);
  held.release();
  EXPECT(s.excess() == 0);
  volt::permits all = s.acquire_all().wait();
  EXPECT(all.count() == 2 && s.available() == 0);
  all.release();
  EXPECT(s.forget_up_to(1) == 1 && s.limit() == 1);
}

TEST(a_closed_semaphore) {
  volt::semaphore s = volt::semaphore::bounded(1);
  volt::permits held(s);
  int code = VOLT_OK;
  std::thread other([&] { code = s.acquire().result().code(); });
  UNTIL(s.waiters() == 1);
  s.close();
  other.join();
  EXPECT(s.is_closed());
  EXPECT_CODE(code, VOLT_ECLOSED);
  EXPECT_THROWS(volt::closed, VOLT_ECLOSED, s.acquire().wait());
  EXPECT_THROWS(volt::closed, VOLT_ECLOSED, volt::permits(s));
  EXPECT_CODE(s.try_acquire().code(), VOLT_ECLOSED);
}

/* ---- an operation that is taken for a guard ---- */

static bool aborts_saying(const char *text, void (*act)(void *)) {
  const char *says[] = {text, "ends that was never waited for", nullptr};
  return death_of(act, nullptr, says);
}

TEST(an_operation_that_is_never_waited_for_is_reported) {
  if (!VOLT_SIGHT) return; /* nothing looks */
  EXPECT(aborts_saying("volt: a volt::lock_operation ends", [](void *) {
    volt::mutex m;
    [[maybe_unused]] auto guard = m.lock();
  }));
  EXPECT(aborts_saying("volt: a volt::acquire_operation ends", [](void *) {
    volt::semaphore s(1);
    [[maybe_unused]] auto p = s.acquire();
    [[maybe_unused]] auto moved = std::move(p);
  }));
  EXPECT(aborts_saying("volt::all_operation<volt::lock_operation, volt::acquire_operation>",
                       [](void *) {
                         volt::mutex m;
                         volt::semaphore s(1);
                         [[maybe_unused]] auto both = volt::all(m.lock(), s.acquire());
                       }));
}

/* None of these is reported. */
TEST(an_operation_that_cannot_be_waited_for_is_none_of_them) {
  volt::mutex m;
  volt::semaphore s(1);
  bool has_thrown = false;
  try {
    auto first = m.lock();
    if (s.available() == 1) throw std::runtime_error("before it is waited for");
    (void)first.wait();
  } catch (const std::runtime_error &) {
    has_thrown = true;
  }
  EXPECT(has_thrown && !m.is_locked());
  auto stored = m.lock();
  auto moved = std::move(stored);
  EXPECT(moved.wait());
  EXPECT(!m.is_locked());
  auto again = s.acquire();
  for (int i = 0; i < 3; i++) EXPECT(again.result());
  auto unwanted = s.acquire();
  unwanted.forgo();
  auto inside = volt::as_result(volt::select(volt::biased, m.lock(), volt::all(s.acquire())));
  EXPECT(inside.wait());
}

TEST(several_objects_are_locked_at_once) {
  volt::mutex one, two;
  volt::semaphore pool(3);
  {
    auto all = volt::lock_all(two, volt::permits_of(pool, 2), one).wait();
    EXPECT(all && one.is_locked() && two.is_locked() && pool.available() == 1);
    EXPECT_CODE(volt::lock_all(one, two).result_now().code(), VOLT_EAGAIN);
    EXPECT_CODE(volt::lock_all(volt::permits_of(pool), one).result_for(1us).code(), VOLT_ETIMEDOUT);
    EXPECT(pool.available() == 1);
    auto moved = std::move(all);
    EXPECT(!all && moved);
    moved.unlock();
    EXPECT(!moved && !one.is_locked() && pool.available() == 3);
    all = volt::lock_all(one, two, volt::permits_of(pool, 3)).wait();
    EXPECT(pool.available() == 0);
  }
  EXPECT(!one.is_locked() && !two.is_locked() && pool.available() == 3);
}

int main() {
  return run_unit_tests();
}

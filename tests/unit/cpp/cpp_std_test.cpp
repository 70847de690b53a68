/* cpp_std_test.cpp: volt/std.hpp does what the standard says of <mutex>, <shared_mutex>,
 * <condition_variable>, <semaphore>, <latch> and <barrier>: what the tests of libstdc++ look at, and
 * the same in fibers. Whether something waits is seen by waiters(), not by the time. */
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>
#include <volt/std.hpp>

#include "unit.hpp"
extern "C" {
#include "death.h"
}

using namespace std::chrono_literals;
using std::chrono::steady_clock;
using std::chrono::system_clock;
namespace fair = volt::as_std;

/* ---- types ---- */

template <class T>
constexpr bool stays = !std::is_copy_constructible_v<T> && !std::is_copy_assignable_v<T> &&
                       !std::is_move_constructible_v<T> && std::is_standard_layout_v<T>;
static_assert(stays<fair::mutex> && stays<fair::timed_mutex> && stays<fair::shared_mutex>);
static_assert(stays<fair::condition_variable> && stays<fair::latch> && stays<fair::barrier<>>);
static_assert(stays<fair::binary_semaphore> && stays<fair::counting_semaphore<>>);
static_assert(std::is_nothrow_default_constructible_v<fair::mutex>);
static_assert(std::is_nothrow_default_constructible_v<fair::timed_mutex>);
static_assert(std::is_nothrow_default_constructible_v<fair::shared_mutex>);
static_assert(!std::is_convertible_v<std::ptrdiff_t, fair::counting_semaphore<>>);
static_assert(!std::is_convertible_v<std::ptrdiff_t, fair::latch>);
static_assert(!std::is_convertible_v<std::ptrdiff_t, fair::barrier<>>);
static_assert(sizeof(fair::mutex) == sizeof(volt_mutex));
static_assert(sizeof(fair::timed_mutex) == sizeof(volt_mutex));
static_assert(sizeof(fair::shared_mutex) == sizeof(volt_rwlock));
static_assert(sizeof(fair::binary_semaphore) == sizeof(volt_sem));
static_assert(std::is_same_v<fair::binary_semaphore, fair::counting_semaphore<1>>);
static_assert(fair::counting_semaphore<>::max() == VOLT_SEM_MAX);
static_assert(fair::counting_semaphore<5>::max() >= 5 && fair::binary_semaphore::max() == 1);
static_assert(fair::latch::max() > 0 && fair::barrier<>::max() > 0);
static_assert(std::is_same_v<volt::std_mutex, fair::mutex>);
static_assert(std::is_same_v<volt::std_timed_mutex, fair::timed_mutex>);
static_assert(std::is_same_v<volt::std_shared_mutex, fair::shared_timed_mutex>);
static_assert(std::is_same_v<volt::binary_semaphore, fair::binary_semaphore>);
static_assert(std::is_same_v<volt::std_barrier<>, fair::barrier<>>);
using token = fair::barrier<>::arrival_token;
static_assert(std::is_move_constructible_v<token> && std::is_move_assignable_v<token>);

/* constant expressions: initialised before any code runs */
#if defined(__cpp_constinit)
#define CONSTANT constinit
#elif defined(__clang__)
#define CONSTANT [[clang::require_constant_initialization]]
#else
#define CONSTANT
#endif
CONSTANT static fair::mutex a_static_mutex;
CONSTANT static fair::timed_mutex a_static_timed_mutex;
CONSTANT static fair::shared_mutex a_static_shared_mutex;
CONSTANT static fair::condition_variable a_static_condition;
CONSTANT static fair::counting_semaphore<> a_static_semaphore(3);
CONSTANT static fair::binary_semaphore a_static_flag{1};
CONSTANT static fair::latch a_static_latch{2};
CONSTANT static fair::barrier<> a_static_barrier{1};

static bool aborts(const char *text, void (*act)(void *)) {
  const char *says[] = {text, nullptr};
  return death_of(act, nullptr, says);
}

/* What another thread gets. */
template <class Fn>
static auto elsewhere(Fn fn) {
  decltype(fn()) got{};
  std::thread([&] { got = fn(); }).join();
  return got;
}

/* ---- what aborts: first, because no other thread may run ---- */

TEST(what_is_undefined_in_std_aborts) {
  EXPECT(aborts("unlock", [](void *) {
    fair::mutex m;
    m.unlock();
  }));
  EXPECT(aborts("", [](void *) {
    fair::mutex m;
    m.lock(); /* and is destroyed */
  }));
  EXPECT(aborts("read unlock", [](void *) {
    fair::shared_mutex m;
    m.unlock_shared();
  }));
  EXPECT(aborts("owns no mutex", [](void *) {
    fair::mutex m;
    fair::condition_variable c;
    std::unique_lock lock(m, std::defer_lock);
    c.wait(lock);
  }));
  EXPECT(aborts("begins below 0 or above max()", [](void *) { fair::counting_semaphore<> s(-1); }));
  EXPECT(aborts("begins below 0 or above max()", [](void *) { fair::binary_semaphore s(2); }));
  EXPECT(aborts("beyond its max()", [](void *) {
    fair::binary_semaphore s(1);
    s.release();
  }));
  EXPECT(aborts("released below 0", [](void *) {
    fair::counting_semaphore<> s(1);
    s.release(-1);
  }));
  EXPECT(aborts("", [](void *) {
    fair::counting_semaphore<> s(1);
    s.release(VOLT_SEM_MAX);
  }));
  EXPECT(aborts("begins below 0", [](void *) { fair::latch l(-1); }));
  EXPECT(aborts("", [](void *) {
    fair::latch l(1);
    l.count_down(2);
  }));
  EXPECT(aborts("less than 0", [](void *) {
    fair::latch l(1);
    l.count_down(-1);
  }));
  EXPECT(aborts("expects less than 0", [](void *) { fair::barrier b(-1); }));
  EXPECT(aborts("more arrivals than it expects", [](void *) {
    fair::barrier b(1);
    (void)b.arrive(2);
  }));
  EXPECT(aborts("expects no thread is left", [](void *) {
    fair::barrier b(1);
    b.arrive_and_drop();
    b.arrive_and_drop();
  }));
  EXPECT(aborts("of another one", [](void *) {
    fair::barrier a(2), b(2);
    a.wait(b.arrive());
  }));
}

/* ---- Lockable ---- */

template <class Mutex>
static void is_lockable() {
  Mutex m;
  m.lock();
  EXPECT(!m.try_lock());
  EXPECT(!elsewhere([&] { return m.try_lock(); }));
  m.unlock();
  EXPECT(m.try_lock());
  m.unlock();
  EXPECT(m.native_handle() == m.c());
  {
    std::lock_guard guard(m);
    EXPECT(!elsewhere([&] { return m.try_lock(); }));
  }
  std::unique_lock lock(m, std::try_to_lock);
  EXPECT(lock.owns_lock());
  lock.unlock();
  EXPECT(!lock.owns_lock() && m.try_lock());
  std::unique_lock adopted(m, std::adopt_lock);
  EXPECT(!std::unique_lock<Mutex>(m, std::try_to_lock));
  lock = std::move(adopted);
  EXPECT(lock && !adopted && lock.mutex() == &m);
  EXPECT(lock.release() == &m && !m.try_lock());
  m.unlock();

  /* a thread waits, and gets it */
  m.lock();
  std::thread other([&] { std::lock_guard guard(m); });
  UNTIL(m.waiters() == 1);
  m.unlock();
  other.join();
  EXPECT(m.try_lock());
  m.unlock();
}

TEST(mutexes_are_lockable) {
  is_lockable<fair::mutex>();
  is_lockable<fair::timed_mutex>();
  is_lockable<fair::shared_mutex>();
}

TEST(static_ones_work) {
  std::scoped_lock all(a_static_mutex, a_static_timed_mutex, a_static_shared_mutex);
  EXPECT(!a_static_mutex.try_lock() && !a_static_shared_mutex.try_lock_shared());
  a_static_semaphore.acquire();
  a_static_flag.acquire();
  EXPECT(!a_static_flag.try_acquire() && a_static_semaphore.try_acquire());
  a_static_latch.arrive_and_wait(2);
  a_static_barrier.arrive_and_wait();
  a_static_condition.notify_all();
}

TEST(a_bypass_and_c) {
  fair::mutex m = fair::mutex::with_bypass(VOLT_BYPASS);
  fair::timed_mutex t = fair::timed_mutex::with_bypass(3);
  fair::shared_mutex s = fair::shared_mutex::with_bypass(4);
  EXPECT(m.c()->bypass == VOLT_BYPASS && t.c()->bypass == 3 && s.c()->bypass == 4);
  EXPECT_CODE(volt_mutex_try_lock(m.c()), VOLT_OK);
  EXPECT(!m.try_lock());
  m.unlock();
}

/* Two threads name them in opposite orders. */
TEST(several_are_locked_without_a_deadlock) {
  fair::mutex a;
  fair::timed_mutex b;
  fair::shared_mutex c;
  long both = 0;
  auto forward = [&] {
    for (int i = 0; i < 1000; i++) {
      std::lock(a, b, c);
      std::scoped_lock all(std::adopt_lock, a, b, c);
      both += 1;
    }
  };
  auto backward = [&] {
    for (int i = 0; i < 1000; i++) {
      std::scoped_lock all(c, b, a);
      both += 1;
    }
  };
  std::thread one(forward), two(backward);
  one.join();
  two.join();
  EXPECT(both == 2000);
  b.lock();
  EXPECT(std::try_lock(a, b, c) == 1); /* and gives a back */
  b.unlock();
  EXPECT(std::try_lock(a, b, c) == -1);
  c.unlock();
  b.unlock();
  a.unlock();
}

/* ---- TimedLockable ---- */

/* A third as fast as the steady one. */
struct slow_clock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<slow_clock>;
  static constexpr bool is_steady = true;
  static time_point now() {
    return time_point(duration(steady_clock::now().time_since_epoch()) / 3);
  }
};

/* One that is set to a time by hand, each time it is asked. */
struct set_clock {
  using duration = std::chrono::milliseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<set_clock>;
  static constexpr bool is_steady = false;
  static inline int asked = 0;
  static time_point now() {
    asked += 1;
    return time_point(1ms * asked);
  }
};

/* try_for(d) and try_until(t) fail now: something holds it. */
template <class For, class Until>
static void times_out(For try_for, Until try_until) {
  EXPECT(!try_for(1us) && !try_for(0s) && !try_for(-1s));
  EXPECT(!try_for(std::chrono::duration<float, std::micro>(1.5f)));
  EXPECT(!try_for(std::chrono::nanoseconds::min()));
  EXPECT(!try_until(steady_clock::now() + 100us) && !try_until(steady_clock::now()));
  EXPECT(!try_until(steady_clock::time_point()) && !try_until(steady_clock::time_point::min()));
  EXPECT(!try_until(system_clock::time_point()) && !try_until(system_clock::time_point::min()));
  auto system = system_clock::now() + 100us;
  EXPECT(!try_until(system) && system_clock::now() >= system);
  auto slow = slow_clock::now() + 100us;
  EXPECT(!try_until(slow) && slow_clock::now() >= slow);
  set_clock::asked = 0;
  EXPECT(!try_until(set_clock::time_point(4ms)));
  EXPECT(set_clock::asked == 4);
}

/* They get it: something gives it, at the latest after a while. */
template <class For, class Until>
static void does_not_time_out(For try_for, Until try_until, int way) {
  if (way == 0) EXPECT(try_for(1h));
  if (way == 1) EXPECT(try_for(std::chrono::hours::max()));
  if (way == 2) EXPECT(try_until(steady_clock::now() + 1h));
  if (way == 3) EXPECT(try_until(steady_clock::time_point::max()));
  if (way == 4) EXPECT(try_until(system_clock::now() + 1h));
  if (way == 5) EXPECT(try_until(system_clock::time_point::max()));
  if (way == 6) EXPECT(try_until(slow_clock::now() + 1h));
}
enum { WAYS = 7 };

template <class Lock, class Mutex>
static void is_timed(Mutex &m, bool (*locks)(Mutex &)) {
  auto try_for = [&](auto d) { return bool(Lock(m, d)); };
  auto try_until = [&](auto t) { return bool(Lock(m, t)); };
  m.lock();
  EXPECT(!elsewhere([&] {
    times_out(try_for, try_until);
    return locks(m);
  }));
  m.unlock();
  /* what is free is locked, even if the time has passed */
  EXPECT(try_for(-1s) && try_until(steady_clock::time_point()) &&
         try_until(system_clock::time_point()));
  for (int way = 0; way < WAYS; way++) {
    m.lock();
    std::thread other([&] { does_not_time_out(try_for, try_until, way); });
    UNTIL(m.waiters() == 1);
    m.unlock();
    other.join();
  }
  EXPECT(locks(m));
}

TEST(mutexes_are_timed) {
  fair::timed_mutex m;
  is_timed<std::unique_lock<fair::timed_mutex>, fair::timed_mutex>(
      m, [](auto &it) { return it.try_lock(); });
  m.unlock();
  fair::shared_mutex s;
  is_timed<std::unique_lock<fair::shared_mutex>, fair::shared_mutex>(
      s, [](auto &it) { return it.try_lock(); });
  s.unlock();
  is_timed<std::shared_lock<fair::shared_mutex>, fair::shared_mutex>(
      s, [](auto &it) { return it.try_lock_shared(); });
  s.unlock_shared();
}

/* ---- SharedLockable ---- */

TEST(readers_share_and_writers_do_not) {
  fair::shared_mutex m;
  m.lock();
  EXPECT(!elsewhere([&] { return m.try_lock_shared() || m.try_lock(); }));
  m.unlock();
  {
    std::shared_lock one(m);
    EXPECT(elsewhere([&] { return bool(std::shared_lock(m, std::try_to_lock)); }));
    EXPECT(elsewhere([&] { return bool(std::shared_lock(m, 1h)); }));
    EXPECT(!elsewhere([&] { return m.try_lock() || m.try_lock_for(1us); }));
    std::shared_lock<fair::shared_mutex> two(m, std::defer_lock);
    EXPECT(!two);
    two.lock();
    EXPECT(two && two.mutex() == &m);
    std::swap(one, two);
    one.unlock();
    EXPECT(!one && two);
    one = std::move(two);
    EXPECT(one && !two);
  }
  EXPECT(m.try_lock());
  m.unlock();
}

/* A writer that waits is not passed, and a reader behind it gets in after it. */
TEST(a_reader_does_not_pass_a_writer_that_waits) {
  fair::shared_mutex m;
  std::vector<int> order;
  m.lock_shared();
  std::thread writer([&] {
    std::lock_guard guard(m);
    order.push_back(1);
  });
  UNTIL(m.waiters() == 1);
  EXPECT(!m.try_lock_shared());
  std::thread reader([&] {
    std::shared_lock guard(m);
    order.push_back(2);
  });
  UNTIL(m.waiters() == 2);
  m.unlock_shared();
  writer.join();
  reader.join();
  EXPECT(order == (std::vector<int>{1, 2}));
}

/* ---- condition variables ---- */

/* One thread waits for another, with each lock that it takes. */
template <class Condition, class Mutex>
static void is_notified() {
  Condition changed;
  Mutex m;
  bool ready = false;
  std::atomic<int> waiting{0};
  auto wait = [&] {
    std::unique_lock lock(m);
    waiting += 1;
    changed.wait(lock, [&] { return ready; });
    EXPECT(lock.owns_lock() && !elsewhere([&] { return m.try_lock(); }));
  };
  for (int n = 1; n <= 3; n++) {
    std::vector<std::thread> threads;
    for (int i = 0; i < n; i++) threads.emplace_back(wait);
    UNTIL(waiting == n);
    {
      std::unique_lock lock(m); /* so all of them wait */
      ready = true;
    }
    if (n == 1) {
      changed.notify_one();
    } else {
      changed.notify_all();
    }
    for (std::thread &t : threads) t.join();
    waiting = 0;
    ready = false;
  }

  std::unique_lock lock(m);
  EXPECT(changed.wait_for(lock, 1us) == std::cv_status::timeout && lock);
  EXPECT(changed.wait_until(lock, steady_clock::now()) == std::cv_status::timeout && lock);
  EXPECT(changed.wait_until(lock, system_clock::now() + 100us) == std::cv_status::timeout && lock);
  auto slow = slow_clock::now() + 100us;
  EXPECT(!changed.wait_until(lock, slow, [] { return false; }) && slow_clock::now() >= slow);
  EXPECT(!changed.wait_for(lock, 1us, [] { return false; }));
  EXPECT(changed.wait_for(lock, -1s, [] { return true; }));
  EXPECT(changed.wait_until(lock, steady_clock::time_point(), [] { return true; }));
  for (int way = 0; way < 3; way++) {
    ready = false;
    std::thread other([&] {
      {
        std::unique_lock its(m); /* the other waits */
        ready = true;
      }
      changed.notify_all();
    });
    auto is_ready = [&] { return ready; };
    if (way == 0) EXPECT(changed.wait_for(lock, 1h, is_ready));
    if (way == 1) EXPECT(changed.wait_until(lock, steady_clock::now() + 1h, is_ready));
    if (way == 2) EXPECT(changed.wait_until(lock, system_clock::now() + 1h, is_ready));
    EXPECT(ready && lock);
    lock.unlock();
    other.join();
    lock.lock();
  }
}

TEST(condition_variables) {
  is_notified<std::condition_variable_any, fair::mutex>();
  is_notified<std::condition_variable_any, fair::timed_mutex>();
  is_notified<std::condition_variable_any, fair::shared_mutex>();
  is_notified<fair::condition_variable, fair::mutex>();
  is_notified<fair::condition_variable, fair::timed_mutex>();
}

TEST(a_condition_variable_any_with_a_shared_lock) {
  std::condition_variable_any changed;
  fair::shared_mutex m;
  bool ready = false;
  std::thread reader([&] {
    std::shared_lock lock(m);
    changed.wait(lock, [&] { return ready; });
  });
  {
    std::unique_lock lock(m);
    ready = true;
  }
  changed.notify_all();
  reader.join();
}

/* The one that is notified may destroy it, and the notifier still returns. */
TEST(a_condition_variable_ends_with_its_waiter) {
  for (int i = 0; i < 200; i++) {
    auto changed = std::make_unique<fair::condition_variable>();
    fair::condition_variable *it = changed.get();
    fair::mutex m;
    bool ready = false;
    std::thread waiter([&] {
      std::unique_lock lock(m);
      changed->wait(lock, [&] { return ready; });
      changed.reset();
    });
    {
      std::lock_guard lock(m);
      ready = true;
      it->notify_all();
    }
    waiter.join();
  }
}

/* ---- semaphores ---- */

TEST(a_semaphore_is_acquired_and_released) {
  fair::counting_semaphore<5> s(2);
  s.acquire();
  EXPECT(s.try_acquire() && !s.try_acquire());
  s.release(0);
  EXPECT(!s.try_acquire());
  s.release(3);
  s.release();
  EXPECT(s.try_acquire() && s.try_acquire() && s.try_acquire() && s.try_acquire() &&
         !s.try_acquire());
  EXPECT(s.c() != nullptr);
  fair::counting_semaphore<> none(0);
  EXPECT(!none.try_acquire());
  fair::counting_semaphore<0> never(0);
  EXPECT(!never.try_acquire() && never.max() == 0);
}

TEST(a_semaphore_is_timed) {
  fair::binary_semaphore s(0);
  auto try_for = [&](auto d) { return s.try_acquire_for(d); };
  auto try_until = [&](auto t) { return s.try_acquire_until(t); };
  times_out(try_for, try_until);
  for (int way = 0; way < WAYS; way++) {
    std::thread other([&] { does_not_time_out(try_for, try_until, way); });
    UNTIL(s.waiters() == 1);
    s.release();
    other.join();
    EXPECT(!s.try_acquire());
  }
  s.release();
  EXPECT(try_for(-1s));
}

/* In the order of their arrival, and no permit is lost. */
TEST(a_semaphore_lets_the_oldest_go_first) {
  fair::counting_semaphore<3> s(0);
  std::atomic<int> got{0};
  int place[3] = {};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; i++) {
    threads.emplace_back([&, i] {
      s.acquire();
      place[i] = ++got;
    });
    UNTIL(s.waiters() == static_cast<uint32_t>(i) + 1);
  }
  for (int i = 1; i <= 3; i++) {
    s.release();
    UNTIL(got == i);
  }
  for (std::thread &t : threads) t.join();
  EXPECT(place[0] == 1 && place[1] == 2 && place[2] == 3);
  EXPECT(!s.try_acquire());
}

/* Two threads in turn. */
TEST(two_semaphores_pass_the_turn) {
  fair::binary_semaphore ping(0), pong(0);
  long turns = 0;
  std::thread other([&] {
    for (int i = 0; i < 1000; i++) {
      ping.acquire();
      turns += 1;
      pong.release();
    }
  });
  for (int i = 0; i < 1000; i++) {
    ping.release();
    pong.acquire();
    EXPECT(turns == i + 1);
  }
  other.join();
}

/* The one that gets the permit may end the semaphore, while release() has not returned. */
TEST(a_semaphore_ends_with_the_one_that_acquires) {
  for (int i = 0; i < 500; i++) {
    auto s = std::make_unique<fair::binary_semaphore>(0);
    std::thread other([it = s.get()] { it->release(); });
    s->acquire();
    s.reset();
    other.join();
  }
}

/* ---- latch ---- */

TEST(a_latch_opens) {
  fair::latch l(3);
  EXPECT(!l.try_wait());
  l.count_down();
  l.count_down(0);
  EXPECT(!l.try_wait() && l.count() == 2);
  l.count_down(2);
  EXPECT(l.try_wait());
  l.wait();
  l.arrive_and_wait(0);
  fair::latch open(0);
  open.wait();
  EXPECT(std::as_const(open).try_wait());
}

TEST(all_that_a_latch_counts_have_arrived_before_any_goes_on) {
  std::ptrdiff_t n = 6;
  fair::latch all{n};
  std::atomic<std::ptrdiff_t> arrived{0};
  std::vector<std::thread> threads;
  for (std::ptrdiff_t i = 0; i < n - 2; i++) {
    threads.emplace_back([&] {
      arrived += 1;
      all.arrive_and_wait();
      EXPECT(arrived == n);
    });
  }
  threads.emplace_back([&] {
    arrived += 2;
    all.count_down(2);
    std::as_const(all).wait();
    EXPECT(arrived == n);
  });
  for (std::thread &t : threads) t.join();
  EXPECT(all.try_wait());
}

/* ---- barrier ---- */

TEST(a_barrier_of_one) {
  int completed = 0;
  fair::barrier b(1, [&]() noexcept { completed += 1; });
  b.arrive_and_wait();
  auto t = b.arrive();
  EXPECT(completed == 2);
  b.wait(std::move(t)); /* does not wait: the phase has ended */
  b.arrive_and_drop();
  EXPECT(completed == 3);
  fair::barrier none(0);
  EXPECT(none.waiters() == 0);
}

TEST(a_token_is_waited_for_in_its_phase) {
  int completed = 0;
  fair::barrier b(3, [&]() noexcept { completed += 1; });
  auto one = b.arrive(2);
  EXPECT(completed == 0);
  std::thread other([&, t = std::move(one)]() mutable {
    b.wait(std::move(t));
    EXPECT(completed == 1);
  });
  UNTIL(b.waiters() == 1);
  (void)b.arrive();
  other.join();
  auto first = b.arrive(3);
  EXPECT(completed == 2);
  auto next = b.arrive();
  b.wait(std::move(first)); /* of the phase before */
  next = b.arrive(2);
  b.wait(std::move(next));
  EXPECT(completed == 3);
}

/* The completion function has run when any goes on, once in each phase, and no thread is a phase ahead. */
TEST(phases_of_a_barrier) {
  constexpr int threads_of_it = 4, phases = 200;
  int completed = 0;
  std::atomic<int> arrived{0};
  auto complete = [&]() noexcept {
    completed += 1;
    EXPECT(arrived.exchange(0) == threads_of_it);
  };
  fair::barrier b(threads_of_it, complete);
  std::vector<std::thread> threads;
  for (int i = 0; i < threads_of_it; i++) {
    threads.emplace_back([&, i] {
      for (int phase = 1; phase <= phases; phase++) {
        arrived += 1;
        if (i % 2 == 0) {
          b.arrive_and_wait();
        } else {
          b.wait(b.arrive());
        }
        EXPECT(completed == phase);
      }
    });
  }
  for (std::thread &t : threads) t.join();
  EXPECT(completed == phases);
}

/* Those that drop out are not expected any more; the completion function may count for them. */
TEST(arrivals_that_drop_out) {
  constexpr int begins = 4;
  int completed = 0;
  fair::barrier b(begins, [&]() noexcept { completed += 1; });
  std::vector<std::thread> threads;
  for (int i = 0; i < begins; i++) {
    threads.emplace_back([&, i] {
      for (int phase = 0; phase < i; phase++) b.arrive_and_wait();
      b.arrive_and_drop(); /* thread i takes part in i + 1 phases */
    });
  }
  for (std::thread &t : threads) t.join();
  EXPECT(completed == begins);
}

/* The one that goes on first may end the barrier, while the last to arrive has not returned. */
TEST(a_barrier_ends_with_the_one_that_waited) {
  for (int i = 0; i < 500; i++) {
    auto b = std::make_unique<fair::barrier<>>(2);
    std::thread other([it = b.get()] { (void)it->arrive(); });
    b->arrive_and_wait();
    b.reset();
    other.join();
  }
}

/* ---- fibers ---- */

static volt_rt_config by_hand() {
  volt_rt_config config{};
  config.flags = VOLT_RT_BY_HAND | VOLT_RT_VIRTUAL_CLOCK;
  return config;
}

static void run(volt::runtime &rt) {
  while (rt.run() == 0) {
  }
}

/* On one thread, so a fiber that did not suspend would stand still for ever. */
TEST(fibers_suspend) {
  volt::runtime rt(by_hand());
  std::vector<int> order;
  fair::mutex m;
  fair::shared_mutex shared;
  fair::condition_variable changed;
  fair::binary_semaphore s(0);
  fair::latch l(2);
  int completed = 0;
  fair::barrier b(2, [&]() noexcept {
    volt::sleep_for(1h).wait(); /* a completion function may wait */
    completed += 1;
  });
  bool ready = false;
  {
    volt::group g;
    g.spawn(rt, [&] {
      std::unique_lock lock(m);
      std::unique_lock writes(shared);
      order.push_back(1);
      volt::sleep_for(1s).wait();
      order.push_back(2);
      changed.wait(lock, [&] { return ready; });
      order.push_back(4);
      s.release();
      l.arrive_and_wait();
      volt::sleep_for(1s).wait(); /* the other waits to read */
      writes.unlock();
      b.arrive_and_wait();
    });
    g.spawn(rt, [&] {
      {
        std::scoped_lock lock(m);
        order.push_back(3);
        ready = true;
      }
      changed.notify_one();
      s.acquire();
      order.push_back(5);
      l.arrive_and_wait();
      std::shared_lock reads(shared);
      b.wait(b.arrive());
    });
    run(rt);
    EXPECT(rt.result_of(g.joined()));
  }
  EXPECT(order == (std::vector<int>{1, 2, 3, 4, 5}));
  EXPECT(completed == 1);
}

/* A duration passes on the clock of the runtime: no time passes here. */
TEST(deadlines_of_fibers_are_on_their_clock) {
  volt::runtime rt(by_hand());
  fair::timed_mutex m;
  fair::shared_mutex shared;
  fair::condition_variable changed;
  fair::mutex of_changed;
  fair::binary_semaphore s(0);
  m.lock();
  shared.lock();
  volt::fiber f(rt, [&] {
    EXPECT(!m.try_lock_for(1h) && !shared.try_lock_for(1h) && !shared.try_lock_shared_for(1h));
    EXPECT(!s.try_acquire_for(1h));
    std::unique_lock lock(of_changed);
    EXPECT(changed.wait_for(lock, 1h) == std::cv_status::timeout);
    return 1;
  });
  auto before = rt.now();
  EXPECT(*rt.result_of(f.join()) == 1);
  EXPECT(rt.now() - before == 5h);
  m.unlock();
  shared.unlock();
}

/* What a cancelled fiber does next: waits gives it what it waits for, or not. */
template <class Wait, class Let>
static void is_canceled(Wait waits, Let lets, bool wait_throws) {
  volt::runtime rt(by_hand());
  bool has_thrown = false, is_next_canceled = false;
  volt::fiber f(rt, [&] {
    try {
      waits();
    } catch (const volt::canceled &) {
      has_thrown = true;
    }
    is_next_canceled = volt::sleep_for(1s).result().code() == VOLT_ECANCELED;
  });
  run(rt);
  EXPECT(f.cancel());
  run(rt);
  EXPECT(!f.has_ended() && has_thrown == wait_throws);
  if (!wait_throws) lets();
  EXPECT(rt.result_of(f.join()));
  EXPECT(is_next_canceled == !wait_throws);
}

TEST(what_a_cancel_ends) {
  fair::timed_mutex m;
  m.lock();
  is_canceled([&] { m.lock(); }, [&] { m.unlock(); }, false);
  is_canceled([&] { EXPECT(m.try_lock_for(1h)); }, [] {}, true);
  is_canceled([&] { EXPECT(m.try_lock_until(steady_clock::time_point::max())); }, [] {}, true);
  m.unlock();
  fair::shared_mutex s;
  s.lock();
  is_canceled([&] { s.lock(); }, [&] { s.unlock(); }, false);
  is_canceled([&] { s.lock_shared(); }, [&] { s.unlock(); }, false);
  EXPECT(!s.try_lock()); /* it still reads */
  s.unlock_shared();
  s.lock();
  is_canceled([&] { EXPECT(s.try_lock_shared_for(1h)); }, [] {}, true);
  s.unlock();

  fair::binary_semaphore permit(0);
  is_canceled([&] { permit.acquire(); }, [] {}, true);
  is_canceled([&] { EXPECT(permit.try_acquire_for(1h)); }, [] {}, true);
  permit.release();
  EXPECT(permit.try_acquire()); /* no wait has taken it */
  fair::latch l(1);
  is_canceled([&] { l.wait(); }, [] {}, true);
  fair::mutex of_changed;
  fair::condition_variable changed;
  is_canceled(
      [&] {
        std::unique_lock lock(of_changed);
        changed.wait(lock); /* locks again before it throws */
      },
      [] {}, true);
  EXPECT(of_changed.try_lock());
  of_changed.unlock();
  int completed = 0;
  fair::barrier b(2, [&]() noexcept { completed += 1; });
  is_canceled([&] { b.arrive_and_wait(); }, [] {}, true);
  b.arrive_and_wait(); /* its arrival stands */
  EXPECT(completed == 1 && b.waiters() == 0);
}

/* Threads and fibers are in one queue. */
TEST(threads_and_fibers_together) {
  volt_rt_config config{};
  config.workers = 2;
  volt::runtime rt(config);
  fair::mutex m;
  fair::shared_mutex shared;
  fair::counting_semaphore<2> s(2);
  fair::barrier b(4);
  std::atomic<int> inside{0};
  long total = 0;
  auto work = [&] {
    for (int i = 0; i < 200; i++) {
      s.acquire();
      EXPECT(++inside <= 2);
      inside -= 1;
      s.release();
      std::lock_guard guard(m);
      total += 1;
      if (i % 10 == 0) {
        std::lock_guard writes(shared);
        total += 1;
      } else {
        std::shared_lock reads(shared);
      }
    }
    b.arrive_and_wait();
    EXPECT(total == 4 * 220);
  };
  volt::group g;
  std::thread one(work), two(work);
  g.spawn(rt, work);
  g.spawn(rt, work);
  one.join();
  two.join();
  g.joined().wait();
  EXPECT(total == 880);
}

int main() {
  return run_unit_tests();
}

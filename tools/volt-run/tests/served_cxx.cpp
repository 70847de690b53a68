/* served_cxx.cpp: what libstdc++ makes of glibc's locks, for volt-run: every kind of lock of C++17, and what waits.
 * Exits with 0 when all has been as it should. */
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <future>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

#define REQUIRE(so)                                                           \
  do {                                                                        \
    if (!(so)) {                                                              \
      std::fprintf(stderr, "served_cxx.cpp:%d: not so: %s\n", __LINE__, #so); \
      std::_Exit(1);                                                          \
    }                                                                         \
  } while (0)

using namespace std::chrono_literals;

namespace {

std::mutex before_main;

/* A lock that is used before main() begins, and after it has ended. */
struct Early {
  Early() {
    std::lock_guard<std::mutex> guard(before_main);
  }
  ~Early() {
    std::lock_guard<std::mutex> guard(before_main);
  }
} early;

void at_once(int threads, const std::function<void(int)> &run) {
  std::vector<std::thread> all;
  for (int i = 0; i < threads; i++) all.emplace_back(run, i);
  for (std::thread &t : all) t.join();
}

template <class Lock>
void count_with() {
  Lock lock;
  int count = 0;
  at_once(4, [&](int) {
    for (int i = 0; i < 2000; i++) {
      std::lock_guard<Lock> guard(lock);
      count++;
    }
  });
  REQUIRE(count == 8000 && lock.try_lock());
  bool got = true;
  at_once(1, [&](int) { got = lock.try_lock(); });
  REQUIRE(!got);
  lock.unlock();
}

template <class Lock>
void time_out() {
  Lock lock;
  lock.lock();
  at_once(1, [&](int) {
    REQUIRE(!lock.try_lock_for(3ms));
    REQUIRE(!lock.try_lock_until(std::chrono::system_clock::now() + 3ms));
    REQUIRE(!lock.try_lock_until(std::chrono::steady_clock::now() - 3ms));
  });
  lock.unlock();
  REQUIRE(lock.try_lock_for(1000s));
  lock.unlock();
}

template <class Lock>
void share() {
  Lock lock;
  int count = 0;
  std::atomic<int> reads{0};
  at_once(4, [&](int own) {
    for (int i = 0; i < 1000; i++) {
      if ((i + own) % 8 == 0) {
        std::unique_lock<Lock> guard(lock);
        count++;
      } else {
        std::shared_lock<Lock> guard(lock);
        reads += count >= 0;
      }
    }
  });
  REQUIRE(count == 500 && reads == 3500);
}

template <class Condition>
void produce_and_consume() {
  std::mutex lock;
  Condition not_empty;
  int items = 0, taken = 0;
  at_once(4, [&](int own) {
    for (int i = 0; i < 500; i++) {
      std::unique_lock<std::mutex> guard(lock);
      if (own % 2) {
        items++;
        not_empty.notify_one();
      } else {
        while (!not_empty.wait_for(guard, 1000s, [&] { return items > 0; })) {
        }
        items--;
        taken++;
      }
    }
  });
  REQUIRE(items == 0 && taken == 1000);
  std::unique_lock<std::mutex> guard(lock);
  REQUIRE(not_empty.wait_for(guard, 3ms) == std::cv_status::timeout);
  REQUIRE(not_empty.wait_until(guard, std::chrono::system_clock::now() + 3ms) ==
          std::cv_status::timeout);
}

void futures() {
  std::vector<std::future<int>> all;
  for (int i = 0; i < 20; i++) all.push_back(std::async(std::launch::async, [i] { return i; }));
  int sum = 0;
  for (std::future<int> &f : all) sum += f.get();
  std::once_flag once;
  int calls = 0;
  at_once(4, [&](int) { std::call_once(once, [&] { calls++; }); });
  REQUIRE(sum == 190 && calls == 1);
}

} // namespace

int main() {
  count_with<std::mutex>();
  count_with<std::timed_mutex>();
  count_with<std::recursive_mutex>();
  count_with<std::recursive_timed_mutex>();
  count_with<std::shared_mutex>();
  time_out<std::timed_mutex>();
  time_out<std::recursive_timed_mutex>();
  time_out<std::shared_timed_mutex>();
  share<std::shared_mutex>();
  share<std::shared_timed_mutex>();
  produce_and_consume<std::condition_variable>();
  produce_and_consume<std::condition_variable_any>();
  futures();
  return 0;
}

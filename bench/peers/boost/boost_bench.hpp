// boost_bench.hpp: Boost.Fiber under the workloads of bench/README.md, which says what each of them
// is. Workers are threads that steal fibers from each other; tasks are fibers.
#ifndef VOLT_BENCH_PEERS_BOOST_BENCH_HPP
#define VOLT_BENCH_PEERS_BOOST_BENCH_HPP

#include <boost/fiber/all.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace fibers = boost::fibers;

struct options {
  unsigned workers = 1, tasks = 0, amount = 0;
  std::uint64_t operations = 10000;
};

// What was measured, by the names of the line of JSON.
using outcome = std::vector<std::pair<std::string, double>>;

// A workload on one engine. The first of a workload is the one that is taken if none is named.
struct bench_case {
  const char *workload, *engine;
  unsigned tasks; // so many, and no others; 0: any number
  outcome (*run)(const options &o);
};

extern const std::vector<bench_case> lock_cases, sem_cases, channel_cases, task_cases, held_cases,
    parked_cases, family_cases;

// Unless it is so, say so and end the process: exit code 1.
void require(bool so, const char *what);

inline std::uint64_t now_ns() {
  auto since = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
}

std::uint64_t cpu_ns(); // of the process

// ---- workers.cpp ----

// The calling thread becomes one of so many workers. The others run fibers until this ends.
class workers {
 public:
  explicit workers(unsigned count);
  ~workers();
  workers(const workers &) = delete;
  workers &operator=(const workers &) = delete;

 private:
  std::vector<std::thread> threads_;
  fibers::mutex mutex_;
  fibers::condition_variable over_;
  bool is_over_ = false;
};

// Stacks from a pool. The library's own has no lock, and a stack returns on the thread where its
// fiber has ended: so there is a lock around it if there are several.
class stacks {
 public:
  using traits_type = boost::context::stack_traits;
  explicit stacks(unsigned workers);
  boost::context::stack_context allocate();
  void deallocate(boost::context::stack_context &stack);

 private:
  struct shared;
  std::shared_ptr<shared> shared_;
};

template <class Work>
fibers::fiber spawn(stacks &s, Work &&work) {
  return fibers::fiber(fibers::launch::post, std::allocator_arg, s, std::forward<Work>(work));
}

// ---- crew.cpp ----

// Fibers that do so many operations each.
struct crew {
  // What member index does; what it returns is handed to check.
  std::function<std::uint64_t(unsigned index, std::uint64_t operations)> work;
  // Before each of the two runs, and after it; may be empty.
  std::function<void(std::uint64_t operations)> begin;
  std::function<void(std::uint64_t operations, const std::vector<std::uint64_t> &sums)> check;
  bool counts_allocations = false;
};

// On workers of their own: ns, cpu_ns, overlap; allocations if they are counted.
outcome run(const options &o, const crew &c);

// How many operations the run has that does not count.
inline std::uint64_t warm_up(std::uint64_t operations) {
  return operations / 8 + 1;
}

// Operations of all tasks in both runs.
inline std::uint64_t in_all(const options &o) {
  return o.tasks * (o.operations + warm_up(o.operations));
}

// ns and cpu_ns times this many: where an operation of a member is not what is to be told.
outcome scaled(outcome out, double by);

outcome without(outcome out, const char *name);

// ---- allocations.cpp ----

void count_allocations(); // from now on

std::uint64_t allocations_counted(); // no longer

// A semaphore is what one writes with Boost.Fiber, which has none: with a mutex and a condition
// variable. It lets the running fiber overtake those that wait.
class semaphore {
 public:
  explicit semaphore(unsigned permits) : permits_(permits) {
  }

  void acquire() {
    std::unique_lock<boost::fibers::mutex> lock(mutex_);
    if (permits_ == 0) {
      waiters_ += 1;
      given_.wait(lock, [this] { return permits_ > 0; });
      waiters_ -= 1;
    }
    permits_ -= 1;
  }

  // Wait at most until the scheduler has been round once, when it sees whose deadline has passed:
  // what comes nearest to giving up what is not there after one yield.
  bool acquire_or_give_up() {
    std::unique_lock<boost::fibers::mutex> lock(mutex_);
    if (permits_ == 0) {
      waiters_ += 1;
      auto at_once = std::chrono::steady_clock::now();
      bool is_given = given_.wait_until(lock, at_once, [this] { return permits_ > 0; });
      waiters_ -= 1;
      if (!is_given) return false;
    }
    permits_ -= 1;
    return true;
  }

  // Nobody is notified if nobody waits, and the mutex is free again when somebody is.
  void release() {
    std::unique_lock<boost::fibers::mutex> lock(mutex_);
    permits_ += 1;
    bool is_awaited = waiters_ > 0;
    lock.unlock();
    if (is_awaited) given_.notify_one();
  }

  unsigned available() {
    std::unique_lock<boost::fibers::mutex> lock(mutex_);
    return permits_;
  }

  unsigned waiters() {
    std::unique_lock<boost::fibers::mutex> lock(mutex_);
    return waiters_;
  }

 private:
  boost::fibers::mutex mutex_;
  boost::fibers::condition_variable given_;
  unsigned permits_, waiters_ = 0;
};

#endif

// locks.cpp: mutex and semaphore, which let the running fiber overtake those that wait; and how long
// fibers wait for them.
#include <algorithm>
#include <memory>
#include <mutex>

#include "../../programs/histogram.h"
#include "boost_bench.hpp"

// ---- the mutex; there is no read-write lock ----

static outcome alone_mutex(const options &o) {
  fibers::mutex mutex;
  crew c;
  c.work = [&mutex](unsigned, std::uint64_t operations) {
    for (std::uint64_t i = 0; i < operations; i++) {
      mutex.lock();
      mutex.unlock();
    }
    return std::uint64_t{0};
  };
  return run(o, c);
}

static outcome contended_mutex(const options &o) {
  fibers::mutex mutex;
  std::uint64_t count = 0;
  crew c;
  c.work = [&](unsigned, std::uint64_t operations) {
    for (std::uint64_t i = 0; i < operations; i++) {
      std::lock_guard<fibers::mutex> lock(mutex);
      count += 1;
    }
    return std::uint64_t{0};
  };
  outcome out = run(o, c);
  require(count == in_all(o), "one fiber at a time has the lock");
  return out;
}

// Whoever else had the lock meanwhile would be overwritten.
static outcome cycles(const options &o) {
  fibers::mutex mutex;
  std::uint64_t count = 0;
  crew c;
  c.counts_allocations = true;
  c.work = [&](unsigned, std::uint64_t operations) {
    for (std::uint64_t i = 0; i < operations; i++) {
      std::lock_guard<fibers::mutex> lock(mutex);
      std::uint64_t seen = count;
      boost::this_fiber::yield();
      count = seen + 1;
    }
    return std::uint64_t{0};
  };
  outcome out = run(o, c);
  require(count == in_all(o), "one fiber at a time has the lock");
  return out;
}

const std::vector<bench_case> lock_cases = {{"alone-mutex", "mutex", 1, alone_mutex},
                                            {"mutex", "mutex", 0, contended_mutex},
                                            {"cycles", "mutex", 0, cycles}};

// ---- the semaphore ----

static outcome sem(const options &o) {
  semaphore permits(o.amount);
  crew c;
  c.work = [&permits](unsigned, std::uint64_t operations) {
    for (std::uint64_t i = 0; i < operations; i++) {
      permits.acquire();
      permits.release();
    }
    return std::uint64_t{0};
  };
  outcome out = run(o, c);
  require(permits.available() == o.amount, "every permit was given back");
  return out;
}

static outcome alone_sem(const options &o) {
  options one = o;
  one.amount = 1;
  return sem(one);
}

static outcome held(const options &o) {
  semaphore permits(o.amount);
  crew c;
  c.work = [&permits](unsigned, std::uint64_t operations) {
    for (std::uint64_t i = 0; i < operations; i++) {
      permits.acquire();
      boost::this_fiber::yield();
      permits.release();
    }
    return std::uint64_t{0};
  };
  outcome out = run(o, c);
  require(permits.available() == o.amount, "every permit was given back");
  return out;
}

// Member 0 serves: it gives first, and the other gives when it has received.
static outcome pingpong(const options &o) {
  struct alignas(64) cushioned {
    semaphore permits{0};
  } sems[2];
  crew c;
  c.work = [&sems](unsigned index, std::uint64_t operations) {
    semaphore &mine = sems[index].permits, &other = sems[1 - index].permits;
    for (std::uint64_t i = 0; i < operations; i++) {
      if (index == 0) other.release();
      mine.acquire();
      if (index == 1) other.release();
    }
    return std::uint64_t{0};
  };
  outcome out = run(o, c);
  require(sems[0].permits.available() + sems[1].permits.available() == 0,
          "what was given was taken");
  return out;
}

const std::vector<bench_case> sem_cases = {{"alone-sem", "sem", 1, alone_sem},
                                           {"sem", "sem", 0, sem},
                                           {"held", "sem", 0, held},
                                           {"pingpong", "sem", 2, pingpong}};

// ---- waits ----

namespace {

// What one of them has seen.
struct alignas(64) waiting {
  histogram waits = {};
  std::uint64_t done = 0;
};

template <class Lock>
struct wanted {
  Lock lock;
  std::uint64_t left = 0; // plain: the lock protects it
  std::uint64_t work_ns = 0;
  std::vector<waiting> each = {};

  std::uint64_t until_all_is_done(waiting &own);
};

// A permit as a lock.
struct permit : semaphore {
  permit() : semaphore(1) {
  }
  void lock() {
    acquire();
  }
  void unlock() {
    release();
  }
};

// How long the take took is noted when the lock is given back.
template <class Lock>
std::uint64_t wanted<Lock>::until_all_is_done(waiting &own) {
  for (;;) {
    std::uint64_t asked = now_ns();
    lock.lock();
    std::uint64_t taken = now_ns();
    if (left == 0) break;
    left -= 1;
    while (now_ns() - taken < work_ns) continue;
    lock.unlock();
    own.done += 1;
    histogram_add(&own.waits, taken - asked);
    boost::this_fiber::yield();
  }
  lock.unlock();
  return own.done;
}

void tell(outcome &out, const std::vector<waiting> &each) {
  auto all = std::make_unique<histogram>();
  std::uint64_t least = each[0].done, most = each[0].done;
  for (const waiting &one : each) {
    histogram_merge(all.get(), &one.waits);
    least = std::min(least, one.done);
    most = std::max(most, one.done);
  }
  out.emplace_back("p50_ns", histogram_quantile(all.get(), 0.5));
  out.emplace_back("p99_ns", histogram_quantile(all.get(), 0.99));
  out.emplace_back("p999_ns", histogram_quantile(all.get(), 0.999));
  out.emplace_back("longest_ns", all->max);
  out.emplace_back("slowest_share", static_cast<double>(least) / static_cast<double>(most));
}

template <class Lock>
outcome waits(const options &o) {
  wanted<Lock> w;
  w.work_ns = o.amount;
  crew c;
  c.begin = [&w, &o](std::uint64_t operations) {
    w.left = operations * o.tasks;
    w.each.assign(o.tasks, waiting());
  };
  c.work = [&w](unsigned index, std::uint64_t) { return w.until_all_is_done(w.each[index]); };
  c.check = [](std::uint64_t operations, const std::vector<std::uint64_t> &done) {
    std::uint64_t sum = 0;
    for (std::uint64_t n : done) sum += n;
    require(sum == operations * done.size(), "together they have done what there was");
  };
  outcome out = run(o, c);
  tell(out, w.each);
  return out;
}

// ---- cancel ----

struct cancels {
  semaphore sem{1};
  bool is_taken = false; // plain: the permit protects both
  std::uint64_t served = 0;
  std::uint64_t percent = 0, lost = 0; // lost: in the last run

  bool attempt(std::uint64_t k);
};

// Evenly spread, and the same in every program.
bool is_impatient(std::uint64_t k, std::uint64_t percent) {
  return k * percent / 100 != (k + 1) * percent / 100;
}

bool cancels::attempt(std::uint64_t k) {
  if (!is_impatient(k, percent)) {
    sem.acquire();
  } else if (!sem.acquire_or_give_up()) {
    return false;
  }
  require(!is_taken, "one fiber at a time has the permit");
  is_taken = true;
  boost::this_fiber::yield();
  is_taken = false;
  served += 1;
  sem.release();
  return true;
}

outcome cancel(const options &o) {
  cancels s;
  s.percent = o.amount;
  crew c;
  c.begin = [&s](std::uint64_t) { s.served = s.lost = 0; };
  c.work = [&s](unsigned, std::uint64_t operations) {
    std::uint64_t missed = 0;
    for (std::uint64_t k = 0; k < operations; k++) missed += !s.attempt(k);
    return missed;
  };
  c.check = [&s](std::uint64_t operations, const std::vector<std::uint64_t> &missed) {
    for (std::uint64_t n : missed) s.lost += n;
    require(s.served + s.lost == operations * missed.size(), "an acquire is served or given up");
  };
  outcome out = run(o, c);
  require(s.sem.available() == 1, "the permit was given back");
  double all = static_cast<double>(o.operations) * o.tasks;
  out.emplace_back("lost", static_cast<double>(s.lost) / all);
  return out;
}

} // namespace

const std::vector<bench_case> held_cases = {{"waits", "mutex", 0, waits<fibers::mutex>},
                                            {"waits", "sem", 0, waits<permit>},
                                            {"cancel", "sem", 0, cancel}};

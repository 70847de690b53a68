// locks.cpp: the mutex. It lets the running fiber overtake those that wait. There is no read-write
// lock.
#include <mutex>

#include "boost_bench.hpp"

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

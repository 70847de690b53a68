// family.cpp: the barrier and the condition variable.
#include <mutex>
#include <numeric>

#include "boost_bench.hpp"

static crew meeting_at(fibers::barrier &barrier) {
  crew c;
  c.work = [&barrier](unsigned, std::uint64_t operations) {
    std::uint64_t led = 0;
    for (std::uint64_t i = 0; i < operations; i++) led += barrier.wait();
    return led;
  };
  c.check = [](std::uint64_t operations, const std::vector<std::uint64_t> &sums) {
    require(std::accumulate(sums.begin(), sums.end(), std::uint64_t{0}) == operations,
            "a round has one leader");
  };
  return c;
}

// A round is an operation of all fibers; one fiber is all there are if it is alone.
static outcome barrier(const options &o) {
  fibers::barrier meeting(o.tasks);
  return scaled(run(o, meeting_at(meeting)), o.tasks);
}

static outcome alone_cond(const options &o) {
  fibers::condition_variable cond;
  crew c;
  c.work = [&cond](unsigned, std::uint64_t operations) {
    for (std::uint64_t i = 0; i < operations; i++) cond.notify_one();
    return std::uint64_t{0};
  };
  return run(o, c);
}

// Each waits for its turn, and gives it to the other.
static outcome cond(const options &o) {
  fibers::mutex mutex;
  fibers::condition_variable of[2];
  unsigned turn = 0;
  std::uint64_t count = 0;
  crew c;
  c.work = [&](unsigned index, std::uint64_t operations) {
    for (std::uint64_t i = 0; i < operations; i++) {
      std::unique_lock<fibers::mutex> lock(mutex);
      while (turn != index) of[index].wait(lock);
      turn = 1 - index;
      count += 1;
      of[1 - index].notify_one();
    }
    return std::uint64_t{0};
  };
  outcome out = run(o, c);
  require(count == in_all(o), "every hop was made");
  return out;
}

const std::vector<bench_case> family_cases = {{"alone-barrier", "fibers", 1, barrier},
                                              {"alone-cond", "fibers", 1, alone_cond},
                                              {"barrier", "fibers", 0, barrier},
                                              {"cond", "fibers", 2, cond}};

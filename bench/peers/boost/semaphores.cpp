// semaphores.cpp: acquire and give back.
#include "boost_bench.hpp"
#include "semaphore.hpp"

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

// parked.cpp: many fibers parked on one semaphore, then released one after the other.
#include <unistd.h>

#include <cstdio>

#include "boost_bench.hpp"
#include "semaphore.hpp"

static double resident_bytes() {
  std::FILE *in = std::fopen("/proc/self/statm", "r");
  unsigned long pages = 0;
  bool is_read = in && std::fscanf(in, "%*u %lu", &pages) == 1;
  if (in) std::fclose(in);
  require(is_read, "/proc/self/statm can be read");
  return static_cast<double>(pages) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

// A condition variable promises no order, so none is required.
static outcome parked(const options &o) {
  semaphore sem(0), all_served(0);
  std::uint64_t served = 0; // plain: one thread, one permit
  double before = resident_bytes();
  stacks s(o.workers);
  for (unsigned i = 0; i < o.tasks; i++) {
    spawn(s, [&] {
      sem.acquire();
      served += 1;
      (served < o.tasks ? sem : all_served).release();
    }).detach();
  }
  while (sem.waiters() < o.tasks) boost::this_fiber::yield();
  double count = o.tasks;
  double bytes = (resident_bytes() - before) / count;
  std::uint64_t start = now_ns(), cpu = cpu_ns();
  sem.release();
  all_served.acquire();
  outcome out = {{"ns", static_cast<double>(now_ns() - start) / count},
                 {"cpu_ns", static_cast<double>(cpu_ns() - cpu) / count},
                 {"bytes", bytes}};
  require(served == o.tasks && sem.available() == 0, "everybody is served once");
  return out;
}

const std::vector<bench_case> parked_cases = {{"parked", "sem", 0, parked}};

// The workloads of bench-chan on Boost.Fiber's buffered_channel: the same command line, the same
// work, the same JSON. What each workload does is said once, in chan_bench.h. Tasks are fibers;
// workers are threads that steal them from each other. Its channel holds one element less than its
// capacity, which is a power of two: a capacity of 1 is asked for as 2.
#include <boost/fiber/all.hpp>
#include <boost/version.hpp>
#include <chrono>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace {

namespace fibers = boost::fibers;
using channel = fibers::buffered_channel<std::uint64_t>;
using work = std::function<std::uint64_t()>;
using instant = std::chrono::steady_clock::time_point;

struct options {
  unsigned workers = 1, tasks = 8, capacity = 64;
  std::uint64_t operations = 10000;
};

struct span {
  instant start, end;
  std::uint64_t sum;
};

void require(bool so, const char *what) {
  if (so) return;
  std::fprintf(stderr, "bench-chan-boost: not so: %s\n", what);
  std::abort();
}

double cpu_ns() {
  std::timespec used;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) * 1e9 + static_cast<double>(used.tv_nsec);
}

void send(channel &c, std::uint64_t value) {
  require(c.push(value) == fibers::channel_op_status::success, "an element is sent");
}

std::uint64_t receive(channel &c) {
  std::uint64_t value = 0;
  require(c.pop(value) == fibers::channel_op_status::success, "an element is received");
  return value;
}

// Run these, each in a fiber of its own. Returns when each began and ended, and its sum.
std::vector<span> crew(const std::vector<work> &works) {
  std::vector<span> spans(works.size());
  std::vector<fibers::fiber> crew;
  for (std::size_t i = 0; i < works.size(); i++) {
    crew.emplace_back([&spans, &works, i] {
      instant start = std::chrono::steady_clock::now();
      std::uint64_t sum = works[i]();
      spans[i] = {start, std::chrono::steady_clock::now(), sum};
    });
  }
  for (fibers::fiber &f : crew) f.join();
  return spans;
}

std::size_t places(const options &o) {
  return o.capacity > 1 ? o.capacity : 2;
}

std::vector<span> pair(const options &o, std::uint64_t operations) {
  channel c(places(o));
  std::vector<span> spans = crew({[&c, operations] {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < operations; i++) {
      send(c, i);
      sum += receive(c);
    }
    return sum;
  }});
  require(spans[0].sum == operations * (operations - 1) / 2, "what was sent is received");
  return spans;
}

// As many receive as send.
std::vector<span> mpmc(const options &o, std::uint64_t operations) {
  channel c(places(o));
  std::vector<work> works;
  unsigned senders = o.tasks / 2;
  for (std::uint64_t index = 0; index < senders; index++) {
    works.push_back([&c, index, operations] {
      std::uint64_t sum = 0;
      for (std::uint64_t i = 0; i < operations; i++) {
        std::uint64_t value = index << 32 | i;
        sum += value;
        send(c, value);
      }
      return sum;
    });
  }
  for (unsigned i = 0; i < senders; i++) {
    works.push_back([&c, operations] {
      std::uint64_t sum = 0;
      for (std::uint64_t i = 0; i < operations; i++) sum += receive(c);
      return sum;
    });
  }
  std::vector<span> spans = crew(works);
  std::uint64_t sent = 0, received = 0;
  for (unsigned i = 0; i < 2 * senders; i++) (i < senders ? sent : received) += spans[i].sum;
  require(sent == received, "what was sent is received");
  return spans;
}

std::vector<span> pingpong(const options &o, std::uint64_t operations) {
  channel to_1(places(o)), to_0(places(o));
  std::vector<span> spans = crew({[&to_1, &to_0, operations] {
                                    std::uint64_t sum = 0;
                                    for (std::uint64_t i = 0; i < operations; i++) {
                                      send(to_1, i + 1);
                                      sum += receive(to_0);
                                    }
                                    return sum;
                                  },
                                  [&to_1, &to_0, operations] {
                                    std::uint64_t sum = 0;
                                    for (std::uint64_t i = 0; i < operations; i++) {
                                      std::uint64_t value = receive(to_1);
                                      sum += value;
                                      send(to_0, value);
                                    }
                                    return sum;
                                  }});
  require(spans[0].sum == spans[1].sum, "what was sent is received");
  return spans;
}

using workload_fn = std::vector<span>(const options &o, std::uint64_t operations);

struct outcome {
  double ns, cpu_ns, overlap;
};

double ns_between(instant start, instant end) {
  return static_cast<double>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(end - start).count());
}

// Twice, first for an eighth of the operations, which does not count. each: how many elements, or
// hops, there are to an operation.
outcome measure(const options &o, unsigned each, workload_fn *run) {
  run(o, o.operations / 8 + 1);
  double cpu = cpu_ns();
  std::vector<span> spans = run(o, o.operations);
  cpu = cpu_ns() - cpu;
  instant first = spans[0].start, last = spans[0].end;
  double own = 0;
  for (const span &s : spans) {
    if (s.start < first) first = s.start;
    if (s.end > last) last = s.end;
    own += ns_between(s.start, s.end);
  }
  double whole = ns_between(first, last);
  double all = static_cast<double>(o.operations) * each;
  return {whole / all, cpu / all, own / whole / static_cast<double>(spans.size())};
}

// The other workers wait here for the end, and run fibers meanwhile.
class crowd {
 public:
  explicit crowd(unsigned workers) {
    for (unsigned i = 1; i < workers; i++) {
      threads_.emplace_back([this, workers] {
        fibers::use_scheduling_algorithm<fibers::algo::work_stealing>(workers);
        std::unique_lock<fibers::mutex> lock(mutex_);
        over_.wait(lock, [this] { return is_over_; });
      });
    }
    if (workers > 1) fibers::use_scheduling_algorithm<fibers::algo::work_stealing>(workers);
  }
  ~crowd() {
    {
      std::unique_lock<fibers::mutex> lock(mutex_);
      is_over_ = true;
    }
    over_.notify_all();
    for (std::thread &t : threads_) t.join();
  }

 private:
  std::vector<std::thread> threads_;
  fibers::mutex mutex_;
  fibers::condition_variable over_;
  bool is_over_ = false;
};

int usage() {
  std::fprintf(stderr,
               "usage: bench-chan-boost pair|mpmc|pingpong [--workers N] [--tasks N]\n"
               "                        [--capacity N] [--operations N]\n");
  return 2;
}

bool take(options &o, const char *name, const char *value) {
  char *end;
  unsigned long long n = std::strtoull(value, &end, 10);
  if (*value == '\0' || *end != '\0' || n < 1 || n > UINT32_MAX) return false;
  unsigned count = static_cast<unsigned>(n);
  if (std::strcmp(name, "--workers") == 0) return (o.workers = count) > 0;
  if (std::strcmp(name, "--tasks") == 0) return (o.tasks = count) > 0;
  if (std::strcmp(name, "--capacity") == 0) return (o.capacity = count) > 0;
  return std::strcmp(name, "--operations") == 0 && (o.operations = n) > 0;
}

} // namespace

int main(int argc, char **argv) {
  options o;
  if (argc < 2 || argc % 2 != 0) return usage();
  for (int i = 2; i < argc; i += 2) {
    if (!take(o, argv[i], argv[i + 1])) return usage();
  }
  const char *workload = argv[1];
  workload_fn *run = std::strcmp(workload, "pair") == 0       ? pair
                     : std::strcmp(workload, "mpmc") == 0     ? mpmc
                     : std::strcmp(workload, "pingpong") == 0 ? pingpong
                                                              : nullptr;
  if (!run) return usage();
  unsigned each = run == mpmc ? o.tasks / 2 : run == pingpong ? 2 : 1;
  crowd workers(o.workers);
  outcome out = measure(o, each, run);
  std::printf(
      "{\"runtime\": \"boost\", \"version\": \"Boost.Fiber %d.%d\", \"workload\": \"%s\", "
      "\"workers\": %u, \"tasks\": %u, \"capacity\": %u, \"operations\": %" PRIu64
      ", \"ns\": %.6f, \"cpu_ns\": %.6f, \"overlap\": %.6f}\n",
      BOOST_VERSION / 100000, BOOST_VERSION / 100 % 1000, workload, o.workers, o.tasks, o.capacity,
      o.operations, out.ns, out.cpu_ns, out.overlap);
  return 0;
}

// crew.cpp: some fibers that do the same number of operations each.
#include <algorithm>
#include <atomic>
#include <ctime>

#include "boost_bench.hpp"

std::uint64_t cpu_ns() {
  std::timespec used;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<std::uint64_t>(used.tv_sec) * 1000000000 +
         static_cast<std::uint64_t>(used.tv_nsec);
}

outcome scaled(outcome out, double by) {
  for (auto &[name, value] : out) {
    if (name == "ns" || name == "cpu_ns") value *= by;
  }
  return out;
}

outcome without(outcome out, const char *name) {
  out.erase(std::remove_if(out.begin(), out.end(), [name](auto &f) { return f.first == name; }),
            out.end());
  return out;
}

namespace {

struct alignas(64) span { // members stamp on a line each
  std::uint64_t start, end, sum;
};

// Fibers that have not begun yet let others run until the line opens: that they are made is not
// what is measured.
struct start_line {
  std::atomic<bool> is_open{false};
  void await() {
    while (!is_open.load(std::memory_order_acquire)) boost::this_fiber::yield();
  }
  void open() {
    is_open.store(true, std::memory_order_release);
  }
};

outcome told(const std::vector<span> &spans, std::uint64_t operations, std::uint64_t cpu) {
  std::uint64_t first = spans[0].start, last = spans[0].end, own = 0;
  for (const span &s : spans) {
    first = std::min(first, s.start);
    last = std::max(last, s.end);
    own += s.end - s.start;
  }
  double whole = static_cast<double>(last - first), count = static_cast<double>(spans.size());
  double all = static_cast<double>(operations) * count;
  return {{"ns", whole / all},
          {"cpu_ns", static_cast<double>(cpu) / all},
          {"overlap", static_cast<double>(own) / whole / count}};
}

void look(const crew &c, std::uint64_t operations, const std::vector<span> &spans) {
  if (!c.check) return;
  std::vector<std::uint64_t> sums;
  for (const span &s : spans) sums.push_back(s.sum);
  c.check(operations, sums);
}

outcome once(const options &o, const crew &c, stacks &s, std::uint64_t operations) {
  if (c.begin) c.begin(operations);
  std::vector<span> spans(o.tasks);
  std::vector<fibers::fiber> members;
  members.reserve(o.tasks);
  start_line line;
  for (unsigned i = 0; i < o.tasks; i++) {
    members.push_back(spawn(s, [&, i] {
      line.await();
      spans[i].start = now_ns();
      spans[i].sum = c.work(i, operations);
      spans[i].end = now_ns();
    }));
  }
  if (c.counts_allocations) count_allocations();
  std::uint64_t cpu = cpu_ns();
  line.open();
  for (fibers::fiber &f : members) f.join();
  cpu = cpu_ns() - cpu;
  outcome out = told(spans, operations, cpu);
  if (c.counts_allocations) {
    double all = static_cast<double>(operations) * o.tasks;
    out.emplace_back("allocations", static_cast<double>(allocations_counted()) / all);
  }
  look(c, operations, spans);
  return out;
}

} // namespace

outcome run(const options &o, const crew &c) {
  workers threads(o.workers);
  stacks s(o.workers);
  once(o, c, s, warm_up(o.operations));
  return once(o, c, s, o.operations);
}

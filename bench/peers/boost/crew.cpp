// crew.cpp: some fibers that do the same number of operations each; the threads that run them, and
// their stacks; the allocator, which counts.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <memory>
#include <mutex>
#include <thread>

#include "boost_bench.hpp"

// ---- fibers ----

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

// ---- threads ----

// One thread alone has the library's default scheduler, round_robin, which has no lock. Thieves who
// find nothing go on looking, as is their default: if they slept, nobody would wake them for what
// there is to steal.
workers::workers(unsigned count) {
  for (unsigned i = 1; i < count; i++) {
    threads_.emplace_back([this, count] {
      fibers::use_scheduling_algorithm<fibers::algo::work_stealing>(count);
      std::unique_lock<fibers::mutex> lock(mutex_);
      over_.wait(lock, [this] { return is_over_; });
    });
  }
  if (count > 1) fibers::use_scheduling_algorithm<fibers::algo::work_stealing>(count);
}

workers::~workers() {
  {
    std::unique_lock<fibers::mutex> lock(mutex_);
    is_over_ = true;
  }
  over_.notify_all();
  for (std::thread &t : threads_) t.join();
}

// ---- stacks ----

// Two pages: a fiber needs most of that when it ends, because it is unwound. The pool grows by so
// many stacks at most, that few of them lie idle.
static constexpr std::size_t stack_bytes = 8192, first_stacks = 32, most_stacks = 1024;

struct stacks::shared {
  bool has_lock;
  std::mutex mutex;
  fibers::pooled_fixedsize_stack pool{stack_bytes, first_stacks, most_stacks};
};

stacks::stacks(unsigned workers) : shared_(std::make_shared<shared>()) {
  shared_->has_lock = workers > 1;
}

boost::context::stack_context stacks::allocate() {
  if (!shared_->has_lock) return shared_->pool.allocate();
  std::lock_guard<std::mutex> lock(shared_->mutex);
  return shared_->pool.allocate();
}

void stacks::deallocate(boost::context::stack_context &stack) {
  if (!shared_->has_lock) return shared_->pool.deallocate(stack);
  std::lock_guard<std::mutex> lock(shared_->mutex);
  shared_->pool.deallocate(stack);
}

// ---- the C library's allocator, which counts while it is asked to; operator new and the pools of
// Boost call it ----

static std::atomic<bool> is_counting{false};
static std::atomic<std::uint64_t> count{0};

void count_allocations() {
  count.store(0);
  is_counting.store(true);
}

std::uint64_t allocations_counted() {
  is_counting.store(false);
  return count.load();
}

static void note() {
  if (is_counting.load(std::memory_order_relaxed)) count.fetch_add(1, std::memory_order_relaxed);
}

extern "C" {

void *__libc_malloc(std::size_t bytes);
void *__libc_calloc(std::size_t many, std::size_t bytes);
void *__libc_realloc(void *memory, std::size_t bytes);
void *__libc_memalign(std::size_t alignment, std::size_t bytes);

void *malloc(std::size_t bytes) {
  note();
  return __libc_malloc(bytes);
}

void *calloc(std::size_t many, std::size_t bytes) {
  note();
  return __libc_calloc(many, bytes);
}

void *realloc(void *memory, std::size_t bytes) {
  note();
  return __libc_realloc(memory, bytes);
}

void *memalign(std::size_t alignment, std::size_t bytes) {
  note();
  return __libc_memalign(alignment, bytes);
}

void *aligned_alloc(std::size_t alignment, std::size_t bytes) {
  note();
  return __libc_memalign(alignment, bytes);
}

int posix_memalign(void **memory, std::size_t alignment, std::size_t bytes) {
  if (alignment % sizeof(void *) != 0 || (alignment & (alignment - 1)) != 0) return EINVAL;
  note();
  *memory = __libc_memalign(alignment, bytes);
  return *memory ? 0 : ENOMEM;
}

} // extern "C"

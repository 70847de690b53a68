// asio.cpp: the C++20 coroutines of Asio (asio::awaitable) under the workloads of bench/README.md,
// which says what each of them is. One worker: an io_context that one thread runs. Asio has no
// semaphore for coroutines: permits are what is in an experimental::channel.
#include <unistd.h>

#include <algorithm>
#include <asio.hpp>
#include <asio/experimental/channel.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <memory>
#include <vector>

namespace {

constexpr unsigned most_seconds = 60; // a run that hangs ends by a signal

using asio::awaitable;
using asio::use_awaitable;
using permits = asio::experimental::channel<void(asio::error_code, char)>;

struct options {
  unsigned workers = 1, tasks = 8, amount = 0;
  std::uint64_t operations = 10000;
};

struct outcome {
  double ns = -1, cpu_ns = -1, bytes = -1;
};

void require(bool so, const char *what) {
  if (so) return;
  std::fprintf(stderr, "bench-asio: not so: %s\n", what);
  std::_Exit(1);
}

std::uint64_t now_ns(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1000000000u + static_cast<std::uint64_t>(t.tv_nsec);
}

// How many operations the run has that does not count.
std::uint64_t warm_up(std::uint64_t operations) {
  return operations / 8 + 1;
}

// ---- crews: coroutines that do so many operations each ----

using member = std::function<awaitable<void>(unsigned index, std::uint64_t operations)>;

outcome run_once(asio::io_context &io, unsigned tasks, std::uint64_t operations,
                 const member &work) {
  unsigned ended = 0;
  io.restart();
  for (unsigned i = 0; i < tasks; i++) {
    asio::co_spawn(io, work(i, operations), [&](std::exception_ptr thrown) {
      require(!thrown, "no coroutine throws");
      ended += 1;
    });
  }
  std::uint64_t start_ns = now_ns(CLOCK_MONOTONIC), cpu_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID);
  io.run();
  cpu_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns;
  std::uint64_t whole_ns = now_ns(CLOCK_MONOTONIC) - start_ns;
  require(ended == tasks, "every coroutine has ended");
  double all = static_cast<double>(operations) * tasks;
  return {static_cast<double>(whole_ns) / all, static_cast<double>(cpu_ns) / all, -1};
}

// Twice, first with an eighth of the operations, which does not count.
outcome run_crew(const options &o, asio::io_context &io, const member &work) {
  run_once(io, o.tasks, warm_up(o.operations), work);
  return run_once(io, o.tasks, o.operations, work);
}

outcome yield(const options &o) {
  asio::io_context io(1);
  std::uint64_t yields = 0;
  outcome out = run_crew(o, io, [&](unsigned, std::uint64_t n) -> awaitable<void> {
    for (std::uint64_t i = 0; i < n; i++, yields++) co_await asio::post(use_awaitable);
  });
  require(yields == o.tasks * (o.operations + warm_up(o.operations)), "all have yielded");
  return out;
}

void fill(permits &p, unsigned count) {
  for (unsigned i = 0; i < count; i++)
    require(p.try_send(asio::error_code(), char()), "there is room");
}

outcome on_permits(const options &o, unsigned count, bool yields) {
  asio::io_context io(1);
  permits p(io, count);
  fill(p, count);
  outcome out = run_crew(o, io, [&, yields](unsigned, std::uint64_t n) -> awaitable<void> {
    for (std::uint64_t i = 0; i < n; i++) {
      co_await p.async_receive(use_awaitable);
      if (yields) co_await asio::post(use_awaitable);
      require(p.try_send(asio::error_code(), char()), "a permit is given back");
    }
  });
  unsigned left = 0;
  while (p.try_receive([](asio::error_code, char) {})) left += 1;
  require(left == count, "every permit was given back");
  return out;
}

outcome alone(const options &o) {
  return on_permits(o, 1, false);
}

outcome held(const options &o) {
  return on_permits(o, o.amount, true);
}

outcome pingpong(const options &o) {
  asio::io_context io(1);
  permits one(io, 1), two(io, 1);
  permits *both[] = {&one, &two};
  return run_crew(o, io, [&](unsigned index, std::uint64_t n) -> awaitable<void> {
    for (std::uint64_t i = 0; i < n; i++) {
      if (index == 0) require(two.try_send(asio::error_code(), char()), "there is room");
      co_await both[index]->async_receive(use_awaitable);
      if (index == 1) require(one.try_send(asio::error_code(), char()), "there is room");
    }
  });
}

// ---- coroutines themselves ----

awaitable<std::uint64_t> next(std::uint64_t n) {
  co_return n + 1;
}

outcome child(const options &o) {
  asio::io_context io(1);
  return run_crew(o, io, [](unsigned, std::uint64_t count) -> awaitable<void> {
    std::uint64_t n = 0;
    while (n < count) n = co_await next(n);
  });
}

awaitable<void> spawn_batches(unsigned size, std::uint64_t count, std::uint64_t &sum) {
  auto here = co_await asio::this_coro::executor;
  permits all_ended(here, 1);
  for (std::uint64_t n = 0; n < count; n++) {
    unsigned ended = 0;
    for (unsigned i = 0; i < size; i++) {
      asio::co_spawn(here, next(i), [&](std::exception_ptr, std::uint64_t number) {
        sum += number;
        if (++ended == size) all_ended.try_send(asio::error_code(), char());
      });
    }
    co_await all_ended.async_receive(use_awaitable);
  }
}

outcome spawn(const options &o) {
  asio::io_context io(1);
  options root = o;
  root.tasks = 1;
  std::uint64_t sum = 0, size = o.tasks;
  outcome out = run_crew(
      root, io, [&](unsigned, std::uint64_t count) { return spawn_batches(o.tasks, count, sum); });
  std::uint64_t batches = o.operations + warm_up(o.operations);
  require(sum == batches * (size * (size + 1) / 2), "every coroutine has run once");
  return {out.ns / o.tasks, out.cpu_ns / o.tasks, -1};
}

// ---- parked ----

double resident_bytes() {
  std::FILE *in = std::fopen("/proc/self/statm", "r");
  unsigned long pages = 0;
  bool is_read = in && std::fscanf(in, "%*u %lu", &pages) == 1;
  if (in) std::fclose(in);
  require(is_read, "/proc/self/statm can be read");
  return static_cast<double>(pages) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

awaitable<void> park(permits &p, std::uint64_t &arrived, std::uint64_t &served) {
  arrived += 1;
  co_await p.async_receive(use_awaitable);
  served += 1;
  p.try_send(asio::error_code(), char());
}

outcome parked(const options &o) {
  asio::io_context io(1);
  permits p(io, 1);
  std::uint64_t arrived = 0, served = 0;
  double before = resident_bytes();
  for (unsigned i = 0; i < o.tasks; i++) {
    asio::co_spawn(io, park(p, arrived, served), asio::detached);
  }
  while (arrived < o.tasks) io.poll_one();
  io.poll();
  outcome out;
  out.bytes = (resident_bytes() - before) / o.tasks;
  std::uint64_t start_ns = now_ns(CLOCK_MONOTONIC), cpu_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID);
  require(p.try_send(asio::error_code(), char()), "the first is served");
  io.restart();
  io.run();
  out.ns = static_cast<double>(now_ns(CLOCK_MONOTONIC) - start_ns) / o.tasks;
  out.cpu_ns = static_cast<double>(now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns) / o.tasks;
  require(served == o.tasks, "all are served");
  return out;
}

// ---- the command ----

struct bench_case {
  const char *workload;
  unsigned tasks; // so many, and no others; 0: any number
  bool needs_amount;
  outcome (*run)(const options &o);
};

constexpr bench_case cases[] = {{"yield", 0, false, yield},     {"held", 0, true, held},
                                {"alone-sem", 1, false, alone}, {"pingpong", 2, false, pingpong},
                                {"spawn", 0, false, spawn},     {"child", 1, false, child},
                                {"parked", 0, false, parked}};

[[noreturn]] void usage(std::FILE *out, int status) {
  std::fprintf(out,
               "usage: bench-asio WORKLOAD [--workers 1] [--tasks N] [--amount N] "
               "[--operations N]\n");
  for (const bench_case &c : cases) std::fprintf(out, "  %s\n", c.workload);
  std::exit(status);
}

unsigned number(const char *name, const char *text) {
  char *end;
  unsigned long long n = std::strtoull(text, &end, 10);
  if (*text < '0' || *text > '9' || *end != '\0' || n > INT32_MAX) {
    std::fprintf(stderr, "bench-asio: out of range: %s\n", name);
    std::exit(2);
  }
  return static_cast<unsigned>(n);
}

void take(options &o, const char *name, const char *value) {
  if (std::strcmp(name, "--workers") == 0)
    o.workers = number(name, value);
  else if (std::strcmp(name, "--tasks") == 0)
    o.tasks = number(name, value);
  else if (std::strcmp(name, "--amount") == 0)
    o.amount = number(name, value);
  else if (std::strcmp(name, "--operations") == 0)
    o.operations = number(name, value);
  else
    usage(stderr, 2);
}

} // namespace

int main(int argc, char **argv) {
  options o;
  if (argc == 2 && std::strcmp(argv[1], "--help") == 0) usage(stdout, 0);
  if (argc < 2 || argc % 2 != 0) usage(stderr, 2);
  auto c = std::find_if(std::begin(cases), std::end(cases), [&](const bench_case &some) {
    return std::strcmp(some.workload, argv[1]) == 0;
  });
  if (c == std::end(cases)) usage(stderr, 2);
  if (c->tasks) o.tasks = c->tasks;
  for (int i = 2; i < argc; i += 2) take(o, argv[i], argv[i + 1]);
  bool is_wrong = o.workers != 1 || o.tasks == 0 || (c->tasks && o.tasks != c->tasks) ||
                  o.operations == 0 || (c->needs_amount && o.amount == 0);
  if (is_wrong) usage(stderr, 2);
  alarm(most_seconds);
  outcome out = c->run(o);
  std::printf("{\"version\": \"Asio %d.%d.%d\"", ASIO_VERSION / 100000, ASIO_VERSION / 100 % 1000,
              ASIO_VERSION % 100);
  std::printf(", \"ns\": %.6f, \"cpu_ns\": %.6f", out.ns, out.cpu_ns);
  if (out.bytes >= 0) std::printf(", \"bytes\": %.6f", out.bytes);
  std::printf("}\n");
  return 0;
}

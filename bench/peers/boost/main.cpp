// main.cpp: which workload, with what; the result as JSON.
#include <unistd.h>

#include <boost/version.hpp>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "boost_bench.hpp"

namespace {

constexpr unsigned most_seconds = 60; // a run that hangs ends by a signal

std::vector<bench_case> cases() {
  std::vector<bench_case> all;
  for (const auto *some : {&lock_cases, &sem_cases, &channel_cases, &task_cases, &held_cases,
                           &parked_cases, &family_cases}) {
    all.insert(all.end(), some->begin(), some->end());
  }
  return all;
}

[[noreturn]] void usage(std::FILE *out, int status) {
  std::fprintf(out,
               "usage: bench-boost WORKLOAD [--engine NAME] [--workers N] [--tasks N]\n"
               "                   [--amount N] [--operations N]\n");
  for (const bench_case &c : cases()) {
    std::fprintf(out, *c.engine ? "  %-14s %s\n" : "  %s\n", c.workload, c.engine);
  }
  std::exit(status);
}

[[noreturn]] void refuse(const char *what, const char *which) {
  std::fprintf(stderr, "bench-boost: %s: %s\n", what, which);
  std::exit(2);
}

bench_case find(const char *workload, const char *engine) {
  bool is_known = false;
  for (const bench_case &c : cases()) {
    if (std::strcmp(c.workload, workload) != 0) continue;
    is_known = true;
    if (!*engine || std::strcmp(c.engine, engine) == 0) return c;
  }
  if (is_known) refuse("this workload has no such engine", engine);
  std::fprintf(stderr, "bench-boost: there is no workload %s\n", workload);
  usage(stderr, 2);
}

unsigned number(const char *name, const char *text, unsigned least) {
  char *end;
  errno = 0;
  unsigned long long n = std::strtoull(text, &end, 10);
  bool is_number = *text >= '0' && *text <= '9' && *end == '\0' && errno == 0;
  if (!is_number || n < least || n > INT32_MAX) refuse("out of range", name);
  return static_cast<unsigned>(n);
}

void take(options &o, const char *&engine, const char *name, const char *value) {
  if (std::strcmp(name, "--engine") == 0) {
    engine = value;
  } else if (std::strcmp(name, "--workers") == 0) {
    o.workers = number(name, value, 1);
  } else if (std::strcmp(name, "--tasks") == 0) {
    o.tasks = number(name, value, 1);
  } else if (std::strcmp(name, "--amount") == 0) {
    o.amount = number(name, value, 0);
  } else if (std::strcmp(name, "--operations") == 0) {
    o.operations = number(name, value, 1);
  } else {
    usage(stderr, 2);
  }
}

// What was not said, and what cannot be.
void fit(const bench_case &c, options &o) {
  const std::string workload = c.workload;
  if (o.tasks == 0) o.tasks = c.tasks ? c.tasks : 8;
  if (c.tasks && o.tasks != c.tasks) refuse("it has another number of --tasks", c.workload);
  if (workload == "cancel" && o.amount > 100) refuse("--amount is per cent", c.workload);
  if (workload == "mpmc" && o.tasks % 2 != 0) refuse("--tasks is even", c.workload);
  if (workload == "parked" && o.workers != 1) refuse("it has one of --workers", c.workload);
  if ((workload == "sem" || workload == "held") && o.amount == 0) {
    refuse("it needs --amount, the permits", c.workload);
  }
  bool is_channel = std::strcmp(c.engine, "chan") == 0;
  if (is_channel && (o.amount == 0 || (o.amount & (o.amount - 1)) != 0)) {
    refuse("--amount, the capacity, is a power of two", c.workload);
  }
}

} // namespace

// A fiber has not enough stack for stdio.
void require(bool so, const char *what) {
  if (so) return;
  for (const char *text : {"bench-boost: not so: ", what, "\n"}) {
    if (write(STDERR_FILENO, text, std::strlen(text)) < 0) break;
  }
  std::_Exit(1);
}

int main(int argc, char **argv) {
  options o;
  const char *engine = "";
  if (argc == 2 && std::strcmp(argv[1], "--help") == 0) usage(stdout, 0);
  if (argc < 2 || argc % 2 != 0) usage(stderr, 2);
  for (int i = 2; i < argc; i += 2) take(o, engine, argv[i], argv[i + 1]);
  bench_case c = find(argv[1], engine);
  fit(c, o);
  alarm(most_seconds);
  std::printf("{\"version\": \"Boost.Fiber %d.%d\"", BOOST_VERSION / 100000,
              BOOST_VERSION / 100 % 1000);
  for (const auto &[name, value] : c.run(o)) std::printf(", \"%s\": %.6f", name.c_str(), value);
  std::printf("}\n");
  return 0;
}

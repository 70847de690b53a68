// tasks.cpp: what fibers cost.
#include "boost_bench.hpp"

static outcome yield(const options &o) {
  crew c;
  c.work = [](unsigned, std::uint64_t operations) {
    for (std::uint64_t i = 0; i < operations; i++) boost::this_fiber::yield();
    return std::uint64_t{0};
  };
  return run(o, c);
}

// A fiber returns nothing: it leaves its number where the one who joins it finds it.
static std::uint64_t batch(stacks &s, std::vector<fibers::fiber> &children,
                           std::vector<std::uint64_t> &numbers) {
  for (std::size_t i = 0; i < numbers.size(); i++) {
    children.push_back(spawn(s, [&number = numbers[i], i] { number = i + 1; }));
  }
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < numbers.size(); i++) {
    children[i].join();
    sum += numbers[i];
    numbers[i] = 0;
  }
  children.clear();
  return sum;
}

static outcome spawn_and_join(const options &o) {
  stacks s(o.workers);
  std::vector<std::uint64_t> numbers(o.tasks);
  std::vector<fibers::fiber> children;
  children.reserve(o.tasks);
  options root = o;
  root.tasks = 1;
  crew c;
  c.work = [&](unsigned, std::uint64_t batches) {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < batches; i++) sum += batch(s, children, numbers);
    return sum;
  };
  c.check = [&o](std::uint64_t batches, const std::vector<std::uint64_t> &sums) {
    std::uint64_t count = o.tasks;
    require(sums[0] == batches * (count * (count + 1) / 2), "every fiber has run once");
  };
  return without(scaled(run(root, c), 1.0 / o.tasks), "overlap");
}

const std::vector<bench_case> task_cases = {{"spawn", "", 0, spawn_and_join},
                                            {"yield", "", 0, yield}};

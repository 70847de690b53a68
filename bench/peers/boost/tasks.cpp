// tasks.cpp: fibers themselves, many that are parked, and what else they can wait for: barrier,
// condition variable, channel.
#include <unistd.h>

#include <cstdio>
#include <mutex>
#include <numeric>

#include "boost_bench.hpp"

// ---- what fibers cost ----

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

// ---- many fibers parked on one semaphore, then released one after the other ----

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

// ---- the barrier and the condition variable ----

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

// ---- channels: buffered_channel of 64-bit elements ----

using channel = fibers::buffered_channel<std::uint64_t>;

// It holds one element less than it has places, of which there is a power of two: there are as many
// as the capacity that is asked for, and two for one.
static std::size_t places(const options &o) {
  return o.amount > 1 ? o.amount : 2;
}

static void send(channel &c, std::uint64_t value) {
  require(c.push(value) == fibers::channel_op_status::success, "an element is sent");
}

static std::uint64_t receive(channel &c) {
  std::uint64_t value = 0;
  require(c.pop(value) == fibers::channel_op_status::success, "an element is received");
  return value;
}

static void require_empty(channel &c) {
  std::uint64_t value;
  require(c.try_pop(value) == fibers::channel_op_status::empty, "everything was received");
}

static outcome alone(const options &o) {
  channel chan(places(o));
  crew c;
  c.work = [&chan](unsigned, std::uint64_t operations) {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < operations; i++) {
      send(chan, i + 1);
      sum += receive(chan);
    }
    return sum;
  };
  c.check = [](std::uint64_t operations, const std::vector<std::uint64_t> &sums) {
    require(sums[0] == operations * (operations + 1) / 2, "what was sent is received");
  };
  return run(o, c);
}

// Of numbers that only this member sends.
static std::uint64_t send_all(channel &chan, unsigned index, std::uint64_t operations) {
  std::uint64_t sum = 0, first = static_cast<std::uint64_t>(index) << 32;
  for (std::uint64_t i = 0; i < operations; i++) {
    sum += first | i;
    send(chan, first | i);
  }
  return sum;
}

// As many receive as send. Per element: half of the members' operations.
static outcome mpmc(const options &o) {
  channel chan(places(o));
  unsigned senders = o.tasks / 2;
  crew c;
  c.work = [&chan, senders](unsigned index, std::uint64_t operations) {
    if (index < senders) return send_all(chan, index, operations);
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < operations; i++) sum += receive(chan);
    return sum;
  };
  c.check = [&chan, senders](std::uint64_t, const std::vector<std::uint64_t> &sums) {
    std::uint64_t sent = 0, received = 0;
    for (std::size_t i = 0; i < sums.size(); i++) (i < senders ? sent : received) += sums[i];
    require(sent == received, "what was sent is received");
    require_empty(chan);
  };
  return scaled(run(o, c), 2);
}

// Member 0 serves: it sends first, and the other sends back what it has received.
static outcome pingpong(const options &o) {
  channel to_0(places(o)), to_1(places(o));
  crew c;
  c.work = [&](unsigned index, std::uint64_t operations) {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < operations; i++) {
      if (index == 0) {
        send(to_1, i + 1);
        sum += receive(to_0);
      } else {
        std::uint64_t value = receive(to_1);
        sum += value;
        send(to_0, value);
      }
    }
    return sum;
  };
  c.check = [](std::uint64_t operations, const std::vector<std::uint64_t> &sums) {
    std::uint64_t all = operations * (operations + 1) / 2;
    require(sums[0] == all && sums[1] == all, "what was sent is received");
  };
  return run(o, c);
}

const std::vector<bench_case> channel_cases = {{"alone-chan", "chan", 1, alone},
                                               {"mpmc", "chan", 0, mpmc},
                                               {"chan-pingpong", "chan", 2, pingpong}};

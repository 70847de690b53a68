// channels.cpp: buffered_channel of 64-bit elements.
#include "boost_bench.hpp"

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

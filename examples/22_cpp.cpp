/* 22_cpp.cpp: volt in C++: a pool of connections, a channel of queries, threads and fibers that
 * share both. work() runs on a thread and in a fiber: wait() blocks the one and suspends the other.
 * Guards give back what they hold, also when an exception passes.
 *
 *   c++ -std=c++17 22_cpp.cpp $(pkg-config --cflags --libs volt-rt)
 *
 * prints: 400 queries answered, 10 refused
 * prints: 0 connections in use */
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <thread>
#include <volt/volt.hpp>

using namespace std::chrono_literals;

constexpr int threads = 2, fibers = 8, queries = 400;

struct query {
  int number;
};

static volt::semaphore connections(3);
static volt::channel<query, 16> jobs;

struct totals {
  volt::mutex lock;
  int answered = 0;
  int refused = 0;
};
static totals all;

/* Now and then the server refuses. */
static int run_on_a_connection(query q) {
  if (q.number % 41 == 40) throw std::runtime_error("the server says no");
  return q.number;
}

static void answer(query q) {
  volt::permits connection = connections.acquire().wait_for(10s); /* or throws volt::timed_out */
  run_on_a_connection(q);
  volt::sleep_for(10us).wait(); /* a fiber lets the others of its thread run */
}

static void work() {
  for (query q : jobs) { /* until the channel is closed and empty */
    bool done = true;
    try {
      answer(q);
    } catch (const std::runtime_error &) {
      done = false;
    }
    volt::lock guard(all.lock);
    ++(done ? all.answered : all.refused);
  }
}

int main() {
  volt::runtime rt;
  volt::group crew; /* ends when all its fibers have */
  std::thread team[threads];
  for (std::thread &t : team) t = std::thread(work);
  for (int i = 0; i < fibers; i++) crew.spawn(rt, work);

  for (int i = 0; i < queries + 10; i++) jobs.send(query{i}).wait(); /* waits while it is full */
  jobs.close();

  crew.joined().wait();
  for (std::thread &t : team) t.join();
  std::printf("%d queries answered, %d refused\n", all.answered, all.refused);
  std::printf("%u connections in use\n", connections.limit() - connections.available());
}

/* 28_asio.cpp: coroutines of Asio and a thread share a mutex and three connections. Asio has neither: its
 * issue 935 asks for the first. A wait for a connection ends after a time, and nothing is lost.
 * STANDARD: C++20
 *
 *   c++ -std=c++20 28_asio.cpp $(pkg-config --cflags --libs volt-sync)
 *
 * prints: 2000 lines, 2000 in their place
 * prints: 50 requests, 1 gave up; 3 connections are free */
#include <volt/asio.hpp>

#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
#if VOLT_ASIO_BOOST
namespace asio = boost::asio;
#include <boost/asio/experimental/awaitable_operators.hpp>
#else
#include <asio/experimental/awaitable_operators.hpp>
#endif
using namespace asio::experimental::awaitable_operators;

struct journal {
  volt::async_mutex mutex;
  std::vector<std::string> lines;
};

/* Two lines that belong together. The coroutine is suspended with the lock, and another thread of the pool
 * may go on with it. */
static asio::awaitable<void> write_pairs(journal &to, std::string name) {
  for (int i = 0; i < 250; i++) {
    co_await to.mutex.lock();
    to.lines.push_back(name);
    co_await asio::post(asio::use_awaitable);
    to.lines.push_back(name);
    to.mutex.unlock();
  }
}

/* What is no coroutine waits in the same queue. */
static void write_by_thread(journal &to) {
  for (int i = 0; i < 250; i++) {
    volt::lock guard = volt::lock_operation(*to.mutex.c()).wait();
    to.lines.insert(to.lines.end(), 2, "thread");
  }
}

struct requests {
  volt::semaphore connections{3};
  int answered = 0, given_up = 0;
};

static asio::awaitable<void> request(requests &all) {
  volt::permits connection = co_await volt::async_wait(all.connections.acquire());
  co_await asio::post(asio::use_awaitable); /* given back when this ends, however that is */
  all.answered += 1;
}

/* All three, of which one is not given back in time. */
static asio::awaitable<void> impatient(requests &all) {
  asio::steady_timer timer(co_await asio::this_coro::executor, 1ms);
  auto first = co_await (volt::async_wait(all.connections.acquire(3), asio::use_awaitable) ||
                         timer.async_wait(asio::use_awaitable));
  if (first.index() == 1) all.given_up += 1;
}

static void share_a_mutex() {
  journal out;
  asio::thread_pool pool(2);
  for (const char *name : {"a", "b", "c"})
    asio::co_spawn(pool, write_pairs(out, name), asio::detached);
  std::thread other(write_by_thread, std::ref(out));
  other.join();
  pool.join();
  size_t right = 0;
  for (size_t i = 0; i < out.lines.size(); i++) right += out.lines[i] == out.lines[i ^ 1];
  std::printf("%zu lines, %zu in their place\n", out.lines.size(), right);
}

static void share_connections() {
  requests all;
  asio::io_context io;
  volt::permits held = all.connections.acquire().wait();
  asio::co_spawn(io, impatient(all), asio::detached);
  io.run();
  held.release();
  io.restart();
  for (int i = 0; i < 50; i++) asio::co_spawn(io, request(all), asio::detached);
  io.run();
  std::printf("%d requests, %d gave up; %u connections are free\n", all.answered, all.given_up,
              all.connections.available());
}

int main() {
  share_a_mutex();
  share_connections();
}

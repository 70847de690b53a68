/* 31_one_limit.cpp: threads and coroutines send requests to one server, at most three at once. All wait in one
 * queue, with deadlines; a thread blocks, a coroutine is suspended. STANDARD: C++20
 *
 *   c++ -std=c++20 31_one_limit.cpp $(pkg-config --cflags --libs volt-rt)
 *
 * prints: 400 requests of threads and 400 of coroutines; 0 beyond 3 at once
 * prints: late: a thread, a coroutine
 * prints: served: 0 thread, 1 coroutine, 2 thread, 4 thread, 5 coroutine
 * prints: 3 permits are free */
#include <atomic>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>
#include <volt/coro.hpp>

using namespace std::chrono_literals;

constexpr int at_most = 3;

static volt::semaphore outgoing(at_most);

/* A request that is under way. */
struct request {
  static inline std::atomic<int> now = 0, beyond = 0, answered = 0;
  request() {
    if (++now > at_most) ++beyond;
  }
  ~request() {
    --now;
    ++answered;
  }
};

/* ---- one request of a thread, one of a coroutine ---- */

static void ask() {
  volt::permits permit = outgoing.acquire().wait_for(60s); /* or throws volt::timed_out */
  request r;
  std::this_thread::sleep_for(10us);
}

static volt::task<void> co_ask() {
  volt::permits permit = co_await volt::within(outgoing.acquire(), 60s);
  request r;
  co_await volt::sleep_for(10us);
}

/* ---- the limit, under load ---- */

static volt::task<int> co_ask_often(int times) {
  for (int i = 0; i < times; i++) co_await co_ask();
  co_return times;
}

static void load(volt::runtime &rt) {
  std::vector<std::thread> threads;
  std::vector<volt::join_handle<int>> coroutines;
  std::atomic<int> of_threads = 0;
  int of_coroutines = 0;
  for (int i = 0; i < 40; i++) coroutines.push_back(volt::spawn(rt, co_ask_often(10)));
  for (int i = 0; i < 8; i++) {
    threads.emplace_back([&of_threads] {
      for (int k = 0; k < 50; k++, ++of_threads) ask();
    });
  }
  for (std::thread &t : threads) t.join();
  for (auto &c : coroutines) of_coroutines += c.get();
  std::printf("%d requests of threads and %d of coroutines; %d beyond %d at once\n",
              of_threads.load(), of_coroutines, request::beyond.load(), at_most);
}

/* ---- deadlines, while all permits are held ---- */

static volt::task<void> co_late() {
  volt::permits permit = co_await volt::within(outgoing.acquire(), 1ms);
}

static void late(volt::runtime &rt) {
  std::string who;
  try {
    volt::permits permit = outgoing.acquire().wait_for(1ms);
  } catch (const volt::timed_out &) {
    who += "a thread";
  }
  try {
    volt::spawn(rt, co_late()).get();
  } catch (const volt::timed_out &) {
    who += ", a coroutine";
  }
  std::printf("late: %s\n", who.c_str());
}

/* ---- the order: of arrival, whatever waits ---- */

using names = std::vector<std::string>;

static volt::task<void> co_be_served(names &served, int number) {
  volt::permits permit = co_await outgoing.acquire();
  served.push_back(std::to_string(number) + " coroutine");
}

static void serve_in_order(volt::runtime &rt, volt::permits held) {
  names served; /* one permit is free at the end: its holder writes */
  std::vector<std::thread> threads;
  std::vector<volt::join_handle<void>> coroutines;
  for (int i = 0; i < 6; i++) {
    if (i % 2 != 0) {
      coroutines.push_back(volt::spawn(rt, co_be_served(served, i)));
    } else {
      threads.emplace_back([&served, i] {
        volt::permits permit(outgoing);
        served.push_back(std::to_string(i) + " thread");
      });
    }
    while (outgoing.waiters() <= static_cast<uint32_t>(i)) std::this_thread::sleep_for(1ms);
  }
  coroutines[1].cancel(); /* number 3: those behind it move up */
  while (outgoing.waiters() == 6) std::this_thread::sleep_for(1ms);
  held.release(1);
  for (std::thread &t : threads) t.join();
  coroutines[0].get();
  coroutines[2].get();
  for (size_t i = 0; i < served.size(); i++)
    std::printf("%s%s", i == 0 ? "served: " : ", ", served[i].c_str());
  std::printf("\n");
}

int main() {
  volt::runtime rt;
  load(rt);
  volt::permits held = outgoing.acquire(at_most).wait();
  late(rt);
  serve_in_order(rt, std::move(held));
  std::printf("%u permits are free\n", outgoing.available());
}

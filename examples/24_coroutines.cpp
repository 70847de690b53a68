/* 24_coroutines.cpp: coroutines: a thousand requests share three connections, each with a deadline;
 * then a coroutine that would wait for a day is cancelled. STANDARD: C++20
 *
 *   c++ -std=c++20 24_coroutines.cpp $(pkg-config --cflags --libs volt-rt)
 *
 * prints: 1000 requests, 1000 answered
 * prints: the day: cancelled; 3 connections are free */
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>
#include <volt/coro.hpp>

using namespace std::chrono_literals;

static volt::semaphore connections(3);

struct answer {
  int number;
  bool is_right;
};

/* What it takes by value lives in the coroutine, which may outlive its caller. */
static volt::task<std::string> ask(int number, std::string text) {
  auto connection = co_await connections.acquire(); /* given back however this ends */
  co_await volt::sleep_for(5us);
  co_return text + std::to_string(number);
}

static volt::task<answer> request(int number) {
  auto asked = co_await volt::as_result(volt::within(ask(number, "select "), 10s));
  co_return answer{number, asked && *asked == "select " + std::to_string(number)};
}

static volt::task<int> all_requests(volt::runtime &rt) {
  std::vector<volt::join_handle<answer>> running;
  for (int i = 0; i < 1000; i++) running.push_back(volt::spawn(rt, request(i)));
  int answered = 0;
  for (auto &r : running) {
    answer a = co_await r; /* throws what the request has thrown */
    answered += a.is_right;
  }
  co_return answered;
}

static volt::task<void> hold_for_a_day() {
  auto all = co_await connections.acquire_all();
  co_await volt::sleep_for(24h);
}

int main() {
  volt::runtime rt;
  int answered = volt::spawn(rt, all_requests(rt)).get(); /* this thread blocks */
  std::printf("1000 requests, %d answered\n", answered);

  auto holder = volt::spawn(rt, hold_for_a_day());
  while (connections.available() > 0) volt::sleep_for(1ms).wait();
  holder.cancel();
  try {
    holder.get();
  } catch (const volt::canceled &e) {
    std::printf("the day: %s; %u connections are free\n", e.what(), connections.available());
  }
}

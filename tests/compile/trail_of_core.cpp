// What gdb_waits.sh looks into: a coroutine that awaits another, which awaits a permit; and an abort.
#include <volt/runtime.h>
#include <cstdlib>
#include <volt/coro.hpp>

volt::semaphore never{0};

static volt::task<int> inner() {
  co_await never.acquire(); // LINE: inner
  co_return 1;
}

static volt::task<int> outer() {
  int got = co_await inner(); // LINE: outer
  co_return got;
}

int main() {
  volt_rt *rt;
  volt_rt_config hand = {};
  hand.flags = VOLT_RT_BY_HAND;
  if (volt_rt_create(&rt, &hand) != VOLT_OK) return 1;
  auto handle = volt::spawn(rt, outer());
  (void)volt_rt_run(rt);
  std::abort();
}

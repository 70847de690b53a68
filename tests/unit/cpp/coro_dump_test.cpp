/* coro_dump_test.cpp: a dump shows each coroutine of a chain with the line of its co_await, and what the
 * innermost waits for.
 * STANDARD: C++20 */
#include "coro_kit.hpp"

extern "C" {
#include <volt/sight.h>
}

#if VOLT_CORO_TELLS_

namespace {

volt::semaphore pool(0);
int inner_line, outer_line;

volt::task<int> fetch_page() {
  inner_line = __LINE__ + 1;
  auto permit = co_await pool.acquire();
  co_return 1;
}

volt::task<int> fetch_site() {
  outer_line = __LINE__ + 1;
  co_return co_await fetch_page();
}

std::string at(int line, const char *function) {
  return "coro_dump_test.cpp:" + std::to_string(line) + " " + function;
}

} // namespace

TEST(each_coroutine_of_a_chain_has_a_line) {
  hand h;
  auto running = volt::spawn(h.rt, fetch_site());
  h.run();
  std::string text = volt::dump_text();
  EXPECT(text.find(" fetch_site, waits for 0 ms, poll 1\n  " + at(outer_line, "fetch_site") +
                   "\n    " + at(inner_line, "fetch_page") +
                   ": volt_sem_acquire 1 of semaphore 0x") != std::string::npos);
  pool.release(1);
  h.run();
  EXPECT(running.join().wait() == 1);
}

#if VOLT_SIGHT

namespace {

volt::mutex one, other;
volt::semaphore gate(0);

volt::task<int> lock_inner(volt::mutex *m) {
  auto guard = co_await m->lock();
  co_return 1;
}

volt::task<int> lock_both(volt::mutex *outer, volt::mutex *inner) {
  auto guard = co_await outer->lock();
  auto permit = co_await gate.acquire();
  co_return co_await lock_inner(inner);
}

bool count(void *, const char *, size_t) {
  return true;
}

} // namespace

/* What an inner coroutine waits for is what the task waits for. */
TEST(a_deadlock_is_found_in_coroutines_that_others_await) {
  hand h;
  auto first = volt::spawn(h.rt, lock_both(&one, &other));
  auto second = volt::spawn(h.rt, lock_both(&other, &one));
  h.run();
  EXPECT(volt_deadlocks(count, nullptr) == VOLT_OK);
  gate.release(2);
  h.run();
  EXPECT(volt_deadlocks(count, nullptr) == VOLT_ESTALLED);
  first.cancel();
  h.run();
  bool was_cancelled = false;
  try {
    (void)first.join().wait();
  } catch (const volt::canceled &) {
    was_cancelled = true;
  }
  EXPECT(was_cancelled);
  EXPECT(second.join().wait() == 1);
}

#endif
#endif

int main() {
  if (!VOLT_CORO_TELLS_) return 77; /* this compiler does not say where coroutines wait */
  return run_unit_tests();
}

/* cpp_budget_test.cpp: volt/cpp/budget.hpp: each way to wait, each thing a guard does. */
#include <sys/mman.h>

#include <chrono>
#include <thread>

#include "unit.hpp"

using namespace std::chrono_literals;

static_assert(sizeof(volt::budget) == sizeof(volt_budget));
static_assert(!std::is_copy_constructible_v<volt::amounts>);
static_assert(std::is_nothrow_move_constructible_v<volt::amounts>);

enum { CORES, MEMORY };

TEST(it_takes_all_or_nothing) {
  volt::budget b{2, 8};
  {
    volt::amounts one(b, {{1, 8}});
    EXPECT(one && one.count(CORES) == 1 && one.count(MEMORY) == 8);
    EXPECT(b.held(MEMORY) == 8 && b.available(CORES) == 1);
    EXPECT_CODE(b.try_acquire({{1, 1}}).code(), VOLT_EAGAIN);
    EXPECT_CODE(b.acquire({{1, 1}}).result_for(1us).code(), VOLT_ETIMEDOUT);
    EXPECT_THROWS(volt::timed_out, VOLT_ETIMEDOUT, b.acquire({{1, 1}}).wait_for(1us));
    EXPECT_CODE(b.try_acquire({{3, 1}}).code(), VOLT_EINVAL);
    EXPECT(b.waiters() == 0);
  }
  EXPECT(b.held(CORES) == 0 && b.held(MEMORY) == 0);
}

TEST(a_guard_gives_back_once) {
  volt::budget b{4, 8}, other{1};
  volt::amounts one = b.acquire({{4, 8}}).wait();
  volt::amounts moved(std::move(one));
  EXPECT(!one && moved);
  one.release();
  EXPECT(b.held(CORES) == 4);
  moved.release({{1, 0}});
  volt::amounts part = moved.split({{2, 1}});
  EXPECT(moved.count(CORES) == 1 && moved.count(MEMORY) == 7 && part.count(CORES) == 2);
  volt::amounts there(other, {{1}});
  there = std::move(part);
  EXPECT(other.held(0) == 0 && b.held(CORES) == 3);
  there.release();
  there.release();
  EXPECT(b.held(CORES) == 1 && b.held(MEMORY) == 7);
  volt_amounts all = moved.disown();
  EXPECT(!moved && b.held(MEMORY) == 7);
  { volt::amounts adopted(*b.c(), all, volt::adopt); }
  EXPECT(b.held(MEMORY) == 0);
}

/* The budget of an empty guard may have ended: its memory is gone here. */
TEST(an_empty_guard_does_not_touch_the_budget) {
  void *page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT(page != MAP_FAILED);
  const uint64_t limits[] = {2};
  volt_budget *b = static_cast<volt_budget *>(page);
  volt_budget_init(b, 1, limits);
  volt::amounts held = volt::acquire_amounts_operation(*b, {{2}}).wait();
  held.release();
  volt_budget_destroy(b);
  EXPECT(munmap(page, 4096) == 0);
  held.release({});
  EXPECT(!held.split({}) && held.count(VOLT_BUDGET_KINDS) == 0);
}

TEST(it_is_waited_for_by_a_thread) {
  volt::budget b = volt::budget::with_bypass(1, {1, 1});
  volt::amounts held(b, {{1, 0}});
  bool got = false;
  std::thread waits([&] { got = bool(b.acquire({{1, 1}}).wait()); });
  UNTIL(b.waiters() == 1);
  EXPECT_CODE(b.try_acquire({{0, 1}}).code(), VOLT_EAGAIN); /* set aside */
  EXPECT(b.inspect().of[MEMORY].aside == 1);
  held.release();
  waits.join();
  EXPECT(got && b.held(CORES) == 0);
}

TEST(limits_words_and_close) {
  volt::budget b{2, 8};
  b.name_kind(MEMORY, "memory");
  EXPECT(b.explain({{1, 9}}) == "memory: 9 asked for, the limit is 8");
  volt::amounts held(b, {{0, 8}});
  b.set_limit(MEMORY, 4);
  EXPECT(b.excess(MEMORY) == 4 && b.limit(MEMORY) == 4);
  b.close();
  EXPECT(b.is_closed());
  EXPECT_CODE(b.acquire({{1, 0}}).result().code(), VOLT_ECLOSED);
}

int main() {
  return run_unit_tests();
}

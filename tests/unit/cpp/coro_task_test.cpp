/* coro_task_test.cpp: volt::task: values, exceptions, children, memory; joining and detaching.
 * STANDARD: C++20 */
#include "coro_kit.hpp"

#include <memory>
#include <stdexcept>
#include <vector>

extern "C" {
#include "death.h"
}

using namespace std::chrono_literals;

static volt::task<int> gives(int n) {
  co_return n;
}

template <class T>
static T run_one(volt::task<T> t) {
  hand h;
  auto handle = volt::spawn(h, std::move(t));
  EXPECT_CODE(handle.spawned(), VOLT_OK);
  EXPECT(!handle.is_done());
  h.run();
  EXPECT(handle.is_done());
  return handle.get();
}

/* ---- values ---- */

TEST(a_task_gives_a_value) {
  EXPECT(run_one(gives(7)) == 7);
}

static volt::task<std::string> joins_words(std::string a, std::string b) {
  co_return a + " " + b;
}

TEST(a_task_gives_an_object) {
  EXPECT(run_one(joins_words("so", std::string(100, 'x'))) == "so " + std::string(100, 'x'));
}

static volt::task<std::unique_ptr<int>> owns(int n) {
  co_return std::make_unique<int>(n);
}

TEST(a_task_gives_what_only_moves) {
  EXPECT(*run_one(owns(5)) == 5);
}

static volt::task<int &> refers(int &n) {
  co_return n;
}

TEST(a_task_gives_a_reference) {
  int n = 1;
  int &same = run_one(refers(n));
  EXPECT(&same == &n);
}

static volt::task<> sets(int *n) {
  *n = 3;
  co_return;
}

TEST(a_task_gives_nothing) {
  int n = 0;
  run_one(sets(&n));
  EXPECT(n == 3);
}

/* What has no default and only a constructor of its own. */
struct odd {
  explicit odd(int n) : value(n) {
  }
  int value;
};
static volt::task<odd> makes_odd() {
  co_return odd(9);
}

TEST(a_value_needs_no_default) {
  EXPECT(run_one(makes_odd()).value == 9);
}

/* ---- a task that does not run ---- */

static int begun;
static volt::task<int> notes(tracked) {
  begun += 1;
  co_return begun;
}

TEST(a_task_that_is_dropped_runs_nothing) {
  begun = 0;
  {
    auto t = notes(tracked());
    EXPECT(t);
    EXPECT(tracked::alive == 1);
    auto moved = std::move(t);
    EXPECT(!t && moved);
    moved = volt::task<int>();
    EXPECT(tracked::alive == 0);
  }
  EXPECT(begun == 0 && tracked::alive == 0);
}

/* A task that was moved from is told from one that there was no memory for. */

enum class by { await, select, all, within, result, finally };

static const char moved_text[] = "this volt::task has no coroutine: it was moved from";
static const char no_task_text[] =
    "this volt::join_handle has no task: it was joined, detached or moved from";

static volt::task<int> awaits_empty(by how, volt::task<int> t) {
  volt::semaphore one(1);
  if (how == by::await) co_return co_await std::move(t);
  if (how == by::select) (void)co_await volt::select(volt::biased, std::move(t), one.acquire());
  if (how == by::all) (void)co_await volt::all(std::move(t), one.acquire());
  if (how == by::within) co_return co_await volt::within(std::move(t), std::chrono::hours(1));
  if (how == by::finally) co_return co_await volt::finally(std::move(t), volt::task<>());
  auto r = co_await volt::as_result(std::move(t));
  throw volt::error(r.code(), moved_text);
}

TEST(a_task_that_was_moved_from_says_so) {
  for (by how : {by::await, by::select, by::all, by::within, by::result, by::finally}) {
    auto t = notes(tracked());
    auto moved = std::move(t);
    EXPECT_THROWS_TEXT(volt::error, VOLT_EINVAL, moved_text,
                       run_one(awaits_empty(how, std::move(t))));
  }
  hand h;
  auto handle = volt::spawn(h, volt::task<int>());
  EXPECT_CODE(handle.spawned(), VOLT_EINVAL);
  EXPECT(!handle && handle.is_done());
  EXPECT_THROWS_TEXT(volt::error, VOLT_EINVAL, no_task_text, handle.get());
  EXPECT_CODE(volt::join_handle<int>().join().result().code(), VOLT_EINVAL);
  volt::task_group g(h.rt);
  EXPECT_CODE(g.try_spawn(volt::task<int>()), VOLT_EINVAL);
}

TEST(no_memory_is_not_taken_for_moved) {
  hand h;
  for (by how : {by::await, by::select, by::all, by::within, by::finally}) {
    h.has_memory = false;
    volt::frames_for_ *from = new volt::frames_for_(h.rt);
    auto t = notes(tracked());
    delete from;
    EXPECT(!t);
    h.has_memory = true;
    EXPECT_THROWS(volt::error, VOLT_ENOMEM, run_one(awaits_empty(how, std::move(t))));
  }
}

/* ---- children ---- */

static volt::task<int> adds(int a, int b) {
  co_return co_await gives(a) + co_await gives(b);
}

TEST(children_give_their_values) {
  EXPECT(run_one(adds(2, 3)) == 5);
}

static volt::task<long> counts(long n) {
  long sum = 0;
  for (long i = 0; i < n; i++) sum += co_await gives(1);
  co_return sum;
}

/* No tail calls are needed: also where nothing is optimised. */
TEST(ten_million_ready_children_need_no_stack) {
  EXPECT(run_one(counts(10'000'000)) == 10'000'000);
}

static volt::task<long> digs(long depth, volt_sem *stop) {
  if (depth == 0) {
    if (stop) EXPECT_CODE(co_await volt::as_result(volt::acquire_operation(*stop, 1)) ? 0 : -1, 0);
    co_return 0;
  }
  co_return 1 + co_await digs(depth - 1, stop);
}

TEST(a_deep_chain_needs_no_stack) {
  EXPECT(run_one(digs(300'000, nullptr)) == 300'000);
  for (long depth : {1L, 63L, 64L, 65L, 200L, 100'000L}) {
    hand h;
    volt::semaphore stop(0);
    auto handle = volt::spawn(h, digs(depth, stop.c()));
    h.run();
    EXPECT(!handle.is_done());
    EXPECT(stop.waiters() == 1);
    stop.release(1);
    h.run();
    EXPECT(handle.get() == depth);
  }
}

static volt::task<int> yields(int n) {
  int sum = 0;
  for (int i = 0; i < n; i++) {
    co_await volt::yield();
    sum += co_await gives(i);
  }
  co_return sum;
}

TEST(a_child_that_waits_resumes_its_parent) {
  EXPECT(run_one(yields(10)) == 45);
}

/* ---- exceptions ---- */

static volt::task<int> throws_below(int depth, bool waits, tracked) {
  tracked local;
  if (waits) co_await volt::yield();
  if (depth > 0) co_return co_await throws_below(depth - 1, waits, local);
  throw std::out_of_range("below");
}

TEST(an_exception_passes_through_three_levels) {
  for (bool waits : {false, true}) {
    for (int depth : {0, 3, 100}) {
      bool caught = false;
      try {
        run_one(throws_below(depth, waits, tracked()));
      } catch (const std::out_of_range &e) {
        caught = std::string(e.what()) == "below";
      }
      EXPECT(caught && tracked::alive == 0);
    }
  }
}

static volt::task<int> catches() {
  try {
    co_await throws_below(2, true, tracked());
  } catch (const std::out_of_range &) {
    EXPECT(tracked::alive == 0);
  }
  co_await volt::yield(); /* outside of the handler */
  auto r = co_await volt::as_result(gives(8));
  co_return *r;
}

TEST(an_exception_is_caught_and_the_coroutine_goes_on) {
  EXPECT(run_one(catches()) == 8);
}

static volt::task<int> closed_below() {
  co_await volt::yield();
  volt::throw_(VOLT_ECLOSED);
  co_return 0;
}
static volt::task<int> as_results() {
  auto r = co_await volt::as_result(closed_below());
  EXPECT_CODE(r.code(), VOLT_ECLOSED);
  bool passed = false;
  try {
    (void)co_await volt::as_result(throws_below(1, true, tracked()));
  } catch (const std::out_of_range &) {
    passed = true;
  }
  EXPECT(passed);
  co_return r.code();
}

TEST(an_error_is_a_result_and_other_exceptions_pass) {
  EXPECT(run_one(as_results()) == VOLT_ECLOSED);
}

TEST(the_task_of_c_has_the_code) {
  hand h;
  auto closed = volt::spawn(h, closed_below());
  auto other = volt::spawn(h, throws_below(1, true, tracked()));
  auto fine = volt::spawn(h, gives(3));
  h.run();
  EXPECT_CODE(volt_task_result(closed.c()), VOLT_ECLOSED);
  EXPECT_CODE(volt_task_result(other.c()), VOLT_ERRNO(ENOTRECOVERABLE));
  EXPECT_CODE(volt_task_result(fine.c()), VOLT_OK);
  EXPECT_THROWS(volt::closed, VOLT_ECLOSED, closed.get());
  EXPECT_CODE(volt::join_handle<int>(std::move(closed)).join().result().code(), VOLT_EINVAL);
}

/* ---- misuse ---- */

/* What is done with a task that was awaited already. */
enum class again { awaited, spawned, as_future };

static volt::task<int> awaits_again(volt_rt *rt, again how) {
  auto t = gives(1);
  int n = co_await std::move(t);
  if (how == again::awaited) n += co_await std::move(t);
  if (how == again::spawned) volt::spawn(rt, std::move(t)).detach();
  if (how == again::as_future) n += volt::sync_wait(std::move(t));
  co_return n;
}

TEST(a_task_runs_once) {
  auto runs = [](void *how) {
    hand h;
    auto handle = volt::spawn(h, awaits_again(h.rt, *static_cast<again *>(how)));
    h.run();
  };
  static const char *const says[] = {"a volt::task that has begun", nullptr};
  for (again how : {again::awaited, again::spawned, again::as_future}) {
    EXPECT(death_of(runs, &how, says));
  }
}

/* ---- an operation that is taken for a guard ---- */

static volt::task<int> forgets(volt::mutex &m) {
  [[maybe_unused]] auto guard = m.lock(); /* no co_await */
  co_return 1;
}

static volt::task<int> has_not_come_to_it(volt::mutex &m, volt::semaphore &never) {
  auto later = m.lock();
  (void)co_await never.acquire();
  (void)co_await std::move(later);
  co_return 1;
}

TEST(an_operation_that_a_coroutine_forgets_is_reported) {
  if (!VOLT_SIGHT) return; /* nothing looks */
  const char *says[] = {"volt: a volt::lock_operation ends that was never waited for", nullptr};
  EXPECT(death_of(
      [](void *) {
        volt::mutex m;
        (void)volt::sync_wait(forgets(m));
      },
      nullptr, says));
}

/* A coroutine that is cancelled, dropped or destroyed before. */
TEST(an_operation_that_a_coroutine_has_not_come_to_is_none_of_them) {
  volt::mutex m;
  volt::semaphore never(0);
  {
    volt::task_future<int> f(has_not_come_to_it(m, never));
    EXPECT_CODE(volt_future_poll(f.c(), volt_waker{nullptr, nullptr}), VOLT_PENDING);
  }
  hand h;
  auto handle = volt::spawn(h, has_not_come_to_it(m, never));
  h.run();
  EXPECT(handle.cancel());
  h.run();
  EXPECT_THROWS(volt::canceled, VOLT_ECANCELED, handle.get());
  auto unbegun = [](volt::lock_operation op) -> volt::task<int> {
    (void)co_await std::move(op);
    co_return 1;
  };
  { auto t = unbegun(m.lock()); }
}

int main() {
  return run_unit_tests();
}

/* coro_spawn_test.cpp: spawn, join, detach; where memory is from; stop tokens; nested lifetimes;
 * coroutines as futures of C.
 * STANDARD: C++20 */
#include "coro_kit.hpp"

#include <memory_resource>
#include <stdexcept>
#include <thread>

extern "C" {
#include "alloc_count.h"
#include "death.h"
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized" /* gcc 12: of every std::stop_source */
#endif

using namespace std::chrono_literals;

static volt::task<int> gives(int n) {
  co_return n;
}

static volt::task<int> acquires(volt::semaphore &s, int n) {
  tracked local;
  auto permit = co_await s.acquire();
  co_return n;
}

static volt::task<int> throws_text(const char *text) {
  co_await volt::yield();
  throw std::runtime_error(text);
}

template <class F>
static std::string text_of(F f) {
  try {
    (void)f();
  } catch (const std::runtime_error &e) {
    return e.what();
  }
  return "";
}

static std::string notes;

/* ---- memory ---- */

static volt::task<int> parent_of(volt::semaphore &s) {
  co_return co_await acquires(s, 1);
}

TEST(a_spawn_is_two_blocks_and_a_child_one) {
  hand h;
  volt::semaphore s(0);
  EXPECT(h.blocks() == 0);
  auto alone = volt::spawn(h, acquires, std::ref(s), 1);
  EXPECT(h.blocks() == 2);
  h.run();
  EXPECT(h.blocks() == 2); /* an await is none */
  auto with_child = volt::spawn(h, parent_of, std::ref(s));
  EXPECT(h.blocks() == 4);
  h.run();
  EXPECT(h.blocks() == 5);
  s.release(2);
  h.run();
  EXPECT(h.blocks() == 2); /* frames go at once; a task goes when it is joined */
  EXPECT(alone.get() == 1 && with_child.get() == 1);
  EXPECT(h.blocks() == 0);
}

static volt::task<> counts(volt_rt *rt, int rounds, uint64_t *allocations) {
  volt::mutex m;
  volt::semaphore s(1);
  uint64_t before = 0;
  for (int i = 0; i < rounds; i++) {
    if (i == rounds / 2) before = alloc_count_allocations();
    auto guard = co_await m.lock();
    auto permit = co_await volt::within(s.acquire(), 1ms);
    co_await volt::yield();
    (void)co_await gives(i);
    (void)co_await volt::all(gives(1), gives(2));
    auto handle = volt::spawn(rt, gives(i));
    (void)co_await handle;
  }
  *allocations = alloc_count_allocations() - before;
}

TEST(nothing_is_allocated_when_the_pool_is_warm) {
  hand h;
  uint64_t allocations = 1;
  auto handle = volt::spawn(h, counts(h.rt, 200, &allocations));
  h.run();
  handle.get();
  EXPECT(allocations == 0);
}

TEST(a_frame_that_is_made_elsewhere_is_from_malloc) {
  hand h;
  uint64_t before = alloc_count_allocations();
  auto t = gives(3);
  EXPECT(alloc_count_allocations() == before + 1);
  EXPECT(h.blocks() == 0);
  auto handle = volt::spawn(h, std::move(t));
  EXPECT(h.blocks() == 1);
  h.run();
  EXPECT(handle.get() == 3);
}

TEST(no_memory_is_an_empty_task) {
  hand h;
  h.has_memory = false;
  {
    volt::frames_for_ from(h.rt);
    EXPECT(!gives(1));
  }
  auto handle = volt::spawn(h, gives, 1);
  EXPECT_CODE(handle.spawned(), VOLT_ENOMEM);
  auto other = volt::spawn(h, gives(1)); /* its frame is from malloc(), its task is not to be had */
  EXPECT_CODE(other.spawned(), VOLT_ENOMEM);
  EXPECT_THROWS(volt::error, VOLT_ENOMEM, other.get());
  h.has_memory = true;
}

static volt::task<int> from(std::allocator_arg_t, std::pmr::polymorphic_allocator<>, int n) {
  co_await volt::yield();
  co_return n;
}
struct object {
  int n = 4;
  volt::task<int> from(std::allocator_arg_t, std::pmr::polymorphic_allocator<>) {
    co_return n;
  }
};
struct refuses : std::pmr::memory_resource {
  void *do_allocate(size_t, size_t) override {
    throw std::bad_alloc();
  }
  void do_deallocate(void *, size_t, size_t) override {
  }
  bool do_is_equal(const std::pmr::memory_resource &) const noexcept override {
    return false;
  }
};

TEST(a_frame_is_from_the_allocator_that_is_given) {
  hand h;
  alignas(16) static unsigned char buffer[8192];
  std::pmr::monotonic_buffer_resource memory(buffer, sizeof buffer,
                                             std::pmr::null_memory_resource());
  object o;
  uint64_t before = alloc_count_allocations();
  auto t = from(std::allocator_arg, &memory, 3);
  auto m = o.from(std::allocator_arg, &memory);
  EXPECT(alloc_count_allocations() == before && h.blocks() == 0);
  auto a = volt::spawn(h, std::move(t));
  auto b = volt::spawn(h, std::move(m));
  h.run();
  EXPECT(a.get() == 3 && b.get() == 4);
  refuses none;
  EXPECT(!from(std::allocator_arg, &none, 1));
}

/* ---- handles ---- */

TEST(a_runtime_that_shuts_down_takes_no_task) {
  hand h;
  EXPECT_CODE(volt_rt_shutdown(h.rt, VOLT_NO_DEADLINE), VOLT_OK);
  auto handle = volt::spawn(h, gives(1));
  EXPECT_CODE(handle.spawned(), VOLT_ECLOSED);
  EXPECT_THROWS(volt::closed, VOLT_ECLOSED, handle.get());
  std::stop_source stop;
  EXPECT_CODE(volt::spawn(h, gives(1), stop.get_token()).spawned(), VOLT_ECLOSED);
}

TEST(a_detached_task_drops_what_it_gives) {
  hand h;
  volt::semaphore s(0);
  auto tracks = [](volt::semaphore &of) -> volt::task<tracked> {
    auto permit = co_await of.acquire();
    co_return tracked();
  };
  volt::spawn(h, tracks(s)).detach();
  auto late = volt::spawn(h, tracks(s));
  h.run();
  s.release(2);
  h.run();
  EXPECT(tracked::alive == 1); /* of the one that is not detached */
  late.detach();               /* at its end */
  EXPECT(tracked::alive == 0 && h.blocks() == 0);
}

TEST(a_detached_task_may_fail_by_an_error) {
  hand h;
  volt::semaphore s(0);
  volt::spawn(h, acquires(s, 1)).detach();
  h.run();
  s.close();
  h.run();
  EXPECT(h.blocks() == 0 && tracked::alive == 0);
}

/* As of a std::thread. */
TEST(a_detached_task_must_not_throw_what_is_no_error) {
  auto by_hand = [](void *late) {
    hand h;
    auto handle = volt::spawn(h, throws_text("lost"));
    if (late) h.run();
    handle.detach();
    h.run();
  };
  static const char *const says[] = {"an exception has left a coroutine that is detached", nullptr};
  EXPECT(death_of(by_hand, nullptr, says));
  EXPECT(death_of(by_hand, &notes, says));
}

TEST(a_handle_that_is_dropped_cancels_and_waits) {
  volt::runtime rt;
  volt::semaphore s(0);
  {
    auto handle = volt::spawn(rt, acquires, std::ref(s), 1);
    UNTIL(s.waiters() == 1);
  }
  EXPECT(s.waiters() == 0 && tracked::alive == 0);
  volt::join_handle<int> replaced = volt::spawn(rt, acquires, std::ref(s), 1);
  replaced = volt::join_handle<int>();
  EXPECT(tracked::alive == 0);
}

static volt::task<> drops_handle(volt_rt *rt, volt::semaphore &s) {
  auto handle = volt::spawn(rt, acquires(s, 1));
  co_await volt::yield();
}

/* It cannot wait there. */
TEST(a_handle_that_is_dropped_in_a_coroutine_cancels) {
  hand h;
  volt::semaphore s(0);
  auto handle = volt::spawn(h, drops_handle(h.rt, s));
  h.run();
  handle.get();
  EXPECT(h.blocks() == 0 && tracked::alive == 0 && s.waiters() == 0);
}

static volt::task<int> joins(volt_rt *rt, volt::semaphore &a, volt::semaphore &b) {
  auto first = volt::spawn(rt, acquires(a, 10));
  auto second = volt::spawn(rt, acquires(b, 20));
  auto won = co_await volt::select(first, second);
  EXPECT(won.index() == 1 && !second && first);
  EXPECT_THROWS(volt::timed_out, VOLT_ETIMEDOUT, co_await volt::within(first.join(), 1ms));
  EXPECT(first); /* it can be joined again */
  co_return std::get<1>(won) + co_await first;
}

TEST(a_coroutine_joins_others) {
  hand h;
  volt::semaphore a(0), b(0);
  auto handle = volt::spawn(h, joins, h.rt, std::ref(a), std::ref(b));
  h.run();
  b.release(1);
  h.run();
  h.advance(1ms);
  EXPECT(!handle.is_done());
  a.release(1);
  h.run();
  EXPECT(handle.get() == 30);
}

TEST(a_thread_and_a_fiber_join) {
  volt::runtime rt;
  EXPECT(volt::spawn(rt, gives, 5).get() == 5);
  EXPECT(text_of([&] { return volt::spawn(rt, throws_text("thread")).get(); }) == "thread");
  volt::fiber<int> joins_too(rt, [&] {
    volt::semaphore s(0);
    auto handle = volt::spawn(rt, acquires, std::ref(s), 6);
    s.release(1);
    int n = handle.get();
    auto dropped = volt::spawn(rt, acquires, std::ref(s), 7);
    return n;
  });
  EXPECT(joins_too.join().wait() == 6);
}

/* ---- stop tokens ---- */

TEST(a_stop_token_cancels) {
  hand h;
  volt::semaphore s(0);
  { /* before */
    std::stop_source stop;
    stop.request_stop();
    auto handle = volt::spawn(h, acquires(s, 1), stop.get_token());
    h.run();
    EXPECT_THROWS(volt::canceled, VOLT_ECANCELED, handle.get());
  }
  { /* while it waits */
    std::stop_source stop;
    auto handle = volt::spawn(h, acquires(s, 1), stop.get_token());
    h.run();
    EXPECT(!handle.is_done());
    stop.request_stop();
    h.run();
    EXPECT_THROWS(volt::canceled, VOLT_ECANCELED, handle.get());
  }
  { /* after */
    std::stop_source stop;
    auto handle = volt::spawn(h, gives(2), stop.get_token());
    h.run();
    stop.request_stop();
    EXPECT(handle.get() == 2);
  }
  { /* detached */
    std::stop_source stop;
    volt::spawn(h, acquires(s, 1), stop.get_token()).detach();
    h.run();
    EXPECT(s.waiters() == 1);
    stop.request_stop();
    h.run();
    EXPECT(s.waiters() == 0 && h.blocks() == 0);
    stop.request_stop();
  }
  EXPECT(tracked::alive == 0);
}

TEST(a_stop_token_cancels_from_another_thread) {
  volt::runtime rt;
  for (int i = 0; i < 200; i++) {
    volt::semaphore s(0);
    std::stop_source stop;
    auto handle = volt::spawn(rt, acquires, std::ref(s), 1);
    auto stopped = volt::spawn(rt, acquires(s, 1), stop.get_token());
    std::thread other([&] { stop.request_stop(); });
    EXPECT_THROWS(volt::canceled, VOLT_ECANCELED, stopped.get());
    other.join();
    s.release(1);
    EXPECT(handle.get() == 1);
  }
}

TEST(a_token_requests_a_stop) {
  volt::token shutdown;
  { volt::stop_when unused(shutdown); }
  volt::stop_when stop(shutdown);
  EXPECT(!stop.get_token().stop_requested());
  int calls = 0;
  std::stop_callback on_stop(stop.get_token(), [&] { calls += 1; });
  shutdown.cancel();
  EXPECT(stop.get_token().stop_requested() && calls == 1);
  volt::stop_when late(shutdown);
  EXPECT(late.get_token().stop_requested());
}

/* ---- nested lifetimes ---- */

static volt::task<> notes_after(volt::semaphore &s, const char *text) {
  auto permit = co_await s.acquire();
  notes += text;
}

static volt::task<int> cleans_up(volt::semaphore &body, volt::semaphore &cleanup) {
  int n = co_await volt::finally(acquires(body, 3), notes_after(cleanup, "clean "));
  notes += "on ";
  co_return n;
}

TEST(finally_runs_its_cleanup_shielded) {
  hand h;
  notes = "";
  volt::semaphore body(0), cleanup(0);
  auto handle = volt::spawn(h, cleans_up(body, cleanup));
  h.run();
  EXPECT(handle.cancel());
  h.run();
  EXPECT(handle.cancel()); /* now it is in the cleanup */
  h.run();
  EXPECT(!handle.is_done() && notes == "" && tracked::alive == 0);
  cleanup.release(1);
  h.run();
  EXPECT(notes == "clean ");
  EXPECT_THROWS(volt::canceled, VOLT_ECANCELED, handle.get());
  body.release(1);
  auto fine = volt::spawn(h, cleans_up(body, cleanup));
  h.run();
  EXPECT(fine.get() == 3 && notes == "clean clean on ");
}

static volt::task<> fails(const char *text) {
  (void)co_await throws_text(text);
}

TEST(finally_throws_the_first_exception) {
  hand h;
  auto both = volt::spawn(h, volt::finally(throws_text("body"), fails("cleanup")));
  auto second = volt::spawn(h, volt::finally(gives(1), fails("cleanup")));
  h.run();
  EXPECT(text_of([&] { return both.get(); }) == "body");
  EXPECT(text_of([&] { return second.get(); }) == "cleanup");
}

static volt::task<> has_group(volt_rt *rt, volt::semaphore &s, const char *text) {
  int sum = 0; /* lent to the tasks of the group */
  auto adds = [&sum](volt::kept) -> volt::task<> {
    co_await volt::yield();
    sum += 1;
  };
  co_await volt::with_group(rt, [&](volt::kept, volt::task_group &g) -> volt::task<> {
    for (int i = 0; i < 10; i++) g.spawn(volt::invoke(adds));
    if (text) g.spawn(throws_text(text));
    if (text) (void)co_await s.acquire();
  });
  EXPECT(sum == 10);
  notes += "all ";
}

TEST(a_group_ends_before_its_coroutine_goes_on) {
  hand h;
  notes = "";
  volt::semaphore s(0);
  auto fine = volt::spawn(h, has_group(h.rt, s, nullptr));
  auto failed = volt::spawn(h, has_group(h.rt, s, "member"));
  h.run();
  fine.get();
  EXPECT(notes == "all ");
  EXPECT(text_of([&] {
           failed.get();
           return 0;
         }) == "member"); /* which has cancelled the body */
  EXPECT(s.waiters() == 0 && h.blocks() == 0);
}

static volt::task<> waits_in_group(volt_rt *rt, volt::semaphore &s) {
  co_await volt::with_group(rt, [&](volt::kept, volt::task_group &g) -> volt::task<> {
    for (int i = 0; i < 5; i++) g.spawn(acquires(s, i));
    EXPECT(g.count() == 6);
    co_return;
  });
}

TEST(a_group_is_cancelled_with_its_coroutine) {
  hand h;
  volt::semaphore s(0);
  auto handle = volt::spawn(h, waits_in_group(h.rt, s));
  h.run();
  EXPECT(s.waiters() == 5);
  handle.cancel();
  h.run();
  EXPECT_THROWS(volt::canceled, VOLT_ECANCELED, handle.get());
  EXPECT(s.waiters() == 0 && tracked::alive == 0);
}

/* ---- several ---- */

static volt::task<int> fails_beside(volt::semaphore &s) {
  auto both = co_await volt::all(s.acquire(), throws_text("beside"), s.acquire());
  co_return static_cast<int>(std::get<0>(both).count());
}
static volt::task<> results_beside(volt::semaphore &open, volt::semaphore &closed) {
  auto both =
      co_await volt::all(volt::as_result(closed.acquire()), volt::as_result(open.acquire()));
  EXPECT_CODE(std::get<0>(both).code(), VOLT_ECLOSED);
  EXPECT(std::get<1>(both));
  auto first =
      co_await volt::select(volt::biased, volt::as_result(closed.acquire()), open.acquire());
  EXPECT(first.index() == 0);
  EXPECT_CODE(std::get<0>(first).code(), VOLT_ECLOSED);
  auto either =
      co_await volt::as_result(volt::select(volt::biased, closed.acquire(), open.acquire()));
  EXPECT_CODE(either.code(), VOLT_ECLOSED);
  auto none = co_await volt::as_result(volt::all(open.acquire(), closed.acquire()));
  EXPECT_CODE(none.code(), VOLT_ECLOSED);
}

TEST(what_fails_beside_others_drops_what_they_got) {
  hand h;
  volt::semaphore s(1), closed(0);
  closed.close();
  auto handle = volt::spawn(h, fails_beside(s));
  auto results = volt::spawn(h, results_beside(s, closed));
  h.run();
  EXPECT(text_of([&] { return handle.get(); }) == "beside");
  results.get();
  EXPECT(s.available() == 1 && s.waiters() == 0);
}

/* ---- coroutines and C ---- */

TEST(a_select_of_c_races_a_coroutine) {
  hand h;
  volt::semaphore s(0);
  volt::token stop;
  for (int round = 0; round < 2; round++) {
    auto f = volt::as_future(acquires(s, 7));
    volt_future stopped;
    volt_future *either[] = {f.c(), volt_token_wait_future(&stopped, stop.c())};
    volt_select select;
    volt_future_made(volt_select_future(&select, either, 2, VOLT_SELECT_FAIR));
    if (round == 0) s.release(1);
    if (round == 1) stop.cancel();
    EXPECT_CODE(volt_rt_run_until(h.rt, &select.future, VOLT_NO_DEADLINE), VOLT_OK);
    EXPECT(volt_select_winner(&select) == static_cast<uint32_t>(round));
    EXPECT(tracked::alive == 0); /* a coroutine that loses comes to its end first */
    if (round == 0) EXPECT(f.take() == 7);
    if (round == 1) EXPECT_THROWS(volt::canceled, VOLT_ECANCELED, f.take());
    s.drain().forget();
  }
}

static volt::task<int> awaits_futures_of_c(volt_sem *s) {
  volt_future f;
  int code = co_await volt_sem_acquire_future(&f, s, 1);
  volt_future_made(volt_sem_acquire_future(&f, s, 1));
  EXPECT_CODE(co_await f, VOLT_OK);
  co_return code;
}

TEST(a_coroutine_awaits_futures_of_c) {
  hand h;
  volt::semaphore s(1);
  auto handle = volt::spawn(h, awaits_futures_of_c(s.c()));
  h.run();
  EXPECT(!handle.is_done());
  {
    volt::task_future<int> dropped(awaits_futures_of_c(s.c()));
    EXPECT_CODE(volt_future_poll(dropped.c(), volt_waker{nullptr, nullptr}), VOLT_PENDING);
  }
  s.release(1);
  h.run();
  EXPECT_CODE(handle.get(), VOLT_OK);
}

TEST(a_thread_runs_a_coroutine) {
  volt::semaphore s(1);
  EXPECT(volt::sync_wait(acquires(s, 4)) == 4);
  s.drain().forget();
  auto soon = std::chrono::steady_clock::now() + 2ms;
  EXPECT_THROWS(volt::timed_out, VOLT_ETIMEDOUT, volt::sync_wait(acquires(s, 4), soon));
  EXPECT_CODE(volt::sync_result(acquires(s, 4), soon).code(), VOLT_ETIMEDOUT);
  EXPECT(text_of([] { return volt::sync_wait(throws_text("here")); }) == "here");
  EXPECT_THROWS_TEXT(volt::error, VOLT_EINVAL,
                     "this volt::task has no coroutine: it was moved from",
                     volt::sync_wait(volt::task<int>()));
  EXPECT(tracked::alive == 0 && s.waiters() == 0);
  std::thread other([&] { s.release(1); });
  EXPECT(*volt::sync_result(acquires(s, 5)) == 5);
  other.join();
}

TEST(a_fiber_runs_a_coroutine) {
  hand h;
  volt::semaphore s(0);
  volt::fiber<int> waits(h, [&] { return volt::sync_wait(acquires(s, 8)); });
  h.run();
  EXPECT(!waits.has_ended() && s.waiters() == 1);
  s.release(1);
  h.run();
  EXPECT(waits.join().wait() == 8);
}

static volt::task<int> calls(volt_rt *rt) {
  int n = co_await volt::blocking(rt, [] { return 20; });
  try {
    co_await volt::blocking(rt, [] { throw std::runtime_error("call"); });
  } catch (const std::runtime_error &) {
    n += 1;
  }
  auto text = co_await volt::blocking(rt, [] { return std::make_unique<int>(21); });
  co_return n + *text;
}

TEST(a_coroutine_has_the_blocking_pool_call) {
  volt::runtime rt;
  EXPECT(volt::spawn(rt, calls, rt.c()).get() == 42);
}

/* ---- where they wait ---- */

static std::string trace_of(volt::join_handle<int> &handle) {
  char *text = nullptr;
  size_t length = 0;
  std::FILE *to = open_memstream(&text, &length);
  volt::print_trace(handle, to);
  std::fclose(to);
  std::string lines(text, length);
  std::free(text);
  return lines;
}

TEST(a_trace_says_where_coroutines_wait) {
  hand h;
  volt::semaphore s(0);
  auto handle = volt::spawn(h, parent_of(s));
  h.run();
  std::string lines = trace_of(handle);
#if VOLT_CORO_TELLS_
  size_t parent = lines.find("parent_of"), child = lines.find("acquires");
  EXPECT(parent != lines.npos && child != lines.npos && parent < child);
  EXPECT(lines.find("coro_spawn_test.cpp:") != lines.npos);
#else
  EXPECT(lines.find("does not say") != lines.npos);
#endif
  s.release(1);
  h.run();
  EXPECT(handle.get() == 1);
}

/* The child's frame is gone when it has ended, so a trace must not look there. */
struct traced {
  volt::join_handle<int> *handle;
  std::string text;
};
static volt::task<int> traces_itself(volt::semaphore &s, traced *to) {
  int n = co_await acquires(s, 1);
  to->text = trace_of(*to->handle);
  co_return n;
}

TEST(a_trace_says_nothing_of_what_has_ended) {
  hand h;
  volt::semaphore s(0);
  traced to;
  auto handle = volt::spawn(h, traces_itself(s, &to));
  to.handle = &handle;
  h.run();
  s.release(1);
  h.run();
#if VOLT_CORO_TELLS_
  EXPECT(to.text.find("traces_itself") != to.text.npos);
  EXPECT(to.text.find("acquires") == to.text.npos);
  EXPECT(trace_of(handle).empty());
#endif
  EXPECT(handle.get() == 1);
}

/* The same of a child that has begun to wait, and did not have to: its deadline has passed. */
static volt::task<int> gives_up(volt::semaphore &s) {
  try {
    auto permit = co_await volt::until(s.acquire(), std::chrono::steady_clock::time_point());
  } catch (const volt::timed_out &) {
    co_return 7;
  }
  co_return 0;
}
static volt::task<int> traces_itself_at_once(volt::semaphore &s, traced *to) {
  int n = co_await gives_up(s);
  to->text = trace_of(*to->handle);
  co_return n;
}

TEST(a_trace_says_nothing_of_what_has_ended_without_a_wait) {
  hand h;
  volt::semaphore s(0);
  traced to;
  auto handle = volt::spawn(h, traces_itself_at_once(s, &to));
  to.handle = &handle;
  h.run();
#if VOLT_CORO_TELLS_
  EXPECT(to.text.empty());
#endif
  EXPECT(handle.get() == 7);
}

int main() {
  return run_unit_tests();
}

/* coro_trail_test.cpp: where coroutines wait, as an inspector sees it: from the task, or from a future
 * of C that one has become.
 * STANDARD: C++20 */
#include "coro_kit.hpp"

extern "C" {
#include "core/inspect/describe.h"
#include "rt/inspect/inspect.h"
}

#if VOLT_CORO_TELLS_

#include <cstring>
#include <vector>

/* What one inspection of a runtime has seen. */
struct stops {
  struct stop {
    unsigned depth;
    std::string function;
    unsigned line;
    std::string operation; /* "": it awaits a coroutine */
  };
  std::vector<stop> all;
  unsigned tasks = 0;
  std::string root; /* of the task */

  static bool each(void *self, const volt_stop_ *s) {
    stop seen{s->depth, s->site ? s->site->function : "", s->line, ""};
    if (s->future) {
      volt_description_ description;
      volt_describe_(s->future, &description);
      seen.operation = description.operation;
    }
    EXPECT(s->calls == (!s->future && s->site));
    if (s->site) EXPECT(std::strstr(s->site->file, "coro_trail_test.cpp"));
    static_cast<stops *>(self)->all.push_back(seen);
    return true;
  }
  static bool see(void *self, const volt_seen_ *tasks, unsigned count) {
    auto *to = static_cast<stops *>(self);
    for (unsigned i = 0; i < count; i++) {
      EXPECT(tasks[i].how == VOLT_SEEN_WAITS_);
      to->tasks += 1;
      if (tasks[i].site) to->root = tasks[i].site->function;
      volt_walk_(tasks[i].task, each, self);
    }
    return true;
  }
  explicit stops(const hand &h) {
    EXPECT_CODE(volt_inspect_(h.rt, 8, see, this), VOLT_OK);
    EXPECT(tasks == 1);
  }
  void expect(unsigned i, unsigned depth, const char *function, unsigned line,
              const char *operation) const {
    EXPECT(i < all.size());
    EXPECT(all[i].depth == depth);
    EXPECT(all[i].function.find(function) != std::string::npos);
    EXPECT(all[i].line == line);
    EXPECT(all[i].operation == operation);
  }
};

static unsigned line_of_inner, line_of_middle, line_of_outer, line_of_last;

static volt::task<int> inner(volt::semaphore &s) {
  line_of_inner = __LINE__ + 1;
  co_await s.acquire();
  co_return 1;
}

static volt::task<int> middle(volt::semaphore &s) {
  line_of_middle = __LINE__ + 1;
  int got = co_await inner(s);
  co_return got + 1;
}

static volt::task<int> gives_at_once() {
  co_return 5;
}

static volt::task<int> outer(volt::semaphore &s, volt_sem *c) {
  EXPECT(co_await gives_at_once() == 5);
  line_of_outer = __LINE__ + 1;
  int got = co_await middle(s);
  volt_future f;
  line_of_last = __LINE__ + 1;
  EXPECT_CODE(co_await volt_sem_acquire_future(&f, c, 1), VOLT_OK);
  co_return got;
}

TEST(every_coroutine_is_seen_with_its_line) {
  hand h;
  volt::semaphore s(0);
  volt_sem c;
  volt_sem_init(&c, 0);
  auto handle = volt::spawn(h, outer, std::ref(s), &c);
  h.run();
  {
    stops seen(h);
    EXPECT(seen.all.size() == 3);
    seen.expect(0, 0, "outer", line_of_outer, "");
    seen.expect(1, 1, "middle", line_of_middle, "");
    seen.expect(2, 2, "inner", line_of_inner, "volt_sem_acquire");
    EXPECT(seen.root.find("outer") != std::string::npos);
  }
  s.release(1);
  h.run();
  { /* the children have ended; it awaits a future of C */
    stops seen(h);
    EXPECT(seen.all.size() == 1);
    seen.expect(0, 0, "outer", line_of_last, "volt_sem_acquire");
  }
  volt_sem_release(&c, 1);
  h.run();
  EXPECT(handle.get() == 2);
}

static volt::task<int> down(volt::semaphore &s, int depth) {
  if (depth > 1) co_return co_await down(s, depth - 1) + 1;
  co_await s.acquire();
  co_return 1;
}

/* More than are started inside each other: the poll starts some of them. */
TEST(of_many_the_innermost_are_seen) {
  for (int depth : {2, 60, 63, 64, 65, 130, 200}) {
    hand h;
    volt::semaphore s(0);
    auto handle = volt::spawn(h, down, std::ref(s), depth);
    h.run();
    stops seen(h);
    EXPECT(seen.all.size() == static_cast<std::size_t>(depth < 64 ? depth : 64));
    for (auto &stop : seen.all) EXPECT(stop.function.find("down") != std::string::npos);
    EXPECT(seen.all.back().operation == "volt_sem_acquire");
    s.release(1);
    h.run();
    EXPECT(handle.get() == depth);
  }
}

/* One awaits two that it has made futures of C. */
static volt::task<int> either(volt::semaphore &a, volt::semaphore &b) {
  auto got = co_await volt::select(middle(a), inner(b));
  co_return static_cast<int>(got.index());
}

TEST(the_branches_of_a_select_are_seen) {
  hand h;
  volt::semaphore a(0), b(0);
  auto handle = volt::spawn(h, either, std::ref(a), std::ref(b));
  h.run();
  stops seen(h);
  std::size_t in_middle = 0, in_inner = 0, branches = 0;
  for (auto &stop : seen.all) {
    if (stop.function.find("middle") != std::string::npos) in_middle += 1;
    if (stop.function.find("inner") != std::string::npos) in_inner += 1;
    if (stop.operation == "volt_async") branches += 1;
  }
  EXPECT(seen.all.front().operation == "volt_select");
  EXPECT(in_middle == 1 && in_inner == 2 && branches == 2);
  b.release(1);
  h.run();
  EXPECT(handle.get() == 1);
}

static volt::task<int> naps(volt::semaphore &s) {
  co_await volt::yield();
  co_await volt::within(s.acquire(), std::chrono::hours(1));
  co_return 3;
}

TEST(a_deadline_is_seen) {
  hand h;
  volt::semaphore s(0);
  auto handle = volt::spawn(h, naps, std::ref(s));
  h.run();
  stops seen(h);
  EXPECT(seen.all.size() == 2);
  EXPECT(seen.all[0].operation == "volt_timeout" && seen.all[1].operation == "volt_sem_acquire");
  EXPECT(seen.all[0].function.find("naps") != std::string::npos);
  s.release(1);
  h.run();
  EXPECT(handle.get() == 3);
}

#else

TEST(this_compiler_does_not_say) {
}

#endif

int main() {
  return run_unit_tests();
}

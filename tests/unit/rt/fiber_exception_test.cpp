/* fiber_exception_test.cpp: C++ exceptions in fibers: what each has thrown and caught is its own,
 * also while it waits in a catch. */
#include <volt/fiber.h>

#include <sys/wait.h>
#include <unistd.h>
#include <csignal>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>

#include "unit.hpp"

namespace {

struct runtime {
  volt_rt *rt = nullptr;

  runtime() {
    volt_rt_config config = {};
    config.flags = VOLT_RT_BY_HAND | VOLT_RT_VIRTUAL_CLOCK;
    EXPECT_CODE(volt_rt_create(&rt, &config), VOLT_OK);
  }
  ~runtime() {
    EXPECT(volt_rt_destroy(rt) == 0);
  }

  volt_task *spawn(volt_fiber_fn *fn, void *arg) {
    volt_task *t = volt_fiber_new(rt, fn, arg, nullptr);
    EXPECT(t != nullptr);
    EXPECT_CODE(volt_spawn(rt, t), VOLT_OK);
    return t;
  }
  void run() {
    while (volt_rt_run(rt) == 0) continue;
  }
  void expect_end(volt_task *t, int result) {
    EXPECT_CODE(volt_task_result(t), result);
    volt_task_detach(t);
  }
};

/* Which exception is being handled: its number. */
int current() {
  try {
    std::exception_ptr e = std::current_exception();
    if (!e) return 0;
    std::rethrow_exception(e);
  } catch (int number) {
    return number;
  }
}

void yield() {
  EXPECT_CODE(volt_fiber_yield(), VOLT_OK);
}

/* Waits in a catch, in one within it, and rethrows. */
int waits_in_catches(void *arg) {
  const int number = *static_cast<int *>(arg);
  int caught = 0;
  for (int i = 0; i < 3; i++) {
    try {
      try {
        throw number;
      } catch (int) {
        yield();
        EXPECT(current() == number);
        try {
          yield();
          throw number + 1;
        } catch (int) {
          yield();
          EXPECT(current() == number + 1);
        }
        EXPECT(current() == number);
        yield();
        throw; /* what this fiber handles, and no other's */
      }
    } catch (int n) {
      yield();
      EXPECT(n == number);
      caught += 1;
    }
    EXPECT(current() == 0);
  }
  return caught;
}

TEST(fibers_that_wait_in_catches_do_not_meet) {
  runtime r;
  int ten = 10, twenty = 20, thirty = 30;
  volt_task *a = r.spawn(waits_in_catches, &ten);
  volt_task *b = r.spawn(waits_in_catches, &twenty);
  volt_task *c = r.spawn(waits_in_catches, &thirty);
  r.run();
  for (volt_task *t : {a, b, c}) {
    EXPECT(volt_task_result(t) == 3);
    volt_task_detach(t);
  }
}

/* Waits while the stack is unwound. */
struct waits_at_end {
  int *uncaught;
  ~waits_at_end() {
    *uncaught = std::uncaught_exceptions();
    yield();
    EXPECT(std::uncaught_exceptions() == *uncaught);
  }
};

int waits_as_it_unwinds(void *arg) {
  int uncaught = -1;
  EXPECT(std::uncaught_exceptions() == 0);
  try {
    waits_at_end w{&uncaught};
    throw std::runtime_error(*static_cast<std::string *>(arg));
  } catch (const std::runtime_error &e) {
    yield();
    return uncaught == 1 && *static_cast<std::string *>(arg) == e.what() ? VOLT_OK : VOLT_EINVAL;
  }
}

TEST(a_destructor_waits_while_an_exception_is_on_its_way) {
  runtime r;
  std::string first = "the first, which is long enough for the heap";
  std::string second = "the second, which is long enough for the heap";
  volt_task *a = r.spawn(waits_as_it_unwinds, &first);
  volt_task *b = r.spawn(waits_as_it_unwinds, &second);
  r.run();
  r.expect_end(a, VOLT_OK);
  r.expect_end(b, VOLT_OK);
}

/* On another thread after each wait. */
TEST(exceptions_move_with_their_fibers) {
  volt_rt *rt;
  volt_rt_config config = {};
  config.workers = 2;
  config.flags = VOLT_RT_FIBERS_WANDER;
  EXPECT_CODE(volt_rt_create(&rt, &config), VOLT_OK);
  volt_fiber_config moves = {};
  moves.flags = VOLT_FIBER_MOVES;
  volt_task *t[8];
  int number[8];
  for (int i = 0; i < 8; i++) {
    number[i] = 10 * (i + 1);
    t[i] = volt_fiber_new(rt, waits_in_catches, &number[i], &moves);
    EXPECT_CODE(volt_spawn(rt, t[i]), VOLT_OK);
  }
  for (int i = 0; i < 8; i++) {
    EXPECT(volt_task_join(t[i]) == 3);
    volt_task_detach(t[i]);
  }
  EXPECT(volt_rt_destroy(rt) == 0);
}

/* The runtime is run within a catch: that exception is the caller's, and no fiber's. */
TEST(the_callers_exception_stays_the_callers) {
  runtime r;
  int ten = 10;
  volt_task *t = r.spawn(waits_in_catches, &ten);
  try {
    throw 5;
  } catch (int) {
    r.run();
    EXPECT(current() == 5);
  }
  EXPECT(volt_task_result(t) == 3);
  volt_task_detach(t);
}

int throws_far(int depth) {
  volatile char frame[200];
  frame[0] = static_cast<char>(depth);
  if (depth == 0) throw 42;
  int result = throws_far(depth - 1);
  return result + frame[0];
}

int catches_from_far(void *) {
  try {
    return throws_far(100);
  } catch (int n) {
    return n;
  }
}

TEST(an_exception_goes_through_many_frames) {
  runtime r;
  volt_task *t = r.spawn(catches_from_far, nullptr);
  r.run();
  EXPECT(volt_task_result(t) == 42);
  volt_task_detach(t);
}

int lets_one_out(void *) {
  throw 1;
}

/* No frame below the fiber's function may see it: so the program terminates where it was thrown. */
TEST(an_exception_that_leaves_a_fiber_terminates) {
  runtime r;
  pid_t child = fork();
  EXPECT(child >= 0);
  if (child == 0) {
    std::set_terminate([] { _exit(77); });
    volt_task *t = r.spawn(lets_one_out, nullptr);
    r.run();
    _exit(volt_task_result(t) == VOLT_PENDING ? 1 : 2);
  }
  int status = 0;
  EXPECT(waitpid(child, &status, 0) == child);
  EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 77);
}

} // namespace

int main() {
  return run_unit_tests();
}

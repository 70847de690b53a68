/* cpp_ways_test.cpp: each operation of C++ is waited for in each way: by a thread, by a fiber that
 * is suspended, by one that is cancelled, by one whose time passes. The fibers run by hand, in
 * virtual time. */
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "cpp_scene.hpp"
#include "unit.hpp"

using namespace std::chrono_literals;

static volt_rt_config by_hand() {
  volt_rt_config config{};
  config.flags = VOLT_RT_BY_HAND | VOLT_RT_VIRTUAL_CLOCK;
  return config;
}

static volt::runtime *hand;

static void run() {
  while (hand->run() == 0) {
  }
}

enum how { RESULT, RESULT_FOR, WAIT, WAIT_FOR, AS_RESULT, HOWS };

/* Wait for an operation in one of these ways. Returns its code. */
template <class Make>
static int wait_in(how way, Make make) {
  if (way == RESULT) return make().result().code();
  if (way == RESULT_FOR) return make().result_for(10ms).code();
  if (way == AS_RESULT) return volt::as_result(make()).wait().code();
  try {
    if (way == WAIT) (void)make().wait();
    if (way == WAIT_FOR) (void)make().wait_for(10ms);
    return VOLT_OK;
  } catch (const volt::error &e) {
    return e.code();
  }
}

struct scene : scene_base {
  virtual int wait(how way) = 0;
};

template <class Its>
struct scene_of : scene {
  int wait(how way) override {
    int code = VOLT_OK;
    before();
    while (!is_over()) {
      code = wait_in(way, [this] { return static_cast<Its *>(this)->operation(); });
      if (code != VOLT_OK || !repeats()) break;
    }
    after();
    return code;
  }
};

#include "cpp_scenes.hpp"

/* ---- trials ---- */

static bool is_success(int code) {
  return volt_is_ok(code);
}

template <class Trial>
static void each(Trial trial) {
  for (const maker &m : makers) {
    for (int way = 0; way < HOWS; way++) {
      std::printf("  %s, way %d\n", m.name, way);
      std::fflush(stdout);
      trial(*m.make(), static_cast<how>(way));
    }
  }
}

TEST(by_a_thread) {
  each([](scene &s, how way) {
    if (way == RESULT_FOR || way == WAIT_FOR) return; /* would race with the clock */
    int code = VOLT_EINVAL;
    std::thread other([&] { code = s.wait(way); });
    s.let();
    other.join();
    EXPECT(is_success(code));
  });
}

/* It may be too late already, but not be waited for longer than said. */
TEST(by_a_thread_whose_time_passes) {
  each([](scene &s, how way) {
    if (way != RESULT_FOR && way != WAIT_FOR) return;
    EXPECT_CODE(s.wait(way), VOLT_ETIMEDOUT);
  });
}

TEST(by_a_fiber) {
  volt::runtime rt(by_hand());
  hand = &rt;
  each([&](scene &s, how way) {
    int code = VOLT_EINVAL;
    volt::fiber<> waits(rt, [&] { code = s.wait(way); });
    run();
    EXPECT(!waits.has_ended()); /* suspended */
    volt::fiber<> lets(rt, [&] { s.let(); });
    run();
    EXPECT(waits.has_ended() && lets.has_ended());
    EXPECT(is_success(code));
  });
}

TEST(by_a_fiber_that_is_cancelled) {
  volt::runtime rt(by_hand());
  hand = &rt;
  each([&](scene &s, how way) {
    int code = VOLT_EINVAL;
    volt::fiber<> waits(rt, [&] { code = s.wait(way); });
    run();
    EXPECT(waits.cancel());
    run();
    EXPECT(waits.has_ended());
    EXPECT_CODE(code, VOLT_ECANCELED);
  });
}

TEST(by_a_fiber_whose_time_passes) {
  volt::runtime rt(by_hand());
  hand = &rt;
  each([&](scene &s, how way) {
    if (way != RESULT_FOR && way != WAIT_FOR) return;
    int code = VOLT_EINVAL;
    volt::fiber<> waits(rt, [&] { code = s.wait(way); });
    run();
    rt.advance(9999us);
    run();
    EXPECT(!waits.has_ended());
    rt.advance(1us);
    run();
    EXPECT(waits.has_ended());
    EXPECT_CODE(code, VOLT_ETIMEDOUT);
  });
}

/* As a coroutine waits: by the future; it ends in the next poll. */
TEST(by_hand_with_a_runtime) {
  volt::runtime rt(by_hand());
  for (int i = 0; i < 2; i++) {
    a_receive s;
    s.let();
    if (i == 0)
      EXPECT(rt.run_until(s.operation()) == 1);
    else
      EXPECT(*rt.result_of(s.operation()) == 1);
    EXPECT_CODE(rt.result_of(s.operation()).code(), VOLT_ESTALLED);
  }
}

int main() {
  return run_unit_tests();
}

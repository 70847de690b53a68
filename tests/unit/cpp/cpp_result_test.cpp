/* cpp_result_test.cpp: volt/cpp/result.hpp and the times of operation.hpp. */
#include <chrono>
#include <memory>
#include <ratio>
#include <string>
#include <typeinfo>

#include "unit.hpp"
extern "C" {
#include "death.h"
}

using namespace std::chrono_literals;
using std::chrono::steady_clock;

static void dies(void (*act)(void *), void *arg, const char *needle) {
  const char *const needles[] = {needle, nullptr};
  EXPECT(death_of(act, arg, needles));
}

TEST(a_code_becomes_an_exception) {
  EXPECT_THROWS(volt::canceled, VOLT_ECANCELED, volt::throw_(VOLT_ECANCELED));
  EXPECT_THROWS(volt::closed, VOLT_ECLOSED, volt::throw_(VOLT_ECLOSED));
  EXPECT_THROWS(volt::timed_out, VOLT_ETIMEDOUT, volt::throw_(VOLT_ETIMEDOUT));
  EXPECT_THROWS(volt::error, VOLT_EINVAL, volt::throw_(VOLT_EINVAL));
  EXPECT_THROWS(volt::error, VOLT_ERRNO(EPIPE), volt::check(VOLT_ERRNO(EPIPE)));
  EXPECT(volt::error(VOLT_ERRNO(EPIPE)).system_code() == EPIPE);
  EXPECT(volt::error(VOLT_ECLOSED).system_code() == 0);
  volt::check(VOLT_OK);
  volt::check(VOLT_LEADER);
  volt::check(VOLT_DONE);
  try {
    volt::throw_(VOLT_ECLOSED);
  } catch (const std::exception &e) {
    EXPECT(std::strcmp(e.what(), "closed") == 0);
  }
}

/* How many of them there are. */
struct counted {
  static int alive;
  int value;
  explicit counted(int v) : value(v) {
    alive += 1;
  }
  counted(counted &&other) noexcept : value(other.value) {
    alive += 1;
    other.value = 0;
  }
  counted &operator=(counted &&) = delete;
  ~counted() {
    alive -= 1;
  }
};
int counted::alive = 0;

TEST(a_result_has_its_value_for_as_long_as_it_lives) {
  {
    auto r = volt::result<counted>::success(VOLT_OK, 7);
    EXPECT(r && counted::alive == 1 && r->value == 7 && (*r).value == 7);
    auto moved = std::move(r);
    EXPECT(moved && moved->value == 7 && counted::alive == 2);
    r = volt::result<counted>::failure(VOLT_ECLOSED);
    EXPECT(!r && counted::alive == 1);
    EXPECT_CODE(r.code(), VOLT_ECLOSED);
    EXPECT(std::strcmp(r.text(), "closed") == 0);
    r = std::move(moved);
    EXPECT(r && r->value == 7 && counted::alive == 2);
    auto &self = r;
    r = std::move(self);
    EXPECT(r && r->value == 7);
    counted out = std::move(r).value();
    EXPECT(out.value == 7);
  }
  EXPECT(counted::alive == 0);
}

TEST(the_value_of_a_failure) {
  auto r = volt::result<int>::failure(VOLT_ETIMEDOUT);
  EXPECT_THROWS(volt::timed_out, VOLT_ETIMEDOUT, r.value());
  EXPECT_THROWS(volt::timed_out, VOLT_ETIMEDOUT, std::move(r).value());
  EXPECT(std::move(r).value_or(5) == 5);
  EXPECT(volt::result<int>::success(VOLT_OK, 4).value_or(5) == 4);
  dies([](void *arg) { std::printf("%d", **static_cast<volt::result<int> *>(arg)); }, &r,
       "the value of a volt::result that is a failure");
  dies([](void *) { (void)volt::result<int>::failure(VOLT_OK); }, nullptr, "without a value");
  auto nothing = volt::result<void>::failure(VOLT_ECLOSED);
  EXPECT(!nothing);
  EXPECT_THROWS(volt::closed, VOLT_ECLOSED, nothing.value());
  volt::result<void>::success(VOLT_OK).value();
  EXPECT_CODE(volt::result<void>::success(VOLT_LEADER).code(), VOLT_LEADER);
}

TEST(a_result_of_what_cannot_be_copied) {
  auto r = volt::result<std::unique_ptr<std::string>>::success(VOLT_OK, new std::string("text"));
  std::unique_ptr<std::string> p = *std::move(r);
  EXPECT(*p == "text" && *r == nullptr);
}

/* ---- times ---- */

/* steady_clock is the clock of every deadline: a time of the one lies between two of the other. */
TEST(steady_clock_is_the_clock_of_deadlines) {
  for (int i = 0; i < 100; i++) {
    uint64_t before = volt_now_ns();
    uint64_t between = volt::deadline_ns(steady_clock::now());
    uint64_t after = volt_now_ns();
    EXPECT(before <= between && between <= after);
  }
}

TEST(times_become_deadlines) {
  using std::chrono::nanoseconds;
  using std::chrono::time_point;
  EXPECT(volt::deadline_ns(steady_clock::time_point(nanoseconds(123))) == 123);
  EXPECT(volt::deadline_ns(steady_clock::time_point::max()) == VOLT_NO_DEADLINE);
  EXPECT(volt::deadline_ns(steady_clock::time_point::min()) == 0);
  EXPECT(volt::deadline_ns(steady_clock::time_point(-1ns)) == 0);
  using fraction = std::chrono::duration<double, std::nano>;
  EXPECT(volt::deadline_ns(time_point<steady_clock, fraction>(fraction(1.25))) == 2);
  using seconds = std::chrono::duration<int>;
  EXPECT(volt::deadline_ns(time_point<steady_clock, seconds>(seconds(3))) == 3000000000u);
}

TEST(durations_become_nanoseconds) {
  EXPECT(volt::duration_ns(5ms) == 5000000);
  EXPECT(volt::duration_ns(0s) == 0);
  EXPECT(volt::duration_ns(-5ms) == 0);
  EXPECT(volt::duration_ns(std::chrono::hours::max()) == UINT64_MAX);
  EXPECT(volt::duration_ns(std::chrono::hours::min()) == 0);
  EXPECT(volt::duration_ns(std::chrono::nanoseconds::max()) == UINT64_MAX);
  EXPECT(volt::duration_ns(std::chrono::duration<double>(1e300)) == UINT64_MAX);
  EXPECT(volt::duration_ns(std::chrono::duration<double>(1.5)) == 1500000000);
  EXPECT(volt::duration_ns(std::chrono::duration<int, std::pico>(1)) == 1);
  EXPECT(volt::deadline_after(std::chrono::hours::max()) == VOLT_NO_DEADLINE);
  EXPECT(volt::deadline_after(-1s) == 0);
  uint64_t before = volt_now_ns();
  uint64_t deadline = volt::deadline_after(1h);
  EXPECT(deadline >= before + 3600000000000u && deadline <= volt_now_ns() + 3600000000000u);
}

/* A value that cannot be moved if it is 13. */
struct unlucky : counted {
  explicit unlucky(int v) : counted(v) {
  }
  unlucky(unlucky &&other) : counted(check(other.value)) {
  }
  static int check(int v) {
    if (v == 13) throw std::bad_alloc();
    return v;
  }
};

template <class Act>
static bool throws_bad_alloc(Act act) {
  try {
    act();
  } catch (const std::bad_alloc &) {
    return true;
  }
  return false;
}

TEST(a_value_that_was_not_made_is_not_destroyed) {
  using result = volt::result<unlucky>;
  {
    unlucky from(13);
    EXPECT(throws_bad_alloc([&] { (void)result::success(VOLT_OK, std::move(from)); }));
    EXPECT(counted::alive == 1);
    result a = result::success(VOLT_OK, 1), b = result::success(VOLT_OK, 13);
    EXPECT(throws_bad_alloc([&] { a = std::move(b); }));
    EXPECT(counted::alive == 2 && !a);
  }
  EXPECT(counted::alive == 0);
}

int main() {
  return run_unit_tests();
}

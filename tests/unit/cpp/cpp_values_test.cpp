/* cpp_values_test.cpp: volt/cpp/values.hpp and promise.hpp: watch, broadcast, oneshot, promise. */
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <typeinfo>

#include "unit.hpp"
extern "C" {
#include "death.h"
}

using namespace std::chrono_literals;

struct config {
  int limit;
  double share;
};

static_assert(sizeof(volt::watch<config>) == sizeof(volt_watch) + sizeof(config));
static_assert(sizeof(volt::broadcast<config, 4>) == sizeof(volt_broadcast) + 4 * sizeof(config));
static_assert(sizeof(volt::oneshot<double>) == sizeof(volt_oneshot) + sizeof(double));
static_assert(sizeof(volt::promise<>) == sizeof(volt_promise));

/* ---- watch ---- */

TEST(a_watcher_sees_the_latest_version) {
  volt::watch<config> settings(config{1, 0.5});
  volt::watcher<config> watcher(settings);
  EXPECT(watcher.next().wait().limit == 1 && watcher.seen() == 1);
  EXPECT_CODE(watcher.next().result_now().code(), VOLT_EAGAIN);
  EXPECT_CODE(watcher.next().result_for(1us).code(), VOLT_ETIMEDOUT);
  EXPECT(settings.send(config{2, 0.5}) && settings.send(config{3, 0.5}));
  EXPECT(watcher.next().wait().limit == 3 && watcher.seen() == 3 && settings.version() == 3);
  EXPECT(settings.modify([](config &c) {
    c.limit += 1;
    return true;
  }));
  EXPECT(!settings.modify([](config &) { return false; }));
  EXPECT(settings.get().limit == 4 && settings.version() == 4);
  EXPECT(watcher.next().wait().limit == 4);
  int got = 0;
  std::thread other([&] { got = watcher.next().wait().limit; });
  UNTIL(settings.waiters() == 1);
  settings.send(config{5, 0});
  other.join();
  EXPECT(got == 5);
  settings.close();
  EXPECT(settings.is_closed() && !settings.send(config{6, 0}));
  EXPECT_THROWS(volt::closed, VOLT_ECLOSED, watcher.next().wait());
}

/* ---- broadcast ---- */

TEST(each_receiver_receives_each_value) {
  volt::broadcast<int, 2> events;
  EXPECT(events.send(0)); /* no receiver */
  auto one = events.subscribe();
  EXPECT_CODE(one.try_recv().code(), VOLT_EAGAIN);
  EXPECT_CODE(one.recv().result_for(1us).code(), VOLT_ETIMEDOUT);
  events.send(1);
  auto two = one; /* at the same position */
  EXPECT(one.recv().wait() == 1 && two.recv().wait() == 1);
  for (int i = 2; i < 6; i++) events.send(i);
  EXPECT(one.lag() == 2 && one.size() == 2);
  EXPECT_THROWS(volt::error, VOLT_ELAGGED, one.recv().wait());
  EXPECT(one.lost() == 2 && one.recv().wait() == 4 && one.recv().wait() == 5);
  int got = 0;
  std::thread other([&] { got = one.recv().wait(); });
  UNTIL(events.waiters() == 1);
  events.send(6);
  other.join();
  EXPECT(got == 6 && events.sent() == 7);
  events.close();
  EXPECT(events.is_closed() && !events.send(7));
  EXPECT_THROWS(volt::closed, VOLT_ECLOSED, one.recv().wait());
}

/* ---- oneshot ---- */

TEST(one_value_goes_through_a_oneshot) {
  volt::oneshot<config> reply;
  EXPECT(reply.is_empty());
  EXPECT_CODE(reply.try_recv().code(), VOLT_EAGAIN);
  EXPECT_CODE(reply.recv().result_for(1us).code(), VOLT_ETIMEDOUT);
  int got = 0;
  std::thread other([&] { got = reply.recv().wait().limit; });
  UNTIL(reply.waiters() == 1);
  EXPECT(reply.send(config{8, 0}));
  other.join();
  EXPECT(got == 8);
  reply.settled().wait();
  EXPECT_CODE(reply.recv().result().code(), VOLT_ECLOSED);
}

TEST(a_pointer_in_a_oneshot_ends_with_it) {
  std::weak_ptr<int> seen;
  using owned = std::unique_ptr<std::shared_ptr<int>>;
  {
    volt::oneshot<owned> reply;
    auto shared = std::make_shared<int>(3);
    seen = shared;
    EXPECT(reply.send(std::make_unique<std::shared_ptr<int>>(std::move(shared))));
    EXPECT(!seen.expired());
  }
  EXPECT(seen.expired());
  volt::oneshot<owned> reply;
  auto shared = std::make_shared<int>(4);
  seen = shared;
  reply.close();
  EXPECT(reply.is_closed());
  EXPECT(!reply.send(std::make_unique<std::shared_ptr<int>>(std::move(shared))));
  EXPECT(seen.expired()); /* it was given up */
  EXPECT_THROWS(volt::closed, VOLT_ECLOSED, (reply.settled().wait(), 0));
  volt::oneshot<owned> taken;
  taken.send(std::make_unique<std::shared_ptr<int>>(std::make_shared<int>(5)));
  EXPECT(**taken.recv().wait() == 5);
}

/* ---- promise ---- */

TEST(a_promise_is_kept) {
  volt::promise<std::string> page;
  EXPECT_CODE(page.get().result_for(1us).code(), VOLT_ETIMEDOUT);
  page.set("a text that is too long to be within the string");
  EXPECT(page.get().wait() == "a text that is too long to be within the string");
  std::string got;
  std::thread other([&] { got = page.get().wait(); });
  page.set(3u, 'x');
  other.join();
  EXPECT(got == "xxx");
  page.fail(VOLT_ERRNO(EHOSTUNREACH));
  EXPECT_THROWS(volt::error, VOLT_ERRNO(EHOSTUNREACH), page.get().wait());
  volt::promise<> done;
  done.set();
  done.get().wait();
  done.fail(VOLT_ECLOSED);
  EXPECT_CODE(done.get().result().code(), VOLT_ECLOSED);
  const char *const needles[] = {"a volt::promise fails with a code of success", nullptr};
  EXPECT(
      death_of([](void *p) { static_cast<volt::promise<> *>(p)->fail(VOLT_OK); }, &done, needles));
}

int main() {
  return run_unit_tests();
}

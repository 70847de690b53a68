/* cpp_channel_test.cpp: volt/cpp/channel.hpp and mailbox.hpp: values, unique_ptr, what is left. */
#include <chrono>
#include <memory>
#include <thread>
#include <typeinfo>

#include "unit.hpp"
extern "C" {
#include "death.h"
}

using namespace std::chrono_literals;

struct job {
  int number;
  char text[20];
};

static_assert(volt::detail::ring_bytes(64, sizeof(job)) == 64 * 32);
static_assert(std::is_same_v<decltype(std::declval<volt::channel<job, 4>>().recv().wait()), job>);

static const volt_waker no_waker = {nullptr, nullptr};

/* How many of them there are. */
struct counted {
  static int alive;
  int value;
  explicit counted(int v) : value(v) {
    alive += 1;
  }
  ~counted() {
    alive -= 1;
  }
  counted(const counted &) = delete;
  counted &operator=(const counted &) = delete;
};
int counted::alive = 0;
using owned = std::unique_ptr<counted>;

TEST(the_ring_has_the_bytes_that_c_wants) {
  for (uint32_t n : {1u, 2u, 3u, 5u, 64u, 65u}) {
    for (size_t bytes : {1u, 4u, 8u, 9u, 24u}) {
      EXPECT(volt::detail::ring_bytes(n, bytes) == volt_chan_bytes(n, bytes));
    }
  }
}

TEST(values_go_through_in_order) {
  volt::channel<job, 3> jobs;
  EXPECT(jobs.capacity() == 3 && jobs.size() == 0);
  EXPECT_CODE(jobs.try_recv().code(), VOLT_EAGAIN);
  EXPECT_CODE(jobs.recv().result_for(1us).code(), VOLT_ETIMEDOUT);
  jobs.send(job{1, "one"}).wait();
  job two{2, "two"};
  jobs.send(two).wait();
  EXPECT(jobs.try_send(job{3, "three"}));
  EXPECT_CODE(jobs.try_send(two).code(), VOLT_EAGAIN);
  EXPECT_CODE(jobs.send(two).result_for(1us).code(), VOLT_ETIMEDOUT);
  EXPECT_THROWS(volt::timed_out, VOLT_ETIMEDOUT, (jobs.send(two).wait_for(1us), 0));
  EXPECT(jobs.size() == 3);
  for (int i = 1; i <= 3; i++) EXPECT(jobs.recv().wait().number == i);
}

TEST(a_sender_and_a_receiver_wait) {
  volt::channel<int> numbers(1);
  int got = 0;
  std::thread receiver([&] { got = numbers.recv().wait(); });
  UNTIL(numbers.waiters() == 1);
  numbers.send(5).wait();
  receiver.join();
  EXPECT(got == 5);
  numbers.send(6).wait();
  std::thread sender([&] { numbers.send(7).wait(); });
  UNTIL(numbers.waiters() == 1);
  EXPECT(numbers.recv().wait() == 6);
  sender.join();
  EXPECT(numbers.recv().wait() == 7);
}

TEST(a_closed_channel_is_emptied) {
  volt::channel<int, 4> numbers;
  for (int i = 1; i <= 3; i++) numbers.send(i).wait();
  numbers.close();
  EXPECT(numbers.is_closed());
  numbers.closing().wait();
  EXPECT_CODE(numbers.try_send(4).code(), VOLT_ECLOSED);
  EXPECT_THROWS(volt::closed, VOLT_ECLOSED, (numbers.send(4).wait(), 0));
  int sum = 0;
  for (int n : numbers) sum += n;
  EXPECT(sum == 6);
  EXPECT_THROWS(volt::closed, VOLT_ECLOSED, numbers.recv().wait());
  for (int n : numbers) sum += n;
  EXPECT(sum == 6);
}

TEST(the_last_sender_closes) {
  volt::channel<int, 4> numbers;
  EXPECT_CODE(numbers.closing().result_for(1us).code(), VOLT_ETIMEDOUT);
  {
    volt::counted_sender one = numbers.sender();
    volt::counted_sender two(one);
    EXPECT(numbers.senders() == 2);
    volt::counted_sender moved(std::move(two));
    EXPECT(!two && moved && numbers.senders() == 2);
    two = moved;
    EXPECT(numbers.senders() == 3);
    moved = volt::counted_sender();
    EXPECT(numbers.senders() == 2 && !numbers.is_closed());
  }
  EXPECT(numbers.is_closed() && !numbers.sender());
}

TEST(many_at_once) {
  volt::channel<int, 8> numbers;
  int from[5] = {1, 2, 3, 4, 5}, to[8] = {};
  EXPECT_CODE(numbers.recv_many(to, 8).result_for(1us).code(), VOLT_ETIMEDOUT);
  EXPECT(numbers.send_many(from, 5).wait() == 5);
  EXPECT(numbers.send_many(from, 5).wait_for(1s) == 3);
  EXPECT_CODE(numbers.send_many(from, 5).result_now().code(), VOLT_EAGAIN);
  EXPECT(numbers.recv_many(to, 8).wait() == 8 && to[7] == 3);
  EXPECT_CODE(numbers.recv_many(to, 8).result_now().code(), VOLT_EAGAIN);
  volt_future f;
  auto op = numbers.recv_many(to, 8);
  volt_future *begun = op.begin(f);
  EXPECT_CODE(volt_future_poll(begun, no_waker), VOLT_PENDING);
  numbers.send(9).wait();
  EXPECT_CODE(volt_future_poll(begun, no_waker), VOLT_OK);
  EXPECT(op.finish(VOLT_OK, f) == 1 && to[0] == 9);
}

/* ---- unique_ptr ---- */

TEST(a_pointer_is_sent_and_received) {
  {
    volt::channel<owned, 2> objects;
    owned named = std::make_unique<counted>(1);
    objects.send(named).wait();
    EXPECT(!named);
    objects.send(std::make_unique<counted>(2)).wait();
    EXPECT(counted::alive == 2);
    owned got = objects.recv().wait();
    EXPECT(got->value == 1);
    EXPECT((*objects.try_recv())->value == 2);
    EXPECT(counted::alive == 1);
  }
  EXPECT(counted::alive == 0);
}

TEST(a_pointer_that_was_not_sent) {
  volt::channel<owned, 1> objects;
  objects.send(std::make_unique<counted>(1)).wait();
  owned named = std::make_unique<counted>(2);
  EXPECT_CODE(objects.try_send(named).code(), VOLT_EAGAIN);
  EXPECT_CODE(objects.send(named).result_for(1us).code(), VOLT_ETIMEDOUT);
  EXPECT(named && named->value == 2); /* still the caller's */
  EXPECT_CODE(objects.try_send(std::move(named)).code(), VOLT_EAGAIN);
  EXPECT(!named && counted::alive == 1); /* given up */
  objects.close();
  named = std::make_unique<counted>(3);
  EXPECT_THROWS(volt::closed, VOLT_ECLOSED, (objects.send(named).wait(), 0));
  EXPECT(named);
}

TEST(what_is_left_ends_with_the_channel) {
  {
    volt::channel<owned> objects(4);
    for (int i = 0; i < 4; i++) objects.send(std::make_unique<counted>(i)).wait();
    EXPECT(counted::alive == 4);
    (void)objects.recv().wait();
    EXPECT(counted::alive == 3);
  }
  EXPECT(counted::alive == 0);
}

/* A wait that is dropped before and after a receiver has taken what it sends, and the same of a
 * receive: no object is lost or ends twice. */
TEST(a_wait_is_dropped) {
  {
    volt::channel<owned, 1> objects;
    objects.send(std::make_unique<counted>(1)).wait();
    owned named = std::make_unique<counted>(2);
    for (int moved = 0; moved < 2; moved++) {
      volt_future f;
      auto op = objects.send(named);
      volt_future *begun = op.begin(f);
      EXPECT_CODE(volt_future_poll(begun, no_waker), VOLT_PENDING);
      if (moved) (void)objects.recv().wait();
      op.drop(begun, f);
      EXPECT(bool(named) == !moved && objects.size() == 1);
    }
    (void)objects.recv().wait();
    EXPECT(counted::alive == 0);
    for (int moved = 0; moved < 2; moved++) {
      volt_future f;
      auto op = objects.recv();
      volt_future *begun = op.begin(f);
      EXPECT_CODE(volt_future_poll(begun, no_waker), VOLT_PENDING);
      if (moved) objects.send(std::make_unique<counted>(3)).wait();
      op.drop(begun, f);
      EXPECT(counted::alive == 0 && objects.waiters() == 0);
    }
  }
  EXPECT(counted::alive == 0);
}

struct two_words {
  long a, b;
};

TEST(a_channel_of_c) {
  volt::channel<two_words, 2> here;
  two_words value{1, 2}, got{};
  EXPECT_CODE(volt_chan_try_send(here.c(), &value), VOLT_OK);
  EXPECT(here.recv().wait().b == 2);
  here.send(value).wait();
  EXPECT_CODE(volt_chan_try_recv(here.c(), &got), VOLT_OK);
  EXPECT(got.a == 1);
}

TEST(a_channel_without_capacity) {
  const char *const needles[] = {"a volt::channel of no capacity", nullptr};
  EXPECT(death_of([](void *) { volt::channel<int> none(0); }, nullptr, needles));
}

/* ---- places ---- */

TEST(a_place_is_taken_before_there_is_a_value) {
  {
    volt::permit_channel<owned, 2> objects;
    volt::place<owned> one = objects.reserve().wait();
    volt::place<owned> two = objects.try_reserve().value();
    EXPECT(objects.free_places() == 0);
    EXPECT_CODE(objects.try_reserve().code(), VOLT_EAGAIN);
    EXPECT_CODE(objects.reserve().result_for(1us).code(), VOLT_ETIMEDOUT);
    volt::place<owned> moved(std::move(one));
    EXPECT(!one && moved);
    one = std::move(moved);
    two.give_back();
    EXPECT(!two && objects.free_places() == 1);
    EXPECT(one.send(std::make_unique<counted>(1)) && !one);
    EXPECT_CODE(objects.recv().result_now().code(), VOLT_OK);
    EXPECT(counted::alive == 0 && objects.free_places() == 2);
    bool got = false;
    std::thread receiver([&] { got = objects.recv().wait()->value == 2; });
    EXPECT(objects.reserve().wait().send(std::make_unique<counted>(2)));
    receiver.join();
    EXPECT(got);
    two = objects.reserve().wait();
    EXPECT(objects.reserve().wait().send(std::make_unique<counted>(3)) && objects.size() == 1);
    objects.close();
    EXPECT(!two.send(std::make_unique<counted>(4)) && counted::alive == 1);
    EXPECT_THROWS(volt::closed, VOLT_ECLOSED, objects.reserve().wait());
    EXPECT(objects.is_closed());
  }
  EXPECT(counted::alive == 0); /* what was left ended with it */
  volt::permit_channel<int, 1> numbers;
  volt::place<int> held = numbers.reserve().wait();
  std::thread other([&] { EXPECT(numbers.reserve().wait().send(7)); });
  held.give_back();
  EXPECT(numbers.recv().wait_for(10s) == 7);
  other.join();
  const char *const needles[] = {"a volt::place that is none is sent with", nullptr};
  EXPECT(death_of([](void *) { (void)volt::place<int>().send(1); }, nullptr, needles));
}

/* ---- mailbox ---- */

struct letter : volt::mailbox_node {
  explicit letter(int v) : what(v) {
  }
  counted what;
};

TEST(objects_go_through_a_mailbox) {
  {
    volt::mailbox<letter> letters;
    EXPECT_CODE(letters.try_recv().code(), VOLT_EAGAIN);
    EXPECT_CODE(letters.recv().result_for(1us).code(), VOLT_ETIMEDOUT);
    EXPECT(letters.send(std::make_unique<letter>(1)));
    auto named = std::make_unique<letter>(2);
    EXPECT(letters.send(named) && !named);
    EXPECT(letters.size() == 2);
    EXPECT(letters.recv().wait()->what.value == 1);
    EXPECT((*letters.try_recv())->what.value == 2);
    int got = 0;
    std::thread other([&] { got = letters.recv().wait()->what.value; });
    UNTIL(letters.waiters() == 1);
    letters.send(std::make_unique<letter>(3));
    other.join();
    EXPECT(got == 3);
    letters.send(std::make_unique<letter>(4));
    letters.close();
    named = std::make_unique<letter>(5);
    EXPECT(!letters.send(named) && named && letters.is_closed());
    EXPECT(!letters.send(std::move(named)) && !named);
    EXPECT(counted::alive == 1);
  }
  EXPECT(counted::alive == 0);
}

int main() {
  return run_unit_tests();
}

/* cpp_scenes.hpp: a scene (cpp_scene.hpp) for each operation of C++. An object aborts in its destructor
 * if a waiter is left in it. */
#ifndef VOLT_TEST_CPP_SCENES_HPP
#define VOLT_TEST_CPP_SCENES_HPP

#include <memory>
#include <string>
#include <vector>

#include "unit.hpp"

#define SCENE(name) struct name : scene_of<name>

SCENE(a_lock) {
  volt::mutex m;
  volt::lock held{m};
  auto operation() {
    return m.lock();
  }
  void let() override {
    held.unlock();
  }
};

SCENE(an_acquire) {
  volt::semaphore s{1};
  volt::permits held{s};
  auto operation() {
    return s.acquire();
  }
  void let() override {
    held.release();
  }
};

SCENE(an_acquire_all) {
  volt::semaphore s{2};
  volt::permits held{s};
  auto operation() {
    return s.acquire_all();
  }
  void let() override {
    held.release();
  }
};

SCENE(an_acquire_of_amounts) {
  volt::budget b{1, 2};
  volt::amounts held{b, {{1, 1}}};
  auto operation() {
    return b.acquire({{1, 2}});
  }
  void let() override {
    held.release();
  }
};

SCENE(a_lock_of_all) {
  volt::mutex m;
  volt::semaphore s{1};
  volt::permits held{s};
  auto operation() {
    return volt::lock_all(m, volt::permits_of(s));
  }
  void let() override {
    held.release();
  }
};

SCENE(a_read) {
  volt::rwlock rw;
  volt::write_lock held = rw.write().wait();
  auto operation() {
    return rw.read();
  }
  void let() override {
    held.unlock();
  }
};

SCENE(a_write) {
  volt::rwlock rw;
  volt::read_lock held = rw.read().wait();
  auto operation() {
    return rw.write();
  }
  void let() override {
    held.unlock();
  }
};

SCENE(a_sharded_read) {
  volt::sharded_rwlock rw{2};
  volt::sharded_write_lock held = rw.write().wait();
  auto operation() {
    return rw.read(1);
  }
  void let() override {
    held.unlock();
  }
};

SCENE(a_sharded_write) {
  volt::sharded_rwlock rw{2};
  volt::read_lock held = rw.read(1).wait();
  auto operation() {
    return rw.write();
  }
  void let() override {
    held.unlock();
  }
};

/* A condition variable: with the lock held before and after, whatever comes of the wait. */
SCENE(a_cond) {
  volt::mutex m;
  volt::cond changed;
  bool ready = false;
  volt::lock guard;
  auto operation() {
    return changed.wait(guard);
  }
  void before() override {
    EXPECT(volt_mutex_try_lock(m.c()) == VOLT_OK); /* a coroutine must not block */
    guard = volt::lock(m, volt::adopt);
  }
  bool is_over() override {
    return ready;
  }
  bool repeats() override {
    return true;
  }
  void after() override {
    EXPECT(relocks == bool(guard));
    EXPECT(relocks == m.is_locked());
    guard.unlock();
  }
  void let() override {
    {
      volt::lock mine(m);
      ready = true;
    }
    changed.signal(); /* when m is free: after() looks at it */
  }
  bool loses_nothing() override {
    return false; /* no other waits, so the signal is over; `ready` says it */
  }
  bool keeps() override {
    return false;
  }
};

/* The same, which waits until a condition is true. */
SCENE(a_cond_with_a_predicate) {
  volt::mutex m;
  volt::cond changed;
  bool ready = false;
  volt::lock guard;
  auto operation() {
    return changed.wait(guard, [this] { return ready; });
  }
  void before() override {
    EXPECT(volt_mutex_try_lock(m.c()) == VOLT_OK); /* a coroutine must not block */
    guard = volt::lock(m, volt::adopt);
  }
  void after() override {
    EXPECT(bool(guard) == m.is_locked());
    EXPECT(guard || !relocks);
    guard.unlock();
  }
  void let() override {
    {
      volt::lock mine(m);
      ready = true;
    }
    changed.signal(); /* when m is free: after() looks at it */
  }
};

SCENE(a_notify) {
  volt::notify news;
  auto operation() {
    return news.notified();
  }
  void let() override {
    news.one();
  }
};

SCENE(a_latch) {
  volt::latch done{1};
  auto operation() {
    return done.opened();
  }
  void let() override {
    done.count_down();
  }
};

SCENE(a_barrier) {
  volt::barrier round{2};
  auto operation() {
    return round.arrive();
  }
  void let() override {
    EXPECT(round.arrive().result());
  }
  bool loses_nothing() override {
    return false; /* the round is over for the others, too */
  }
  bool keeps() override {
    return false;
  }
};

SCENE(a_once) {
  volt::once loaded;
  volt::initialiser turn = loaded.begin().wait();
  auto operation() {
    return loaded.begin();
  }
  void let() override {
    turn.failed();
  }
};

SCENE(a_token) {
  volt::token stop;
  auto operation() {
    return stop.cancelled();
  }
  void let() override {
    stop.cancel();
  }
};

SCENE(a_watcher) {
  volt::watch<int> number{1};
  volt::watcher<int> seen{number};
  int first = seen.next().wait();
  auto operation() {
    return seen.next();
  }
  void let() override {
    number.send(first + 1);
  }
};

SCENE(a_broadcast) {
  volt::broadcast<int, 2> events;
  volt::broadcast_receiver<int> mine = events.subscribe();
  auto operation() {
    return mine.recv();
  }
  void let() override {
    events.send(1);
  }
};

SCENE(a_oneshot) {
  volt::oneshot<std::unique_ptr<int>> reply;
  auto operation() {
    return reply.recv();
  }
  void let() override {
    reply.send(std::make_unique<int>(1));
  }
};

SCENE(the_end_of_a_oneshot) {
  volt::oneshot<int> reply;
  auto operation() {
    return reply.settled();
  }
  void let() override {
    reply.send(1);
  }
};

SCENE(a_promise) {
  volt::promise<std::string> page;
  auto operation() {
    return page.get();
  }
  void let() override {
    page.set("text");
  }
};

SCENE(a_receive) {
  volt::channel<int, 1> numbers;
  auto operation() {
    return numbers.recv();
  }
  void let() override {
    EXPECT(numbers.try_send(1));
  }
  bool keeps() override {
    return false;
  }
  void dropped() override {
    EXPECT(numbers.size() == 0); /* the element is gone */
  }
};

SCENE(a_receive_of_many) {
  volt::channel<int, 1> numbers;
  int to[2] = {};
  uint32_t moved = 9;
  auto operation() {
    return numbers.recv_many(to, 2, &moved);
  }
  void let() override {
    EXPECT(numbers.try_send(1));
  }
  bool keeps() override {
    return false;
  }
  void dropped() override {
    EXPECT(moved == 1 && to[0] == 1);
  }
};

SCENE(a_send_of_many) {
  volt::channel<int, 1> numbers;
  int from[2] = {2, 3};
  uint32_t moved = 9;
  bool filled = bool(numbers.try_send(1));
  auto operation() {
    return numbers.send_many(from, 2, &moved);
  }
  void let() override {
    EXPECT(filled && numbers.try_recv());
  }
  bool keeps() override {
    return false;
  }
  void dropped() override {
    EXPECT(moved == 1 && *numbers.try_recv() == 2);
  }
};

SCENE(a_send) {
  volt::channel<int> numbers{1};
  bool filled = bool(numbers.try_send(1));
  auto operation() {
    return numbers.send(2);
  }
  void let() override {
    EXPECT(filled && numbers.try_recv());
  }
  bool keeps() override {
    return false;
  }
  void dropped() override {
    EXPECT(*numbers.try_recv() == 2);
  }
};

SCENE(a_send_of_a_pointer) {
  volt::channel<std::unique_ptr<int>, 1> objects;
  bool filled = bool(objects.try_send(std::make_unique<int>(1)));
  auto operation() {
    return objects.send(std::make_unique<int>(2));
  }
  void let() override {
    EXPECT(filled && **objects.try_recv() == 1);
  }
  bool keeps() override {
    return false;
  }
  void dropped() override {
    EXPECT(**objects.try_recv() == 2);
  }
};

SCENE(the_close_of_a_channel) {
  volt::channel<int, 1> numbers;
  auto operation() {
    return numbers.closing();
  }
  void let() override {
    numbers.close();
  }
};

SCENE(a_reservation) {
  volt::permit_channel<int, 1> numbers;
  volt::place<int> held = numbers.reserve().wait();
  auto operation() {
    return numbers.reserve();
  }
  void let() override {
    held.give_back();
  }
};

SCENE(a_receive_with_places) {
  volt::permit_channel<int, 1> numbers;
  auto operation() {
    return numbers.recv();
  }
  void let() override {
    EXPECT(numbers.try_reserve().value().send(1));
  }
  bool keeps() override {
    return false;
  }
  void dropped() override {
    EXPECT(numbers.size() == 0 && numbers.free_places() == 1);
  }
};

struct letter : volt::mailbox_node {};

SCENE(a_mailbox) {
  volt::mailbox<letter> letters;
  auto operation() {
    return letters.recv();
  }
  void let() override {
    EXPECT(letters.send(std::make_unique<letter>()));
  }
};

/* ---- all of them ---- */

struct maker {
  const char *name;
  std::unique_ptr<scene> (*make)();
};

template <class S>
static maker of(const char *name) {
  return {name, []() -> std::unique_ptr<scene> { return std::make_unique<S>(); }};
}

#define OF(scene) of<scene>(#scene)

static const std::vector<maker> makers = {
    OF(a_lock),
    OF(a_reservation),
    OF(a_receive_with_places),
    OF(an_acquire),
    OF(an_acquire_all),
    OF(an_acquire_of_amounts),
    OF(a_lock_of_all),
    OF(a_read),
    OF(a_write),
    OF(a_cond),
    OF(a_cond_with_a_predicate),
    OF(a_sharded_read),
    OF(a_sharded_write),
    OF(a_notify),
    OF(a_latch),
    OF(a_barrier),
    OF(a_once),
    OF(a_token),
    OF(a_watcher),
    OF(a_broadcast),
    OF(a_oneshot),
    OF(a_promise),
    OF(a_receive),
    OF(the_end_of_a_oneshot),
    OF(a_receive_of_many),
    OF(a_send_of_many),
    OF(a_send),
    OF(a_mailbox),
    OF(a_send_of_a_pointer),
    OF(the_close_of_a_channel),
};

#endif

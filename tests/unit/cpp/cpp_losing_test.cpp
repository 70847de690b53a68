/* cpp_losing_test.cpp: each operation of C++, waited for by a thread, a fiber and a coroutine, where its
 * wait comes to nothing: it loses a select; or another branch of volt::all() fails after it has got
 * what it waits for; or what it is given is empty, moved from, or has ended. Nothing is lost, or the
 * caller learns how much was moved; nothing hangs; nothing is followed that is not there. The last test
 * reads the headers: each operation in them has its row here.
 *
 * BACK ENDS: epoll, uring
 * STANDARD: C++20 */
#include <cxxabi.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <typeinfo>
#include <vector>
#include <volt/coro.hpp>
#include <volt/io.hpp>

#include "cpp_scene.hpp"
#include "unit.hpp"
extern "C" {
#include "death.h"
}

using namespace std::chrono_literals;

/* ---- ways to wait ---- */

enum how { THREAD, FIBER, COROUTINE, HOWS };

using step = std::function<void()>;

static volt::runtime *real;     /* where fibers and coroutines run, and I/O */
static volt::runtime *virtual_; /* whose clock is virtual */

/* A wait: the future that begin() makes, and what its result is given to. A class and no two functions: these
 * would be made anew for each operation, with all that copies and destroys a std::function; nor a
 * std::optional below. This file is the slowest to compile. */
struct wait_base {
  virtual volt_future *begin() = 0;
  virtual void end(int code) = 0;

 protected:
  ~wait_base() = default;
};

static volt::task<void> awaits(wait_base &its) {
  volt_future *f = its.begin();
  its.end(co_await f);
}

/* Wait in one of the ways; meanwhile this thread does something. One function for all operations, because
 * they are many. */
static void run_in(how way, wait_base &its, const step &meanwhile) {
  auto waits = [&] { its.end(volt_future_wait(its.begin())); };
  if (way == THREAD) {
    std::thread other(waits);
    meanwhile();
    other.join();
  } else if (way == FIBER) {
    volt::fiber<> other(*real, waits);
    meanwhile();
    other.join().wait();
  } else {
    auto other = volt::spawn(*real, awaits(its));
    meanwhile();
    other.get();
  }
}

/* The same for an operation, made by make() where it is waited for; end() gets its volt::result. */
template <class Make, class End>
struct wait_of final : wait_base {
  using op_type = std::invoke_result_t<Make &>;

  wait_of(Make &make, End &end) : make_(make), end_(end) {
  }
  ~wait_of() {
    delete op_;
  }
  wait_of(const wait_of &) = delete;
  wait_of &operator=(const wait_of &) = delete;
  volt_future *begin() override {
    op_ = new op_type(make_());
    op_->forgo(); /* it is waited for by what has called this */
    return op_->begin(state_);
  }
  void end(int code) override {
    end_(op_->finish_result(code, state_));
  }

 private:
  Make &make_;
  End &end_;
  typename op_type::state_type state_;
  op_type *op_ = nullptr;
};

template <class Make, class End>
static void wait_in(how way, Make make, End end, const step &meanwhile) {
  wait_of<Make, End> its(make, end);
  run_in(way, its, meanwhile);
}

static std::string type_name(const std::type_info &type) {
  int status = 0;
  std::unique_ptr<char, void (*)(void *)> name(
      abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), std::free);
  return status == 0 ? name.get() : type.name();
}

enum { STOPPED = 98, FAILED = 99 }; /* else 0: the operation has won */

struct scene : scene_base {
  virtual std::string type() const = 0;
  /* A select of the operation and stop. Returns which has won. */
  virtual int select(how way, volt::token &stop, const step &meanwhile) = 0;
  /* All of the operation and of a permit of gate. Returns the code. */
  virtual int all(how way, volt::semaphore &gate, const step &meanwhile) = 0;
};

template <class Its>
struct scene_of : scene {
  Its &its() {
    return *static_cast<Its *>(this);
  }
  std::string type() const override {
    return type_name(typeid(decltype(std::declval<Its &>().operation())));
  }
  /* Of the value that the operation has given. */
  template <class Value>
  void got(Value &&) {
  }
  int select(how way, volt::token &stop, const step &meanwhile) override {
    int winner = FAILED;
    auto make = [&] {
      its().before();
      return volt::select(volt::biased, its().operation(), stop.cancelled());
    };
    auto end = [&](auto r) {
      relocks = r && r->index() == 0;
      if (relocks) its().got(std::get<0>(std::move(*r)));
      its().after();
      if (r) winner = relocks ? 0 : STOPPED;
    };
    wait_in(way, make, end, meanwhile);
    return winner;
  }
  int all(how way, volt::semaphore &gate, const step &meanwhile) override {
    int code = VOLT_OK;
    auto make = [&] {
      its().before();
      return volt::all(its().operation(), gate.acquire());
    };
    auto end = [&](auto r) {
      code = r.code();
      relocks = false;
      its().after();
    };
    wait_in(way, make, end, meanwhile);
    return code;
  }
};

#include "cpp_scenes.hpp"

#include "cpp_rt_scenes.hpp"

/* ---- trials ---- */

static volt_rt_config with_io() {
  const char *name = std::getenv("VOLT_TEST_IO");
  volt_rt_config config{};
  config.workers = 1;
  config.io = name && std::strcmp(name, "uring") == 0 ? volt_io_uring() : volt_io_epoll();
  return config;
}

template <class Trial>
static void each(Trial trial) {
  volt::runtime its(with_io());
  volt_rt_config by_hand{};
  by_hand.flags = VOLT_RT_BY_HAND | VOLT_RT_VIRTUAL_CLOCK;
  volt::runtime virtual_time(by_hand);
  real = &its;
  virtual_ = &virtual_time;
  for (const std::vector<maker> *some : {&makers, &of_runtimes}) {
    for (const maker &m : *some) {
      for (int way = 0; way < HOWS; way++) {
        std::printf("  %s, way %d\n", m.name, way);
        std::fflush(stdout);
        trial(m, static_cast<how>(way));
      }
    }
  }
}

/* It gets what it waits for, in a select that it can win. has_come: without let(). */
static void gets_it(scene &s, how way, bool has_come) {
  volt::token stop;
  int winner = s.select(way, stop, [&] {
    if (has_come) return;
    UNTIL(stop.waiters() == 1);
    s.let();
  });
  EXPECT(winner == 0);
}

TEST(what_loses_leaves_all_as_it_was) {
  each([](const maker &m, how way) {
    auto s = m.make();
    if (!s->waits()) return;
    volt::token stop;
    int winner = s->select(way, stop, [&] {
      UNTIL(stop.waiters() == 1);
      stop.cancel();
    });
    EXPECT(winner == STOPPED);
    s->lost();
    if (s->goes_on()) gets_it(*s, way, false);
  });
}

/* Both at once: the one that loses gives back, or has not taken. */
TEST(what_is_granted_and_loses_loses_nothing) {
  each([](const maker &m, how way) {
    auto s = m.make();
    if (!s->waits() || !s->loses_nothing()) return;
    volt::token stop;
    int winner = s->select(way, stop, [&] {
      UNTIL(stop.waiters() == 1);
      stop.cancel();
      s->let();
    });
    EXPECT(winner == 0 || winner == STOPPED);
    if (winner == STOPPED && s->goes_on()) gets_it(*s, way, true);
  });
}

TEST(what_has_it_when_another_fails_gives_it_back_or_says_so) {
  each([](const maker &m, how way) {
    auto s = m.make();
    volt::semaphore gate(0);
    int code = s->all(way, gate, [&] {
      UNTIL(gate.waiters() == 1);
      s->let();
      UNTIL(s->has_it());
      gate.close();
    });
    EXPECT_CODE(code, VOLT_ECLOSED);
    s->dropped();
    if (s->keeps()) gets_it(*s, way, true);
  });
}

/* ---- what is empty ---- */

/* By each way, alone and with another: make() makes an operation that fails with this code. */
template <class Make>
static void fails(int code, Make make) {
  EXPECT_CODE(make().result().code(), code);
  volt::semaphore never(0);
  for (int way = 0; way < HOWS; way++) {
    int got = VOLT_OK;
    auto end = [&](auto r) { got = r.code(); };
    auto both = [&] { return volt::all(never.acquire(), make()); };
    wait_in(static_cast<how>(way), make, end, [] {});
    EXPECT_CODE(got, code);
    wait_in(static_cast<how>(way), both, end, [] {});
    EXPECT_CODE(got, code);
  }
}

/* Runs in each of the ways, on a runtime with I/O. */
static void with_runtimes(const step &run) {
  volt::runtime its(with_io());
  volt_rt_config by_hand{};
  by_hand.flags = VOLT_RT_BY_HAND | VOLT_RT_VIRTUAL_CLOCK;
  volt::runtime virtual_time(by_hand);
  real = &its;
  virtual_ = &virtual_time;
  run();
}

TEST(an_empty_handle_fails) {
  with_runtimes([] {
    volt::join_handle<std::unique_ptr<int>> none;
    fails(VOLT_EINVAL, [&] { return none.join(); });
    volt::semaphore s(1);
    auto joined = volt::spawn(*real, acquires(s));
    EXPECT(*joined.get() == 42);
    fails(VOLT_EINVAL, [&] { return joined.join(); });
    auto detached = volt::spawn(*real, acquires(s));
    detached.detach();
    fails(VOLT_EINVAL, [&] { return detached.join(); });
    auto other = volt::spawn(*real, acquires(s));
    auto moved = std::move(other);
    fails(VOLT_EINVAL, [&] { return other.join(); });
    EXPECT(*moved.get() == 42);
    volt::task<std::unique_ptr<int>> empty;
    auto unspawned = volt::spawn(*real, std::move(empty));
    fails(VOLT_EINVAL, [&] { return unspawned.join(); });
    volt::fiber fiber(*real, forty_two);
    EXPECT(*fiber.join().wait() == 42);
    fails(VOLT_EINVAL, [&] { return fiber.join(); });
    EXPECT_THROWS_TEXT(volt::error, VOLT_EINVAL,
                       "this volt::fiber has been joined: it gives its value once",
                       fiber.join().wait());
  });
}

TEST(an_empty_task_fails) {
  with_runtimes(
      [] { fails(VOLT_EINVAL, [] { return volt::task_operation<int>(volt::task<int>()); }); });
}

TEST(a_descriptor_that_is_none_fails) {
  with_runtimes([] {
    volt::fd none;
    volt::listener idle;
    char bytes[4] = {};
    msghdr message{};
    iovec part{bytes, sizeof bytes};
    sockaddr_un at{};
    auto *address = reinterpret_cast<sockaddr *>(&at);
    fails(VOLT_ECLOSED, [&] { return none.recv(bytes, 4u); });
    fails(VOLT_ECLOSED, [&] { return none.recvmsg(message); });
    fails(VOLT_ECLOSED, [&] { return none.send(bytes, 4u); });
    fails(VOLT_ECLOSED, [&] { return none.sendmsg(message); });
    fails(VOLT_ECLOSED, [&] { return none.connect(address, sizeof at); });
    fails(VOLT_ECLOSED, [&] { return none.accept(); });
    fails(VOLT_ECLOSED, [&] { return none.ready(POLLIN); });
    fails(VOLT_ECLOSED, [&] { return none.sendfile(none, 0, 4); });
    fails(VOLT_ECLOSED, [&] { return none.read(bytes, 4u); });
    fails(VOLT_ECLOSED, [&] { return none.write(bytes, 4u); });
    fails(VOLT_ECLOSED, [&] { return none.readv(&part, 1); });
    fails(VOLT_ECLOSED, [&] { return none.writev(&part, 1); });
    fails(VOLT_ECLOSED, [&] { return none.sync(); });
    EXPECT_CODE(none.closing().result().code(), VOLT_OK);
    fails(VOLT_ECLOSED, [&] { return idle.accept(); });
    fails(VOLT_ECLOSED, [&] { return idle.pause(VOLT_ECLOSED); });
    fails(VOLT_ERRNO(EMFILE), [&] { return idle.pause(VOLT_ERRNO(EMFILE)); });
  });
}

/* ---- a runtime that has ended ---- */

/* The tasks of a runtime that is shut down have ended, and it takes no more. */
TEST(what_is_begun_after_the_shutdown_ends) {
  volt::runtime its(with_io());
  EXPECT(its.shutdown_for(10s));
  EXPECT_CODE(volt::spawn(its, volt::task<>([]() -> volt::task<> { co_return; }())).spawned(),
              VOLT_ECLOSED);
  EXPECT_CODE(volt::fiber<>::make(its, [] {}).code(), VOLT_ECLOSED);
  volt::group group;
  EXPECT_CODE(group.try_spawn(its, [] {}), VOLT_ECLOSED);
  EXPECT(volt::blocking(its, [] { return 1; }).wait() == 1);
  EXPECT_CODE(volt::resolve(its, "127.0.0.1:1").result().code(), VOLT_OK);
  EXPECT_CODE(volt::sleep_for(its, 1us).result().code(), VOLT_OK);
}

struct misuse {
  const char *says;
  void (*act)();
};

static volt::runtime ended() {
  volt::runtime its;
  its.destroy();
  return its;
}

static const char no_runtime[] =
    "volt: a runtime is needed, and there is none: it was moved or has ended";
static const char no_future[] = "volt: a volt_future is awaited, and there is none";
static const char no_mutex[] = "cond.wait() with a volt::lock that holds no mutex";
static const char no_fiber[] = "a volt::fiber that is empty, moved or detached";

static const misuse acts[] = {
    {no_runtime, [] { (void)volt::spawn(ended(), volt::task<>()); }},
    {no_runtime, [] { (void)volt::fiber<>::make(ended(), [] {}); }},
    {no_runtime, [] { (void)volt::group().try_spawn(ended(), [] {}); }},
    {no_runtime, [] { (void)volt::blocking(ended(), [] {}).result(); }},
    {no_runtime, [] { (void)volt::sleep_for(ended(), 1us).result(); }},
    {no_runtime,
     [] { (void)volt::sleep_until(ended(), std::chrono::steady_clock::now()).result(); }},
    {no_runtime, [] { volt::interval every(ended(), 1s); }},
    {no_runtime, [] { (void)volt::within(ended().c(), volt::sleep_for(1us), 1s).result(); }},
    {no_runtime, [] { (void)volt::resolve(ended(), "localhost:1").result(); }},
    {no_runtime, [] { (void)volt::dial(ended(), "127.0.0.1:1").result(); }},
    {no_runtime, [] { (void)volt::open(ended(), "/dev/null", O_RDONLY).result(); }},
    {no_runtime, [] { (void)volt::fd::make(ended(), 0); }},
    {no_runtime, [] { (void)volt::open_pair(ended()); }},
    {no_runtime, [] { (void)volt::listener().start(ended(), volt::address()); }},
    {no_runtime, [] { (void)ended().run(); }},
    {no_runtime, [] { (void)ended().now(); }},
    {no_runtime, [] { ended().advance(1s); }},
    {no_runtime, [] { (void)ended().stats(); }},
    {no_runtime, [] { (void)ended().shutdown_for(1s); }},
    {no_runtime,
     [] {
       volt::semaphore s(1);
       (void)ended().result_of(s.acquire());
     }},
    {no_future, [] { (void)volt::select(static_cast<volt_future *>(nullptr)).result(); }},
    {no_future, [] { (void)volt::all(static_cast<volt_future *>(nullptr)).result(); }},
    {no_future,
     [] {
       volt::sync_wait(
           []() -> volt::task<> { (void)co_await static_cast<volt_future *>(nullptr); }());
     }},
    {no_mutex,
     [] {
       volt::cond c;
       volt::lock none;
       (void)c.wait(none).result();
     }},
    {no_mutex,
     [] {
       volt::cond c;
       volt::lock none;
       (void)c.wait(none, [] { return true; }).result();
     }},
    {no_fiber, [] { (void)volt::fiber<>().join(); }},
};

TEST(what_is_not_there_is_named) {
  for (const misuse &m : acts) {
    const char *says[] = {m.says, nullptr};
    EXPECT(death_of([](void *of) { static_cast<const misuse *>(of)->act(); },
                    const_cast<misuse *>(&m), says));
  }
}

/* ---- the headers ---- */

/* The names that stand in a text behind these words. */
static std::set<std::string> names_behind(const std::string &text, const std::string &words) {
  std::set<std::string> all;
  for (auto i = text.find(words); i != text.npos; i = text.find(words, i + 1)) {
    auto end = i + words.size();
    while (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_') end += 1;
    all.insert(text.substr(i + words.size(), end - i - words.size()));
  }
  return all;
}

static std::string text_of(const std::filesystem::path &file) {
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

/* Each class of an operation, and each function of I/O, is the type of a row. */
TEST(each_operation_of_the_headers_has_a_row) {
  std::string types;
  with_runtimes([&] {
    for (const std::vector<maker> *some : {&makers, &of_runtimes})
      for (const maker &m : *some) types += m.make()->type() + "\n";
  });
  std::size_t count = 0;
  for (const auto &entry : std::filesystem::directory_iterator(VOLT_CPP_HEADERS)) {
    std::string text = text_of(entry.path());
    for (const std::string &name : names_behind(text, "public operation<")) {
      count += 1;
      if (types.find(name) != types.npos) continue;
      std::printf("%s: %s has no row\n", entry.path().c_str(), name.c_str());
      EXPECT(types.find(name) != types.npos); /* each has a row */
    }
  }
  EXPECT(count > 40);
  std::filesystem::path headers = VOLT_CPP_HEADERS;
  std::set<std::string> functions = names_behind(text_of(headers / "fd.hpp"), "\n  auto ");
  functions.erase("begin"); /* a variable */
  functions.insert({"accept", "open"});
  EXPECT(functions.size() > 14);
  for (const std::string &name : functions) {
    if (types.find("::" + name + "(") != types.npos || types.find("::" + name + "<") != types.npos)
      continue;
    std::printf("fd.hpp: %s has no row\n", name.c_str());
    EXPECT(false); /* each has a row */
  }
}

int main() {
  return run_unit_tests();
}

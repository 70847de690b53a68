/* asio_test.cpp: volt/asio.hpp: each operation with each completion token and each type of cancellation; what
 * is allocated, where handlers run, what an io_context that ends leaves behind; and cancels against
 * grants on other threads. `unit.asio 100000` races so often.
 *
 * STANDARD: C++20 */
#include <volt/asio.hpp>

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "unit.hpp"
extern "C" {
#include "alloc_count.h"
#include "rng.h"
}

#if VOLT_ASIO_BOOST
namespace asio = boost::asio;
using boost::system::error_code;
using boost::system::system_error;
#else
using std::error_code;
using std::system_error;
#if ASIO_VERSION < 102400
#include <asio/experimental/deferred.hpp>
namespace asio {
using experimental::deferred;
}
#endif
#endif

static constexpr auto aborted = asio::error::operation_aborted;

/* ---- scenes: an object, a wait on it, and what ends that wait ---- */

struct scene {
  /* Whether a wait that is cancelled after let() gets what it waited for all the same; and whether what
   * it has got, and has given up since, is there again. */
  static constexpr bool is_final = false;
  bool is_back() {
    return true;
  }
};

struct a_semaphore : scene {
  volt::semaphore it{0};
  auto op() {
    return it.acquire();
  }
  void let() {
    it.release(1);
  }
  bool is_back() {
    return it.available() == 1;
  }
  uint32_t waiters() {
    return it.waiters();
  }
};

struct a_mutex : scene {
  volt::mutex it;
  volt::lock held{it};
  auto op() {
    return it.lock();
  }
  void let() {
    held.unlock();
  }
  bool is_back() {
    return !it.is_locked();
  }
  uint32_t waiters() {
    return it.waiters();
  }
};

struct a_reader : scene {
  volt::rwlock it;
  volt::write_lock held = it.write().wait();
  auto op() {
    return it.read();
  }
  void let() {
    held.unlock();
  }
  bool is_back() {
    return bool(it.try_write());
  }
  uint32_t waiters() {
    return it.waiters();
  }
};

struct a_writer : scene {
  volt::rwlock it;
  volt::read_lock held = it.read().wait();
  auto op() {
    return it.write();
  }
  void let() {
    held.unlock();
  }
  bool is_back() {
    return bool(it.try_write());
  }
  uint32_t waiters() {
    return it.waiters();
  }
};

struct a_receiver : scene {
  static constexpr bool is_final = true;
  volt::channel<int, 4> it;
  auto op() {
    return it.recv();
  }
  void let() {
    EXPECT(it.try_send(7));
  }
  bool is_back() {
    return it.size() == 0;
  }
  uint32_t waiters() {
    return it.waiters();
  }
};

struct a_sender : scene {
  static constexpr bool is_final = true;
  volt::channel<std::unique_ptr<int>, 1> it;
  a_sender() {
    EXPECT(it.try_send(std::make_unique<int>(1)));
  }
  auto op() {
    return it.send(std::make_unique<int>(2));
  }
  void let() {
    EXPECT(**it.try_recv() == 1);
  }
  bool is_back() {
    return it.size() == 1;
  }
  uint32_t waiters() {
    return it.waiters();
  }
};

struct an_event : scene {
  volt::notify it;
  auto op() {
    return it.notified();
  }
  void let() {
    it.one();
  }
  uint32_t waiters() {
    return it.waiters();
  }
};

struct a_latch : scene {
  volt::latch it{1};
  auto op() {
    return it.opened();
  }
  void let() {
    it.count_down();
  }
  uint32_t waiters() {
    return it.waiters();
  }
};

struct a_token : scene {
  volt::token it;
  auto op() {
    return it.cancelled();
  }
  void let() {
    it.cancel();
  }
  uint32_t waiters() {
    return it.waiters();
  }
};

struct a_mutex_by_hand : scene {
  volt::async_mutex it;
  a_mutex_by_hand() {
    EXPECT(it.try_lock() && !it.try_lock());
  }
  void let() {
    it.unlock();
  }
  uint32_t waiters() {
    return it.waiters();
  }
};

template <class Fn>
static void of_each(Fn fn) {
  fn.template operator()<a_semaphore>();
  fn.template operator()<a_mutex>();
  fn.template operator()<a_reader>();
  fn.template operator()<a_writer>();
  fn.template operator()<a_receiver>();
  fn.template operator()<a_sender>();
  fn.template operator()<an_event>();
  fn.template operator()<a_latch>();
  fn.template operator()<a_token>();
}

/* What a handler has got. */
struct outcome {
  int calls = 0;
  error_code ec;
  bool has_value = false;

  bool is(error_code expected) const {
    return calls == 1 && ec == expected && has_value == !expected;
  }
};

static bool is_value(const volt::permits &p) {
  return p.count() == 1;
}
template <class T>
static bool is_value(const T &guard) {
  return bool(guard);
}

/* A handler of any signature, with an executor, an allocator and a slot. */
template <class T>
struct counted {
  using value_type = T;
  int *live, *made;
  counted(int &its_live, int &its_made) : live(&its_live), made(&its_made) {
  }
  template <class U>
  counted(const counted<U> &other) : live(other.live), made(other.made) {
  }
  T *allocate(size_t n) {
    *live += 1;
    *made += 1;
    return static_cast<T *>(std::malloc(n * sizeof(T)));
  }
  void deallocate(T *p, size_t) {
    *live -= 1;
    std::free(p);
  }
  template <class U>
  bool operator==(const counted<U> &other) const {
    return live == other.live;
  }
};

struct blocks {
  int live = 0, made = 0;
};

struct handler {
  using executor_type = asio::io_context::executor_type;
  using allocator_type = counted<char>;
  using cancellation_slot_type = asio::cancellation_slot;

  asio::io_context *io;
  blocks *memory;
  outcome *out;
  asio::cancellation_slot slot;
  std::shared_ptr<int> life = nullptr;

  executor_type get_executor() const noexcept {
    return io->get_executor();
  }
  allocator_type get_allocator() const noexcept {
    return allocator_type(memory->live, memory->made);
  }
  cancellation_slot_type get_cancellation_slot() const noexcept {
    return slot;
  }
  void operator()(error_code ec) {
    EXPECT(memory->live == 0);
    out->calls += 1;
    out->ec = ec;
    out->has_value = !ec;
  }
  template <class Value>
  void operator()(error_code ec, Value value) {
    operator()(ec);
    if (out->calls == 1) EXPECT(is_value(value) == !ec);
  }
};

/* One scene, one wait by that handler. */
template <class Scene>
struct wait {
  Scene its;
  asio::io_context io;
  asio::cancellation_signal signal;
  blocks memory;
  outcome out;

  void begin(bool has_slot = true) {
    auto slot = has_slot ? signal.slot() : asio::cancellation_slot();
    volt::async_wait(its.op(), handler{&io, &memory, &out, slot});
    EXPECT(out.calls == 0);
  }
  void run() {
    io.restart();
    io.run();
  }
};

/* ---- memory ---- */

/* Beside the one block of its handler's allocator; and, by Asio, what a slot keeps. First, because other
 * threads would be counted, too. */
TEST(a_wait_allocates_nothing) {
  wait<a_semaphore> w;
  for (int i = 0; i < 20; i++) {
    bool is_cancelled = i % 2 == 1;
    auto before = alloc_count_allocations();
    w.begin(is_cancelled);
    if (is_cancelled) {
      w.signal.emit(asio::cancellation_type::total);
    } else {
      w.its.let();
    }
    w.run();
    auto allocations = alloc_count_allocations() - before;
    if (i >= 2) /* counted<char> calls malloc(); sanitizers do not count the slot's memory */
      EXPECT(is_cancelled ? allocations <= 2 : allocations == 1);
    EXPECT(w.out.is(is_cancelled ? error_code(aborted) : error_code()) && w.memory.made == i + 1);
    EXPECT(w.its.it.drain().disown() == (is_cancelled ? 0 : 1));
    w.out = {};
  }
}

/* ---- tokens ---- */

TEST(a_handler_is_called_when_it_is_granted) {
  of_each([]<class Scene>() {
    wait<Scene> w;
    w.begin();
    EXPECT(w.its.waiters() == 1 && w.io.poll() == 0 && !w.io.stopped());
    w.its.let();
    EXPECT(w.out.calls == 0 && w.its.waiters() == 0);
    w.run();
    EXPECT(w.out.is({}));
    EXPECT(w.its.is_back());
    EXPECT(w.memory.made == 1 && w.memory.live == 0);
  });
}

TEST(a_handler_is_not_called_within_the_initiating_function) {
  of_each([]<class Scene>() {
    wait<Scene> w;
    w.its.let();
    w.begin();
    w.run();
    EXPECT(w.out.is({}) && w.its.is_back());
    EXPECT(w.memory.made == 1 && w.memory.live == 0);
  });
}

TEST(use_future) {
  of_each([]<class Scene>() {
    for (bool at_once : {false, true}) {
      Scene its;
      asio::io_context io;
      if (at_once) its.let();
      auto f = volt::async_wait(io, its.op(), asio::use_future);
      if (!at_once) its.let();
      io.run();
      (void)f.get();
    }
  });
}

template <class Scene>
static asio::awaitable<void> awaits(Scene &its, int &done) {
  (void)co_await volt::async_wait(its.op());
  (void)co_await asio::post(asio::use_awaitable);
  done += 1;
}

TEST(use_awaitable) {
  of_each([]<class Scene>() {
    for (bool at_once : {false, true}) {
      Scene its;
      asio::io_context io;
      int done = 0;
      if (at_once) its.let();
      asio::co_spawn(io, awaits(its, done), asio::detached);
      io.poll();
      EXPECT(done == at_once);
      if (!at_once) its.let();
      io.run();
      EXPECT(done == 1 && its.is_back());
    }
  });
}

TEST(deferred) {
  of_each([]<class Scene>() {
    wait<Scene> w;
    auto later = volt::async_wait(w.its.op(), asio::deferred);
    EXPECT(w.its.waiters() == 0);
    std::move(later)(handler{&w.io, &w.memory, &w.out, w.signal.slot()});
    EXPECT(w.its.waiters() == 1);
    w.its.let();
    w.run();
    EXPECT(w.out.is({}) && w.its.is_back());
  });
}

/* It runs on the system's threads. */
TEST(a_handler_without_an_executor) {
  volt::semaphore s(0);
  std::atomic<int> got{0};
  volt::async_wait(s.acquire(), [&](error_code ec, volt::permits p) { got += !ec && p ? 1 : 100; });
  s.release(1);
  UNTIL(got != 0);
  EXPECT(got == 1);
  UNTIL(s.available() == 1);
}

/* ---- by hand ---- */

TEST(issue_935) {
  volt::async_mutex mutex;
  asio::thread_pool pool(2);
  long inside = 0;
  std::atomic<int> ended{0};
  for (int i = 0; i < 4; i++) {
    asio::co_spawn(
        pool,
        [&]() -> asio::awaitable<void> {
          for (int n = 0; n < 500; n++) {
            co_await mutex.lock();
            long before = inside++;
            co_await asio::post(asio::use_awaitable); /* it may be another thread that unlocks */
            EXPECT(inside == before + 1);
            mutex.unlock();
          }
          ended += 1;
        },
        asio::detached);
  }
  pool.join();
  EXPECT(ended == 4 && inside == 2000 && mutex.try_lock());
  mutex.unlock();
}

TEST(permits_by_hand) {
  volt::async_semaphore s(2);
  asio::io_context io;
  int inside = 0, most = 0;
  auto works = [&]() -> asio::awaitable<void> {
    co_await s.acquire();
    most = std::max(most, ++inside);
    co_await asio::post(asio::use_awaitable);
    inside -= 1;
    s.release();
  };
  for (int i = 0; i < 10; i++) asio::co_spawn(io, works, asio::detached);
  io.run();
  EXPECT(most == 2 && s.available() == 2);
  EXPECT(s.try_acquire(2) && !s.try_acquire());
  error_code seen;
  s.async_acquire(1, asio::bind_executor(io, [&](error_code ec) { seen = ec; }));
  EXPECT(s.waiters() == 1);
  s.close();
  io.restart();
  io.run();
  EXPECT(seen == VOLT_ECLOSED && seen.message() == volt_strerror(VOLT_ECLOSED));
  s.release(2);
}

/* What is never called gives back what it would have got, by hand or not. */
TEST(a_lock_by_hand_is_given_back) {
  a_mutex_by_hand its;
  {
    asio::io_context io;
    its.it.async_lock(asio::bind_executor(io, [](error_code) { EXPECT(false); }));
    its.let();
    EXPECT(its.waiters() == 0 && !its.it.try_lock());
  }
  EXPECT(its.it.try_lock());
  its.it.unlock();
}

TEST(errors) {
  EXPECT(!volt::asio_error(VOLT_OK) && !volt::asio_error(VOLT_LEADER));
  EXPECT(volt::asio_error(VOLT_ECANCELED) == aborted);
  EXPECT(volt::asio_error(VOLT_ERRNO(EPIPE)) == asio::error::broken_pipe);
  EXPECT(volt::asio_error(VOLT_EINVAL).category() == volt::error_category());
  EXPECT(std::strcmp(volt::error_category().name(), "volt") == 0);
  EXPECT(volt::asio_error(VOLT_ETIMEDOUT) == VOLT_ETIMEDOUT);
  volt::channel<int, 1> c;
  c.close();
  asio::io_context io;
  int calls = 0;
  volt::async_wait(io, c.recv(), [&](error_code ec, int value) {
    calls += 1;
    EXPECT(ec == VOLT_ECLOSED && value == 0);
  });
  io.run();
  EXPECT(calls == 1);
  auto f = volt::async_wait(c.recv(), asio::bind_executor(io, asio::use_future));
  io.restart();
  io.run();
  try {
    (void)f.get();
    EXPECT(false);
  } catch (const system_error &e) {
    EXPECT(std::strcmp(e.code().message().c_str(), volt_strerror(VOLT_ECLOSED)) == 0);
  }
}

/* ---- cancel ---- */

static constexpr asio::cancellation_type types[] = {
    asio::cancellation_type::terminal, asio::cancellation_type::partial,
    asio::cancellation_type::total, asio::cancellation_type::all};

TEST(a_cancel_ends_a_wait) {
  of_each([]<class Scene>() {
    for (auto type : types) {
      wait<Scene> w;
      w.begin();
      w.signal.emit(asio::cancellation_type::none); /* nothing is asked for */
      EXPECT(w.its.waiters() == 1);
      w.signal.emit(type);
      EXPECT(w.its.waiters() == 0 && w.out.calls == 0);
      w.signal.emit(type); /* too late, and harmless */
      w.run();
      EXPECT(w.out.is(aborted) && w.memory.made == 1 && w.memory.live == 0);
      w.signal.emit(type); /* the slot is empty */
      w.its.let();
      w.out = {};
      w.begin(); /* the next one gets it */
      w.run();
      EXPECT(w.out.is({}) && w.its.is_back());
    }
  });
}

/* It is granted, and its handler has not been called. */
TEST(a_cancel_that_comes_late_loses_nothing) {
  of_each([]<class Scene>() {
    for (auto type : types) {
      wait<Scene> w;
      w.begin();
      w.its.let();
      w.signal.emit(type);
      w.run();
      if (Scene::is_final) {
        EXPECT(w.out.is({}) && w.its.is_back());
        continue;
      }
      EXPECT(w.out.is(aborted) && w.its.is_back());
      w.out = {};
      w.begin();
      w.run();
      EXPECT(w.out.is({}));
    }
  });
}

/* Done at once, and cancelled before its handler is called: it has been got by then. */
TEST(a_cancel_of_what_is_done) {
  of_each([]<class Scene>() {
    wait<Scene> w;
    w.its.let();
    w.begin();
    w.signal.emit(asio::cancellation_type::total);
    w.run();
    EXPECT(w.out.is({}) && w.its.is_back());
  });
}

/* Those behind one that is cancelled move up. */
TEST(a_cancel_lets_those_behind_move_up) {
  volt::semaphore s(1);
  asio::io_context io;
  asio::cancellation_signal signal;
  std::vector<int> order;
  volt::permits held(s);
  auto big = [&](error_code ec, volt::permits) { order.push_back(ec == aborted ? 1 : 100); };
  volt::async_wait(io, s.acquire(3), asio::bind_cancellation_slot(signal.slot(), big));
  volt::async_wait(io, s.acquire(),
                   [&](error_code ec, volt::permits) { order.push_back(ec ? 100 : 2); });
  held.release(); /* is set aside for the first */
  EXPECT(io.poll() == 0);
  signal.emit(asio::cancellation_type::partial);
  EXPECT(s.waiters() == 0);
  io.run(); /* the grant was posted within the cancel, and so before what that posts */
  EXPECT(order == (std::vector<int>{2, 1}) && s.available() == 1);
}

/* A coroutine whose cancellation is asked for gets an exception from its await. */
TEST(a_coroutine_is_cancelled) {
  volt::async_mutex m;
  asio::io_context io;
  asio::cancellation_signal signal;
  EXPECT(m.try_lock());
  bool has_thrown = false;
  asio::co_spawn(
      io,
      [&]() -> asio::awaitable<void> {
        try {
          co_await m.lock();
        } catch (const system_error &) {
          has_thrown = true;
        }
      },
      asio::bind_cancellation_slot(signal.slot(), asio::detached));
  io.poll();
  EXPECT(m.waiters() == 1);
  signal.emit(asio::cancellation_type::terminal);
  io.run(); /* from 1.24 on co_spawn() posts what is emitted */
  EXPECT(has_thrown && m.waiters() == 0);
  m.unlock();
}

/* A lock with bypass calls its oldest waiter to look, which may find nothing. */
TEST(a_wait_looks_again) {
  volt::mutex m = volt::mutex::with_bypass(VOLT_BYPASS);
  asio::io_context io;
  int got = 0;
  volt::lock held(m);
  volt::async_wait(io, m.lock(), [&](error_code ec, volt::lock l) { got += !ec && l; });
  held.unlock();                   /* calls it to look */
  held = std::move(*m.try_lock()); /* passes it */
  EXPECT(io.poll() == 1 && got == 0 && m.waiters() == 1);
  held.unlock();
  io.run();
  EXPECT(got == 1 && !m.is_locked());
}

/* ---- executors ---- */

TEST(a_handler_runs_in_its_executor) {
  volt::semaphore s(0);
  asio::thread_pool pool(2);
  auto strand = asio::make_strand(pool);
  int calls = 0;
  for (int i = 0; i < 100; i++) {
    auto fn = [&](error_code ec, volt::permits) {
      EXPECT(!ec && strand.running_in_this_thread());
      calls += 1;
    };
    asio::post(strand, [&s, strand, fn] {
      volt::async_wait(s.acquire(), asio::bind_executor(strand, fn));
    });
  }
  s.release(3);
  pool.join();
  EXPECT(calls == 100 && s.available() == 3);
  asio::io_context io;
  asio::any_io_executor any = io.get_executor();
  volt::async_wait(any, s.acquire(), [&](error_code ec, volt::permits) { calls += !ec; });
  EXPECT(calls == 100);
  io.run();
  EXPECT(calls == 101);
}

/* ---- a context that ends ---- */

TEST(waits_end_with_their_context) {
  of_each([]<class Scene>() {
    auto life = std::make_shared<int>();
    Scene its;
    blocks memory;
    outcome out;
    {
      asio::io_context io;
      volt::async_wait(its.op(), handler{&io, &memory, &out, {}, life});
      EXPECT(its.waiters() == 1 && life.use_count() == 2);
    }
    EXPECT(its.waiters() == 0 && life.use_count() == 1);
    {
      asio::io_context io;
      volt::async_wait(its.op(), handler{&io, &memory, &out, {}, life});
      its.let(); /* and the handler is never called */
    }
    EXPECT(life.use_count() == 1 && (Scene::is_final || its.is_back()));
    EXPECT(out.calls == 0 && memory.made == 2 && memory.live == 0);
  });
}

/* What a coroutine holds is given back while others, in the same context, wait for it. */
TEST(coroutines_end_with_their_context) {
  volt::mutex m;
  volt::semaphore never(0);
  {
    asio::io_context io;
    for (int i = 0; i < 5; i++) {
      asio::co_spawn(
          io,
          [&]() -> asio::awaitable<void> {
            volt::lock guard = co_await volt::async_wait(m.lock());
            (void)co_await volt::async_wait(never.acquire());
          },
          asio::detached);
    }
    io.poll();
    EXPECT(m.waiters() == 4 && never.waiters() == 1);
  }
  EXPECT(!m.is_locked() && m.waiters() == 0 && never.waiters() == 0);
  asio::thread_pool pool(2);
  for (int i = 0; i < 5; i++) {
    asio::co_spawn(
        pool,
        [&]() -> asio::awaitable<void> {
          volt::lock guard = co_await volt::async_wait(m.lock());
          (void)co_await volt::async_wait(never.acquire());
        },
        asio::detached);
  }
  UNTIL(m.waiters() == 4 && never.waiters() == 1);
  pool.stop();
  pool.join(); /* and the rest by its destructor */
}

/* ---- cancels against grants ---- */

static int rounds = 4000;

enum { WAITS = 4 };

/* What is raced for: give() on the main thread, WAITS times. left(): how many of them nobody has. */
struct permits_raced {
  volt::semaphore it{0};
  auto op() {
    return it.acquire();
  }
  void give() {
    it.release(1);
  }
  uint32_t left() {
    return it.drain().disown();
  }
  static void keep(volt::permits &p) {
    (void)p.disown();
  }
};
struct elements_raced {
  volt::channel<int, WAITS> it;
  auto op() {
    return it.recv();
  }
  void give() {
    EXPECT(it.try_send(1));
  }
  uint32_t left() {
    uint32_t n = 0;
    while (it.try_recv()) n += 1;
    return n;
  }
  static void keep(int) {
  }
};

static void spin(uint32_t turns) {
  for (volatile uint32_t i = 0; i < turns;) i = i + 1;
}

using signals = std::array<asio::cancellation_signal, WAITS>;

/* Emits one after the other. What is granted before the next is posted has its turn before. */
template <class Executor>
static void emit_from(const Executor &executor, signals &all, size_t i, uint32_t spins,
                      std::atomic<bool> &is_over) {
  if (i == WAITS) {
    is_over = true;
    return;
  }
  spin(spins);
  asio::post(executor, [=, &all, &is_over] {
    all[i].emit(types[i]);
    emit_from(executor, all, i + 1, spins, is_over);
  });
}

/* WAITS waits begin, and are cancelled, in an executor of a pool of two threads, while this one gives. */
template <class Raced, class Executor>
static void race(const Executor &executor, uint64_t seed) {
  rng random = rng_seeded(seed);
  Raced raced;
  signals all;
  uint32_t got = 0, cancelled = 0;
  std::atomic<uint32_t> ended{0};
  long total_got = 0;
  auto finished = [&](error_code ec, auto value) {
    EXPECT(!ec || ec == aborted);
    if (!ec) Raced::keep(value);
    (ec ? cancelled : got) += 1;
    ended += 1;
  };
  for (int round = 0; round < rounds / WAITS; round++) {
    std::atomic<bool> has_begun{false}, is_over{false};
    uint32_t spins_there = rng_below(&random, 2000), spins = rng_below(&random, 4000);
    asio::post(executor, [&, spins_there] {
      for (auto &signal : all) {
        auto fn = asio::bind_executor(executor, finished);
        volt::async_wait(raced.op(), asio::bind_cancellation_slot(signal.slot(), fn));
      }
      has_begun = true;
      emit_from(executor, all, 0, spins_there, is_over);
    });
    if (rng_below(&random, 4) != 0) UNTIL(has_begun);
    spin(spins);
    for (int i = 0; i < WAITS; i++) raced.give();
    UNTIL(ended == WAITS && is_over);
    EXPECT(got + cancelled == WAITS && got + raced.left() == WAITS);
    total_got += got;
    got = cancelled = 0;
    ended = 0;
  }
  std::printf("  %ld of %d were got\n", total_got, rounds / WAITS * WAITS);
}

TEST(cancels_race_with_grants) {
  asio::thread_pool pool(2), one(1);
  race<permits_raced>(asio::make_strand(pool), 1);
  race<elements_raced>(asio::make_strand(pool), 2);
  race<permits_raced>(one.get_executor(), 3);
  race<elements_raced>(one.get_executor(), 4);
}

/* No strand: the executor may poll before the initiating function has returned. */
TEST(grants_race_with_beginnings) {
  asio::thread_pool pool(2);
  volt::mutex m = volt::mutex::with_bypass(VOLT_BYPASS);
  volt::semaphore s(1);
  std::atomic<int> ended{0};
  long total = 0;
  int chains = 4;
  struct chain {
    asio::thread_pool *pool;
    volt::mutex *m;
    volt::semaphore *s;
    std::atomic<int> *ended;
    long *total;
    int left;
    void go() {
      if (left-- == 0) {
        *ended += 1;
        return;
      }
      volt::async_wait(*pool, m->lock(), [this](error_code ec, volt::lock guard) {
        EXPECT(!ec && guard);
        *total += 1;
        guard.unlock();
        volt::async_wait(*pool, s->acquire(), [this](error_code its, volt::permits) {
          EXPECT(!its);
          go();
        });
      });
    }
  };
  std::vector<chain> all;
  for (int i = 0; i < chains; i++) all.push_back({&pool, &m, &s, &ended, &total, rounds / chains});
  for (chain &c : all) c.go();
  pool.join();
  EXPECT(ended == chains && total == rounds / chains * chains);
}

int main(int argc, char **argv) {
  if (argc > 1) hang_never();
  if (argc > 1) rounds = std::atoi(argv[1]);
  EXPECT(rounds >= WAITS);
  return run_unit_tests();
}

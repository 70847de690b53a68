/* coro_kit.hpp: a runtime that has no thread and whose clock is virtual, for coroutines: what happens,
 * happens in run() or advance(). Its allocator counts, and at its end nothing may be left. */
#ifndef VOLT_TEST_CORO_KIT_HPP
#define VOLT_TEST_CORO_KIT_HPP

#include <volt/runtime.h>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <string>
#include <typeinfo>
#include <volt/coro.hpp>

#include "unit.hpp"

extern "C" uint64_t volt_rt_pool_used_(
    volt_rt *rt); /* blocks that are in use: src/rt/memory/pool.c */

struct hand {
  volt_rt *rt = nullptr;
  long held = 0; /* what the runtime has from its allocator */
  long takes = 0;
  bool has_memory = true;

  hand() {
    volt_rt_config config{};
    config.flags = VOLT_RT_BY_HAND | VOLT_RT_VIRTUAL_CLOCK;
    config.seed = 1;
    config.allocator = {take, give, this};
    EXPECT_CODE(volt_rt_create(&rt, &config), VOLT_OK);
  }
  hand(const hand &) = delete;
  hand &operator=(const hand &) = delete;
  ~hand() {
    end(0);
  }
  volt_rt *c() const {
    return rt;
  }
  /* Until nothing is ready. Returns the next deadline. */
  uint64_t run() const {
    uint64_t deadline_ns;
    do {
      deadline_ns = volt_rt_run(rt);
    } while (deadline_ns == 0);
    return deadline_ns;
  }
  void advance(std::chrono::nanoseconds by) const {
    volt_rt_advance(rt, static_cast<uint64_t>(by.count()));
    run();
  }
  uint64_t blocks() const {
    return volt_rt_pool_used_(rt);
  }
  /* The runtime ends; so many tasks had to be cancelled. */
  void end(uint64_t cancelled) {
    if (!rt) return;
    EXPECT(volt_rt_destroy(rt) == cancelled);
    EXPECT(held == 0);
    rt = nullptr;
  }

 private:
  static void *take(size_t bytes, void *ctx) {
    hand *h = static_cast<hand *>(ctx);
    if (!h->has_memory) return nullptr;
    h->held += static_cast<long>(bytes);
    h->takes += 1;
    return std::malloc(bytes);
  }
  static void give(void *memory, size_t bytes, void *ctx) {
    static_cast<hand *>(ctx)->held -= static_cast<long>(bytes);
    std::free(memory);
  }
};

/* Counts those that live: one in a frame says whether its destructors run. */
struct tracked {
  static inline std::atomic<int> alive{0};
  tracked() noexcept {
    alive += 1;
  }
  tracked(tracked &&) noexcept {
    alive += 1;
  }
  tracked(const tracked &) noexcept {
    alive += 1;
  }
  tracked &operator=(const tracked &) noexcept = default;
  ~tracked() {
    alive -= 1;
  }
};

#endif

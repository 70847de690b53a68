// pool_model: memory is given back to the pool of a runtime by threads that are no workers, as the end of
// that runtime finds whether any is in use, and frees it; and threads take memory. pool.c R1, R2.
// PROGRAM: pool BATCH 1 MUTANTS SOURCES pool.c park.c fiber_futex.c permits.c future.c fifo.c grant.c
#include "model.hpp"
#include "rt/host/runtime.h"
#include "rt/memory/pool.h"
#include "rt/sched/thread.h"

static volt_here_ here[8]; // by thread; the constructor and check() are one more

volt_here_ *volt_thread_here_(void) {
  return &here[volt_model_thread()];
}

void volt_task_init(volt_task *, volt_task_fn *) {
}

struct pool_model : model {
  volt_rt *rt = new volt_rt;
  void *block[2] = {nullptr, nullptr};
  VOLT_PLAIN(uint32_t) has_ended; // and its allocator with it
  bool freed = false;
  int allocated = 0; // not freed yet

  pool_model() {
    for (auto &h : here) h = volt_here_();
    rt->workers = 0; // they have ended
    rt->config.allocator = {alloc, free_again, this};
    volt_rt_pool_init_(&rt->pool);
  }
  void *take(size_t bytes) {
    volt_rt *before = volt_rt_alloc_for_(rt);
    void *memory = volt_rt_alloc_(bytes);
    (void)volt_rt_alloc_for_(before);
    return memory;
  }
  static void *alloc(size_t bytes, void *ctx) {
    pool_model *m = static_cast<pool_model *>(ctx);
    EXPECT(m->has_ended == 0);
    m->allocated += 1;
    return calloc(1, bytes);
  }
  static void free_again(void *memory, size_t, void *ctx) {
    pool_model *m = static_cast<pool_model *>(ctx);
    EXPECT(m->has_ended == 0);
    m->allocated -= 1;
    free(memory);
  }
  void end() {
    if (freed || volt_rt_pool_used_(rt) > 0) return;
    volt_rt_pool_destroy_(rt);
    rt->pool.carved = 0xdead; // whoever still uses it is reported
    rt->config.allocator.free = nullptr;
    has_ended = 1;
    freed = true;
    delete rt;
  }
  void check() override {
    end();
    EXPECT(freed && allocated == 0);
  }
};

// R1: one block, small or large.
template <size_t bytes>
struct pool_give_x_end : pool_model {
  pool_give_x_end() {
    block[0] = take(bytes);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_rt_free_(block[0]);
    } else {
      end();
    }
  }
};
struct pool_give_small_x_end : pool_give_x_end<100> {};
struct pool_give_large_x_end : pool_give_x_end<2000> {};
MODEL(pool_give_small_x_end, 2, full)
MODEL(pool_give_large_x_end, 2, full)

// R1: both, by a thread each.
struct pool_give_two_x_end : pool_model {
  pool_give_two_x_end() {
    block[0] = take(100);
    block[1] = take(2000);
  }
  void thread(unsigned index) override {
    if (index < 2) {
      volt_rt_free_(block[index]);
    } else {
      end();
    }
  }
};
MODEL(pool_give_two_x_end, 3, bounded)

// R2: each finds that there is no chunk, and one is enough for both.
struct pool_take_x_take : pool_model {
  void thread(unsigned index) override {
    block[index] = take(100);
    EXPECT(block[index]);
  }
  void check() override {
    EXPECT(block[0] != block[1] && allocated == 1);
    for (void *b : block) volt_rt_free_(b);
    pool_model::check();
  }
};
MODEL(pool_take_x_take, 2, full)

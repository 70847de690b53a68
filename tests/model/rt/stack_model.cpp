// stack_model: stacks are given back, lose their memory and are taken, as a worker goes to sleep. stack.c I1
// to I3, R1, R2. The system's memory is the model's: a slab of three stacks. One stack at a time loses its
// memory.
// PROGRAM: rt SOURCES stack.c SUPPORT model_stack.cpp DEFINES -DVOLT_STACKS_AT_ONCE=1
#include "model_rt.hpp"
#include "model_stack.hpp"

// Its first page.
alignas(VOLT_SLAB_HEAD_) static unsigned char head[VOLT_SLAB_HEAD_];

static volt_slab_ *slab() {
  return reinterpret_cast<volt_slab_ *>(head);
}

struct stack_model : model, model_stack_memory {
  enum : uint32_t { IN_USE = 1, DROPPED = 2, UNMAPPED = 3 };
  model_rt rt;
  VOLT_PLAIN(uint32_t) is[3]; // written by the thread that has the stack
  volt_stack_ stack[3];
  unsigned unmapped = 0; // slabs

  // out: of three stacks, those that are in use.
  explicit stack_model(unsigned workers, unsigned out, unsigned flags = 0) : rt(workers, 1, flags) {
    model_stacks = this;
    memset(head, 0, sizeof head);
    slab()->count = 3;
    slab()->cold = 3 - out;
    rt->stacks.slabs = slab();
    volt_stack_class_ *c = &rt->stacks.of[0];
    c->out = c->peak = out;
    for (unsigned i = 0; i < 3; i++) {
      volt_stack_slot_ *slot = &slab()->slot[i];
      slot->guard = VOLT_STACK_GUARD_NONE_;
      stack[i] = volt_stack_{reinterpret_cast<char *>(head), 0, slot};
      if (i < out) continue;
      slot->prev = c->cold.last;
      (slot->prev ? slot->prev->next : c->cold.first) = slot;
      c->cold.last = slot;
      c->cold.count += 1;
    }
  }
  void on_worker(unsigned i) {
    volt_worker_begin_here_(&rt->worker[i]);
  }
  // A fiber ends on this worker.
  void give(unsigned i) {
    is[i] = IN_USE;
    volt_stack_give_(rt.handle(), &stack[i]);
  }
  // Another begins. Returns false: there is no slab any more.
  bool take() {
    volt_stack_ got;
    if (volt_stack_take_(rt.handle(), VOLT_STACK_LEAST_, &got) != VOLT_OK) return false;
    is[got.slot - slab()->slot] = IN_USE;
    return true;
  }
  void drop(const volt_stack_slot_ *slot) override {
    EXPECT(is[slot - slab()->slot] == IN_USE); // and not again
    is[slot - slab()->slot] = DROPPED;
  }
  // No other thread may have one of them.
  void unmap() override {
    for (auto &each : is) each = UNMAPPED;
    unmapped += 1;
  }
  // Whether a later period would find stacks that are too many, if as many are in use all the time.
  bool are_too_many() {
    return rt->stacks.of[0].warm.count > rt->stacks.of[0].out;
  }
  bool is_trim_set() {
    return volt_load_relaxed(&rt->stacks.trim_ns) != 0;
  }
  void check() override {
    EXPECT(!are_too_many() || is_trim_set()); // I3
    rt.abandon();
  }
};

// ---- give, park ----

// R1: a worker parks as another one gives a stack back: it is woken, or sleeps until the end of the period.
struct stack_give_x_park : stack_model {
  stack_give_x_park() : stack_model(2, 1) {
  }
  void thread(unsigned index) override {
    on_worker(index);
    if (index == 0) {
      give(0);
    } else {
      volt_worker_park_(&rt->worker[1]);
    }
  }
};
MODEL(stack_give_x_park, 2, bounded)

// ---- trim: by a clock that stands at the end of a period ----

struct stack_trim_model : stack_model {
  explicit stack_trim_model(unsigned out) : stack_model(2, out, VOLT_RT_VIRTUAL_CLOCK) {
  }
  // In the constructor: it was given back two periods ago.
  void give_before(unsigned i) {
    on_worker(0);
    give(i);
    volt_stack_class_ *c = &rt->stacks.of[0];
    c->peak = c->peak_before = c->out;
    volt_store_relaxed(&rt->timers.virtual_ns, volt_load_relaxed(&rt->stacks.trim_ns));
  }
  // As a worker that looks at the clock.
  void trim() {
    if (is_trim_set()) volt_stack_trim_(rt.handle());
  }
};

// R2: a stack is given back as another one loses its memory; of three, two are too many from then on.
struct stack_give_x_trim : stack_trim_model {
  stack_give_x_trim() : stack_trim_model(3) {
    give_before(0);
    give_before(1);
  }
  void thread(unsigned index) override {
    on_worker(index);
    if (index == 0) {
      trim();
      trim();
    } else {
      give(2);
    }
  }
};
MODEL(stack_give_x_trim, 2, bounded)

// I1: two workers trim at once: each stack loses its memory once, and the slab goes when all have.
struct stack_trim_x_trim : stack_trim_model {
  stack_trim_x_trim() : stack_trim_model(2) {
    give_before(0);
    give_before(1);
  }
  void thread(unsigned index) override {
    on_worker(index);
    trim();
    trim();
  }
  void check() override {
    trim();
    EXPECT(unmapped == 1 && is[0] == UNMAPPED && is[1] == UNMAPPED);
    EXPECT(!rt->stacks.slabs && rt->stacks.of[0].cold.count == 0 &&
           rt->stacks.of[0].warm.count == 0);
    stack_model::check();
  }
};
MODEL(stack_trim_x_trim, 2, bounded)

// I2: a stack is taken as another one of its slab, or it, loses its memory: the slab stays.
struct stack_take_x_trim : stack_trim_model {
  bool has_taken = false;
  stack_take_x_trim() : stack_trim_model(1) {
    give_before(0);
  }
  void thread(unsigned index) override {
    on_worker(index);
    if (index == 0) {
      trim();
      trim();
    } else {
      has_taken = take();
    }
  }
  void check() override {
    EXPECT(unmapped == (has_taken ? 0 : 1));
    stack_model::check();
  }
};
MODEL(stack_take_x_trim, 2, bounded)

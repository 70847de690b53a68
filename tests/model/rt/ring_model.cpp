// ring_model: the run queue of a worker, with room for two: pushed, popped, stolen, full, and gone
// round. ring.h I1, I2, R1, R2. Each task is taken once, and whoever takes it sees what was written
// before it was pushed.
// PROGRAM: rt
#include "model_task.hpp"
#include "rt/sched/ring.h"

template <unsigned count>
struct ring_model_of : model {
  volt_ring ring;
  struct item {
    volt_task task;
    VOLT_PLAIN(uint32_t) written, taken;
  } items[count];
  unsigned refused = 0;

  ring_model_of() {
    volt_ring_init_(&ring);
  }
  void push(unsigned i, bool seen = false) {
    items[i].written = i + 1;
    if (seen ? push_seen(&items[i].task) : volt_ring_push_(&ring, &items[i].task)) return;
    take(&items[i].task); // it runs elsewhere
    refused += 1;
  }
  bool push_seen(volt_task *t) {
    if (volt_ring_is_full_(&ring)) return false;
    volt_ring_push_seen_(&ring, t);
    return true;
  }
  // All at once, if there is room.
  bool push_all() {
    volt_task *tasks[count];
    for (unsigned i = 0; i < count; i++) {
      items[i].written = i + 1;
      tasks[i] = &items[i].task;
    }
    if (volt_ring_room_(&ring) < count) return false;
    volt_ring_push_all_(&ring, tasks, count);
    return true;
  }
  void take(volt_task *t) {
    item *taken = reinterpret_cast<item *>(t);
    EXPECT(taken >= items && taken < items + count);
    EXPECT(taken->written == static_cast<uint32_t>(taken - items) + 1);
    EXPECT(taken->taken == 0);
    taken->taken = 1;
  }
  bool pop() {
    volt_task *t = volt_ring_pop_(&ring);
    if (t) take(t);
    return t != nullptr;
  }
  unsigned steal() {
    volt_task *out[2] = {nullptr, nullptr};
    unsigned stolen = volt_ring_steal_(&ring, out, 2);
    for (unsigned i = 0; i < stolen; i++) take(out[i]);
    return stolen;
  }
  void check() override {
    while (pop()) {
    }
    for (auto &i : items) EXPECT(i.taken == 1);
    EXPECT(!volt_ring_has_any_(&ring) && !volt_ring_is_full_(&ring));
  }
};

// Pushed and popped by the owner; stolen.
struct ring_push_x_steal : ring_model_of<2> {
  void thread(unsigned index) override {
    if (index == 0) {
      push(0);
      push(1, true);
      pop();
    } else {
      steal();
    }
  }
};
MODEL(ring_push_x_steal, 2, full)

// The same, two at once.
struct ring_push_all_x_steal : ring_model_of<2> {
  void thread(unsigned index) override {
    if (index == 0) {
      EXPECT(push_all());
      pop();
    } else {
      steal();
      steal();
    }
  }
};
MODEL(ring_push_all_x_steal, 2, full)

// R1: the last one is popped and stolen at once.
struct ring_pop_x_steal : ring_model_of<1> {
  bool popped = false;
  unsigned stolen = 0;
  ring_pop_x_steal() {
    push(0);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      popped = pop();
    } else {
      stolen = steal();
    }
  }
  void check() override {
    EXPECT(stolen + popped == 1);
    ring_model_of::check();
  }
};
MODEL(ring_pop_x_steal, 2, full)

// R1, R2: a slot is used again while a thief copies it.
struct ring_round_x_steal : ring_model_of<4> {
  ring_round_x_steal() {
    push(0);
    push(1);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      pop();
      push(2);
      push(3);
    } else {
      steal();
    }
  }
};
MODEL(ring_round_x_steal, 2, full)

// R2: it is full, and there is room only once a thief has copied.
struct ring_full_x_steal : ring_model_of<4> {
  ring_full_x_steal() {
    push(0);
    push(1);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      push(2);
      push(3, true);
      pop();
    } else {
      steal();
      steal();
    }
  }
  void check() override {
    EXPECT(refused <= 2);
    ring_model_of::check();
  }
};
MODEL(ring_full_x_steal, 2, bounded)

// Two thieves and the owner.
struct ring_two_thieves : ring_model_of<3> {
  ring_two_thieves() {
    push(0);
    push(1);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      pop();
      push(2);
    } else {
      steal();
    }
  }
};
MODEL(ring_two_thieves, 3, bounded)

// The owner takes half of its own, as it does when the ring is full, as a thief does.
struct ring_overflow_x_steal : ring_model_of<3> {
  ring_overflow_x_steal() {
    push(0);
    push(1);
  }
  void thread(unsigned) override {
    steal();
  }
  void check() override {
    push(2);
    ring_model_of::check();
  }
};
MODEL(ring_overflow_x_steal, 2, full)

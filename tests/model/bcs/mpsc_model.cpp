// mpsc_model: Vyukov's queue and the actor on it. mpsc.c R1-R4 and all its pairs.
// PROGRAM: bcs
#include "model.hpp"

struct parcel {
  volt_bcs_node node;
  VOLT_PLAIN(unsigned) thread;
  VOLT_PLAIN(unsigned) number;
};
static parcel *parcel_of(volt_bcs_node *node) {
  return reinterpret_cast<parcel *>(node);
}

// R1, R2: two producers; the consumer pops as long as there is something, and is never told that
// the queue is empty by a producer whose own push has returned.
struct mpsc_push_x_pop : model {
  volt_mpsc queue;
  parcel *parcels[3];
  VOLT_PLAIN(unsigned) popped;
  VOLT_PLAIN(unsigned) next_of[2];

  mpsc_push_x_pop() {
    for (parcel *&p : parcels) p = new parcel;
  }
  void push(unsigned i, unsigned thread, unsigned number) {
    parcels[i]->thread = thread;
    parcels[i]->number = number;
    volt_mpsc_push(&queue, &parcels[i]->node);
  }
  int pop() {
    volt_bcs_node *node;
    int result = volt_mpsc_pop(&queue, &node);
    if (result == VOLT_OK) {
      parcel *p = parcel_of(node);
      EXPECT(p->number == next_of[p->thread]);
      next_of[p->thread] += 1;
      popped += 1;
      delete p;
    }
    return result;
  }
  void thread(unsigned index) override {
    if (index == 0) {
      push(0, 0, 0);
      push(1, 0, 1);
    } else { // it pushes and pops: its own is there, or on the way
      push(2, 1, 0);
      EXPECT(pop() != VOLT_EAGAIN);
      pop();
    }
  }
  void check() override {
    while (pop() == VOLT_OK) {
    }
    EXPECT(popped == 3);
  }
};
MODEL(mpsc_push_x_pop, 2, bounded)

struct mpsc_two_producers : mpsc_push_x_pop {
  void thread(unsigned index) override {
    if (index == 0) push(0, 0, 0);
    if (index == 1) push(2, 1, 0);
    if (index == 2) {
      pop();
      pop();
    }
  }
  void check() override {
    while (pop() == VOLT_OK) {
    }
    EXPECT(popped == 2);
    delete parcels[1];
  }
};
MODEL(mpsc_two_producers, 3, bounded)

// R3, R4: the actor sleeps only when there is nothing, and ends when it is stopped.
struct actor_model : model {
  volt_actor actor;
  unsigned producers;
  VOLT_ATOMIC(uint32_t) submitted;
  VOLT_PLAIN(unsigned) handled;

  explicit actor_model(unsigned producers_) : producers(producers_) {
  }
  static void handle(volt_bcs_node *node, void *ctx) {
    static_cast<actor_model *>(ctx)->handled += 1;
    delete parcel_of(node);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_actor_run(&actor, handle, this);
      return;
    }
    volt_actor_submit(&actor, &(new parcel)->node);
    if (volt_fetch_add_acq_rel(&submitted, 1) + 1 == producers) volt_actor_stop(&actor);
  }
  void check() override {
    EXPECT(handled == producers);
  }
};
struct actor_x_submit : actor_model {
  actor_x_submit() : actor_model(1) {
  }
};
struct actor_x_two_submits : actor_model {
  actor_x_two_submits() : actor_model(2) {
  }
};
MODEL(actor_x_submit, 2, bounded)
MODEL(actor_x_two_submits, 3, bounded)

// R4: the actor may find a producer that has not linked its node, and sleep; no other signal comes than that of
// this producer.
struct actor_stalls_x_submit : actor_model {
  actor_stalls_x_submit() : actor_model(1) {
  }
  static void handle_last(volt_bcs_node *node, void *ctx) {
    handle(node, ctx);
    volt_actor_stop(&static_cast<actor_stalls_x_submit *>(ctx)->actor);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_actor_run(&actor, handle_last, this);
    } else {
      volt_actor_submit(&actor, &(new parcel)->node);
    }
  }
};
MODEL(actor_stalls_x_submit, 2, bounded)

// R5: somebody submits while run() ends. The next run() finds the node, or will be told of it.
struct actor_ends_x_submit : model {
  volt_actor actor;
  VOLT_PLAIN(unsigned) handled;
  volt_bcs_node pushed;
  int next_pop = VOLT_OK;

  actor_ends_x_submit() {
    volt_actor_stop(&actor);
  }
  static void handle(volt_bcs_node *node, void *ctx) {
    (void)node;
    static_cast<actor_ends_x_submit *>(ctx)->handled += 1;
  }
  void thread(unsigned index) override {
    if (index == 1) {
      volt_actor_submit(&actor, &pushed);
      return;
    }
    volt_actor_run(&actor, handle, this);
    volt_bcs_node *node;
    if (handled == 1) return;
    next_pop = volt_mpsc_pop(&actor.queue, &node); // as the next run() begins
    if (next_pop == VOLT_OK) handle(node, this);
  }
  void check() override {
    if (next_pop != VOLT_OK) EXPECT(volt_load_relaxed(&actor.signal) != 0);
  }
};
MODEL(actor_ends_x_submit, 2, full)

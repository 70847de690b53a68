// bcs_queue_model: the three queues of batched critical sections. bcs_queue.c I1-I4, R1-R5 and all
// its pairs, through plain variables that only the section touches, and nodes that are freed for
// real.
// PROGRAM: bcs_queue BATCH 1 MUTANTS SOURCES bcs_queue.c
#include "model.hpp"

// How each form is submitted to.
struct lockfree_form {
  volt_bcs_lockfree q;
  void submit(volt_bcs_node *node, const volt_bcs_ops *ops, void *ctx) {
    volt_bcs_lockfree_submit_ops(&q, node, ops, ctx);
  }
  uintptr_t state() {
    return volt_bcs_lockfree_state(&q);
  }
  static constexpr bool fifo = false;
};
struct waitfree_form {
  volt_bcs_waitfree q;
  void submit(volt_bcs_node *node, const volt_bcs_ops *ops, void *ctx) {
    volt_bcs_waitfree_submit_ops(&q, node, ops, ctx);
  }
  uintptr_t state() {
    return volt_bcs_waitfree_state(&q);
  }
  static constexpr bool fifo = true;
};
struct stub_form {
  volt_bcs_waitfree_stub q;
  void submit(volt_bcs_node *node, const volt_bcs_ops *ops, void *ctx) {
    volt_bcs_waitfree_stub_submit_ops(&q, node, ops, ctx);
  }
  uintptr_t state() {
    return volt_bcs_waitfree_stub_state(&q);
  }
  static constexpr bool fifo = true;
};

// A node with a message in it: whose, and which of theirs.
struct letter {
  volt_bcs_node node;
  VOLT_PLAIN(unsigned) thread;
  VOLT_PLAIN(unsigned) number;
};
static letter *letter_of(volt_bcs_node *node) {
  return reinterpret_cast<letter *>(node);
}

// Every thread submits so many letters; each is handled once, in order where that is promised, is
// flushed, and is given back: freed.
template <typename form, unsigned threads, unsigned each>
struct bcs_letters : model {
  form queue;
  VOLT_PLAIN(unsigned) handled;
  VOLT_PLAIN(unsigned) unflushed;
  VOLT_PLAIN(unsigned) next_of[threads];
  VOLT_ATOMIC(uint32_t) freed;

  static void handle(volt_bcs_node *node, void *ctx) {
    bcs_letters *self = static_cast<bcs_letters *>(ctx);
    letter *l = letter_of(node);
    self->handled += 1;
    self->unflushed += 1;
    if (form::fifo) EXPECT(l->number == self->next_of[l->thread]);
    self->next_of[l->thread] += 1;
  }
  static void done(volt_bcs_node *node, void *ctx) {
    volt_fetch_add_relaxed(&static_cast<bcs_letters *>(ctx)->freed, 1);
    delete letter_of(node);
  }
  static void flush(void *ctx) {
    static_cast<bcs_letters *>(ctx)->unflushed = 0;
  }
  void thread(unsigned index) override {
    const volt_bcs_ops ops = {handle, nullptr, done, flush};
    for (unsigned i = 0; i < each; i++) {
      letter *l = new letter;
      l->thread = index;
      l->number = i;
      queue.submit(&l->node, &ops, this);
    }
  }
  void check() override {
    EXPECT(handled == threads * each && unflushed == 0);
    EXPECT(volt_load_relaxed(&freed) == threads * each);
    EXPECT(queue.state() == 0);
  }
};
struct lockfree_2x1 : bcs_letters<lockfree_form, 2, 1> {};
struct lockfree_2x2 : bcs_letters<lockfree_form, 2, 2> {};
struct lockfree_3x1 : bcs_letters<lockfree_form, 3, 1> {};
struct waitfree_2x1 : bcs_letters<waitfree_form, 2, 1> {};
struct waitfree_2x2 : bcs_letters<waitfree_form, 2, 2> {};
struct waitfree_3x1 : bcs_letters<waitfree_form, 3, 1> {};
struct stub_2x1 : bcs_letters<stub_form, 2, 1> {};
struct stub_2x2 : bcs_letters<stub_form, 2, 2> {};
struct stub_3x1 : bcs_letters<stub_form, 3, 1> {};
MODEL(lockfree_2x1, 2, full)
MODEL(lockfree_2x2, 2, bounded)
MODEL(lockfree_3x1, 3, bounded)
MODEL(waitfree_2x1, 2, full)
MODEL(waitfree_2x2, 2, bounded)
MODEL(waitfree_3x1, 3, bounded)
MODEL(stub_2x1, 2, full)
MODEL(stub_2x2, 2, bounded)
MODEL(stub_3x1, 3, bounded)

// The state of the section rides in the queue: a counter without memory.
template <typename form, unsigned threads>
struct bcs_counter : model {
  form queue;
  volt_bcs_node nodes[threads];

  static uintptr_t count(volt_bcs_node *, void *, uintptr_t state) {
    return state + 1;
  }
  void thread(unsigned index) override {
    const volt_bcs_ops ops = {nullptr, count, nullptr, nullptr};
    queue.submit(&nodes[index], &ops, this);
  }
  void check() override {
    EXPECT(queue.state() == threads);
  }
};
struct lockfree_counter : bcs_counter<lockfree_form, 3> {};
struct waitfree_counter : bcs_counter<waitfree_form, 3> {};
struct stub_counter : bcs_counter<stub_form, 3> {};
MODEL(lockfree_counter, 3, bounded)
MODEL(waitfree_counter, 3, bounded)
MODEL(stub_counter, 3, bounded)

// Every consumer flushes what it has handled itself, however it ceases to be one.
template <typename form>
struct bcs_flush : model {
  form queue;
  volt_bcs_node nodes[3];
  struct batch {
    VOLT_PLAIN(unsigned) unflushed;
  };
  static void handle(volt_bcs_node *, void *ctx) {
    static_cast<batch *>(ctx)->unflushed += 1;
  }
  static void flush(void *ctx) {
    static_cast<batch *>(ctx)->unflushed = 0;
  }
  void thread(unsigned index) override {
    const volt_bcs_ops ops = {handle, nullptr, nullptr, flush};
    batch own;
    queue.submit(&nodes[index], &ops, &own);
    EXPECT(own.unflushed == 0);
  }
};
struct lockfree_flush : bcs_flush<lockfree_form> {};
struct waitfree_flush : bcs_flush<waitfree_form> {};
struct stub_flush : bcs_flush<stub_form> {};
MODEL(lockfree_flush, 3, bounded)
MODEL(waitfree_flush, 3, bounded)
MODEL(stub_flush, 3, bounded)

// R2, E14: a node is submitted again as soon as it is given back.
template <typename form>
struct bcs_again : model {
  form queue;
  volt_bcs_node node;
  volt_bcs_node other;
  VOLT_ATOMIC(uint32_t) given_back;
  VOLT_PLAIN(unsigned) handled;
  unsigned submitted = 2;

  static void handle(volt_bcs_node *, void *ctx) {
    static_cast<bcs_again *>(ctx)->handled += 1;
  }
  static void done(volt_bcs_node *node, void *ctx) {
    bcs_again *self = static_cast<bcs_again *>(ctx);
    if (node == &self->node) volt_store_release(&self->given_back, 1u);
  }
  void thread(unsigned index) override {
    const volt_bcs_ops ops = {handle, nullptr, done, nullptr};
    queue.submit(index == 0 ? &node : &other, &ops, this);
    if (index == 1 && volt_load_acquire(&given_back) == 1) {
      submitted += 1;
      queue.submit(&node, &ops, this);
    }
  }
  void check() override {
    EXPECT(handled == submitted);
  }
};
struct lockfree_again : bcs_again<lockfree_form> {};
struct waitfree_again : bcs_again<waitfree_form> {};
struct stub_again : bcs_again<stub_form> {};
MODEL(lockfree_again, 2, full)
MODEL(waitfree_again, 2, full)
MODEL(stub_again, 2, bounded)

// Stub: handle() submits its own node again, once, and frees it the second time.
struct stub_again_in_handle : model {
  volt_bcs_waitfree_stub queue;
  VOLT_PLAIN(unsigned) handled;
  VOLT_ATOMIC(uint32_t) freed;

  static void handle(volt_bcs_node *node, void *ctx) {
    auto *self = static_cast<stub_again_in_handle *>(ctx);
    self->handled += 1;
    letter *l = letter_of(node);
    if (l->number == 0) {
      l->number = 1;
      volt_bcs_waitfree_stub_submit(&self->queue, node, handle, ctx);
    } else {
      volt_fetch_add_relaxed(&self->freed, 1);
      delete l;
    }
  }
  void thread(unsigned) override {
    volt_bcs_waitfree_stub_submit(&queue, &(new letter)->node, handle, this);
  }
  void check() override {
    EXPECT(handled == 4 && volt_load_relaxed(&freed) == 2);
  }
};
MODEL(stub_again_in_handle, 2, bounded)

// Wait-free: what is submitted from inside handle() is handled after all that came before.
struct waitfree_nested : model {
  volt_bcs_waitfree queue;
  volt_bcs_node outer[2];
  volt_bcs_node inner;
  VOLT_PLAIN(unsigned) handled;

  static void handle(volt_bcs_node *node, void *ctx) {
    auto *self = static_cast<waitfree_nested *>(ctx);
    self->handled += 1;
    if (node == &self->outer[0]) volt_bcs_waitfree_submit(&self->queue, &self->inner, handle, ctx);
  }
  void thread(unsigned index) override {
    volt_bcs_waitfree_submit(&queue, &outer[index], handle, this);
  }
  void check() override {
    EXPECT(handled == 3);
  }
};
MODEL(waitfree_nested, 2, full)

// bcs_model: the queues of "Batched Critical Sections" as printed. docs/errata.md, E14 to E17.
// A case that must fail tells how the printed form loses, and what of src/bcs/bcs_queue.c does not.
// PROGRAM: published
#include "bcs.hpp"

using published::bcs_node;

// E14. The consumer handles A, which is still the top, and gives it back; its owner submits it again
// (next = A, the CAS from A to A succeeds); the consumer's CAS from A to empty succeeds. Two
// submitted, one handled. Closed by R2: the top is given back after that CAS. Control:
// lockfree_again.
struct e14_top_given_back_in_handle : model {
  published::bcs_lockfree queue;
  bcs_node node;
  VOLT_ATOMIC(uint32_t) given_back;
  VOLT_PLAIN(unsigned) handled;
  unsigned submitted = 1;

  void submit() {
    queue.submit(&node, [this](bcs_node *) {
      handled += 1;
      volt_store_release(&given_back, 1u);
    });
  }
  void thread(unsigned index) override {
    if (index == 0) {
      submit();
    } else if (volt_load_acquire(&given_back) == 1) {
      submitted += 1;
      submit();
    }
  }
  void check() override {
    EXPECT(handled == submitted);
  }
};
MUST_FAIL(e14_top_given_back_in_handle, 2, full)

// E15. "FIFO" says the text; a batch is walked from the newest to the oldest. Not a loss: lockfree
// says so in its header, and volt_bcs_lock reverses its batches. Control: bcs_submit_then_run_lockfree.
struct e15_newest_first : model {
  published::bcs_lockfree queue;
  bcs_node nodes[3];
  VOLT_PLAIN(unsigned) last;

  void submit(unsigned i) {
    nodes[i].number = i;
    queue.submit(&nodes[i], [this](bcs_node *node) {
      if (node->number == 0) return;
      EXPECT(node->number > last);
      last = node->number;
    });
  }
  void thread(unsigned index) override {
    if (index == 0) {
      submit(0);
    } else {
      submit(1);
      submit(2);
    }
  }
};
MUST_FAIL(e15_newest_first, 2, full)

// E16. Between a producer's swap of the tail and its store of the head, pop() says "empty" to a
// thread whose own push has returned. Closed by R1 of mpsc.c. Control: mpsc_push_x_pop.
struct e16_empty_after_push : model {
  published::mpsc queue;
  bcs_node nodes[2];
  void thread(unsigned index) override {
    queue.push(&nodes[index]);
    bcs_node *node;
    if (index == 1) EXPECT(queue.pop(&node) != published::mpsc::empty);
  }
};
MUST_FAIL(e16_empty_after_push, 2, full)

// E17. The CAS from node to stub fails, the consumer hands off, and the new one takes its predecessor
// for handled. Closed by R5: it begins with it. Control: stub_2x1.
struct e17_handed_off_unhandled : model {
  published::bcs_stub queue;
  bcs_node nodes[2];
  VOLT_PLAIN(unsigned) handled;
  void thread(unsigned index) override {
    queue.submit(&nodes[index], [this](bcs_node *) { handled += 1; });
  }
  void check() override {
    EXPECT(handled == 2);
  }
};
MUST_FAIL(e17_handed_off_unhandled, 2, full)

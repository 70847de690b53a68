// bcs.hpp: the queues of "Batched Critical Sections" (docs/errata.md) as they are printed there.
#ifndef VOLT_PUBLISHED_BCS_HPP
#define VOLT_PUBLISHED_BCS_HPP

#include "model.hpp"

namespace published {

struct bcs_node {
  VOLT_ATOMIC(bcs_node *) next;
  VOLT_PLAIN(unsigned) number;
};

inline bcs_node *sentinel() {
  return reinterpret_cast<bcs_node *>(1);
}

// "Intrusive, Lock-Free, BCS". handle() may invalidate, or wake the owner of, any node.
struct bcs_lockfree {
  VOLT_ATOMIC(bcs_node *) top;

  template <typename F>
  void submit(bcs_node *node, F handle) {
    bcs_node *seen = volt_load_relaxed(&top);
    do {
      volt_store_relaxed(&node->next, seen);
    } while (!volt_cas_weak_acq_rel(&top, &seen, node));
    if (!seen) consumer(node, nullptr, handle);
  }

  template <typename F>
  void consumer(bcs_node *first, bcs_node *bottom, F handle) {
    for (;;) {
      bcs_node *node = first;
      do {
        bcs_node *next = volt_load_relaxed(&node->next);
        handle(node);
        node = next;
      } while (node != bottom);
      bcs_node *seen = first;
      if (volt_cas_acq_rel(&top, &seen, static_cast<bcs_node *>(nullptr))) return;
      bottom = first;
      first = volt_load_acquire(&top);
    }
  }
};

// "Intrusive, Wait-Free, MPSC".
struct mpsc {
  VOLT_ATOMIC(bcs_node *) head;
  VOLT_ATOMIC(bcs_node *) tail;
  enum outcome { empty, stalled, popped };

  void push(bcs_node *node) {
    volt_store_relaxed(&node->next, static_cast<bcs_node *>(nullptr));
    if (bcs_node *last = volt_exchange_acq_rel(&tail, node)) {
      volt_store_release(&last->next, node);
    } else {
      volt_store_release(&head, node);
    }
  }

  outcome pop(bcs_node **out) {
    bcs_node *node = volt_load_acquire(&head);
    if (!node) return empty;
    *out = node;
    bcs_node *next = volt_load_acquire(&node->next);
    if (!next) {
      volt_store_relaxed(&head, static_cast<bcs_node *>(nullptr));
      bcs_node *seen = node;
      if (volt_cas_release(&tail, &seen, static_cast<bcs_node *>(nullptr))) return popped;
      volt_store_relaxed(&head, node);
      next = volt_load_acquire(&node->next);
      if (!next) return stalled;
    }
    volt_store_relaxed(&head, next);
    return popped;
  }
};

// The stub form, of which the text gives a sketch: "Failing this does the handoff as usual, but the
// new consumer skips handling the stub". As usual: the predecessor counts as handled.
struct bcs_stub {
  VOLT_ATOMIC(bcs_node *) tail;
  bcs_node stub;

  template <typename F>
  void submit(bcs_node *node, F handle) {
    volt_store_relaxed(&node->next, static_cast<bcs_node *>(nullptr));
    bcs_node *last = volt_exchange_acq_rel(&tail, node);
    if (!last || volt_exchange_acq_rel(&last->next, node) == sentinel()) consumer(node, handle);
  }

  template <typename F>
  void consumer(bcs_node *node, F handle) {
    while (node) {
      bcs_node *next = volt_load_acquire(&node->next);
      if (!next) {
        volt_store_relaxed(&stub.next, static_cast<bcs_node *>(nullptr));
        bcs_node *seen = node;
        if (volt_cas_release(&tail, &seen, &stub)) {
          next = &stub;
        } else {
          next = volt_exchange_acq_rel(&node->next, sentinel());
          if (!next) return;
        }
      }
      handle(node);
      node = next == &stub ? leave_stub() : next;
    }
  }

 private:
  bcs_node *leave_stub() {
    bcs_node *next = volt_load_acquire(&stub.next);
    if (next) return next;
    bcs_node *seen = &stub;
    if (volt_cas_release(&tail, &seen, static_cast<bcs_node *>(nullptr))) return nullptr;
    return volt_exchange_acq_rel(&stub.next, sentinel());
  }
};

} // namespace published

#endif

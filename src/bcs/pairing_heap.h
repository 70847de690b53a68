/* pairing_heap.h: an intrusive pairing heap of timers. Sequential.
 *
 * A tree of timers in which no timer is earlier than its parent. Two trees are melded by making the
 * later root a child of the earlier one. A root is removed by melding its children in pairs, and
 * then the pairs, from the last to the first. O(1) to insert, O(log n) amortized to remove.
 *
 * Source: Fredman, Sedgewick, Sleator, Tarjan, "The pairing heap" (1986).
 *
 * Fields of a timer's waiter: data is its first child; next is its next sibling; prev is its
 * previous sibling, or, if it is the first child, its parent. A root has neither next nor prev. */
#ifndef VOLT_BCS_PAIRING_HEAP_H
#define VOLT_BCS_PAIRING_HEAP_H

#include <volt/timer.h>

static inline volt_timer *volt_heap_timer_(volt_waiter *w) {
  return volt_container_of(w, volt_timer, waiter);
}

static inline bool volt_heap_earlier_(volt_waiter *a, volt_waiter *b) {
  const volt_timer *x = volt_heap_timer_(a);
  const volt_timer *y = volt_heap_timer_(b);
  if (x->deadline_ns != y->deadline_ns) return x->deadline_ns < y->deadline_ns;
  return x->number < y->number;
}

static inline volt_waiter *volt_heap_child_(volt_waiter *w) {
  return (volt_waiter *)(void *)w->data;
}

/* Meld two heaps; either root may be NULL. Returns the root of both. */
static inline volt_waiter *volt_heap_meld_(volt_waiter *a, volt_waiter *b) {
  if (!a) return b;
  if (!b) return a;
  if (volt_heap_earlier_(b, a)) {
    volt_waiter *swap = a;
    a = b;
    b = swap;
  }
  volt_waiter *child = volt_heap_child_(a);
  b->prev = a;
  b->next = child;
  if (child) child->prev = b;
  a->data = b;
  return a;
}

static inline volt_waiter *volt_heap_insert_(volt_waiter *root, volt_waiter *w) {
  w->next = NULL;
  w->prev = NULL;
  w->data = NULL;
  return volt_heap_meld_(root, w);
}

/* Meld the children of *w, which is removed. Returns their root, or NULL. */
static inline volt_waiter *volt_heap_children_of_(volt_waiter *w) {
  volt_waiter *pairs = NULL; /* melded pairs, the last first, linked by next */
  for (volt_waiter *at = volt_heap_child_(w); at;) {
    volt_waiter *first = at;
    volt_waiter *second = at->next;
    at = second ? (volt_waiter *)second->next : NULL;
    first->next = NULL;
    first->prev = NULL;
    if (second) {
      second->next = NULL;
      second->prev = NULL;
    }
    first = volt_heap_meld_(first, second);
    first->next = pairs;
    pairs = first;
  }
  volt_waiter *root = NULL;
  while (pairs) {
    volt_waiter *next = pairs->next;
    pairs->next = NULL;
    root = volt_heap_meld_(root, pairs);
    pairs = next;
  }
  return root;
}

/* Remove *w, which is anywhere in the heap. Returns the new root, or NULL. */
static inline volt_waiter *volt_heap_remove_(volt_waiter *root, volt_waiter *w) {
  volt_waiter *below = volt_heap_children_of_(w);
  if (w == root) return below;
  volt_waiter *before = w->prev;
  if (volt_heap_child_(before) == w) {
    before->data = w->next;
  } else {
    before->next = w->next;
  }
  if (w->next) w->next->prev = before;
  return volt_heap_meld_(root, below);
}

#endif

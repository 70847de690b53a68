/* snapshot.h: a copy of the books, from which another program makes a report. */
#ifndef WATCH_SNAPSHOT_H
#define WATCH_SNAPSHOT_H

#include "watch/books.h"

struct circle;

enum snapshot_why { SNAPSHOT_AT_END, SNAPSHOT_ASKED, SNAPSHOT_DEADLOCK };

#define SNAPSHOT_MAGIC "voltrun4"

/* Followed by threads, details, locks, orders and stacks, each from number 1 on, and by the text of /proc/PID/maps. */
struct snapshot {
  char magic[8];
  uint32_t size_of_thread, size_of_detail, size_of_lock, size_of_order, size_of_stack;
  uint32_t why;
  int32_t pid;
  uint32_t thread_count, detail_count, lock_count, order_count, orders_left_out, stack_count;
  uint64_t unwatched, deadlocks;
  uint64_t now_ns, begun_ns;
  struct slots slots;
  uint32_t is_served;     /* volt's locks do the work */
  uint32_t is_standstill; /* no thread can wake another one; seen from outside only: standstill.c */
  uint32_t circle_count;
  uint32_t circle_thread[64];
  uint32_t circle_lock[64];
  char program[256];
};

/* Called once, at start. */
void snapshot_begin(void);

/* Make a report, and wait until it is written. May be called by a signal handler. */
void snapshot_report(enum snapshot_why why, const struct circle *c);

/* The same, and what is to be done then. */
void snapshot_of_deadlock(const struct circle *c);

#endif

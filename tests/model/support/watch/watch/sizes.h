// sizes.h: books for four threads and a few locks.
#ifndef WATCH_SIZES_H
#define WATCH_SIZES_H

enum {
  BOOKS_BUCKETS = 1,
  BOOKS_LOCKS = 4,
  BOOKS_DETAILS = 0,
  BOOKS_THREADS = 4,
  BOOKS_HELD = 3,
  BOOKS_DEPTH = 1,
  BOOKS_CACHED = 1,
  BOOKS_TIMES = 2,
  BOOKS_ORDERS = 3,
  BOOKS_ORDER_SLOTS = 4,
  BOOKS_ORDER_HELD = 2,
  BOOKS_ORDER_THREADS = 2,
  BOOKS_ORDERS_CACHED = 2,
  BOOKS_STACKS = 1
};

#endif

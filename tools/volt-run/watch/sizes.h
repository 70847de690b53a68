/* sizes.h: how much the books have room for. Models have a smaller one in its place. */
#ifndef WATCH_SIZES_H
#define WATCH_SIZES_H

enum {
  BOOKS_LINE = 64, /* of a processor's cache: two locks that are near to each other share none */
  BOOKS_BUCKETS = 1 << 16,
  BOOKS_LOCKS = 1 << 18,   /* objects at most: more are not watched */
  BOOKS_DETAILS = 1 << 13, /* of them, those for which a thread had to wait */
  BOOKS_THREADS = 4096,    /* at the same time */
  BOOKS_HELD = 64,         /* by one thread at the same time */
  BOOKS_DEPTH = 32,        /* of a stack */
  BOOKS_CACHED = 1024,     /* objects that a thread finds at once */
  BOOKS_TIMES = 80,        /* of a histogram: two for each power of two */
  BOOKS_ORDERS = 1 << 15,  /* in which locks were taken */
  BOOKS_ORDER_SLOTS = 2 * BOOKS_ORDERS,
  BOOKS_ORDER_HELD = 6,       /* locks that were held at that time */
  BOOKS_ORDER_THREADS = 8,    /* that are kept of one order */
  BOOKS_ORDERS_CACHED = 8192, /* that a thread finds at once */
  BOOKS_STACKS = 4096         /* of orders; one that is there is not kept twice */
};

#endif

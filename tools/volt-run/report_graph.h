/* report_graph.h: which thread waits, or has waited, for which. */
#ifndef VOLT_RUN_REPORT_GRAPH_H
#define VOLT_RUN_REPORT_GRAPH_H

#include "report.h"

enum { GRAPH_EDGES = 4096 };

struct graph_thread {
  int32_t tid; /* below 0: it has ended */
  char name[16];
};

struct graph_edge {
  struct graph_thread waiter, holder;
  uint32_t from, to; /* their numbers; of a wait of now */
  uint32_t lock;     /* 0: the end of the thread */
  uint64_t ns;
  bool is_now;  /* else: the longest wait for this lock so far, and the hold that ended before it */
  bool may_end; /* its wait has a deadline, or is for a semaphore that any thread may post */
  bool comes_back; /* it waits for a condition, and needs this mutex to come back */
  bool in_circle;  /* of threads that wait for each other now */
};

struct graph {
  struct graph_edge *edge; /* circles first, then waits of now, each by time */
  uint32_t count;
};

/* Returns false: there is no memory. */
bool graph_open(struct graph *g, const struct report *r);
void graph_close(struct graph *g);

#endif

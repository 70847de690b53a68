/* graph_internal.h: what graph.c and graph_cycles.c share. */
#ifndef VOLT_SIGHT_GRAPH_GRAPH_INTERNAL_H
#define VOLT_SIGHT_GRAPH_GRAPH_INTERNAL_H

#include "graph.h"

/* In the lowest two bits of `who`. */
enum { WHO_TASK = 1, WHO_THREAD = 2, WHO_GRANTED = 3 };

typedef struct graph_array {
  void *at;
  uint32_t count, room;
} graph_array;

/* Party `from` is waited for by a term. */
typedef struct graph_edge {
  uint32_t next; /* 1 + the next edge of the same party */
  uint32_t term;
  uint64_t n; /* permits that it holds; 0: it is before the term's waiter, or its end is awaited */
  bool is_before;
} graph_edge;

typedef struct graph_held {
  const void *object;
  const char *file;
  uint64_t n;
  uint32_t line;
  uint32_t party;
  uint32_t next; /* 1 + the next in the same bucket */
} graph_held;

struct volt_graph_ {
  graph_array parties, terms, held, edges;
  graph_array changes;                    /* a work list: party << 1, and 1 if it ends */
  graph_array by_who, by_held, by_waiter; /* tables of 1 + index; a power of two */
  bool is_adding;                         /* a party is being added */
  bool lacks_memory;
};

#define PARTY(g, i) (&((volt_waiting_ *)(g)->parties.at)[i])
#define TERM(g, i) (&((volt_term_ *)(g)->terms.at)[i])
#define HELD(g, i) (&((graph_held *)(g)->held.at)[i])
#define EDGE(g, i) (&((graph_edge *)(g)->edges.at)[i])
#define CHANGE(g, i) (((uint32_t *)(g)->changes.at)[i])
#define TABLE(array, i) (((uint32_t *)(array).at)[i])

#endif

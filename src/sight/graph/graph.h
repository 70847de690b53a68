/* graph.h: which party waits for which, and which of them can never go on. graph.c says how it works, and why
 * what it finds is true. deadlocks.c fills it with what an inspector sees; tests with what they
 * like. */
#ifndef VOLT_SIGHT_GRAPH_GRAPH_H
#define VOLT_SIGHT_GRAPH_GRAPH_H

#include "../../core/inspect/describe.h"

/* A thing that a party awaits. */
typedef struct volt_term_ {
  volt_ends_ ends; /* INNER: as ANY */
  uint32_t depth;  /* what is within a select or a join follows it, one deeper */
  uint32_t wanted; /* permits; 0: all */
  uint32_t line;   /* where it is awaited, in a file that the party's site names; 0: not known */
  const void *object;
  const void *waiter; /* by which it waits in the object's FIFO; NULL: none */
  volt_kind_ kind;    /* of the object */
  const char *operation;
  const struct volt_site_ *site; /* that awaits; NULL: not known */
  bool has_deadline;
  bool is_ready; /* it has ended, so it will wake nothing */

  /* of HOLDERS, by volt_graph_resolve_() */
  uint64_t total;   /* permits that there are */
  uint64_t stuck;   /* of these, held by parties that cannot go on */
  const char *file; /* where the holder took it; NULL: not known */
  uint32_t taken_line;
  uint32_t taken_since; /* in 2^20 ns; 0: not known */
  bool is_granted;      /* the holder was granted it, and has not polled since */
  uint32_t by;          /* 1 + a party that it waits for; 0: none is known */

  uint32_t party;
  uint32_t missing; /* of GROUP: members that cannot end */
  bool behind;      /* another waiter is before it, which cannot go on */
  bool can;         /* it can end */
} volt_term_;

/* A task or a thread that waits. */
typedef struct volt_waiting_ {
  uintptr_t who;     /* volt/detail/holders.h */
  uint64_t instance; /* of its wait: the same in two looks => it has waited all the time between */
  const void *group; /* of a task: its group, or NULL */
  const struct volt_site_ *site; /* of a task; NULL: not known */
  char name[32];                 /* of a fiber, a copy; "": none */
  uint64_t since_ns;             /* as volt_now_ns(); 0: not known */
  int (*fn)(void *arg);          /* of a fiber; or NULL */
  int tid;                       /* of a thread; 0: it is a task */

  uint32_t first, count; /* its terms */
  uint32_t held, held_count;
  uint32_t waited_for; /* private: a list of edges; 0: none */
  bool runs;           /* one of the things that it awaits can end */
  bool ends;           /* all that must can */
  bool is_confirmed;
  uint32_t mark; /* private, as the next */
  bool is_listed;
} volt_waiting_;

/* What is known of an object that a term waits for, beside the holders of a share of it. */
typedef struct volt_graph_object_ {
  uint64_t total;    /* permits that there are, held or not */
  uint64_t holder_n; /* of these, holder's */
  uintptr_t holder;  /* the party that has it alone; 0: not known, or several share it */
  const char *file;  /* where holder took it */
  uint32_t line;
  uint32_t since;
  const void
      *before;    /* the waiter that is next to come before this one; NULL: not known, or none */
  bool is_shared; /* entries of the lists of what parties hold say which hold it */
} volt_graph_object_;

/* Say what is known of what *term waits for. Returns false: nothing. */
typedef bool volt_graph_ask_(void *ctx, const volt_term_ *term, volt_graph_object_ *object);

typedef struct volt_graph_ volt_graph_;

/* Returns an empty graph; NULL: there is no memory. It takes memory by mmap() alone, so it may grow
 * while tasks are claimed. */
volt_graph_ *volt_graph_new_(void);
void volt_graph_free_(volt_graph_ *g);
void volt_graph_clear_(volt_graph_ *g);

/* Add a party, then what it awaits, outermost first, then what it holds. w: copied, its private
 * members are not read. Without memory, or if the party may go on by itself, the calls do nothing:
 * it is as if the party was not there. */
void volt_graph_add_(volt_graph_ *g, const volt_waiting_ *w);
void volt_graph_add_term_(volt_graph_ *g, const volt_term_ *term);
void volt_graph_add_held_(volt_graph_ *g, const void *object, uint64_t n, const char *file,
                          uint32_t line);
void volt_graph_added_(volt_graph_ *g);

/* Ask for the objects, and find the parties that cannot go on. Returns how many parties. */
unsigned volt_graph_resolve_(volt_graph_ *g, volt_graph_ask_ *ask, void *ctx);

/* The second look: this party still waits, and `instance` is that of its wait. */
void volt_graph_confirm_(volt_graph_ *g, uintptr_t who, uint64_t instance);

/* This party has been granted something: it cannot be confirmed. */
void volt_graph_refuse_(volt_graph_ *g, uintptr_t who);

/* After the second look. is_passed_on: whether the holders of an object are not known any more. Returns
 * how many parties cannot go on. */
unsigned volt_graph_settle_(volt_graph_ *g, bool (*is_passed_on)(const void *object));

/* The parties that cannot go on: one cycle after the other, and then all that wait behind these. *w
 * waits for *term, and so for *by, which in a cycle is the next.
 * cycle: 1 for the first; place: in the cycle, from 0. 0, UINT32_MAX: *w is in no cycle. */
typedef void volt_graph_report_(void *ctx, unsigned cycle, uint32_t place, const volt_waiting_ *w,
                                const volt_term_ *term, const volt_waiting_ *by);
void volt_graph_report_all_(volt_graph_ *g, volt_graph_report_ *report, void *ctx);

/* Whether the party is one of those that cannot go on. */
bool volt_graph_has_(const volt_graph_ *g, uintptr_t who);

#endif

/* dump.h: one dump: what it has found, in memory that is there before the first task is held back,
 * and its text on the way to the sink. dump.c looks, dump_print.c says. */
#ifndef VOLT_SIGHT_DUMP_DUMP_H
#define VOLT_SIGHT_DUMP_DUMP_H

#include <volt/sight.h>

#include "dump_function.h"
#include "dump_groups.h"
#include "lints.h"

enum {
  VOLT_DUMP_RTS_ = 64,
  VOLT_DUMP_WORKERS_ = 512,
  VOLT_DUMP_LINTS_ = 32,
  VOLT_DUMP_TEXT_ = 65536,
  VOLT_DUMP_ROOM_ = 6144 /* for what is said without giving text to the sink in between */
};

typedef struct volt_dump_worker_ {
  unsigned index;
  volt_worker_seen_ seen;
  volt_where_ where; /* of the task that it runs; unknown: that was another, or none */
  volt_called_ name;
} volt_dump_worker_;

typedef struct volt_dump_rt_ {
  const volt_rt *rt; /* may be gone: a number */
  char name[VOLT_WHERE_BYTES_];
  bool is_by_hand, is_run, is_closing;       /* run: by a thread, at this moment */
  unsigned first, workers, workers_left_out; /* those from worker[first] on */
  uint64_t now_ns;                      /* by the runtime's clock, as its tasks were looked at */
  uint64_t tasks, waits, ready, ending; /* the others ran */
  uint64_t elsewhere;
  bool is_pool_busy;     /* its lock: what follows is not known */
  uint64_t calls_queued; /* on the blocking pool; of its threads */
  uint32_t call_threads, call_idle, call_max;
  int result;
} volt_dump_rt_;

/* A task about which something is wrong. */
typedef struct volt_dump_lint_ {
  volt_lint_ lint;
  uint64_t now_ns; /* when it was seen */
  bool is_fiber;
  volt_aged_ aged;
  volt_called_ name;
  volt_tree_ tree;
} volt_dump_lint_;

typedef struct volt_dump_ {
  uint64_t (*clock_ns)(void); /* for longest_held_ns: volt_now_ns(), or another one for a test */
  /* from here on all is zeroed for each dump, up to memory */
  volt_sink *sink;
  void *ctx;
  unsigned how;
  int result;
  bool is_threads_lock_busy;
  bool has_ended;                       /* the sink has said so */
  uint64_t held_at_ns, longest_held_ns; /* since when tasks are held back; for how long at most */
  unsigned rts, rts_left_out;
  unsigned workers;
  unsigned lints;
  uint64_t lints_left_out, threads_elsewhere;
  volt_dump_rt_ rt[VOLT_DUMP_RTS_];
  volt_dump_worker_ worker[VOLT_DUMP_WORKERS_];
  volt_dump_lint_ lint[VOLT_DUMP_LINTS_];
  volt_dump_groups_ groups;
  volt_dump_group_ *order[VOLT_GROUPS_MAX_];
  struct volt_functions_ functions;
  volt_stack_seen_ stack; /* of the one task that is held back, if each is shown with its stack */
  volt_text_ text;
  char memory[VOLT_DUMP_TEXT_];
} volt_dump_;

/* Memory for a dump, or NULL. It does not come from malloc(): a thread that hangs in there would
 * keep the dump waiting. */
volt_dump_ *volt_dump_new_(void);
void volt_dump_free_(volt_dump_ *d);

/* volt_dump(), in that memory. */
int volt_dump_in_(volt_dump_ *d, volt_rt *rt, unsigned how, volt_sink *sink, void *ctx);
bool volt_dump_is_how_(unsigned how);

/* ---- dump_print.c ---- */

void volt_dump_begin_text_(volt_dump_ *d);

/* Give the text to the sink if there is little room left; all of it. No task is held back. */
void volt_dump_make_room_(volt_dump_ *d);
void volt_dump_flush_(volt_dump_ *d);

/* *l, from a task that is claimed; and its text. */
void volt_dump_copy_lint_(volt_dump_lint_ *l, volt_lint_ lint, const volt_seen_ *seen,
                          uint64_t now_ns);
void volt_dump_put_lint_(volt_text_ *t, const volt_dump_lint_ *l);

/* What is wrong, in all runtimes. */
void volt_dump_print_problems_(volt_dump_ *d);

/* A runtime, and its workers; and its groups. */
void volt_dump_print_rt_(volt_dump_ *d, const volt_dump_rt_ *r);
void volt_dump_print_groups_(volt_dump_ *d, const volt_dump_rt_ *r);

/* A task that is held back, or was only seen, at most VOLT_DUMP_ROOM_ of text. */
void volt_dump_print_task_(volt_dump_ *d, const volt_dump_rt_ *r, const volt_seen_ *seen);

/* How many runtimes there was no room for. */
void volt_dump_print_left_out_(volt_dump_ *d);

/* Threads that sleep in a blocking call. */
void volt_dump_read_threads_(volt_dump_ *d);
void volt_dump_print_threads_(volt_dump_ *d);

/* Of one of the oldest of a group: its object, if they differ. How many there are beside the
 * oldest. */
void volt_dump_put_object_of_(volt_text_ *t, const volt_dump_group_ *g, const volt_aged_ *aged);
void volt_dump_put_more_(volt_text_ *t, const volt_dump_group_ *g);

#endif

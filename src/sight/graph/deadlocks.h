/* deadlocks.h: look for deadlocks among the tasks and threads of this process. deadlocks.c says how,
 * graph.c why what is found is one. */
#ifndef VOLT_SIGHT_GRAPH_DEADLOCKS_H
#define VOLT_SIGHT_GRAPH_DEADLOCKS_H

#include <volt/sight.h>

#include "../../core/inspect/holders.h"
#include "../dump/dump_text.h"
#include "graph.h"

enum { VOLT_DEADLOCK_TEXT_ = 16384, VOLT_DEADLOCK_BETWEEN_MS_ = 100 };

/* Two looks, and what they have found. Its memory is of mmap(). */
typedef struct volt_deadlocks_ {
  volt_graph_ *graph;
  unsigned stuck;  /* parties that cannot go on, after the last step */
  unsigned cycles; /* of these, said in text */
  uint64_t mark;   /* of the waits of the parties in cycles: the same if nothing has changed */
  volt_text_ text;
  char memory[VOLT_DEADLOCK_TEXT_];
} volt_deadlocks_;

/* What a build without VOLT_SIGHT=1 has to say before it may say nothing. "": this one knows holders. */
extern const char volt_deadlocks_unknown_[];

volt_deadlocks_ *volt_deadlocks_new_(void); /* NULL: there is no memory */
void volt_deadlocks_free_(volt_deadlocks_ *d);

/* The first look. Returns whether there is a reason for the second, which should follow after
 * VOLT_DEADLOCK_BETWEEN_MS_. */
bool volt_deadlocks_search_(volt_deadlocks_ *d);

/* The second. Returns whether there is a deadlock. */
bool volt_deadlocks_search_again_(volt_deadlocks_ *d);

/* Write down what was found, with what each of its tasks awaits. */
void volt_deadlocks_print_(volt_deadlocks_ *d);

/* ---- deadlock_fill.c ---- */

/* Give every task and thread that waits to the graph. */
void volt_deadlocks_fill_(volt_graph_ *g);

/* Confirm those that still wait, and have been granted nothing. */
void volt_deadlocks_confirm_(volt_graph_ *g);

/* Say what is known of an object, for the graph. */
bool volt_deadlocks_ask_(void *ctx, const volt_term_ *term, volt_graph_object_ *object);

/* ---- deadlock_watch.c ---- */

/* Write what the watcher has found last, if it has found anything, to be shown in a dump. */
void volt_deadlocks_known_(volt_sink *sink, void *ctx);

/* "held by task 0x7f.. for 4.2 s (cache.c:77)". Returns how long that is; 0: nothing is known. */
size_t volt_holder_text_(const volt_holder_seen_ *seen, char *text, size_t size);

#endif

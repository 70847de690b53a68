/* ask.h: facts from a process that answers. */
#ifndef VOLT_TOP_ASK_H
#define VOLT_TOP_ASK_H

#include "facts.h"
#include "wire.h"

/* What to ask for, apart from runtimes and workers. */
enum { ASK_TASKS = 1, ASK_OBJECTS = 2, ASK_THREADS = 4 };

/* Fill in *f anew. tasks: at most so many; older_ms: those that wait at least so long; object: for
 * that alone; 0: for any. Returns false: w->why. */
bool ask_all(facts *f, wire *w, unsigned what, unsigned tasks, uint64_t older_ms, uint64_t object);

/* What one task awaits: f->stop, and f->task[0]. Returns false: it is gone, or w->why. */
bool ask_task(facts *f, wire *w, uint64_t task);

/* The text of a request: f->text. q: "deadlocks" or "dump". */
bool ask_text(facts *f, wire *w, const char *q);

#endif

/* view.h: facts as text: tables of workers, objects, tasks, threads, and all that one task awaits. */
#ifndef VOLT_TOP_VIEW_H
#define VOLT_TOP_VIEW_H

#include "facts.h"
#include "page.h"

typedef enum view_table {
  VIEW_TASKS,
  VIEW_OBJECTS,
  VIEW_WORKERS,
  VIEW_THREADS,
  VIEW_TABLES, /* so many that are tables of facts; what follows are pages */
  VIEW_TREE = VIEW_TABLES,
  VIEW_TEXT
} view_table;

/* Said where nothing would otherwise be said. */
#define VIEW_NO_HOLDERS "who holds a lock is known in builds with VOLT_SIGHT=1"

typedef enum view_order { VIEW_BY_OLDEST, VIEW_BY_WAIT, VIEW_BY_HOLD, VIEW_ORDERS } view_order;

/* What the screen shows. */
typedef struct view {
  view_table table;
  view_order order; /* of objects */
  unsigned chosen;  /* row */
  unsigned first;   /* row that is shown first */
  uint64_t object;  /* tasks: those that wait for that; 0: all */
  unsigned height;
  const char *lost; /* why nothing new is known; NULL: all is well */
  bool is_paused;
  uint64_t period_ns;
} view;

/* Rows of the table that v shows. */
unsigned view_rows(const view *v, const facts *f);

/* Put the objects of f in that order. */
void view_sort(facts *f, view_order order);

/* A screen. before: the facts of the look before, for rates; or NULL. */
void view_screen(page *p, view *v, const facts *f, const facts *before);

/* Everything, below each other. */
void view_once(page *p, const facts *f);

/* What one task awaits, as many lines as that takes. */
void view_tree(page *p, const facts *f);

#endif

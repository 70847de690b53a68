/* report.h: a copy of the books, as text and as JSON. */
#ifndef VOLT_RUN_REPORT_H
#define VOLT_RUN_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "symbols.h"
#include "watch/snapshot.h"

struct report {
  const struct snapshot *s;
  struct books_thread *thread; /* thread[1] is the first */
  struct books_detail *detail;
  struct books_lock *lock;
  struct books_order *orders; /* orders[1] is the first */
  struct books_stack *stacks;
  struct symbols *symbols;
  uint32_t *order; /* of the details: those first for which threads have waited longest in all */
  uint32_t ordered;
  unsigned top; /* how many of them are said */
};

/* Map the copy in this descriptor. Returns false: it is none; standard error says so. */
bool report_open(struct report *r, int file, unsigned top);
void report_close(struct report *r);

void report_text(const struct report *r, FILE *to);
void report_json(const struct report *r, FILE *to);
void report_html(const struct report *r, FILE *to);

enum { TEXT_TIME = 32 };

/* "12 us". to: TEXT_TIME bytes; it is returned. */
const char *text_time(uint64_t ns, char *to);

const char *report_kind(const struct books_lock *l);
const char *report_fault(uint32_t fault);

/* Whether this thread holds it, shared or alone. */
bool report_holds(const struct report *r, uint32_t thread, uint32_t lock);

/* The time that this share of a histogram does not exceed, at most as long as the longest. */
uint64_t report_quantile(const _Atomic uint32_t *times, double share, uint64_t longest);

/* Some of what both kinds of report say. */
struct report_sums {
  uint64_t waits, waited_ns;
  uint32_t threads; /* that are there now */
  uint32_t objects;
};
struct report_sums report_sum(const struct report *r);

/* The numbers of all threads, those first that have waited longest in all. The caller frees it; NULL: there is no
 * memory. */
uint32_t *report_threads(const struct report *r);

/* A thread waits now. Returns for how long. */
uint64_t report_waits_now_ns(const struct report *r, const struct books_thread *t);

/* How many slots have begun, and what is in each. Those behind the last one are in it: slots.c R2. */
struct report_slots {
  uint32_t count;
  uint64_t width_ns;
  uint64_t waits[SLOTS], ns[SLOTS];
};
void report_slots(const struct report *r, struct report_slots *to);

#endif

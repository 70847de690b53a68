/* books.c: one thread of the host runs the whole simulation, so nothing here is protected. */
#include "books.h"

#include <stdio.h>
#include <stdlib.h>

#include "machine.h"

typedef struct member {
  bool is_queued, has_waited;
  uint64_t queued_at;  /* the number of entries then */
  uint64_t entered_at; /* the number of its last entry, from 1 */
  uint64_t asked_ns;
} member;

static member *members;
static uint32_t member_count, at_once, bypass;
static uint32_t inside, alone_inside;
static uint64_t entries, most_passed;
static double *waits;
static uint64_t wait_count, wait_room;

void books_begin(uint32_t count, uint32_t most, uint32_t k) {
  free(members);
  members = (member *)calloc(count, sizeof *members);
  member_count = count;
  at_once = most;
  bypass = k;
  inside = alone_inside = 0;
  entries = most_passed = wait_count = 0;
}

void books_asks(uint32_t i) {
  members[i].asked_ns = sim_peek_ns();
}

void books_waits(uint32_t i) {
  member *m = &members[i];
  if (m->is_queued) return;
  m->is_queued = true;
  m->queued_at = entries;
}

/* Who comes a second time while somebody waits since before the first has passed that one. */
static void check_order(const member *m) {
  for (uint32_t i = 0; i < member_count; i++) {
    const member *other = &members[i];
    if (other != m && other->is_queued && m->entered_at > other->queued_at)
      sim_stop("somebody was overtaken by one who came later");
  }
}

static void note_wait(double ns) {
  if (wait_count == wait_room) {
    wait_room = wait_room ? 2 * wait_room : 4096;
    waits = (double *)realloc(waits, wait_room * sizeof *waits);
    if (!waits) sim_stop("no memory");
  }
  waits[wait_count++] = ns;
}

void books_enters(uint32_t i, bool alone) {
  member *m = &members[i];
  if (alone_inside > 0 || (alone && inside > 0) || inside == at_once)
    sim_stop("more are inside than may be");
  if (bypass == 0) check_order(m);
  if (m->is_queued) {
    uint64_t passed = entries - m->queued_at;
    if (passed > most_passed) most_passed = passed;
    uint64_t before = member_count - 1;
    if (bypass != UINT32_MAX && passed > before + (uint64_t)bypass * member_count)
      sim_stop("somebody was overtaken too often");
  }
  note_wait((double)(sim_peek_ns() - m->asked_ns));
  m->is_queued = false;
  m->entered_at = ++entries;
  inside += 1;
  alone_inside += alone;
}

void books_leaves(uint32_t i, bool alone) {
  (void)i;
  inside -= 1;
  alone_inside -= alone;
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

books_says books_end(void) {
  books_says says = {.entries = entries, .most_passed = most_passed};
  if (inside != 0) sim_stop("somebody is still inside");
  for (uint32_t i = 0; i < member_count; i++) {
    if (members[i].is_queued) sim_stop("somebody still waits");
  }
  if (wait_count == 0) return says;
  qsort(waits, wait_count, sizeof *waits, compare);
  says.p50_ns = waits[wait_count / 2];
  says.p99_ns = waits[wait_count * 99 / 100];
  says.p999_ns = waits[wait_count * 999 / 1000];
  says.longest_ns = waits[wait_count - 1];
  return says;
}

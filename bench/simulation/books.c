/* books.c: one thread of the host runs the whole simulation, so nothing here is protected. */
#include "books.h"

#include <stdio.h>
#include <stdlib.h>

#include "machine.h"

typedef struct member {
  bool is_queued, is_alone;
  uint64_t asked, queued; /* when: numbered */
  uint64_t queued_after;  /* so many entries */
  uint64_t asked_ns;
} member;

static member *members;
static uint32_t member_count, at_once, bypass;
static uint32_t inside, alone_inside;
static uint64_t moment, entries, passes, most_passed, most_passes;
static double *waits;
static uint64_t wait_count, wait_room;

void books_begin(uint32_t count, uint32_t most, uint32_t k) {
  free(members);
  members = (member *)calloc(count, sizeof *members);
  member_count = count;
  at_once = most;
  bypass = k;
  inside = alone_inside = 0;
  moment = entries = passes = most_passed = most_passes = wait_count = 0;
}

void books_asks(uint32_t i, bool alone) {
  members[i].asked = ++moment;
  members[i].asked_ns = sim_peek_ns();
  members[i].is_alone = alone;
}

void books_waits(uint32_t i) {
  member *m = &members[i];
  if (m->is_queued) return;
  m->is_queued = true;
  m->queued = ++moment;
  m->queued_after = entries;
}

/* Whether *m, which enters, asked when somebody was queued that is queued still. One that has been
 * granted its turn enters later, when it runs. So of two that may be inside together neither passes
 * the other. */
static bool passes_somebody(const member *m) {
  for (uint32_t i = 0; i < member_count; i++) {
    const member *other = &members[i];
    if (other != m && other->is_queued && m->asked > other->queued &&
        (m->is_alone || other->is_alone))
      return true;
  }
  return false;
}

static void check_order(const member *m) {
  bool has_passed = passes_somebody(m);
  if (has_passed && (m->is_queued || bypass == 0))
    sim_stop("somebody was overtaken by one who came later");
  if (m->is_queued) passes = 0;
  passes += has_passed;
  if (passes > most_passes) most_passes = passes;
  if (passes > bypass) sim_stop("somebody was overtaken too often");
}

static void note_wait(double ns) {
  if (wait_count == wait_room) {
    wait_room = wait_room ? 2 * wait_room : 4096;
    waits = (double *)realloc(waits, wait_room * sizeof *waits);
    if (!waits) sim_stop("no memory");
  }
  waits[wait_count++] = ns;
}

void books_enters(uint32_t i) {
  member *m = &members[i];
  if (alone_inside > 0 || (m->is_alone && inside > 0) || inside == at_once)
    sim_stop("more are inside than may be");
  if (bypass != UINT32_MAX) check_order(m);
  if (m->is_queued && entries - m->queued_after > most_passed)
    most_passed = entries - m->queued_after;
  note_wait((double)(sim_peek_ns() - m->asked_ns));
  m->is_queued = false;
  entries += 1;
  inside += 1;
  alone_inside += m->is_alone;
}

void books_leaves(uint32_t i) {
  inside -= 1;
  alone_inside -= members[i].is_alone;
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

books_says books_end(void) {
  books_says says = {.entries = entries, .most_passed = most_passed, .most_passes = most_passes};
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

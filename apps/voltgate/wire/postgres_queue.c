/* postgres_queue.c: runs of kinds: a ring of words: three bits of kind, the others count. */
#include "wire/postgres_queue.h"

_Static_assert((PG_RUNS & (PG_RUNS - 1)) == 0 && PG_RUNS >= 8, "the ring is indexed by remainders");

#define ONE 8u
#define RUN_MAX (UINT32_MAX - 2 * ONE) /* a longer run: the queue is full */

static uint32_t *pg_queue_nth(struct pg *p, unsigned i) {
  return &p->runs[(p->first + i) % PG_RUNS];
}

static enum pg_kind pg_queue_kind_of(uint32_t run) {
  return (enum pg_kind)(run & 7);
}

uint32_t pg_queue_take_run(struct pg *p) {
  uint32_t taken = p->runs[p->first] / ONE;
  p->first = (uint8_t)((p->first + 1u) % PG_RUNS);
  p->count--;
  return taken;
}

/* One slot stays free for pg_queue_open(). */
static bool pg_queue_add_to(struct pg *p, enum pg_kind kind) {
  if (p->count > 0) {
    uint32_t *last = pg_queue_nth(p, p->count - 1u);
    if (pg_queue_kind_of(*last) == kind) {
      if (*last > RUN_MAX) return false;
      *last += ONE;
      return true;
    }
  }
  if (p->count >= PG_RUNS - 1) return false;
  *pg_queue_nth(p, p->count) = (uint32_t)kind | ONE;
  p->count++;
  return true;
}

/* The ASKED at the end become a SYNCED. */
static bool pg_queue_add_synced(struct pg *p) {
  uint32_t *last = pg_queue_nth(p, p->count - 1u);
  if (p->count > 1) {
    uint32_t *before = pg_queue_nth(p, p->count - 2u);
    if (pg_queue_kind_of(*before) == PG_SYNCED && *before <= RUN_MAX) {
      *before += ONE;
      p->count--;
      return true;
    }
  }
  *last = (uint32_t)PG_SYNCED | ONE;
  return true;
}

/* The ENDED at the end are left out, because of what follows them. */
static bool pg_queue_add_behind_ended(struct pg *p, enum pg_kind kind) {
  p->count--;
  if (p->count > 0 && kind == PG_ASKED) {
    uint32_t *last = pg_queue_nth(p, p->count - 1u);
    if (pg_queue_kind_of(*last) == PG_ASKED) *last += PG_RESUMED - PG_ASKED;
    if (pg_queue_kind_of(*last) == PG_RESUMED) kind = PG_RESUMED;
  }
  return pg_queue_add_to(p, kind);
}

bool pg_queue_add(struct pg *p, enum pg_kind kind) {
  if (p->count == 0) return pg_queue_add_to(p, kind);
  enum pg_kind last = pg_queue_kind_of(*pg_queue_nth(p, p->count - 1u));
  if (kind == PG_SYNC && last == PG_ASKED) return pg_queue_add_synced(p);
  if (kind == PG_ASKED && last == PG_RESUMED) return pg_queue_add_to(p, PG_RESUMED);
  if (last == PG_ENDED && (kind == PG_ASKED || kind == PG_QUERY))
    return pg_queue_add_behind_ended(p, kind);
  return pg_queue_add_to(p, kind);
}

void pg_queue_open(struct pg *p) {
  uint32_t *run = &p->runs[p->first];
  if (*run >= 2 * ONE) {
    *run -= ONE;
    p->first = (uint8_t)((p->first + PG_RUNS - 1u) % PG_RUNS);
    p->count++;
    run = &p->runs[p->first];
  }
  *run = (uint32_t)PG_SYNC | ONE;
}

/* Of a message that has come in part the server does not know yet. */
static bool pg_queue_has(const struct pg *p, unsigned kinds) {
  bool is_partial = p->is_last_queued && p->client_left > 0;
  for (unsigned i = 0; i < p->count; i++) {
    uint32_t run = p->runs[(p->first + i) % PG_RUNS];
    if (is_partial && i == p->count - 1u && run < 2 * ONE) return false;
    if (kinds >> pg_queue_kind_of(run) & 1) return true;
  }
  return false;
}

bool pg_queue_has_ready(const struct pg *p) {
  return pg_queue_has(p, 1u << PG_SYNC | 1u << PG_SYNCED | 1u << PG_QUERY);
}

bool pg_queue_has_ended(const struct pg *p) {
  return pg_queue_has(p, 1u << PG_ENDED);
}

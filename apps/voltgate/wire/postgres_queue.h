/* postgres_queue.h: what a client has sent and the server has not answered, of struct pg. Private to
 * postgres.c.
 *
 * A server answers in order, so a queue of kinds is enough, and a run of one kind is one entry:
 *
 *   ASKED    messages of the extended protocol. Each gets one answer that ends it, or the error that
 *            skips all that follow up to a Sync
 *   SYNCED   batches: at least one ASKED that may not be answered, and the Sync that ends them.
 *            Each ends with one ReadyForQuery, whatever happens in it, so they are one run
 *   SYNC     Syncs with nothing unanswered before them. Each: one ReadyForQuery, or none if the
 *            server reads it while it copies in
 *   QUERY    Query and FunctionCall. Each: one ReadyForQuery, or none if it is skipped
 *   ENDED    CopyDone and CopyFail: no answer. Each ends a copy-in, or is ignored outside of one. They
 *            say which Syncs the copy-in has swallowed: those before. So they are kept only if a
 *            Sync follows: a Query or ASKED that comes next takes their place, because a server that
 *            copies in reads neither
 *   RESUMED  ASKED with an ENDED that was left out between them. They stay counted when their Sync
 *            comes, because it is not the Sync that is next to the copy-in
 *
 * Why PG_RUNS suffice: if the queue is full, the server has all it needs to get on, and says so, so
 * the client's bytes may wait for it. No client waits for ever:
 *
 *   An entry begins only where the kind changes. ENDED lasts only before a SYNC, and RESUMED
 *   only before a SYNC or a QUERY. So in a full queue behind the first entry there is a Sync or a Query,
 *   and the server has it, too. If no copy-in is on, the server gets there: it says ReadyForQuery, and
 *   sends what it has gathered; or it begins to copy in, and says so at once. If one is on, the server
 *   swallows Syncs and reads either an ENDED, which ends the copy-in, and a Sync follows it; or
 *   another message, at which it gives the connection up. */
#ifndef VOLTGATE_WIRE_POSTGRES_QUEUE_H
#define VOLTGATE_WIRE_POSTGRES_QUEUE_H

#include "wire/postgres.h"

enum pg_kind { PG_NOTHING, PG_ASKED, PG_SYNCED, PG_SYNC, PG_QUERY, PG_ENDED, PG_RESUMED };

/* The oldest kind, or PG_NOTHING. */
static inline enum pg_kind pg_queue_first(const struct pg *p) {
  return p->count == 0 ? PG_NOTHING : (enum pg_kind)(p->runs[p->first] & 7);
}

/* Take one of the oldest kind away: there is one. */
static inline void pg_queue_take(struct pg *p) {
  uint32_t *run = &p->runs[p->first];
  *run -= 8;
  if (*run >= 8) return;
  p->first = (uint8_t)((p->first + 1u) % PG_RUNS);
  p->count--;
}

/* Take all of the oldest kind away. Returns how many there were. */
uint32_t pg_queue_take_run(struct pg *p);

/* Add one. PG_SYNC: as a SYNC, or to the SYNCED.
 * Returns false if the queue is full, and nothing was added. */
bool pg_queue_add(struct pg *p, enum pg_kind kind);

/* Whether there is one that gets a ReadyForQuery. */
bool pg_queue_has_ready(const struct pg *p);

/* Whether there is an ENDED. */
bool pg_queue_has_ended(const struct pg *p);

/* The oldest is a SYNCED, and its last message copies in: take it, and leave its Sync. */
void pg_queue_open(struct pg *p);

#endif

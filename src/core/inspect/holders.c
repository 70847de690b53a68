/* holders.c: which party holds what, in builds with VOLT_SIGHT=1: the rare ways of
 * volt/detail/holders.h.
 *
 * Algorithm: a thread's list is in one of a fixed number of records, which it takes when it locks for
 * the first time, and gives back as it ends. A task that is polled has the list of its worker; if its
 * poll ends while that is not empty, it is copied into a record, which stays with the task until it
 * is empty. So nothing is allocated, and a task that holds nothing costs nothing. Records are memory
 * for ever, so the inspector may read the list of a thread that ends meanwhile.
 *   A set of objects that were passed on, by the address, has one bit for each of 2^16 values of a
 * hash. An object comes into it when one party gives back what another had taken. It is never taken
 * out. What is in it has no known holder. So an entry of a list that is out of date does no harm: it
 * came to be so by such a release, or by an init() of an object that was held (volt/base.h, fork),
 * and then the object itself knows nothing of that holder.
 *
 * Invariants
 *   I1  an object's holder is a party, and the object is not passed on => that party holds it, or has
 *       begun to release it
 *   I2  a party that waits, and has an entry for an object that is not passed on, holds it
 *   I3  a party whose list is full does not appear as a holder of what it takes then
 *   I4  a task that has ended is the holder of nothing that is not passed on
 *
 * Race
 *   R1  Interleaving: a record is given back while another thread takes one from the list of free
 *       ones. Prevented by: the head has a count beside the index, which each change raises.
 *   R2  Interleaving: a thread's CAS of the head fails, and gives it the head that another thread has
 *       just put there; it reads the link of that record as it was before, and installs it: one
 *       record for two threads. Prevented by: a failed CAS orders nothing, so the head is loaded
 *       anew (K1) before a link is read. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#endif
#include "holders.h"

#include <string.h>
#include <sys/mman.h>

#include "../hooks/named.h"
#include "../os/check.h"
#include "../os/hash.h"
#include "../park/locals.h"
#include "../park/spin.h"
#include "sleepers.h"

#if VOLT_SIGHT

extern inline volt_party_ *volt_party_now_(void);
extern inline void volt_party_is_at_(const void *, const char *, uint32_t);
extern inline void volt_party_locks_at_(const void *, const char *, uint32_t);
extern inline void volt_party_blocks_at_(const char *, const void *, const char *, uint32_t);
extern inline volt_taking_ volt_party_takes_(uintptr_t, uint32_t);
extern inline bool volt_party_took_(const volt_taking_ *);
extern inline bool volt_party_pop_(volt_party_ *, uintptr_t, uint32_t);
extern inline void volt_holder_init_(volt_holder_ *);
extern inline void volt_holder_taken_(volt_holder_ *, const volt_taking_ *);
extern inline void volt_holder_took_(volt_holder_ *, const void *, uint32_t);
extern inline void volt_holder_releasing_(volt_holder_ *, const void *, uint32_t);
extern inline void volt_shared_took_(const void *, uint32_t);
extern inline void volt_shared_releasing_(const void *, uint32_t);
extern inline void volt_permits_init_(VOLT_ATOMIC(uint32_t) *);
extern inline void volt_permits_taken_(const volt_taking_ *);
extern inline void volt_permits_took_(const void *, uint32_t);
extern inline void volt_permits_releasing_(const void *, uint32_t, VOLT_ATOMIC(uint32_t) *);
extern inline uintptr_t volt_party_of_(const void *);
extern inline volt_awaits_ volt_party_awaits_(const char *, uint32_t);
extern inline void volt_party_awaited_(volt_awaits_);

const char volt_sight_build_1 = 1;

#if defined(__GNUC__) || defined(__clang__)
__thread volt_party_ *volt_party_here_;
#else
_Thread_local volt_party_ *volt_party_here_;
#endif

/* No compiler may know what it returns, so none keeps that (volt/detail/holders.h). */
VOLT_NOINLINE volt_party_ **volt_party_slot_(void) {
  volt_party_ **here = &volt_party_here_;
  VOLT_FORGET_AGAIN_(here);
  return here;
}

/* ---- objects that were passed on ---- */

enum { PASSED_BITS = 16 };
static VOLT_ATOMIC(uint64_t) holder_passed[(1u << PASSED_BITS) / 64];

static VOLT_ATOMIC(uint64_t) *holder_passed_word(const void *object, uint64_t *bit) {
  uint64_t at = volt_hash_(object) >> (64 - PASSED_BITS);
  *bit = UINT64_C(1) << at % 64;
  return &holder_passed[at / 64];
}

static void holder_pass_on(const void *object) {
  uint64_t bit;
  VOLT_ATOMIC(uint64_t) *word = holder_passed_word(object, &bit);
  for (uint64_t seen = volt_load_relaxed(word); !(seen & bit);) { /* relaxed: a guess */
    /* relaxed, no data: a hint for the inspector, which looks twice */
    if (volt_cas_relaxed(word, &seen, seen | bit)) return;
  }
}

bool volt_holder_is_passed_on_(const void *object) {
  uint64_t bit;
  return volt_load_relaxed(holder_passed_word(object, &bit)) & bit; /* relaxed: as above */
}

/* ---- lists ---- */

static const void *held_object(uintptr_t held) {
  return (const void *)(held & ~(uintptr_t)3);
}

static void held_copy(volt_held_ *to, const volt_held_ *from) {
  /* relaxed: the list is this thread's own */
  volt_store_relaxed(&to->object, volt_load_relaxed(&from->object));
  volt_store_relaxed(&to->file, volt_load_relaxed(&from->file));
  volt_store_relaxed(&to->line, volt_load_relaxed(&from->line));
  volt_store_relaxed(&to->n, volt_load_relaxed(&from->n));
  volt_store_relaxed(&to->since, volt_load_relaxed(&from->since));
}

/* Take the i-th entry out. */
static void party_take_out(volt_party_ *p, uint32_t i) {
  uint32_t count = volt_load_relaxed(&p->count); /* its own, as all of the list */
  for (; i + 1 < count; i++) held_copy(&p->held[i], &p->held[i + 1]);
  volt_store_relaxed(&p->count, count - 1);
}

/* The last entry of *object; of n permits, unless n is 0. NULL: there is none. */
static volt_held_ *party_find(volt_party_ *p, uintptr_t object, uint32_t n, uint32_t *at) {
  uint32_t count = p ? volt_load_relaxed(&p->count) : 0; /* its own, as all of the list */
  for (uint32_t i = count; i > 0; i--) {
    volt_held_ *held = &p->held[i - 1];
    bool is_it = volt_load_relaxed(&held->object) == object;
    if (!is_it || (n != 0 && volt_load_relaxed(&held->n) != n)) continue;
    *at = i - 1;
    return held;
  }
  return NULL;
}

/* Take out what others have given back. */
static void party_forget_passed_on(volt_party_ *p) {
  for (uint32_t i = volt_load_relaxed(&p->count); i > 0; i--) { /* its own, as all of the list */
    const void *object = held_object(volt_load_relaxed(&p->held[i - 1].object));
    if (volt_holder_is_passed_on_(object)) party_take_out(p, i - 1);
  }
}

bool volt_party_took_slow_(volt_party_ *p, uintptr_t object, uint32_t n) {
  bool is_sample = p->sample == 0;
  if (p->sample == 0 || p->sample > VOLT_HOLDS_SAMPLE_) p->sample = VOLT_HOLDS_SAMPLE_;
  if (volt_load_relaxed(&p->count) == VOLT_HELD_MAX_) party_forget_passed_on(p);
  uint32_t count = volt_load_relaxed(&p->count); /* its own, as all of the list */
  if (count == VOLT_HELD_MAX_) return false;     /* I3 */
  volt_held_ *held = &p->held[count];
  volt_store_relaxed(&held->object, object);
  volt_store_relaxed(&held->file, p->file);
  volt_store_relaxed(&held->line, p->line);
  volt_store_relaxed(&held->n, n);
  volt_store_relaxed(&held->since, is_sample ? volt_now_ns() : 0);
  volt_store_relaxed(&p->count, count + 1);
  return true;
}

static void party_release_entry(volt_party_ *p, const volt_held_ *held, uint32_t at) {
  uint64_t since_ns = volt_load_relaxed(&held->since); /* its own, as all of the list */
  if (since_ns != 0) {
    const void *object = held_object(volt_load_relaxed(&held->object));
    volt_hold_times_record_(object, volt_now_ns() - since_ns);
  }
  party_take_out(p, at);
}

/* n permits of a semaphore. */
static void party_release_permits(volt_party_ *p, uintptr_t object, uint32_t n,
                                  VOLT_ATOMIC(uint32_t) *kept) {
  uint32_t at = 0;
  volt_held_ *held = party_find(p, object, 0, &at);
  uint32_t has = held ? volt_load_relaxed(&held->n) : 0; /* its own, as all of the list */
  if (has > n) {
    volt_store_relaxed(&held->n, has - n);
  } else if (held) {
    party_release_entry(p, held, at);
  }
  if (has >= n) {
    if (volt_load_relaxed(kept) == 0) volt_store_relaxed(kept, 1); /* a hint for the inspector */
  } else {
    holder_pass_on(held_object(object));
  }
}

/* holder: of an object that a party has alone; UINTPTR_MAX: of another. */
void volt_party_releasing_slow_(uintptr_t holder, uintptr_t object, uint32_t n,
                                VOLT_ATOMIC(uint32_t) *kept) {
  volt_party_ *p = VOLT_PARTY_HERE_;
  if (kept) {
    party_release_permits(p, object, n, kept);
    return;
  }
  uint32_t at = 0;
  volt_held_ *held = party_find(p, object, n, &at);
  if (held) {
    party_release_entry(p, held, at);
    return;
  }
  uintptr_t kind = holder & 3;
  bool is_known = holder == UINTPTR_MAX || kind == VOLT_WHO_TASK_ || kind == VOLT_WHO_THREAD_;
  if (is_known && !(p && p->who == holder)) holder_pass_on(held_object(object));
}

/* The caller stores 0 as the holder then. Another party than the holder leaves its place there. */
void volt_holder_releasing_slow_(volt_holder_ *holder, const void *object, uint32_t n) {
  const volt_party_ *p = VOLT_PARTY_HERE_;
  uintptr_t who = volt_load_relaxed(&holder->who); /* of the holder, which may be another party */
  volt_party_releasing_slow_(who, (uintptr_t)object, n, NULL);
  if (who == 0 || (p && p->who == who)) return;
  bool is_known = p && p->at == object;
  volt_store_relaxed(&holder->line, is_known ? p->line : 0); /* for a message: below */
  volt_store_relaxed(&holder->file, is_known ? p->file : NULL);
}

void volt_party_wants_(const void *object) {
  volt_lock_order_note_(VOLT_PARTY_HERE_, object);
}

void volt_party_blocks_(const char *call) {
  if (VOLT_DEBUG) volt_check_may_block_(call);
}

/* ---- primitives ---- */

static volt_holder_ *holder_of(const volt_holdable_ *h, void *object) {
  return (volt_holder_ *)(void *)((char *)object + h->holder);
}

void volt_holdable_took_(const volt_holdable_ *h, void *object, uint32_t n) {
  if (h->alone != 0 && n == h->alone) {
    volt_holder_took_(holder_of(h, object), object, n);
  } else if (h->kept != 0) {
    volt_permits_took_(object, n);
  } else {
    volt_shared_took_(object, n);
  }
}

void volt_holdable_releasing_(const volt_holdable_ *h, void *object, uint32_t n) {
  if (h->alone != 0 && n == h->alone) {
    volt_holder_releasing_(holder_of(h, object), object, n);
  } else if (h->kept != 0) {
    volt_permits_releasing_(object, n, (VOLT_ATOMIC(uint32_t) *)(void *)((char *)object + h->kept));
  } else {
    volt_shared_releasing_(object, n);
  }
}

void volt_holder_is_waited_for_(volt_holder_ *holder) {
  uint32_t unknown = 0;
  uintptr_t who = volt_load_relaxed(&holder->who); /* relaxed: a hint, for readers of a dump */
  if (who == 0 || volt_load_relaxed(&holder->since) != 0) return;
  /* relaxed, no data: as above, a hint for readers */
  (void)volt_cas_relaxed(&holder->since, &unknown, (uint32_t)(volt_now_ns() >> 20));
}

/* ---- tasks that wait while they hold something ---- */

enum { RECORDS = 8192 };
static volt_party_ party_records[RECORDS];
static VOLT_ATOMIC(uint32_t)
    party_next[RECORDS];                 /* of a free one: 1 + the next free one; 0: none */
static VOLT_ATOMIC(uint64_t) party_free; /* a count << 32; 1 + the first free one; 0: none */
static VOLT_ATOMIC(uint32_t) party_used; /* so many were ever taken */

static volt_party_ *party_record(void) {
  for (;;) {
    /* holders:K1 <- holders:K2: the next one, as the thread that gave it back has written it; R2 */
    uint64_t head = volt_load_acquire(&party_free);
    if ((uint32_t)head == 0) break;
    uint32_t first = (uint32_t)head - 1;
    uint64_t next = volt_load_relaxed(&party_next[first]); /* R1: if it is not, the CAS fails */
    uint64_t want = ((head >> 32) + 1) << 32 | next;
    /* holders:K2 <-> holders:K1: what the list is after it; and the record as it was left */
    if (volt_cas_acq_rel(&party_free, &head, want)) return &party_records[first];
  }
  if (volt_load_relaxed(&party_used) >= RECORDS) return NULL; /* it orders nothing */
  uint32_t fresh = volt_fetch_add_relaxed(&party_used, 1);
  if (fresh < RECORDS) return &party_records[fresh];
  volt_fetch_add_relaxed(&party_used, UINT32_MAX);
  return NULL;
}

/* There is no record: the thread gets memory that it does not give back. */
static volt_party_ *party_beside(void) {
  void *at =
      mmap(NULL, sizeof(volt_party_), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  VOLT_CHECK(at != MAP_FAILED, "volt", "no memory for what thread %u holds", volt_thread_number_());
  return (volt_party_ *)at;
}

volt_party_ *volt_party_begin_(void) {
  volt_sleeper_slot_ *slot = volt_sleeper_here_();
  volt_party_ *own = slot ? party_record() : NULL;
  if (own) {
    volt_store_relaxed(&slot->party, own); /* the inspector reads a list that rests, or a hint */
  } else {
    own = party_beside();
  }
  own->who = (uintptr_t)volt_thread_number_() << 2 | VOLT_WHO_THREAD_;
  own->stamp = 0;
  own->file = NULL;
  own->sample = VOLT_HOLDS_SAMPLE_;
  VOLT_PARTY_HERE_ = own;
  return own;
}

void volt_party_thread_ends_(void *party) {
  if (!party) return;
  volt_party_ends_((volt_party_ *)party);
  volt_party_drop_((volt_party_ *)party);
  VOLT_PARTY_HERE_ = NULL;
}

void volt_party_forget_(void) {
  volt_party_ *p = VOLT_PARTY_HERE_;
  if (p) volt_store_relaxed(&p->count, 0); /* this thread's own */
}

volt_party_ *volt_party_keep_(volt_party_ *p) {
  volt_party_ *kept = party_record();
  if (!kept) {
    volt_party_ends_(p);
    return NULL;
  }
  uint32_t count = volt_load_relaxed(&p->count); /* its own, as all of the list */
  kept->who = p->who;
  kept->file = p->file;
  kept->line = p->line;
  kept->stamp = p->stamp;
  kept->sample = p->sample;
  for (uint32_t i = 0; i < count; i++) held_copy(&kept->held[i], &p->held[i]);
  volt_store_relaxed(&kept->count, count); /* published as the task is put down */
  volt_store_relaxed(&p->count, 0);
  return kept;
}

void volt_party_drop_(volt_party_ *p) {
  uint32_t index = (uint32_t)(p - party_records);
  uint64_t head = volt_load_relaxed(&party_free); /* a guess: the CAS decides */
  uint64_t want;
  do {
    volt_store_relaxed(&party_next[index], (uint32_t)head);
    want = ((head >> 32) + 1) << 32 | (index + 1); /* R1 */
    /* holders:K2 <-> holders:K1: the next one is there for the thread that takes this one */
  } while (!volt_cas_acq_rel(&party_free, &head, want));
}

void volt_party_ends_(volt_party_ *p) {
  for (uint32_t i = volt_load_relaxed(&p->count); i > 0; i--) { /* its own, as all of the list */
    holder_pass_on(held_object(volt_load_relaxed(&p->held[i - 1].object))); /* I4 */
  }
  volt_store_relaxed(&p->count, 0);
}

/* ---- the inspector ---- */

static void holder_seen(const volt_holder_ *holder, volt_holder_seen_ *seen) {
  seen->who = volt_load_relaxed(&holder->who); /* relaxed: a hint, as all of it */
  seen->file = volt_load_relaxed(&holder->file);
  seen->line = volt_load_relaxed(&holder->line);
  seen->since = volt_load_relaxed(&holder->since);
}

bool volt_holder_see_(const volt_description_ *description, volt_holder_seen_ *seen) {
  static const volt_holder_seen_ unknown;
  *seen = unknown;
  if (description->is_granted || description->is_ready || !description->object) return false;
  if (description->kind == VOLT_KIND_MUTEX_ || description->kind == VOLT_KIND_RWLOCK_) {
    holder_seen(&((const volt_with_holder_ *)description->object)->holder, seen);
  }
  return seen->who != 0;
}

unsigned volt_held_see_(const void *party, volt_held_seen_ *seen, unsigned max) {
  const volt_party_ *p = (const volt_party_ *)party;
  uint32_t count = p ? volt_load_relaxed(&p->count) : 0; /* relaxed: it rests, or is a hint */
  unsigned written = 0;
  for (uint32_t i = count < VOLT_HELD_MAX_ ? count : VOLT_HELD_MAX_; i > 0 && written < max; i--) {
    const volt_held_ *held = &p->held[i - 1];
    uintptr_t object = volt_load_relaxed(&held->object);
    seen[written].object = held_object(object);
    seen[written].how = object & 3;
    seen[written].file = volt_load_relaxed(&held->file);
    seen[written].line = volt_load_relaxed(&held->line);
    seen[written].n = volt_load_relaxed(&held->n);
    written += 1;
  }
  return written;
}

#else

bool volt_holder_see_(const volt_description_ *description, volt_holder_seen_ *seen) {
  static const volt_holder_seen_ unknown;
  (void)description;
  *seen = unknown;
  return false;
}

unsigned volt_held_see_(const void *party, volt_held_seen_ *seen, unsigned max) {
  (void)party;
  (void)seen;
  (void)max;
  return 0;
}

bool volt_holder_is_passed_on_(const void *object) {
  (void)object;
  return true;
}

#endif

/* watched.c: which descriptors are watched.
 *
 * Invariant
 *   I6  slot->fd is a descriptor that may be used under the lock of its slot: a close takes it out
 *       before *fd may be freed.
 *
 * Race
 *   R7  Interleaving: a thread has a batch of reports; another closes a descriptor in it, frees
 *       *fd, and opens another one of the same number; then the first comes to the report.
 *       Prevented by: the report has the mark, which is another for each time that a number is
 *       watched, and it is compared, and fd used, under the lock of the slot. The waiters that this
 *       claims are granted after that lock: an owner waits for the grant of its waiter.
 *   R13  Interleaving: a runtime is ended in the background; a thread closes the last descriptor;
 *       the runtime's end finds that no volt_fd has a number, and frees the table and the back end,
 *       which the close still uses. Prevented by: the numbers that are owned are counted. To count
 *       one less is the last that a close does with them, and it is a release; the end acquires
 *       the count of 0. A number that goes from one volt_fd to another is never given up between. An
 *       operation that opens a file is counted until it has left its descriptor, which has no number
 *       before that.
 *
 * Labels: io */
#include <stdlib.h>

#include "../../core/os/check.h"
#include "fd.h"
#include "op.h"
#include "watched.h"

void volt_watched_init_(volt_watch_table *table) {
  volt_store_relaxed(&table->owned, 0); /* not shared yet */
  for (unsigned i = 0; i < VOLT_WATCH_CHUNKS; i++) {
    volt_store_relaxed(&table->chunks[i], NULL); /* not shared yet */
  }
}

void volt_watched_free_(volt_watch_table *table) {
  for (unsigned i = 0; i < VOLT_WATCH_CHUNKS; i++) {
    free(volt_load_relaxed(&table->chunks[i])); /* no other thread uses it */
  }
}

/* The chunk of a number, and the number's place there. */
static unsigned watched_chunk(uint32_t number, uint32_t *place) {
  unsigned chunk = 0;
  uint32_t slots = VOLT_WATCH_FIRST;
  while (number >= slots && chunk + 1 < VOLT_WATCH_CHUNKS) {
    number -= slots;
    slots *= 2;
    chunk += 1;
  }
  *place = number;
  return chunk;
}

static volt_watch_slot *watched_find(volt_watch_table *table, uint32_t number) {
  uint32_t place;
  unsigned chunk = watched_chunk(number, &place);
  /* io:W1 <- io:W2: the slots are all-zero */
  volt_watch_slot *slots = volt_load_acquire(&table->chunks[chunk]);
  return slots ? &slots[place] : NULL;
}

static volt_watch_slot *watched_new_chunk(volt_watch_table *table, unsigned chunk) {
  size_t count = (size_t)VOLT_WATCH_FIRST << chunk;
  volt_watch_slot *fresh = (volt_watch_slot *)calloc(count, sizeof *fresh);
  volt_watch_slot *seen = NULL;
  if (!fresh) return NULL;
  for (size_t i = 0; i < count; i++) (void)VOLT_CONSTRUCT_(volt_watch_slot, fresh + i);
  /* io:W2 -> io:W1: the slots are all-zero */
  if (volt_cas_acq_rel(&table->chunks[chunk], &seen, fresh)) return fresh;
  for (size_t i = 0; i < count; i++) VOLT_DESTROY_(fresh + i);
  free(fresh);
  /* io:W1 <- io:W2: the slots are all-zero. Another thread was first */
  return volt_load_acquire(&table->chunks[chunk]);
}

static volt_watch_slot *watched_find_or_make(volt_watch_table *table, uint32_t number) {
  uint32_t place;
  unsigned chunk = watched_chunk(number, &place);
  volt_watch_slot *slot = watched_find(table, number);
  if (slot) return slot;
  volt_watch_slot *slots = watched_new_chunk(table, chunk);
  return slots ? &slots[place] : NULL;
}

uint32_t volt_watched_add_(volt_watch_table *table, volt_fd *d) {
  volt_watch_slot *slot = watched_find_or_make(table, (uint32_t)d->number);
  if (!slot) return 0;
  volt_short_lock_lock_(&slot->lock);
  slot->mark = slot->mark + 1 >= UINT32_MAX ? 1 : slot->mark + 1; /* UINT32_MAX: fd.c's own */
  slot->fd = d;
  uint32_t mark = slot->mark;
  volt_short_lock_unlock_(&slot->lock);
  return mark;
}

void volt_watched_remove_(volt_watch_table *table, volt_fd *d) {
  volt_watch_slot *slot = watched_find(table, (uint32_t)d->number);
  volt_short_lock_lock_(&slot->lock);
  slot->fd = NULL;
  volt_short_lock_unlock_(&slot->lock);
}

/* I6 is for the owner of *d to keep. */
static void watched_check_place(const volt_fd *d, uint32_t number) {
  VOLT_CHECK((uint32_t)d->number == number, "volt_fd",
             "%p (descriptor %u) was moved, or freed, before it was closed", (const void *)d,
             number);
}

bool volt_watched_report_(volt_watch_table *table, uint32_t number, uint32_t mark, uint32_t bits) {
  volt_watch_slot *slot = watched_find(table, number);
  bool is_there = slot != NULL;
  bool more = is_there;
  while (more) {
    volt_claims_ claims;
    claims.count = 0;
    volt_short_lock_lock_(&slot->lock);
    is_there = slot->fd && slot->mark == mark; /* R7 */
    if (is_there) watched_check_place(slot->fd, number);
    more = is_there && volt_fd_claim_ready_(slot->fd, bits, &claims);
    volt_short_lock_unlock_(&slot->lock);
    volt_claims_grant_(&claims);
  }
  return is_there;
}

/* ---- whose numbers they are ---- */

uint32_t volt_watched_own_(volt_watch_table *table, int number) {
  volt_watch_slot *slot = watched_find_or_make(table, (uint32_t)number);
  if (!slot) {
    volt_fetch_add_relaxed(&table->owned, 1); /* as below */
    return VOLT_WATCH_UNMARKED_;
  }
  /* relaxed, no data, as below: it shows misuse */
  uint32_t before = volt_load_relaxed(&slot->owner);
  uint32_t stamp = (before | 1) + 2;
  if (stamp == 1) stamp = 3;               /* after 2^31 uses of a number; 0 and 1 are not stamps */
  volt_store_relaxed(&slot->owner, stamp); /* the number is this thread's */
  if (!(before & 1)) volt_fetch_add_relaxed(&table->owned, 1); /* what is given up orders (R13) */
  return stamp;
}

bool volt_watched_is_owned_(volt_watch_table *table, int number) {
  volt_watch_slot *slot = watched_find(table, (uint32_t)number);
  return slot && volt_load_relaxed(&slot->owner) & 1; /* shows misuse */
}

bool volt_watched_is_of_(volt_watch_table *table, int number, uint32_t stamp) {
  if (stamp == VOLT_WATCH_UNMARKED_) return true; /* as far as is known */
  volt_watch_slot *slot = watched_find(table, (uint32_t)number);
  return slot && volt_load_relaxed(&slot->owner) == stamp; /* shows misuse */
}

bool volt_watched_disown_(volt_watch_table *table, int number, uint32_t stamp) {
  if (stamp != VOLT_WATCH_UNMARKED_) {
    volt_watch_slot *slot = watched_find(table, (uint32_t)number);
    /* relaxed, no data: it shows misuse */
    if (!slot || !volt_cas_relaxed(&slot->owner, &stamp, stamp - 1)) return false;
  }
  /* io:E1 -> io:E2: the end of the runtime frees what this thread used before (R13) */
  volt_fetch_add_release(&table->owned, UINT32_MAX); /* one less */
  return true;
}

void volt_watched_expect_(volt_watch_table *table) {
  volt_fetch_add_relaxed(&table->owned, 1); /* as in volt_watched_own_() */
}

void volt_watched_expect_no_more_(volt_watch_table *table) {
  /* io:E1 -> io:E2: the end of the runtime frees what this thread used before (R13) */
  volt_fetch_add_release(&table->owned, UINT32_MAX); /* one less */
}

/* What waits for it, if that is known. */
static const char *watched_waiting(const volt_watch_slot *slot) {
  const volt_op *op = slot->fd ? slot->fd->waiting : NULL;
  return op ? op->as.future.ops->operation : NULL;
}

/* The first slot of a number that a volt_fd has; NULL: there is none. */
static const volt_watch_slot *watched_first_owned(const volt_watch_table *table, uint32_t *number) {
  uint32_t first = 0;
  for (unsigned i = 0; i < VOLT_WATCH_CHUNKS; i++) {
    const volt_watch_slot *slots = volt_load_relaxed(&table->chunks[i]); /* the runtime is over */
    uint32_t count = slots ? VOLT_WATCH_FIRST << i : 0;
    for (uint32_t place = 0; place < count; place++) {
      *number = first + place;
      if (volt_load_relaxed(&slots[place].owner) & 1) return &slots[place]; /* as above */
    }
    first += VOLT_WATCH_FIRST << i;
  }
  return NULL;
}

bool volt_watched_owns_any_(const volt_watch_table *table) {
  /* io:E2 <- io:E1: its last owner uses the table no more (R13) */
  return volt_load_acquire(&table->owned) != 0;
}

void volt_watched_check_disowned_(const volt_watch_table *table, volt_rt *rt) {
  uint32_t number = 0;
  const volt_watch_slot *slot = watched_first_owned(table, &number);
  if (!slot) return;
  const char *waits = watched_waiting(slot);
  volt_panic_("volt_rt_destroy", "%p: descriptor %u is open: close it before (%s%s)", (void *)rt,
              number, waits ? "an operation waits: " : "nothing waits for it", waits ? waits : "");
}

/* name.c: names of objects, in one table of the process.
 *
 * Algorithm
 *   Open addressing, by the address of the object, in twice as many slots as there are names. No
 *   operation takes a lock, so a name may be given and read everywhere, and a fork() needs nothing.
 *   A slot is free (0), taken (1), or has the address of its object. A thread takes a free slot by a
 *   compare-and-swap, writes the name, and publishes the address last.
 *   A slot that becomes free does not end a search: each search looks at as many slots as the
 *   farthest object ever needed. At half load these are some dozens.
 *
 * Invariants
 *   I1  an object that has a name is at most `name_reach` slots behind its first one
 *   I2  name and level of a slot are written only while it is taken, or by the threads that name the
 *       same object
 *
 * Races
 *   R1  Interleaving: a reader finds its object; the object is unnamed, and another takes the slot;
 *       the reader returns that one's name, or its level. Prevented by: the reader reads the address
 *       again. Name and level are written after the slot was freed, so a reader that has seen either
 *       sees that.
 *   R2  Interleaving: two threads name the same object at once, and both find it in no slot.
 *       Prevented by: nothing; it is in two slots. The first is found, and an unname frees both. */
#include "../inspect/holders.h"
#include "../os/hash.h"
#include "named.h"

#include "wait_times.h"

enum { NAME_FREE = 0, NAME_TAKEN = 1 };

volt_name_slot_ volt_name_table_[VOLT_NAME_SLOTS_];
static VOLT_ATOMIC(uint32_t) name_reach; /* I1 */
VOLT_ATOMIC(uint32_t) volt_name_count_;

/* The i-th slot in which an object may be. */
static volt_name_slot_ *name_at(uintptr_t object, uint32_t i) {
  return &volt_name_table_[((volt_hash_((const void *)object) >> 40) + i) % VOLT_NAME_SLOTS_];
}

/* The first slot from *i on that has this object; *i becomes the one behind it. NULL: none. */
static volt_name_slot_ *name_find(uintptr_t object, uint32_t *i) {
  uint32_t reach = volt_load_relaxed(&name_reach); /* a hint: a name is never farther than this */
  while (*i <= reach) {
    volt_name_slot_ *slot = name_at(object, (*i)++);
    /* name:L1 <- name:P1: the reader sees the name that was published with the address */
    if (volt_load_acquire(&slot->object) == object) return slot;
  }
  return NULL;
}

bool volt_name_find_(const void *object, volt_named_ *named) {
  uintptr_t wanted = (uintptr_t)object;
  volt_name_slot_ *slot;
  for (uint32_t i = 0; wanted > NAME_TAKEN && (slot = name_find(wanted, &i)) != NULL;) {
    /* name:N2 <- name:W2: a reader that sees a level of another object sees that the slot was free */
    named->level = volt_load_acquire(&slot->level);
    /* name:N1 <- name:W1: a reader that sees a name of another object sees that the slot was free */
    named->name = volt_load_acquire(&slot->name);
    named->slot = (unsigned)(slot - volt_name_table_);
    if (volt_load_relaxed(&slot->object) == wanted) return true; /* R1: ordered by N1 and N2 */
  }
  return false;
}

const void *volt_name_at_(unsigned slot, volt_named_ *named) {
  uintptr_t object =
      volt_load_relaxed(&volt_name_table_[slot].object); /* a guess: it is looked for */
  return volt_name_find_((const void *)object, named) ? (const void *)object : NULL;
}

const char *volt_name_of(const void *object) {
  volt_named_ named;
  return volt_name_find_(object, &named) ? named.name : NULL;
}

static void name_write(volt_name_slot_ *slot, const char *name, unsigned level) {
  /* name:W2 -> name:N2: a reader that sees this level sees that the slot was free before */
  volt_store_release(&slot->level, level);
  /* name:W1 -> name:N1: a reader that sees this name sees that the slot was free before */
  volt_store_release(&slot->name, name);
}

static void name_note_reach(uint32_t i) {
  uint32_t seen = volt_load_relaxed(&name_reach); /* published with the address, I1 */
  /* relaxed, by name:P1: published with the address, as above */
  while (seen < i && !volt_cas_relaxed(&name_reach, &seen, i)) {
  }
}

/* Returns whether a slot was free. */
static bool name_add(uintptr_t object, const char *name, unsigned level) {
  for (uint32_t i = 0; i < VOLT_NAME_SLOTS_; i++) {
    volt_name_slot_ *slot = name_at(object, i);
    uintptr_t seen = volt_load_relaxed(&slot->object); /* a guess: the CAS decides */
    /* name:A1 <- name:F1: what is written from here on comes after the slot was freed, R1 */
    if (seen != NAME_FREE || !volt_cas_acquire(&slot->object, &seen, NAME_TAKEN)) continue;
    name_write(slot, name, level);
    volt_wait_times_clear_((unsigned)(slot - volt_name_table_));
#if VOLT_SIGHT
    volt_hold_times_clear_((unsigned)(slot - volt_name_table_));
#endif
    name_note_reach(i);
    /* name:P1 -> name:L1: a reader that sees the address sees the name */
    volt_store_release(&slot->object, object);
    return true;
  }
  return false;
}

int volt_name_nested(const void *object, const char *name, unsigned level) {
  uint32_t i = 0;
  if ((uintptr_t)object <= NAME_TAKEN || !name || level > 255) return VOLT_EINVAL;
  volt_name_slot_ *slot = name_find((uintptr_t)object, &i);
  if (slot) {
    name_write(slot, name, level); /* I2 */
    return VOLT_OK;
  }
  /* relaxed: a count. The slots suffice, because there are twice as many */
  if (volt_fetch_add_relaxed(&volt_name_count_, 1) < VOLT_NAMES_MAX_ &&
      name_add((uintptr_t)object, name, level)) {
    return VOLT_OK;
  }
  volt_fetch_add_relaxed(&volt_name_count_, UINT32_MAX); /* less one; as above */
  return VOLT_ENOMEM;
}

int volt_name(const void *object, const char *name) {
  return volt_name_nested(object, name, 0);
}

void volt_unname(const void *object) {
  uintptr_t wanted = (uintptr_t)object;
  /* relaxed: the caller comes after the thread that has named its object */
  if (VOLT_LIKELY(volt_load_relaxed(&volt_name_count_) == 0)) return;
  volt_name_slot_ *slot;
  for (uint32_t i = 0; wanted > NAME_TAKEN && (slot = name_find(wanted, &i)) != NULL;) {
    uintptr_t seen = wanted;
    /* name:F1 -> name:A1: the next name in this slot comes after; R1 */
    if (volt_cas_release(&slot->object, &seen, NAME_FREE)) {
      volt_fetch_add_relaxed(&volt_name_count_, UINT32_MAX); /* less one: a count */
    }
  }
}

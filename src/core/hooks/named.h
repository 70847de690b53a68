/* named.h: the table of names (volt/name.h), for the library itself. name.c says how it works. */
#ifndef VOLT_CORE_HOOKS_NAMED_H
#define VOLT_CORE_HOOKS_NAMED_H

#include <volt/detail/atomic.h>
#include <volt/name.h>

/* What is known of an object by its address alone. */
typedef struct volt_named_ {
  const char *name;
  unsigned level; /* of volt_name_nested(); 0 */
  unsigned slot;  /* its number, below VOLT_NAME_SLOTS_: the same until it is unnamed */
} volt_named_;

enum { VOLT_NAMES_MAX_ = 4096, VOLT_NAME_SLOTS_ = 2 * VOLT_NAMES_MAX_ };

/* The table, where a debugger finds it. object: 0 or 1: the slot has no name. */
typedef struct volt_name_slot_ {
  VOLT_ATOMIC(uintptr_t) object;
  VOLT_ATOMIC(const char *) name;
  VOLT_ATOMIC(unsigned) level;
} volt_name_slot_;
extern volt_name_slot_ volt_name_table_[VOLT_NAME_SLOTS_];

/* Look for an object. Returns whether it has a name. Waits for no thread. */
VOLT_API bool volt_name_find_(const void *object, volt_named_ *named);

/* The object in a slot, and its name. Returns NULL: there is none. Waits for no thread. */
VOLT_API const void *volt_name_at_(unsigned slot, volt_named_ *named);

/* An object of this library ends: forget its name. One load, if no object has one. */
#if defined(VOLT_MODEL)
static inline void volt_unname_at_end_(const void *object) {
  (void)object;
}
#else
extern VOLT_ATOMIC(uint32_t) volt_name_count_; /* how many have names; a few more for a moment */

static inline void volt_unname_at_end_(const void *object) {
  /* relaxed: the caller comes after the thread that has named its object */
  if (VOLT_UNLIKELY(volt_load_relaxed(&volt_name_count_) != 0)) volt_unname(object);
}
#endif

#endif

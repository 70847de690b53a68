/* hold_times.c: how long objects with names are held, in builds with VOLT_SIGHT=1. Each party times
 * one of the VOLT_HOLDS_SAMPLE_ things that it takes, from when it has it until it begins to
 * release it. So a thread that takes one lock only now and then is timed as often as its share of
 * locks is. */
#include <string.h>
#include <volt/counts.h>

#include "../inspect/holders.h"
#include "histogram.h"
#include "named.h"

#if VOLT_SIGHT

static volt_shared_histogram_
    hold_times_of_name[VOLT_NAME_SLOTS_]; /* 19 MB, of which what is used is there */

void volt_hold_times_record_(const void *object, uint64_t ns) {
  volt_named_ named;
  if (!volt_name_find_(object, &named)) return;
  volt_shared_histogram_add_(&hold_times_of_name[named.slot], ns, VOLT_HOLDS_SAMPLE_);
}

void volt_hold_times_clear_(unsigned name_slot) {
  volt_shared_histogram_clear_(&hold_times_of_name[name_slot]);
}

int volt_holds_of(const void *object, volt_histogram *holds) {
  volt_named_ named;
  if (!volt_name_find_(object, &named)) return VOLT_EINVAL;
  memset(holds, 0, sizeof *holds);
  volt_shared_histogram_read_(&hold_times_of_name[named.slot], holds);
  return VOLT_OK;
}

#else

int volt_holds_of(const void *object, volt_histogram *holds) {
  volt_named_ named;
  (void)holds;
  return volt_name_find_(object, &named) ? VOLT_EAGAIN : VOLT_EINVAL;
}

#endif

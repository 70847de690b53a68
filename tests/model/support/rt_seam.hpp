// rt_seam.hpp: what the runtime's sources need so that the checker can run them; included before all
// else in every file of a program that is built of them.
//
// A thread that finds a short lock held naps and looks again. Here it sleeps until the lock is left:
// the looks in between, which change nothing, are left out, and a search ends.
// What is one for each thread is one for each thread of the model.
#ifndef VOLT_RT_SEAM_HPP
#define VOLT_RT_SEAM_HPP

#define VOLT_SHORT_LOCK_NAP_NS VOLT_NO_DEADLINE

#define volt_short_lock_leave_ volt_short_lock_leave_shipped_
#include "rt/short_lock.h"
#undef volt_short_lock_leave_

// model.cpp: who sleeps at this address looks again.
void volt_model_nap_is_over_(const void *address);

static inline void volt_short_lock_leave_(volt_short_lock *l) {
  const void *address = &l->word;
  volt_short_lock_leave_shipped_(l);
  volt_model_nap_is_over_(address);
}

// For worker.c, "static _Thread_local volt_worker *this_worker": declares the function that is called
// wherever this_worker stands.
#define _Thread_local                    \
  inline void volt_model_unused_(void) { \
  }                                      \
  extern
#define this_worker (*volt_model_this_worker_())

#endif

/* bcs_frame.h: which sections a thread runs, and which roles it offers (bcs_lock.c R7). */
#ifndef VOLT_BCS_BCS_FRAME_H
#define VOLT_BCS_BCS_FRAME_H

#include <volt/bcs_lock.h>

#include "../core/os/check.h"
#include "../core/park/blocker.h"

/* On the stack of a thread or fiber that combines, linked from a slot of its own: a section that
 * runs, or a role that is offered to the wakers that it calls. */
typedef struct volt_bcs_frame_ {
  const volt_bcs_lock *lock; /* NULL: the role that was offered here has been taken */
  volt_bcs_node *next;       /* a role is offered: where to go on; NULL: a section runs */
  struct volt_bcs_frame_ *outer;
} volt_bcs_frame_;

static inline volt_bcs_frame_ *volt_bcs_frame_innermost_(void) {
  return (volt_bcs_frame_ *)*volt_sections_();
}

static inline void volt_bcs_frame_enter_(volt_bcs_frame_ *f, const volt_bcs_lock *lock,
                                         volt_bcs_node *next) {
  void **slot = volt_sections_();
  f->lock = lock;
  f->next = next;
  f->outer = (volt_bcs_frame_ *)*slot;
  *slot = f;
}

static inline void volt_bcs_frame_leave_(const volt_bcs_frame_ *f) {
  *volt_sections_() = f->outer;
}

/* Whether sections have frames, too, so that a call from within one is reported. */
#if VOLT_DEBUG || defined(VOLT_MODEL)
#define VOLT_BCS_CHECK_SECTIONS_ 1
#else
#define VOLT_BCS_CHECK_SECTIONS_ 0
#endif

#endif

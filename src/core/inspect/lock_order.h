/* lock_order.h: in which order locks are taken, while volt_sight_enable(VOLT_SIGHT_DEADLOCKS)
 * watches, in builds with VOLT_SIGHT=1. lock_order.c says how. */
#ifndef VOLT_CORE_INSPECT_LOCK_ORDER_H
#define VOLT_CORE_INSPECT_LOCK_ORDER_H

#include <volt/detail/holders.h>

/* Watch from now on; found is called, on any thread and with any lock held, when a cycle was found:
 * it may only wake a thread, which calls volt_lock_order_take_(). NULL: do not watch, and forget
 * all. */
VOLT_API void volt_lock_order_switch_(void (*found)(void));

/* Write down the next cycle that was found. Returns how long that is; 0: there is none. */
VOLT_API size_t volt_lock_order_take_(char *text, size_t size);

#if VOLT_SIGHT
/* *object, a mutex or a rwlock, is about to be locked by a party that holds something. */
void volt_lock_order_note_(const volt_party_ *p, const void *object);

/* In the child of a fork(): nothing is watched. */
void volt_lock_order_forget_(void);
#endif

#endif

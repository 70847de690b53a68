/* engine.h: the semaphore under test: the library's, or with -DENGINE_<NAME> one of the variants.
 * All have the interface of volt/semaphore.h, but for the future. */
#ifndef VOLT_TESTS_ENGINE_H
#define VOLT_TESTS_ENGINE_H

#if defined(ENGINE_LOCKED)

#include "locked.h"
#define ENGINE_NAME "locked"
#define ENGINE_FN_(op) volt_locked_sem_##op
#define ENGINE_SEM_INIT(permits) VOLT_LOCKED_SEM_INIT(permits)
typedef volt_locked_sem engine_sem;

#elif defined(ENGINE_TWO_TIER)

#include "two_tier.h"
#define ENGINE_NAME "two_tier"
#define ENGINE_FN_(op) volt_two_tier_sem_##op
#define ENGINE_SEM_INIT(permits) VOLT_TWO_TIER_SEM_INIT(permits)
typedef volt_two_tier_sem engine_sem;

#elif defined(ENGINE_SLOT_IN_WORD)

#include "slot_in_word.h"
#define ENGINE_NAME "slot_in_word"
#define ENGINE_FN_(op) volt_slot_in_word_sem_##op
#define ENGINE_SEM_INIT(permits) VOLT_SLOT_IN_WORD_SEM_INIT(permits)
typedef volt_slot_in_word_sem engine_sem;

#elif defined(ENGINE_COMBINING)

#include "combining.h"
#define ENGINE_NAME "combining"
#define ENGINE_FN_(op) volt_combining_sem_##op
#define ENGINE_SEM_INIT(permits) VOLT_COMBINING_SEM_INIT(permits)
typedef volt_combining_sem engine_sem;

#elif defined(ENGINE_ALLOCATING)

#include "allocating.h"
#define ENGINE_NAME "allocating"
#define ENGINE_FN_(op) volt_allocating_sem_##op
#define ENGINE_SEM_INIT(permits) VOLT_ALLOCATING_SEM_INIT(permits)
typedef volt_allocating_sem engine_sem;

#else

#include <volt/semaphore.h>
#define ENGINE_NAME "volt"
#define ENGINE_FN_(op) volt_sem_##op
#define ENGINE_SEM_INIT(permits) VOLT_SEM_INIT(permits)
typedef volt_sem engine_sem;

#define engine_sem_set_waker(sem, w, waker) ((void)(sem), volt_waiter_set_waker((w), (waker)))

#endif

#ifndef engine_sem_set_waker /* the library's is that of every waiter */
#define engine_sem_set_waker ENGINE_FN_(set_waker)
#endif

#define engine_sem_init ENGINE_FN_(init)
#define engine_sem_destroy ENGINE_FN_(destroy)
#define engine_sem_try_acquire ENGINE_FN_(try_acquire)
#define engine_sem_acquire_waiter ENGINE_FN_(acquire_waiter)
#define engine_sem_acquire_until ENGINE_FN_(acquire_until)
#define engine_sem_cancel ENGINE_FN_(cancel)
#define engine_sem_release ENGINE_FN_(release)
#define engine_sem_close ENGINE_FN_(close)
#define engine_sem_is_closed ENGINE_FN_(is_closed)
#define engine_sem_available ENGINE_FN_(available)
#define engine_sem_waiters ENGINE_FN_(waiters)

#endif

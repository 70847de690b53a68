/* unplaced.h: in builds with VOLT_SIGHT=1, calls to lock note where they stand (volt/mutex.h). What
 * includes this file calls the functions, and not the macros around them: where its caller stands
 * stays noted. To be included last. */
#ifndef VOLT_SYNC_UNPLACED_H
#define VOLT_SYNC_UNPLACED_H

#include <volt/mutex.h>
#include <volt/rwlock.h>
#include <volt/semaphore.h>

#if VOLT_SIGHT
#undef volt_mutex_try_lock
#undef volt_mutex_lock
#undef volt_mutex_lock_blocking
#undef volt_mutex_lock_no_deadline
#undef volt_rwlock_try_read
#undef volt_rwlock_read
#undef volt_rwlock_read_blocking
#undef volt_rwlock_read_no_deadline
#undef volt_rwlock_try_write
#undef volt_rwlock_write
#undef volt_rwlock_write_blocking
#undef volt_rwlock_write_no_deadline
#undef volt_sem_try_acquire
#undef volt_sem_acquire
#undef volt_sem_acquire_blocking
#endif

#endif

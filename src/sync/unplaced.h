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
#undef volt_sharded_rwlock_read_blocking
#undef volt_sharded_rwlock_read_no_deadline
#undef volt_sem_try_acquire
#undef volt_sem_acquire
#undef volt_sem_acquire_blocking
#undef volt_mutex_unlock
#undef volt_rwlock_read_unlock
#undef volt_rwlock_write_unlock
#undef volt_sem_release
#define volt_mutex_unlock volt_mutex_unlock_sight_ /* as detail/owner.h does */
#define volt_rwlock_read_unlock volt_rwlock_read_unlock_sight_
#define volt_rwlock_write_unlock volt_rwlock_write_unlock_sight_
#define volt_sem_release volt_sem_release_sight_
#endif

#endif

/* mutex_move.h: what a condition variable needs of its mutex. */
#ifndef VOLT_SYNC_MUTEX_MOVE_H
#define VOLT_SYNC_MUTEX_MOVE_H

#include <volt/mutex.h>

/* Move the oldest waiters of *from to the FIFO of the mutex: as volt_permits_move_(). */
void volt_mutex_move_(volt_mutex *m, volt_fifo_ *from, uint64_t from_word, volt_waiter *last,
                      uint32_t count);

#endif

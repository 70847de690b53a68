/* What the objects may cost their users, on 64-bit machines. */
#include <volt/runtime.h>
#include <volt/volt.h>

_Static_assert(sizeof(volt_sem) <= 64, "a semaphore is a cache line at most");
_Static_assert(sizeof(volt_mutex) <= 64, "a mutex is a cache line at most");
_Static_assert(sizeof(volt_rwlock) <= 64, "a read-write lock is a cache line at most");
_Static_assert(sizeof(volt_waiter) <= 96, "a waiter is a line and a half at most");
_Static_assert(sizeof(volt_bcs_node) == 16, "a node is a link and what it carries");
_Static_assert(sizeof(volt_bcs_lockfree) == 8, "a queue is a word");
_Static_assert(sizeof(volt_bcs_waitfree) == 8, "a queue is a word");
_Static_assert(sizeof(volt_parker) == 4, "a parker is what a futex compares");
_Static_assert(sizeof(volt_future) <= 128, "a future is two lines at most");
_Static_assert(sizeof(volt_task) <= 128, "the header of a task is two lines at most");

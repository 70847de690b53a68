/* What the objects may cost their users. docs/ say what they are on 64-bit machines: sizes.sh. */
#include <stddef.h>

#include <volt/runtime.h>
#include <volt/volt.h>

_Static_assert(sizeof(volt_sem) <= 64, "a semaphore is a cache line at most");
_Static_assert(sizeof(volt_mutex) <= 64, "a mutex is a cache line at most");
_Static_assert(sizeof(volt_rwlock) <= 64, "a read-write lock is a cache line at most");
_Static_assert(offsetof(volt_chan, watchers) <= 64, "what a channel's operations touch is a line");
_Static_assert(sizeof(volt_chan) <= 96, "a channel, its ring aside");
_Static_assert(sizeof(volt_permit_chan) <= 136, "a semaphore and a channel");
_Static_assert(sizeof(volt_mailbox) <= 64, "a mailbox is a cache line at most");
_Static_assert(sizeof(volt_mailbox_node) == sizeof(void *), "a node is a link");
_Static_assert(sizeof(volt_notify) <= 64, "so is a notify");
_Static_assert(sizeof(volt_oneshot) <= 64, "a oneshot, its value aside");
_Static_assert(sizeof(volt_broadcast) <= 64, "a broadcast, its ring aside");
_Static_assert(sizeof(volt_watch) <= 64, "a watch, its value aside");
_Static_assert(sizeof(volt_cond) <= 64, "a condition variable");
_Static_assert(sizeof(volt_barrier) <= 64, "a barrier");
_Static_assert(sizeof(volt_latch) <= 64, "a latch");
_Static_assert(sizeof(volt_once) <= 64, "a once");
_Static_assert(sizeof(volt_token) <= 128, "a token has its place in a tree");
_Static_assert(sizeof(volt_waiter) <= 96, "a waiter is a line and a half at most");
_Static_assert(sizeof(volt_bcs_node) == 2 * sizeof(void *), "a node is a link and what it carries");
_Static_assert(sizeof(volt_bcs_lockfree) == sizeof(void *), "a queue is a word");
_Static_assert(sizeof(volt_bcs_waitfree) == sizeof(void *), "a queue is a word");
_Static_assert(sizeof(volt_parker) == 4, "a parker is what a futex compares");
_Static_assert(sizeof(volt_future) <= 128, "a future is two lines at most");
_Static_assert(sizeof(volt_promise) <= 64, "a promise is a cache line at most");
_Static_assert(sizeof(volt_loop) <= 64, "a foreign loop's waker is a cache line at most");
_Static_assert(sizeof(volt_task) <= 104, "the header of a task leaves room in two lines");

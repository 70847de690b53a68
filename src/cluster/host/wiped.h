/* wiped.h: memory of which a part is zero in a child of fork().
 *
 * A child has a copy of its parent's memory, and with it of the slots that the parent leases. It must
 * not use them: the parent does. So a word that each acquire and each release reads lies in a page that
 * the kernel clears in the child (MADV_WIPEONFORK, Linux 4.14). No handler of pthread_atfork() is
 * needed, so it holds also for a child that was made by the system call. */
#ifndef VOLT_CLUSTER_HOST_WIPED_H
#define VOLT_CLUSTER_HOST_WIPED_H

#include <stddef.h>

/* Make zeroed memory: `kept` bytes, and behind them a page that is zero in a child. Returns the first
 * of the kept bytes; NULL: there is no memory, or the kernel cannot do it. */
void *wiped_new_(size_t kept);

/* p: as returned, or NULL. */
void wiped_free_(void *p, size_t kept);

#endif

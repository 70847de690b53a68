/* heap.h: where the nodes of `allocating` come from. A test that wants an allocation to fail links
 * functions of its own instead of heap.c. */
#ifndef VOLT_VARIANTS_HEAP_H
#define VOLT_VARIANTS_HEAP_H

#include <volt/waiter.h>

/* An unused waiter, or NULL. Threads: any. */
volt_waiter *volt_allocating_alloc_(void);

void volt_allocating_free_(volt_waiter *node);

#endif

/* racy.h: look at what another thread may write at this moment, for hints. For the
 * thread that writes, that costs nothing: its member is no atomic. So what is seen may be old, and
 * two answers may not go together; but no answer is torn. No decision depends on it. */
#ifndef VOLT_CORE_HOOKS_RACY_H
#define VOLT_CORE_HOOKS_RACY_H

#include <stdint.h>
#include <volt/base.h>

#if defined(VOLT_MODEL) /* where each access would be a race: nothing is seen */

#define volt_racy_load_32_(at) ((void)(at), UINT32_C(0))
#define volt_racy_load_64_(at) ((void)(at), UINT64_C(0))
#define volt_racy_load_pointer_(at) ((void)(at), (void *)NULL)
#define VOLT_RACY_STORE_(T, lvalue, value) ((void)((lvalue) = (value)))

#else

/* Members of any type. ThreadSanitizer does not see that they are read. Where other threads write
 * them: a plain store, or VOLT_RACY_STORE_(). */
typedef const volatile uint32_t VOLT_MAY_ALIAS_ volt_racy_32_;
typedef const volatile uint64_t VOLT_MAY_ALIAS_ volt_racy_64_;
typedef void *const volatile VOLT_MAY_ALIAS_ volt_racy_pointer_;

static VOLT_UNUSED_OK_ VOLT_UNWATCHED_ uint32_t volt_racy_load_32_(const void *at) {
  return *(volt_racy_32_ *)at;
}

static VOLT_UNUSED_OK_ VOLT_UNWATCHED_ uint64_t volt_racy_load_64_(const void *at) {
  return *(volt_racy_64_ *)at;
}

static VOLT_UNUSED_OK_ VOLT_UNWATCHED_ void *volt_racy_load_pointer_(const void *at) {
  return *(volt_racy_pointer_ *)at;
}

/* Store to a member of type T by one instruction, now, so that others see it soon. An atomic store
 * would take two: compilers compute its address apart. */
#define VOLT_RACY_STORE_(T, lvalue, value) ((void)(*(T volatile *)(void *)&(lvalue) = (value)))

#endif
#endif

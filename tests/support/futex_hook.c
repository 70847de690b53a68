/* futex_hook.c: on Linux. */
#define _GNU_SOURCE /* syscall, RTLD_NEXT */
#include "futex_hook.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <volt/detail/atomic.h>

#include "require.h"

typedef long (*syscall_fn)(long number, ...);

static VOLT_ATOMIC(futex_hook_fn) current;
static void *current_arg;

void futex_hook_set(futex_hook_fn hook, void *arg) {
  current_arg = arg;
  volt_store_release(&current, hook);
}

static long fail(int error) {
  errno = error;
  return -1;
}

static futex_outcome ask(futex_hook_fn hook, const long args[6]) {
  int op = (int)args[1] & FUTEX_CMD_MASK;
  futex_call call = {op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET, (uint32_t *)args[0],
                     (uint32_t)args[2], NULL};
  if (call.is_wait) call.timeout = (const struct timespec *)args[3];
  return hook(current_arg, &call);
}

/* Looked up before main(): dlsym() may allocate, which a test may be counting. */
static syscall_fn real_syscall;

__attribute__((constructor)) static void look_up(void) {
  void *found = dlsym(RTLD_NEXT, "syscall");
  REQUIRE(found != NULL);
  memcpy(&real_syscall, &found, sizeof found); /* ISO C casts no object pointer to a function's */
}

long syscall(long number, ...) {
  long args[6];
  va_list list;
  va_start(list, number);
  for (int i = 0; i < 6; i++) args[i] = va_arg(list, long);
  va_end(list);

  futex_hook_fn hook = volt_load_acquire(&current);
  switch (hook && number == SYS_futex ? ask(hook, args) : FUTEX_REAL) {
    case FUTEX_RETURN_0: return 0;
    case FUTEX_EINTR: return fail(EINTR);
    case FUTEX_EAGAIN: return fail(EAGAIN);
    case FUTEX_ETIMEDOUT: return fail(ETIMEDOUT);
    case FUTEX_REAL: break;
  }
  if (!real_syscall) look_up(); /* in a constructor that ran before ours */
  return real_syscall(number, args[0], args[1], args[2], args[3], args[4], args[5]);
}

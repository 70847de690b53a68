/* fork_steps.h: a process that forks while another thread of it is in the middle of a function: once at
 * every place of the function where that makes a difference to the child.
 *
 * The thread goes from instruction to instruction, by the processor's trap flag, and stops after each
 * that orders memory (a locked one), and whenever it is back from a function of another library. At a
 * stop the process forks, and the child calls a function of its own. A stop ends when the child has
 * ended, or when fork() itself waits for what the thread holds. So nothing depends on who is faster.
 * Functions of other libraries are not looked into: they are called as ever. */
#ifndef VOLT_TEST_FORK_STEPS_H
#define VOLT_TEST_FORK_STEPS_H

#include <stdbool.h>

typedef struct fork_steps {
  void (*body)(void); /* in a process of its own, on a thread of its own */
  int (*child)(void); /* what a child does. Returns 0: it is well */
  void (*before)(void),
      (*after)(void); /* what the thread that forks does before and after it; or NULL */
} fork_steps;

/* Whether there is a trap flag, a handler may set it, and no sanitizer's locks are in the way. */
bool fork_steps_work(void);

/* Returns at how many stops a child was made; 0: one of them was not well, or body() did not end, which
 * is said on standard error. */
unsigned fork_steps_run(const fork_steps *steps);

#endif

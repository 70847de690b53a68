/* numbers.h: what a debugger finds in a process, or in a core, without the types of its code. Each library
 * that has types which a debugger must know has one of these: async/numbers.c, rt/inspect/debugger.c. */
#ifndef VOLT_CORE_HOOKS_NUMBERS_H
#define VOLT_CORE_HOOKS_NUMBERS_H

#include <volt/base.h>
#include <volt/detail/atomic.h>

struct volt_rt;

/* A number by which a debugger finds something: an offset or a size in bytes, or a constant. */
typedef struct volt_debugger_number_ {
  char name[24]; /* "": there are no more */
  uint64_t value;
} volt_debugger_number_;

/* By this a debugger finds it in a program without symbols: at a multiple of 16 bytes, in memory
 * that is writable. The last digit is the version of this struct. */
#define VOLT_DEBUGGER_MAGIC_ "volt-debugger-4"

enum { VOLT_DEBUGGER_NUMBERS_ = 128 };

/* All of it is in one piece of memory that is written to, so it is in every core, also in one
 * without the program's file. */
typedef struct volt_debugger_ {
  VOLT_CACHE_ALIGNED char magic[16];
  uint64_t bytes;                     /* of this struct */
  const struct volt_debugger_ *sync;  /* what libvolt-sync says; NULL: the program has not begun */
  VOLT_PLAIN(struct volt_rt *) first; /* runtimes that exist, linked */
  void (*fiber_poll)(void);           /* of every task that is a fiber */
  const void *sleepers;               /* volt_sleeper_list_: the threads that sleep in a call */
  const void *names;                  /* volt_name_table_ */
  volt_debugger_number_ numbers[VOLT_DEBUGGER_NUMBERS_];
} volt_debugger_;

#define VOLT_DEBUGGER_AT_(name, type, member) \
  { name, offsetof(type, member) }

/* That of libvolt-sync: threads, objects, and what waits of threads and of tasks have in common. It is in
 * the uppermost room of the library, because it has types of all rooms; locals.c refers to it, so that it
 * is in every program in which threads sleep, also where only what is used is linked. */
extern volt_debugger_ volt_debugger_sync_;

/* The same, for another library. */
VOLT_API const volt_debugger_ *volt_debugger_of_sync_(void);

#endif

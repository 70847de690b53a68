/* name.h: names for objects, so that reports say 'pool' and not 0x55d0c19a4080.
 *
 *   static volt_sem pool;
 *   volt_name(&pool, "pool");
 *
 * A name costs the object nothing: it is in a table of the process, which has room for 4,096. What
 * has no name is shown by its address. Any address can have a name: that of an object of volt, of a
 * task, or of a struct of your own. An object of volt loses its name when it is destroyed; for all
 * else call volt_unname() before its memory is used for something else. */
#ifndef VOLT_NAME_H
#define VOLT_NAME_H

#include "base.h"

VOLT_BEGIN_DECLS

/* Name an object, or give it another name.
 * object: any address but NULL. It is a number only: nothing is read or written there.
 * name: the caller's, and usually a literal. It has to stay until the object is unnamed, and until a
 *   volt_dump() that runs meanwhile has ended.
 * Returns VOLT_OK, VOLT_ENOMEM (4,096 objects have names), or VOLT_EINVAL (object or name is NULL).
 * Threads: any, also in a signal handler. Names of the same object from two threads at once: one of
 *   them stays. */
VOLT_API int volt_name(const void *object, const char *name);

/* The same for one of several locks that are alike and that a thread may hold together, such as
 * those of the nodes of a tree: they have one name. The order in which they are locked is checked by
 * name and level (volt/sight.h), so a lock of a higher level may be taken while one of a lower level
 * is held.
 * level: 0 is that of volt_name(). At most 255. */
VOLT_API int volt_name_nested(const void *object, const char *name, unsigned level);

/* Take the name away. Does nothing if the object has none.
 * Threads: any, also in a signal handler. */
VOLT_API void volt_unname(const void *object);

/* The name of an object. Returns NULL: it has none.
 * Threads: any, also in a signal handler. Waits for no thread. */
VOLT_API const char *volt_name_of(const void *object);

VOLT_END_DECLS
#endif

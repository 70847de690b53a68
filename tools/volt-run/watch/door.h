/* door.h: where the books of a process are, for another process that reads its memory: in a report from outside the
 * program does not help, so it may hang, be stopped, or have all signals blocked. */
#ifndef WATCH_DOOR_H
#define WATCH_DOOR_H

#include "watch/books.h"

/* DOOR_VERSION changes with what books.h says. */
enum { DOOR_MAGIC_SIZE = 16, DOOR_VERSION = 4, DOOR_PROGRAM = 256 };
#define DOOR_MAGIC "volt-run's books" /* without its 0 */

/* In the library's data, where it is found by its first bytes. The first three members never change. */
struct door {
  char magic[DOOR_MAGIC_SIZE];
  const struct door *self; /* else these are the same bytes by chance */
  uint32_t version;
  uint32_t size_of_thread, size_of_detail, size_of_lock;
  const struct books *books; /* NULL: nothing is watched */
  uint64_t size_of_books;
  char program[DOOR_PROGRAM];
};

/* Called once, when there are books. */
void door_open(void);

#endif

/* door.c: the way to the books for a report from outside. */
#define _GNU_SOURCE /* program_invocation_name */
#include "watch/door.h"

#include <errno.h>
#include <string.h>

static struct door door = {.magic = DOOR_MAGIC,
                           .version = DOOR_VERSION,
                           .size_of_thread = sizeof(struct books_thread),
                           .size_of_detail = sizeof(struct books_detail),
                           .size_of_lock = sizeof(struct books_lock),
                           .size_of_books = sizeof(struct books)};

void door_open(void) {
  strncpy(door.program, program_invocation_name, sizeof door.program - 1);
  door.self = &door;
  door.books = watch_books;
}

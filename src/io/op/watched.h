/* watched.h: which descriptors a back end watches, by number, so that a report that is late meets
 * no descriptor that is gone; and which volt_fd a number belongs to. */
#ifndef VOLT_IO_OP_WATCHED_H
#define VOLT_IO_OP_WATCHED_H

#include <volt/io.h>

/* One number. Chunk k holds VOLT_WATCH_FIRST << k slots, and never moves. */
typedef struct volt_watch_slot {
  volt_short_lock lock;
  VOLT_PLAIN(uint32_t) mark; /* of the descriptor that has it, or had it last */
  VOLT_PLAIN(volt_fd *) fd;  /* NULL: none */
  /* Odd while a volt_fd has the number: its stamp (volt_fd.stamp). It grows with each that takes the
   * number over, and is the last one's less 1 in between. */
  VOLT_ATOMIC(uint32_t) owner;
} volt_watch_slot;

#ifndef VOLT_WATCH_FIRST
#define VOLT_WATCH_FIRST 64u
#endif
enum { VOLT_WATCH_CHUNKS = 26 };

/* All-zero at first. */
typedef struct volt_watch_table {
  VOLT_ATOMIC(volt_watch_slot *) chunks[VOLT_WATCH_CHUNKS];
  VOLT_ATOMIC(uint32_t) owned; /* numbers that a volt_fd has, and operations that may get one */
} volt_watch_table;

void volt_watched_init_(volt_watch_table *table);
void volt_watched_free_(volt_watch_table *table);

/* d is watched from here on. Returns its mark, or 0: no memory. */
uint32_t volt_watched_add_(volt_watch_table *table, volt_fd *d);

/* d is not watched any more. When this returns, no thread uses d for a report, nor will one. */
void volt_watched_remove_(volt_watch_table *table, volt_fd *d);

/* The descriptor of that number and mark is ready for bits. Does nothing if that is gone. Returns
 * whether it was there. */
bool volt_watched_report_(volt_watch_table *table, uint32_t number, uint32_t mark, uint32_t bits);

/* A volt_fd takes a number over, whichever had it before. Returns its stamp; VOLT_WATCH_UNMARKED_: there
 * is no memory for a slot, so misuse of it is not noticed; it counts all the same. */
enum { VOLT_WATCH_UNMARKED_ = 1 };
uint32_t volt_watched_own_(volt_watch_table *table, int number);

/* Whether a volt_fd has that number. */
bool volt_watched_is_owned_(volt_watch_table *table, int number);
/* Whether the volt_fd of that stamp still has it. */
bool volt_watched_is_of_(volt_watch_table *table, int number, uint32_t stamp);

/* The volt_fd of that stamp gives its number up, and its owner uses neither the table nor the back end
 * for it any more. Returns false: it has not had it any more. */
bool volt_watched_disown_(volt_watch_table *table, int number, uint32_t stamp);

/* An operation that opens a file begins: it may get a number. */
void volt_watched_expect_(volt_watch_table *table);
/* It has ended. A number that it got is owned already, and its owner uses neither the table nor the back
 * end for it any more. */
void volt_watched_expect_no_more_(volt_watch_table *table);

/* The runtime of them is about to end. Whether a volt_fd has a number, or may get one: if not, no
 * thread uses the table or what its descriptors were of. */
bool volt_watched_owns_any_(const volt_watch_table *table);

/* The same: abort if one has. */
void volt_watched_check_disowned_(const volt_watch_table *table, volt_rt *rt);

#endif

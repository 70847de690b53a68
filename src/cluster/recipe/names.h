/* names.h: what nodes are called, and what they say. Pure: no state, no input or output.
 *
 *   q<G>/<guid>.<has>.<want>.<sequence>   a host in the queue: leases `has`, wants `want` more
 *   h<G>/<guid>.<count>.<sequence>        a host that leases `count` slots
 *   s/<slot>                              a slot that is leased
 *
 * The guid has 32 digits of lower-case hexadecimal, and numbers have no zeros in front, so an entry
 * has one name. The ensemble writes the sequence, ten digits at least, negative ones with "-". */
#ifndef VOLT_CLUSTER_RECIPE_NAMES_H
#define VOLT_CLUSTER_RECIPE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cluster_guid {
  uint64_t high;
  uint64_t low;
} cluster_guid;

/* A name in the queue (want > 0 or not), or among the holders (want is 0). */
typedef struct cluster_entry {
  cluster_guid guid;
  uint32_t generation; /* of the directory that it is in */
  int32_t sequence;
  uint32_t has;
  uint32_t want;
} cluster_entry;

enum cluster_list { CLUSTER_QUEUE, CLUSTER_HOLDERS };

/* What the semaphore's node says. 0: not said, but for limit and era. */
typedef struct cluster_data {
  uint32_t limit;
  uint32_t lease; /* slots that one host leases at most */
  uint32_t quantum_ms;
  uint32_t era;
  uint32_t queue; /* which directories are in use: q<queue> and h<queue> */
  uint32_t turn;  /* the sequence number from which on new directories are made */
} cluster_data;

enum { CLUSTER_ENTRY_SIZE = 80, CLUSTER_DATA_SIZE = 1024 };

bool cluster_guid_is_(const cluster_guid *a, const cluster_guid *b);

/* The mix of a session, a name and a count: another one for each. */
cluster_guid cluster_guid_make_(uint64_t session, const char *name, uint64_t count);

/* The guid in hexadecimal. to: 33 bytes. */
void cluster_guid_write_(char *to, const cluster_guid *guid);

/* The name of *e without its sequence: what is asked for. to: CLUSTER_ENTRY_SIZE bytes. */
void cluster_entry_ask_(char *to, const cluster_entry *e, enum cluster_list place);

/* The whole name of *e. */
void cluster_entry_write_(char *to, const cluster_entry *e, enum cluster_list place);

/* Read a name, but for the generation, which becomes 0. Returns false if it is not one of ours. */
bool cluster_entry_read_(cluster_entry *e, const char *name, enum cluster_list place);

/* Below 0 if a came before b, as serial numbers of 32 bits: 2147483647 comes before -2147483648.
 * Two numbers that are 2^31 apart have no order: the lower one comes first. */
int cluster_sequence_compare_(int32_t a, int32_t b);

/* For qsort(): by generation, then by sequence; by guid where an ensemble has given a number twice. */
int cluster_entry_by_age_(const void *a, const void *b);
/* For qsort() and bsearch(): by guid. */
int cluster_entry_by_guid_(const void *a, const void *b);

/* Read the number of a slot's node. Returns false if it is not one. */
bool cluster_slot_read_(uint32_t *slot, const char *name);

/* Read a node's data: names and values, with blanks or ends of lines between. Names that are unknown
 * are ignored. Returns false if it is not ours: it does not begin with "volt-cluster 1", has no limit,
 * a number is none, or it is too long. */
bool cluster_data_read_(cluster_data *d, const char *text, size_t size);

/* Write *d over a node's data: other names and values stay. text: NULL: begin anew.
 * to: CLUSTER_DATA_SIZE bytes. Returns the length, or 0 if it does not fit. */
size_t cluster_data_write_(char *to, const cluster_data *d, const char *text, size_t size);

#endif

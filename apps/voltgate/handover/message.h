/* message.h: what two processes of voltgate say to each other while one takes over from the other.
 *
 *   old                                            new
 *                          <- HELLO                it is version 1 of this
 *   LISTENER, ADDRESS ...                          a socket of a gate, of the admin side, of handover
 *   OFFERED ->                                     that was all
 *                          <- TAKES ...            a listener that it serves from now on
 *                          <- GATE ...             a gate that it has
 *                          <- PERMIT_GATE ...      the same, a permit gate: it takes the clients, too
 *                          <- READY                it could accept
 *   PASSES, CLIENT, PART... ->                     clients of permit gates, which stand still
 *   PASSED ->                                      that was all
 *                          <- ADOPTED              nothing that it needs for them is missing
 *   PERMITS ... ->                                 the limit of a gate that both have: all permits are here
 *   GO ->                                          this side accepts no more
 *                          <- ACCEPTS
 *   GIVE, WANT... ->       <- GIVE                 permits, until one of both has ended
 *                          <- LEAVES               it drains: do not accept again when it has ended
 *   REFUSED ->                                     in place of all: why not
 *
 * A message is a kind (1 byte), a number (4, big-endian), the sizes of a name and of a text (2 each),
 * and both. This room is pure: bytes in, messages out. */
#ifndef VOLTGATE_HANDOVER_MESSAGE_H
#define VOLTGATE_HANDOVER_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

enum { MESSAGE_VERSION = 1 };

enum message_kind {
  MESSAGE_HELLO = 1, /* number: the version. text: the program's */
  MESSAGE_REFUSED,   /* text: why */
  MESSAGE_LISTENER,  /* number: of enum message_listener. name: the gate. text: the address */
  MESSAGE_OFFERED,   /* number: how many they were */
  MESSAGE_TAKES,     /* number: of the listener, from 0 on */
  MESSAGE_GATE,      /* name. number: its limit; 0: it leases from a cluster, and borrows nothing */
  MESSAGE_READY,
  MESSAGE_PERMITS, /* name. number: its limit; 0: nothing is lent, because one of both leases */
  MESSAGE_GO,
  MESSAGE_ACCEPTS,
  MESSAGE_GIVE,          /* name. number: permits that the other may use now */
  MESSAGE_WANT,          /* name. number: permits that are needed, each for a client */
  MESSAGE_WANT_TOGETHER, /* name. number: permits that are needed, all of them for one client */
  MESSAGE_WANT_NOT,      /* name. number: of those that were asked for first, not needed any more */
  MESSAGE_LEAVES,
  MESSAGE_ADDRESS,     /* text: where the listener before it listens: a port of 0 is resolved */
  MESSAGE_PERMIT_GATE, /* name: a permit gate: it takes its clients */
  MESSAGE_PASSES,      /* name: a permit gate. number: its clients, which follow. text: see below */
  MESSAGE_CLIENT,      /* with its descriptor. number: bytes of its record */
  MESSAGE_PART,        /* text: of its record */
  MESSAGE_PASSED,      /* number: clients of all gates */
  MESSAGE_ADOPTED,     /* the same number: GO may come */
  MESSAGE_KINDS
};

enum message_listener { MESSAGE_OF_GATE, MESSAGE_OF_ADMIN, MESSAGE_OF_HANDOVER, MESSAGE_LISTENERS };

#define MESSAGE_CLAIMS "claims" /* of MESSAGE_PASSES: other clients can still claim */

enum {
  MESSAGE_HEAD = 9,
  MESSAGE_TEXT = 512, /* the longest name or text */
  MESSAGE_MAX = MESSAGE_HEAD + 2 * MESSAGE_TEXT
};

struct message {
  enum message_kind kind;
  uint32_t number;
  char name[MESSAGE_TEXT + 1]; /* with a zero at the end, and none before */
  char text[MESSAGE_TEXT + 1];
};

enum message_result { MESSAGE_DONE, MESSAGE_NEEDS_MORE, MESSAGE_MALFORMED };

/* Read one from its beginning. *used: its bytes, if it is done; else 0. */
enum message_result handover_message_read(struct message *m, const unsigned char *from, size_t size,
                                          size_t *used);

/* Write one. name, text: NULL: empty; what is longer than MESSAGE_TEXT is cut. Returns its bytes. */
size_t handover_message_write(unsigned char to[MESSAGE_MAX], enum message_kind kind,
                              uint32_t number, const char *name, const char *text);

#endif

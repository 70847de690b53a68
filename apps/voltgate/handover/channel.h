/* channel.h: messages and descriptors over a unix socket, for a thread that may wait. */
#ifndef VOLTGATE_HANDOVER_CHANNEL_H
#define VOLTGATE_HANDOVER_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>

#include "handover/message.h"

enum { CHANNEL_NUMBERS = 8, CHANNEL_ROOM = 2 * MESSAGE_MAX };

struct channel {
  int number;     /* the socket; -1: none */
  int stop;       /* a descriptor that becomes readable when waiting is to end, or -1 */
  bool is_deaf;   /* it does not matter what the other says, but that it ends */
  int timeout_ms; /* how long a message may take to go; -1: any time */
  size_t size;    /* bytes that came and were not read */
  unsigned char bytes[CHANNEL_ROOM];
  unsigned count; /* descriptors that came and were not taken */
  int numbers[CHANNEL_NUMBERS];
};

void channel_open(struct channel *c, int number, int stop);
void channel_close(struct channel *c);

static inline bool channel_is_open(const struct channel *c) {
  return c->number >= 0;
}

/* Send a message; or say where a socket listens, and pass it, which stays open here. Waits. Returns
 * false: it could not be sent. */
bool channel_send(struct channel *c, enum message_kind kind, uint32_t count, const char *name,
                  const char *text);
bool channel_send_number(struct channel *c, enum message_kind kind, uint32_t count,
                         const char *name, const char *text, int number);

enum channel_result { CHANNEL_MESSAGE, CHANNEL_NOTHING, CHANNEL_ENDED, CHANNEL_WRONG };

/* The next message that has come. Does not wait. */
enum channel_result channel_receive(struct channel *c, struct message *m);

/* The same, but wait until the time is up. */
enum channel_result channel_await(struct channel *c, struct message *m, int timeout_ms);

/* The descriptor that came with the message, or -1; it is the caller's. */
int channel_take_number(struct channel *c);

#endif

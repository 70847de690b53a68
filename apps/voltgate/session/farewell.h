/* farewell.h: the last words to a client, and the end of its connection. */
#ifndef VOLTGATE_SESSION_FAREWELL_H
#define VOLTGATE_SESSION_FAREWELL_H

#include "session/session.h"

struct farewell;

/* Whether there is anything to be said, or an end to be seen. */
bool farewell_is_due(const struct session *s);

/* Write the words for the client. Returns the bytes; 0: nothing is said. */
size_t farewell_words(struct session *s, char words[REFUSAL_MAX]);

/* Say it, as far as there is room. Returns NULL: no memory, then the client is just closed. */
struct farewell *farewell_begin(struct session *s);

/* Until all was said and the client has closed, at most a second. */
volt_future *farewell_future(struct farewell *self);

void farewell_end(struct farewell *self); /* NULL is fine */

#endif

/* postgres_binding.h: SCRAM with channel binding, where TLS ends at the gate. */
#ifndef VOLTGATE_SESSION_POSTGRES_BINDING_H
#define VOLTGATE_SESSION_POSTGRES_BINDING_H

#include "session/session.h"

/* Look at what the server has sent before the login is over: size bytes, that begin with a message. It may
 * change them, not their number. */
void postgres_binding_look(struct session *s, char *bytes, size_t size);

#endif

/* login.h: what comes before a client's own bytes: a PROXY header, a TLS handshake. */
#ifndef VOLTGATE_SESSION_LOGIN_H
#define VOLTGATE_SESSION_LOGIN_H

#include "session/session.h"

/* Whether the gate asks for any of it. (Of postgres, TLS is negotiated by the protocol.) */
bool login_is_needed(const struct session *s);

/* Until it is complete, at most login-timeout. Polls as VOLT_OK; then how the session ends may be
 * set; VOLT_ENOMEM, VOLT_ECANCELED. login_end() after it. */
volt_future *login_future(struct session *s);
void login_end(struct session *s);

#endif

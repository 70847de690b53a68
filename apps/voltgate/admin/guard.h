/* guard.h: whether a request may be answered, whatever page made a browser send it.
 *
 * A page of another site can make a browser send requests here, but it cannot choose the fields
 * Host and Origin, and cannot know the token.
 *   Host: its name may be another site's that now leads here (DNS rebinding), and then the browser
 *     would let that site's page read the answers. So a name is refused unless it is known to be
 *     ours: an address in digits, localhost, the name that is configured.
 *   Origin: says which site's page asks for a change. Only our own may.
 *   Authorization: the token. It is compared in the same time whatever is wrong with it. */
#ifndef VOLTGATE_ADMIN_GUARD_H
#define VOLTGATE_ADMIN_GUARD_H

#include "common/http/request.h"

/* own_name: a host that is ours besides, or NULL. Returns 0, or the status with which the request is
 * refused: 400 or 403. */
int guard_host(const struct request *r, const char *own_name);

/* The same, of a change. token: what allows changes; NULL: nothing does. Returns 0, 401 or 403. */
int guard_change(const struct request *r, const char *token);

#endif

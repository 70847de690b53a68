/* target.h: the target of a request (RFC 9112, 3.2), and the path in it. */
#ifndef COMMON_HTTP_TARGET_H
#define COMMON_HTTP_TARGET_H

#include "common/http/request.h"

/* Read the target of a request whose method is known, and decode its path in place.
 * is_https: requests come by https, else by http. at: the byte behind the target is the caller's, too: a zero may be written there.
 * Returns 0, or the status with which the request has to be refused. */
int target_read(struct request *r, bool is_https, char *at, size_t size);

/* Whether text is a host with or without a port, as in the field Host. */
bool target_is_host(struct text text);

#endif

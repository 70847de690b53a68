/* query.h: what a request says behind the question mark. */
#ifndef VOLTGATE_ADMIN_QUERY_H
#define VOLTGATE_ADMIN_QUERY_H

#include "common/http/request.h"

/* Find the value of a name, and decode it. Returns false: there is none, or one that is no text or
 * too long for room bytes. */
bool query_find(const struct request *r, const char *name, char *to, size_t room);

/* Read seconds with up to nine digits behind the point. Returns false: it is no such number. */
bool query_seconds(const char *text, uint64_t *ns);

#endif

/* conditions.h: conditional requests and ranges (RFC 9110, sections 13 and 14). */
#ifndef HTTPD_CONDITIONS_H
#define HTTPD_CONDITIONS_H

#include "common/http/request.h"

#define NO_DATE INT64_MIN
#define ETAG_SIZE 56

/* What a target stands for: a file, or a text in memory. */
struct resource {
  uint64_t size;
  int64_t modified;     /* in seconds, not in the future; NO_DATE: not known */
  const char *type;     /* its media type */
  bool is_live;         /* it changes all the time: must not be stored */
  char etag[ETAG_SIZE]; /* with quotes, perhaps weak; empty: there is none */
};

/* Evaluate If-Match, If-Unmodified-Since, If-None-Match and If-Modified-Since, in this order.
 * now: the time in seconds. Returns 200, 304 or 412. Not for OPTIONS. */
int conditions_check(const struct request *r, const struct resource *resource, int64_t now);

/* Evaluate Range and If-Range of a GET that is not answered by one of those above.
 * A list of several ranges is ignored, as a server may.
 * Returns 206 with the part that is asked for, 416, or 200: the whole of it. */
int conditions_range(const struct request *r, const struct resource *resource, int64_t now,
                     uint64_t *first, uint64_t *count);

#endif

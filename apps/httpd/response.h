/* response.h: what is answered to a request, and its head. */
#ifndef HTTPD_RESPONSE_H
#define HTTPD_RESPONSE_H

#include "conditions.h"

#define RESPONSE_LOCATION_MAX 2048

/* The most that a head has, with a short text behind it. */
#define RESPONSE_HEAD_MAX (768 + RESPONSE_LOCATION_MAX)

/* What is answered to all requests that come in one way. */
struct terms {
  struct limits limits;
  unsigned https_port; /* not 0: each is sent on to https, at this port */
  unsigned hsts_s;     /* not 0: for so long a browser is to come by https alone (RFC 6797) */
};

struct response {
  int status;
  uint64_t first, count; /* the part of the resource that follows the head; count 0: none */
  bool closes;           /* the connection, afterwards */
};

/* Say what is answered by a resource that was found.
 * r: GET, HEAD or OPTIONS. closes: the caller wants the connection to end. */
void response_decide(struct response *response, const struct request *r,
                     const struct resource *resource, int64_t now);

/* Write the head, and for a status that is no resource's the whole answer.
 * terms: of the connection. resource: NULL if the status is from elsewhere. now: for the field Date. */
void response_write(struct writer *to, const struct response *response, const struct request *r,
                    const struct terms *terms, const struct resource *resource, int64_t now);

/* Whether there is room for the path, with a slash behind it, in an answer 301 or 308. */
bool response_can_redirect(const struct request *r);

/* The status by which a request is sent on to https: 301, or 308 where it must not become a GET; 400:
 * it does not say of which host; 414. */
int response_to_https(const struct request *r);

/* The status as it is sent: "404 Not Found". */
const char *response_reason(int status);

#endif

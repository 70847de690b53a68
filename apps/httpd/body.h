/* body.h: the body of a request, which is read and thrown away (RFC 9112, 6 and 7.1).
 *
 * A chunked body is read byte by byte by a machine of a few states, so that it may be cut anywhere.
 * Its framing is strict, as that of a head: sizes of hexadecimal digits alone, lines that end with
 * CR LF. Extensions and trailers are passed over, and count. */
#ifndef HTTPD_BODY_H
#define HTTPD_BODY_H

#include "common/http/request.h"

struct body {
  uint64_t left;   /* of the body, or of this chunk */
  uint64_t budget; /* of data that may still come in chunks */
  size_t extra;    /* bytes of framing that may still come */
  int state;
  bool is_chunked;
};

enum body_result {
  BODY_PART, /* all bytes were used, and more have to come */
  BODY_WHOLE,
  BODY_WRONG, /* status 400: where it ends is not certain */
  BODY_LARGE  /* status 413 */
};

/* Begin the body of a request whose head is whole. */
void body_begin(struct body *body, const struct request *r, const struct limits *limits);

/* Go on with the next bytes. used: how many of them belong to the body. */
enum body_result body_read(struct body *body, const char *bytes, size_t count, size_t *used);

#endif

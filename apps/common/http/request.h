/* request.h: the head of a request (RFC 9112, sections 2, 3, 5 and 6).
 *
 * The parser is strict: what the RFC lets a server repair or refuse, it refuses, because another
 * server on the way may have repaired it differently. Lines end with CR LF. A request that is
 * refused is the last one of its connection, since where the next one begins is not certain.
 *
 * Nothing is copied. The bytes are the caller's, stay where they are while the request is in use,
 * and are changed: the path is decoded in place. Each line is looked at once, when it is complete,
 * however slowly the bytes come. */
#ifndef COMMON_HTTP_REQUEST_H
#define COMMON_HTTP_REQUEST_H

#include "common/http/text.h"

enum method {
  METHOD_GET,
  METHOD_HEAD,
  METHOD_OPTIONS,
  METHOD_POST,
  METHOD_PUT,
  METHOD_OTHER,  /* known, and possible with no resource of any program here */
  METHOD_UNKNOWN /* or CONNECT */
};

/* The fields that programs here look at. Those of the second group are read when they are needed. */
enum field {
  FIELD_HOST,
  FIELD_CONNECTION,
  FIELD_CONTENT_LENGTH,
  FIELD_TRANSFER_ENCODING,
  FIELD_EXPECT,

  FIELD_IF_MATCH,
  FIELD_IF_NONE_MATCH,
  FIELD_IF_MODIFIED_SINCE,
  FIELD_IF_UNMODIFIED_SINCE,
  FIELD_IF_RANGE,
  FIELD_RANGE,
  FIELD_AUTHORIZATION,
  FIELD_ORIGIN,
  FIELD_COUNT
};

struct limits {
  size_t head_bytes;   /* of a request: its first line and all fields */
  uint32_t fields;     /* in one request */
  uint64_t body_bytes; /* of a body, which is read and thrown away */
  uint32_t requests;   /* on one connection; 0: any number */
  bool is_https;       /* a target that names its scheme names https */
};

struct request {
  enum method method;
  bool is_1_0;       /* HTTP/1.0 */
  bool is_asterisk;  /* the target is the server itself: OPTIONS * */
  bool is_directory; /* the path ended with a slash */
  bool is_hidden;    /* no file may have this path: a segment begins with a dot, or has a slash */
  bool says_close, says_keep_alive;
  bool says_continue; /* Expect: 100-continue */
  bool is_expectation_unknown;
  bool is_chunked;
  uint64_t body_bytes;         /* Content-Length, or 0 */
  char *path;                  /* relative, decoded, without "." and ".."; a zero behind it */
  struct text query;           /* behind the question mark; at NULL: there is none */
  struct text fields;          /* all lines of fields */
  uint8_t lines[FIELD_COUNT];  /* lines of each field; at most 2 are counted */
  uint32_t field_count;        /* lines of fields */
  int status;                  /* with which it was refused, or 0 */
  size_t head_bytes;           /* parsed so far; in the end, the size of the head */
  size_t searched;             /* behind head_bytes there is no end of a line before here */
  bool has_line;               /* the first line was read */
  bool has_coding, has_length; /* Transfer-Encoding, Content-Length */
  bool is_last_chunked;        /* the last coding was chunked */
  bool is_coding_unknown;
};

enum parsed {
  PARSED_PART,   /* more has to come */
  PARSED_WHOLE,  /* the head has head_bytes bytes */
  PARSED_REFUSED /* with a status; the connection cannot go on */
};

/* Forget everything: a new request begins. */
void request_begin(struct request *r);

/* Go on with what has come.
 * bytes: all bytes of this request from its first, also those that were there before. */
enum parsed request_parse(struct request *r, char *bytes, size_t count,
                          const struct limits *limits);

/* The bytes were moved to the front by so many. */
void request_move(struct request *r, size_t by);

/* Whether the connection may go on after this request. */
bool request_persists(const struct request *r);

/* ---- fields, once the head is whole ---- */

/* Find the next line of a field. rest: r->fields at first, and shortened.
 * Returns false if there is none. */
bool request_next(struct text *rest, enum field field, struct text *value);

/* The value of a field that has one line.
 * Returns false if it has none or several. */
bool request_field(const struct request *r, enum field field, struct text *value);

#endif

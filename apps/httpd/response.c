/* response.c: what is answered to a request, and its head.
 *
 * A status other than 200, 204, 206 and 304 has a short text of its own. */
#include "response.h"

#include "common/http/date.h"

const char *response_reason(int status) {
  switch (status) {
    case 200: return "200 OK";
    case 204: return "204 No Content";
    case 206: return "206 Partial Content";
    case 301: return "301 Moved Permanently";
    case 304: return "304 Not Modified";
    case 308: return "308 Permanent Redirect";
    case 400: return "400 Bad Request";
    case 403: return "403 Forbidden";
    case 404: return "404 Not Found";
    case 405: return "405 Method Not Allowed";
    case 408: return "408 Request Timeout";
    case 412: return "412 Precondition Failed";
    case 413: return "413 Content Too Large";
    case 414: return "414 URI Too Long";
    case 416: return "416 Range Not Satisfiable";
    case 417: return "417 Expectation Failed";
    case 421: return "421 Misdirected Request";
    case 431: return "431 Request Header Fields Too Large";
    case 501: return "501 Not Implemented";
    case 503: return "503 Service Unavailable";
    case 505: return "505 HTTP Version Not Supported";
    default: return "500 Internal Server Error";
  }
}

void response_decide(struct response *response, const struct request *r,
                     const struct resource *resource, int64_t now) {
  response->first = response->count = 0;
  response->status = 204;
  if (r->method == METHOD_OPTIONS) return;
  response->status = conditions_check(r, resource, now);
  if (response->status != 200) return;
  response->status = conditions_range(r, resource, now, &response->first, &response->count);
  if (r->method == METHOD_HEAD || response->status == 416) response->count = 0;
}

/* ---- the head ---- */

/* The second of the last date is kept by each thread, because a date takes longer than the rest. */
static void put_date(struct writer *to, int64_t seconds) {
  static _Thread_local int64_t written = NO_DATE;
  static _Thread_local char date[DATE_SIZE];
  if (seconds != written) {
    date_write(date, seconds);
    written = seconds;
  }
  put_text(to, (struct text){date, DATE_SIZE});
}

/* The host that is asked for, without a port. Nothing: the request does not say. */
static struct text host_of(const struct request *r) {
  struct text host = {NULL, 0};
  if (!request_field(r, FIELD_HOST, &host)) return host;
  bool is_literal = host.size > 0 && host.at[0] == '[';
  const char *end = memchr(host.at, is_literal ? ']' : ':', host.size);
  if (end != NULL) host.size = (size_t)(end - host.at) + is_literal;
  return host;
}

bool response_can_redirect(const struct request *r) {
  size_t host = host_of(r).size + sizeof "https://:65535";
  return 3 * strlen(r->path) + r->query.size + host + 3 <= RESPONSE_LOCATION_MAX;
}

int response_to_https(const struct request *r) {
  if (host_of(r).size == 0) return 400;
  if (!response_can_redirect(r)) return 414;
  return r->method == METHOD_GET || r->method == METHOD_HEAD ? 301 : 308;
}

static void put_origin(struct writer *to, const struct request *r, unsigned https_port) {
  PUT(to, "https://");
  put_text(to, host_of(r));
  if (https_port == 443) return;
  PUT(to, ":");
  put_number(to, https_port);
}

/* The path as it was understood, so that "//host" stays a path of this server. On the same server it is
 * that of a directory, and gets the slash that it wants. */
static void put_location(struct writer *to, const struct request *r, unsigned https_port) {
  static const char digits[] = "0123456789ABCDEF";
  PUT(to, "\r\nLocation: ");
  if (https_port != 0) put_origin(to, r, https_port);
  PUT(to, "/");
  for (const char *at = r->path; *at != '\0'; at++) {
    unsigned char byte = (unsigned char)*at;
    if (byte_in(&byte_path, *at) && *at != '%') {
      put_text(to, (struct text){at, 1});
    } else {
      put_text(to, (struct text){(char[]){'%', digits[byte >> 4], digits[byte & 15]}, 3});
    }
  }
  if (https_port == 0 || (r->is_directory && r->path[0] != '\0')) PUT(to, "/");
  if (r->query.at != NULL) {
    PUT(to, "?");
    put_text(to, r->query);
  }
}

static void put_validators(struct writer *to, const struct resource *resource) {
  if (resource->etag[0] != '\0') {
    PUT(to, "\r\nETag: ");
    put_string(to, resource->etag);
  }
  if (resource->modified != NO_DATE) {
    char date[DATE_SIZE];
    date_write(date, resource->modified);
    PUT(to, "\r\nLast-Modified: ");
    put_text(to, (struct text){date, DATE_SIZE});
  }
}

/* The fields of a part or the whole of a resource. */
static void put_resource(struct writer *to, const struct response *response,
                         const struct resource *resource) {
  PUT(to, "\r\nContent-Type: ");
  put_string(to, resource->type);
  PUT(to, "\r\nX-Content-Type-Options: nosniff"); /* no browser is to find another type in it */
  put_validators(to, resource);
  if (resource->is_live) PUT(to, "\r\nCache-Control: no-store");
  PUT(to, "\r\nAccept-Ranges: bytes\r\nContent-Length: ");
  if (response->status == 206) {
    put_number(to, response->count);
    PUT(to, "\r\nContent-Range: bytes ");
    put_number(to, response->first);
    PUT(to, "-");
    put_number(to, response->first + response->count - 1);
    PUT(to, "/");
  }
  put_number(to, resource->size);
}

/* The fields of an answer that has a text of its own, which is its status. */
static void put_own(struct writer *to, const struct response *response, const struct request *r,
                    const struct terms *terms, const struct resource *resource) {
  if (response->status == 301 || response->status == 308) put_location(to, r, terms->https_port);
  if (response->status == 405) PUT(to, "\r\nAllow: GET, HEAD, OPTIONS");
  if (response->status == 503) PUT(to, "\r\nRetry-After: 1");
  if (response->status == 416) {
    PUT(to, "\r\nContent-Range: bytes */");
    put_number(to, resource->size);
  }
  PUT(to, "\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: ");
  put_number(to, strlen(response_reason(response->status)) + 1);
}

void response_write(struct writer *to, const struct response *response, const struct request *r,
                    const struct terms *terms, const struct resource *resource, int64_t now) {
  int status = response->status;
  bool is_own = false;
  PUT(to, "HTTP/1.1 ");
  put_string(to, response_reason(status));
  PUT(to, "\r\nServer: volt\r\nDate: ");
  put_date(to, now);
  if (status == 204) {
    PUT(to, "\r\nAllow: GET, HEAD, OPTIONS");
  } else if (status == 304) {
    put_validators(to, resource);
  } else if (status == 200 || status == 206) {
    put_resource(to, response, resource);
  } else {
    put_own(to, response, r, terms, resource);
    is_own = r->method != METHOD_HEAD;
  }
  if (terms->hsts_s != 0) {
    PUT(to, "\r\nStrict-Transport-Security: max-age=");
    put_number(to, terms->hsts_s);
  }
  if (response->closes) {
    PUT(to, "\r\nConnection: close");
  } else if (r->is_1_0) {
    PUT(to, "\r\nConnection: keep-alive");
  }
  PUT(to, "\r\n\r\n");
  if (is_own) {
    put_string(to, response_reason(status));
    PUT(to, "\n");
  }
}

/* guard.c: whether a request may be answered. */
#include "admin/guard.h"

#include <arpa/inet.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>

/* ---- Host ---- */

/* The host without its port. */
static struct text guard_without_port(struct text host) {
  if (host.size > 0 && host.at[0] == '[') {
    const char *close = memchr(host.at, ']', host.size);
    return (struct text){host.at, close != NULL ? (size_t)(close - host.at) + 1 : 0};
  }
  const char *colon = memchr(host.at, ':', host.size);
  return (struct text){host.at, colon != NULL ? (size_t)(colon - host.at) : host.size};
}

static bool guard_is_address(struct text host) {
  char text[INET6_ADDRSTRLEN + 1];
  unsigned char bytes[16];
  int family = AF_INET;
  if (host.size > 0 && host.at[0] == '[') {
    host = (struct text){host.at + 1, host.size - 2};
    family = AF_INET6;
  }
  if (host.size >= sizeof text) return false;
  memcpy(text, host.at, host.size);
  text[host.size] = '\0';
  return inet_pton(family, text, bytes) == 1;
}

int guard_host(const struct request *r, const char *own_name) {
  struct text host;
  if (!request_field(r, FIELD_HOST, &host)) return 400;
  host = guard_without_port(host);
  if (host.size > 0 && guard_is_address(host)) return 0;
  if (text_is(host, TEXT("localhost"))) return 0;
  if (own_name != NULL && text_is(host, (struct text){own_name, strlen(own_name)})) return 0;
  return 403;
}

/* ---- changes ---- */

/* A request of a program has no Origin. One of a page has, and it must be the page that we serve:
 * "http://" and what the field Host says. */
static bool guard_is_own_origin(const struct request *r) {
  struct text origin, host;
  if (r->lines[FIELD_ORIGIN] == 0) return true;
  if (!request_field(r, FIELD_ORIGIN, &origin) || !request_field(r, FIELD_HOST, &host)) {
    return false;
  }
  const struct text scheme = TEXT("http://");
  if (origin.size < scheme.size || !text_is((struct text){origin.at, scheme.size}, scheme)) {
    return false;
  }
  return text_is((struct text){origin.at + scheme.size, origin.size - scheme.size}, host);
}

/* Digests are compared, so that the time says nothing of the token, nor of its length. */
static bool guard_is_token(struct text given, const char *token) {
  unsigned char one[SHA256_DIGEST_LENGTH], other[SHA256_DIGEST_LENGTH];
  SHA256((const unsigned char *)given.at, given.size, one);
  SHA256((const unsigned char *)token, strlen(token), other);
  return CRYPTO_memcmp(one, other, sizeof one) == 0;
}

int guard_change(const struct request *r, const char *token) {
  static const char scheme[] = "Bearer ";
  struct text given;
  if (!guard_is_own_origin(r)) return 403;
  if (token == NULL || token[0] == '\0') return 403;
  if (!request_field(r, FIELD_AUTHORIZATION, &given)) return 401;
  if (given.size < sizeof scheme - 1 ||
      !text_is((struct text){given.at, sizeof scheme - 1}, TEXT("Bearer "))) {
    return 401;
  }
  given = text_trim((struct text){given.at + sizeof scheme - 1, given.size - sizeof scheme + 1});
  return guard_is_token(given, token) ? 0 : 401;
}

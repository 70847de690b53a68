/* page.c: what a browser may do for the page. */
#define _GNU_SOURCE
#include "admin/page.h"

#include <openssl/evp.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <string.h>

enum { DIGEST_TEXT = 4 * ((SHA256_DIGEST_LENGTH + 2) / 3) + 1 };

/* The digest of what is between two tags, as the policy names it. */
static void page_digest(char to[DIGEST_TEXT], const char *page, size_t size, const char *opening,
                        const char *closing) {
  unsigned char bytes[SHA256_DIGEST_LENGTH];
  const char *from = memmem(page, size, opening, strlen(opening));
  const char *until = NULL;
  to[0] = '\0';
  if (from == NULL) return;
  from += strlen(opening);
  until = memmem(from, (size_t)(page + size - from), closing, strlen(closing));
  if (until == NULL) return;
  SHA256((const unsigned char *)from, (size_t)(until - from), bytes);
  EVP_EncodeBlock((unsigned char *)to, bytes, sizeof bytes);
}

void page_policy_write(char *to, size_t room, const char *page, size_t size) {
  char script[DIGEST_TEXT], style[DIGEST_TEXT];
  page_digest(script, page, size, "<script>", "</script>");
  page_digest(style, page, size, "<style>", "</style>");
  snprintf(to, room,
           "default-src 'none'; script-src 'sha256-%s'; style-src 'sha256-%s'; connect-src 'self'; "
           "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
           script, style);
}

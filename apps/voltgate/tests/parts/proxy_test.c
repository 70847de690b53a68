/* proxy_test.c: PROXY headers, each split at every place. */
#include "wire/proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include <cmocka.h>

#define SIGNATURE "\r\n\r\n\0\r\nQUIT\n"

struct bytes {
  unsigned char at[PROXY_V2_MAX + 64];
  size_t size;
};

/* A header of version 2 with that body. */
static struct bytes version_2(unsigned command, unsigned family, const void *body, size_t size) {
  struct bytes b = {.size = 16 + size};
  memcpy(b.at, SIGNATURE, 12);
  b.at[12] = (unsigned char)command;
  b.at[13] = (unsigned char)family;
  b.at[14] = (unsigned char)(size >> 8);
  b.at[15] = (unsigned char)size;
  memcpy(b.at + 16, body, size);
  return b;
}

/* Reads the bytes in two pieces, and what follows with the second. */
static enum proxy_result read_split(struct proxy *p, const struct bytes *b, size_t split) {
  unsigned char all[sizeof b->at + 4];
  size_t used, more;
  *p = (struct proxy){0};
  memcpy(all, b->at, b->size);
  memcpy(all + b->size, "data", 4);
  enum proxy_result result = proxy_read(p, all, split, &used);
  if (result == PROXY_NEEDS_MORE) {
    assert_int_equal(used, split);
    result = proxy_read(p, all + split, b->size + 4 - split, &more);
    used += more;
  }
  if (result == PROXY_DONE) {
    assert_int_equal(used, b->size);
    assert_int_equal(p->size, b->size);
  }
  return result;
}

/* Reads it split at every place: always the same. */
static struct proxy read_all(const struct bytes *b, enum proxy_result expected) {
  struct proxy first, p;
  assert_int_equal(read_split(&first, b, 0), expected);
  for (size_t split = 1; split <= b->size; split++) {
    assert_int_equal(read_split(&p, b, split), expected);
    assert_int_equal(p.is_local, first.is_local);
    assert_memory_equal(&p.client, &first.client, sizeof p.client);
    assert_memory_equal(&p.server, &first.server, sizeof p.server);
    assert_ptr_equal(p.why, first.why);
  }
  return first;
}

static struct bytes text(const char *line) {
  struct bytes b = {.size = strlen(line)};
  memcpy(b.at, line, b.size);
  return b;
}

static void assert_inet(const struct sockaddr_storage *at, const char *address, unsigned port) {
  char written[INET6_ADDRSTRLEN];
  const struct sockaddr_in *in = (const void *)at;
  const struct sockaddr_in6 *in6 = (const void *)at;
  bool is_4 = at->ss_family == AF_INET;
  const void *from = is_4 ? (const void *)&in->sin_addr : (const void *)&in6->sin6_addr;
  assert_non_null(inet_ntop(at->ss_family, from, written, sizeof written));
  assert_string_equal(written, address);
  assert_int_equal(ntohs(is_4 ? in->sin_port : in6->sin6_port), port);
}

static void lines(void **state) {
  (void)state;
  struct bytes b = text("PROXY TCP4 192.0.2.1 198.51.100.2 56324 443\r\n");
  struct proxy p = read_all(&b, PROXY_DONE);
  assert_inet(&p.client, "192.0.2.1", 56324);
  assert_inet(&p.server, "198.51.100.2", 443);
  b = text("PROXY TCP6 2001:db8::1 ::1 0 65535\r\n");
  p = read_all(&b, PROXY_DONE);
  assert_inet(&p.client, "2001:db8::1", 0);
  assert_inet(&p.server, "::1", 65535);
  b = text("PROXY UNKNOWN\r\n");
  assert_true(read_all(&b, PROXY_DONE).is_local);
  b = text(
      "PROXY UNKNOWN ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff "
      "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535\r\n");
  assert_int_equal(b.size, PROXY_V1_MAX);
  assert_true(read_all(&b, PROXY_DONE).is_local);
}

static void wrong_lines(void **state) {
  (void)state;
  static const char *const wrong[] = {"GET / HTTP/1.1\r\n",
                                      "PROXX TCP4 1.2.3.4 1.2.3.4 1 2\r\n",
                                      "PROXY  TCP4 1.2.3.4 1.2.3.4 1 2\r\n",
                                      "PROXY TCP4 1.2.3.4  1.2.3.4 1 2\r\n",
                                      "PROXY TCP4 1.2.3.4 1.2.3.4 1 2\n",
                                      "PROXY TCP4 1.2.3.4 1.2.3.4 1 2 \r\n",
                                      "PROXY TCP4 1.2.3.4 1.2.3.4 01 2\r\n",
                                      "PROXY TCP4 1.2.3.4 1.2.3.4 1 65536\r\n",
                                      "PROXY TCP4 1.2.3.04 1.2.3.4 1 2\r\n",
                                      "PROXY TCP4 ::1 ::1 1 2\r\n",
                                      "PROXY TCP6 1.2.3.4 ::1 1 2\r\n",
                                      "PROXY TCP4 1.2.3.4 1.2.3.4 1\r\n",
                                      "PROXY TCP4 1.2.3.4 1.2.3.4 -1 2\r\n",
                                      "PROXY TCP4 1.2.3.4 1.2.3.4 +1 2\r\n",
                                      "PROXY UNKNOWNS\r\n",
                                      "PROXY UDP4 1.2.3.4 1.2.3.4 1 2\r\n",
                                      "PROXY TCP4 1.2.3.4\r 1.2.3.4 1 2\r\n",
                                      "PROXY \r\n",
                                      "\r\n\r\nQUIT"};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    struct bytes b = text(wrong[i]);
    assert_non_null(read_all(&b, PROXY_MALFORMED).why);
  }
  struct bytes b = text("PROXY UNKNOWN ");
  memset(b.at + b.size, 'x', PROXY_V1_MAX);
  b.size = PROXY_V1_MAX;
  assert_non_null(read_all(&b, PROXY_MALFORMED).why);
}

static void headers(void **state) {
  (void)state;
  static const unsigned char inet[12] = {192, 0, 2, 1, 198, 51, 100, 2, 0xdc, 4, 1, 0xbb};
  unsigned char body[PROXY_V2_MAX] = {0};
  struct bytes b = version_2(0x21, 0x11, inet, sizeof inet);
  struct proxy p = read_all(&b, PROXY_DONE);
  assert_false(p.is_local);
  assert_inet(&p.client, "192.0.2.1", 56324);
  assert_inet(&p.server, "198.51.100.2", 443);
  body[15] = 1, body[31] = 2, body[33] = 7, body[35] = 8;
  b = version_2(0x21, 0x21, body, 36);
  p = read_all(&b, PROXY_DONE);
  assert_inet(&p.client, "::1", 7);
  assert_inet(&p.server, "::2", 8);
  memset(body, 0, sizeof body);
  strcpy((char *)body, "/run/client");
  strcpy((char *)body + 109, "abstract");
  b = version_2(0x21, 0x31, body, 216);
  p = read_all(&b, PROXY_DONE);
  assert_string_equal(((struct sockaddr_un *)&p.client)->sun_path, "/run/client");
  assert_int_equal(p.client_size, offsetof(struct sockaddr_un, sun_path) + 12);
  assert_memory_equal(((struct sockaddr_un *)&p.server)->sun_path, "\0abstract", 9);
  assert_int_equal(p.server_size, offsetof(struct sockaddr_un, sun_path) + 9);
}

static void headers_that_say_nothing(void **state) {
  (void)state;
  static const unsigned char noise[40] = {1, 2, 3, 255, 255};
  struct bytes b = version_2(0x20, 0, "", 0);
  assert_true(read_all(&b, PROXY_DONE).is_local);
  b = version_2(0x20, 0xff, noise, 5); /* LOCAL: the family is ignored */
  assert_true(read_all(&b, PROXY_DONE).is_local);
  b = version_2(0x21, 0, noise, sizeof noise);
  assert_true(read_all(&b, PROXY_DONE).is_local);
}

static void values_behind_addresses(void **state) {
  (void)state;
  unsigned char body[PROXY_V2_MAX] = {127, 0, 0, 1, 127, 0, 0, 1, 0, 1, 0, 2};
  memcpy(body + 12, "\4\0\0\1\0\3abc\5\0\1x", 13);
  struct bytes b = version_2(0x21, 0x11, body, 25);
  read_all(&b, PROXY_DONE);
  b = version_2(0x21, 0x11, body, 24); /* the last one is cut */
  read_all(&b, PROXY_MALFORMED);
  b = version_2(0x21, 0x11, body, 14); /* a head is cut */
  read_all(&b, PROXY_MALFORMED);
  memcpy(body + 12, "\4\xff\xff", 3);
  b = version_2(0x21, 0x11, body, 100);
  read_all(&b, PROXY_MALFORMED);
  memcpy(body + 12, "\4\x0f\xf1", 3); /* up to the bound */
  b = version_2(0x21, 0x11, body, 4096);
  read_all(&b, PROXY_DONE);
  b = version_2(0x21, 0x11, body, 4097);
  read_all(&b, PROXY_MALFORMED);
}

/* The checksum of a header, by another way than the reader's: by a table. */
static uint32_t crc32c(const unsigned char *at, size_t size) {
  uint32_t table[256], crc = UINT32_MAX;
  for (uint32_t i = 0; i < 256; i++) {
    table[i] = i;
    for (int k = 0; k < 8; k++)
      table[i] = (table[i] & 1) != 0 ? table[i] >> 1 ^ UINT32_C(0x82f63b78) : table[i] >> 1;
  }
  while (size-- > 0) crc = table[(crc ^ *at++) & 255] ^ crc >> 8;
  return ~crc;
}

static void checksums(void **state) {
  (void)state;
  unsigned char body[22] = {127, 0, 0, 1, 127, 0, 0, 1, 0, 1, 0, 2, 3, 0, 4, 0, 0, 0, 0, 4, 0, 0};
  struct bytes b = version_2(0x21, 0x11, body, sizeof body);
  assert_int_equal(crc32c((const unsigned char *)"123456789", 9), UINT32_C(0xe3069283));
  uint32_t crc = crc32c(b.at, b.size);
  for (int i = 0; i < 4; i++) b.at[16 + 15 + i] = (unsigned char)(crc >> (24 - 8 * i));
  read_all(&b, PROXY_DONE);
  b.at[16] ^= 1;
  assert_non_null(read_all(&b, PROXY_MALFORMED).why);
}

static void wrong_headers(void **state) {
  (void)state;
  static const unsigned char body[40] = {0};
  static const unsigned char heads[][3] = {{0x11, 0x11, 12}, {0x22, 0x11, 12}, {0x21, 0x41, 12},
                                           {0x21, 0x13, 12}, {0x21, 0x11, 11}, {0x21, 0x21, 35},
                                           {0x21, 0x31, 40}};
  for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
    struct bytes b = version_2(heads[i][0], heads[i][1], body, heads[i][2]);
    assert_non_null(read_all(&b, PROXY_MALFORMED).why);
  }
}

/* What is written is read again. */
static void write_and_read(void **state) {
  (void)state;
  struct sockaddr_in in[2] = {
      {.sin_family = AF_INET, .sin_port = htons(1), .sin_addr = {htonl(1)}},
      {.sin_family = AF_INET, .sin_port = htons(2), .sin_addr = {htonl(2)}}};
  struct sockaddr_in6 in6[2] = {
      {.sin6_family = AF_INET6, .sin6_port = htons(3), .sin6_addr = {{{1, 2, 3}}}},
      {.sin6_family = AF_INET6, .sin6_port = htons(4), .sin6_addr = {{{4, 5, 6}}}}};
  struct sockaddr_un un[2] = {{.sun_family = AF_UNIX, .sun_path = "/a"},
                              {.sun_family = AF_UNIX, .sun_path = "\0b"}};
  struct sockaddr *pairs[3][2] = {{(void *)&in[0], (void *)&in[1]},
                                  {(void *)&in6[0], (void *)&in6[1]},
                                  {(void *)&un[0], (void *)&un[1]}};
  static const size_t sizes[3] = {sizeof in[0], sizeof in6[0], sizeof un[0]};
  struct bytes b;
  for (int i = 0; i < 3; i++) {
    b.size = proxy_write(pairs[i][0], pairs[i][1], b.at, sizeof b.at);
    struct proxy p = read_all(&b, PROXY_DONE);
    assert_memory_equal(&p.client, pairs[i][0], sizes[i]);
    assert_memory_equal(&p.server, pairs[i][1], sizes[i]);
  }
  b.size = proxy_write(NULL, pairs[0][1], b.at, sizeof b.at);
  assert_true(read_all(&b, PROXY_DONE).is_local);
  b.size = proxy_write(pairs[0][0], pairs[1][1], b.at, sizeof b.at);
  assert_true(read_all(&b, PROXY_DONE).is_local);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lines),         cmocka_unit_test(wrong_lines),
      cmocka_unit_test(headers),       cmocka_unit_test(headers_that_say_nothing),
      cmocka_unit_test(checksums),     cmocka_unit_test(values_behind_addresses),
      cmocka_unit_test(wrong_headers), cmocka_unit_test(write_and_read),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

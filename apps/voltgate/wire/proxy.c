/* proxy.c: the PROXY protocol, as haproxy's doc/proxy-protocol.txt says it.
 *
 * The first 16 bytes and the addresses are kept; of version 1 the whole line. Bytes of TLVs are
 * looked at as they pass: three of head, then as many as they say. The checksum is over all bytes,
 * with its own four as 0.
 *
 * Version 1 is read up to its LF and no further, byte by byte: its length is not known before. */
#include "wire/proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

enum { HEAD = 16, TLV_HEAD = 3, TLV_CRC32C = 3, CRC_SIZE = 4 };
enum { COMMAND_LOCAL = 0, COMMAND_PROXY = 1 };

static const unsigned char signature[12] = {0x0d, 0x0a, 0x0d, 0x0a, 0x00, 0x0d,
                                            0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a};

static enum proxy_result proxy_wrong(struct proxy *p, const char *why) {
  p->why = why;
  return PROXY_MALFORMED;
}

static uint16_t proxy_two(const unsigned char *at) {
  return (uint16_t)(at[0] << 8 | at[1]);
}

/* ---- addresses ---- */

static socklen_t proxy_set_inet(struct sockaddr_storage *to, int family,
                                const unsigned char *address, uint16_t port) {
  struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};
  struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
  if (family == AF_INET) {
    memcpy(&in.sin_addr, address, sizeof in.sin_addr);
    memcpy(to, &in, sizeof in);
    return sizeof in;
  }
  memcpy(&in6.sin6_addr, address, sizeof in6.sin6_addr);
  memcpy(to, &in6, sizeof in6);
  return sizeof in6;
}

/* A path of 108 bytes; one that begins with 0 is abstract: its zeros at the end are not of it. */
static socklen_t proxy_set_unix(struct sockaddr_storage *to, const unsigned char *path) {
  struct sockaddr_un un = {.sun_family = AF_UNIX};
  size_t size = sizeof un.sun_path;
  memcpy(un.sun_path, path, size);
  while (size > 0 && path[size - 1] == 0) size--;
  if (size > 0 && path[0] != 0 && size < sizeof un.sun_path) size++; /* a path's 0 is of it */
  memcpy(to, &un, sizeof un);
  return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size);
}

/* ---- version 1 ---- */

/* The next word, ended by the one byte end. Returns NULL if there is none. */
static char *proxy_take_word(char **at, char end) {
  char *word = *at;
  char *behind = strchr(word, end);
  if (behind == NULL || behind == word) return NULL;
  *behind = 0;
  *at = behind + 1;
  return word;
}

/* A port as the protocol writes it: no sign, no leading 0. Returns -1 for what is none. */
static int32_t proxy_read_port(const char *word) {
  int32_t port = 0;
  size_t size = strlen(word);
  if (size == 0 || size > 5 || (word[0] == '0' && size > 1)) return -1;
  for (size_t i = 0; i < size; i++) {
    if (word[i] < '0' || word[i] > '9') return -1;
    port = port * 10 + (word[i] - '0');
  }
  return port <= 65535 ? port : -1;
}

static enum proxy_result proxy_read_line(struct proxy *p, char *line) {
  unsigned char from[16], to[16];
  char *at = line;
  int family = AF_UNSPEC;
  if (strncmp(at, "UNKNOWN\r", 8) == 0 || strncmp(at, "UNKNOWN ", 8) == 0) {
    p->is_local = true;
    return PROXY_DONE;
  }
  if (strncmp(at, "TCP4 ", 5) == 0) family = AF_INET;
  if (strncmp(at, "TCP6 ", 5) == 0) family = AF_INET6;
  if (family == AF_UNSPEC) return proxy_wrong(p, "PROXY header: neither TCP4, TCP6 nor UNKNOWN");
  at += 5;
  const char *client = proxy_take_word(&at, ' '),
             *server = client ? proxy_take_word(&at, ' ') : NULL;
  if (server == NULL || inet_pton(family, client, from) != 1 || inet_pton(family, server, to) != 1)
    return proxy_wrong(p, "PROXY header: an address is none");
  const char *client_port = proxy_take_word(&at, ' ');
  const char *server_port = client_port ? proxy_take_word(&at, '\r') : NULL;
  if (server_port == NULL || proxy_read_port(client_port) < 0 || proxy_read_port(server_port) < 0)
    return proxy_wrong(p, "PROXY header: a port is none");
  p->client_size = proxy_set_inet(&p->client, family, from, (uint16_t)proxy_read_port(client_port));
  p->server_size = proxy_set_inet(&p->server, family, to, (uint16_t)proxy_read_port(server_port));
  return PROXY_DONE;
}

/* The line is whole: "PROXY " ... "\r\n". */
static enum proxy_result proxy_read_version_1(struct proxy *p) {
  char line[PROXY_V1_MAX + 1];
  memcpy(line, p->kept, p->size);
  line[p->size - 1] = 0; /* the LF */
  if (p->kept[p->size - 2] != '\r') return proxy_wrong(p, "PROXY header: a line end without CR");
  if (strlen(line) != p->size - 1) return proxy_wrong(p, "PROXY header: a zero byte");
  if (strchr(line, '\r') != line + p->size - 2) return proxy_wrong(p, "PROXY header: a CR inside");
  return proxy_read_line(p, line + 6);
}

static enum proxy_result proxy_feed_version_1(struct proxy *p, unsigned char byte) {
  p->kept[p->size++] = byte;
  if (byte == '\n') return proxy_read_version_1(p);
  if (p->size == PROXY_V1_MAX) return proxy_wrong(p, "PROXY header: longer than 107 bytes");
  return PROXY_NEEDS_MORE;
}

/* ---- version 2 ---- */

/* The checksum by Castagnoli's polynomial, bit by bit: a header has few bytes. */
static void proxy_sum(struct proxy *p, unsigned char byte) {
  p->crc ^= byte;
  for (int i = 0; i < 8; i++) p->crc = p->crc >> 1 ^ (p->crc & 1 ? UINT32_C(0x82f63b78) : 0);
}

/* LOCAL, and a family or transport that the sender does not know, say nothing: their body is passed
 * over as it is. */
static enum proxy_result proxy_read_head(struct proxy *p) {
  static const uint8_t sizes[4] = {0, 12, 36, PROXY_V2_ADDRESSES_MAX};
  unsigned command = p->kept[12] & 15, family = p->kept[13] >> 4, transport = p->kept[13] & 15;
  p->body = proxy_two(p->kept + 14);
  if (p->kept[12] >> 4 != 2)
    return proxy_wrong(p, "PROXY header: a version that is neither 1 nor 2");
  if (command > COMMAND_PROXY) return proxy_wrong(p, "PROXY header: an unknown command");
  if (HEAD + p->body > PROXY_V2_MAX) return proxy_wrong(p, "PROXY header: longer than 4112 bytes");
  p->is_local = command == COMMAND_LOCAL;
  if (p->is_local) return PROXY_NEEDS_MORE;
  if (family > 3 || transport > 2) return proxy_wrong(p, "PROXY header: an unknown family");
  p->is_local = family == 0 || transport == 0;
  if (p->is_local) return PROXY_NEEDS_MORE;
  p->addresses = sizes[family];
  if (p->body < p->addresses) return proxy_wrong(p, "PROXY header: too short for its addresses");
  p->crc = UINT32_MAX;
  for (size_t i = 0; i < HEAD; i++) proxy_sum(p, p->kept[i]);
  return PROXY_NEEDS_MORE;
}

static enum proxy_result proxy_read_tlv_head(struct proxy *p) {
  p->tlv_head = 0;
  if (p->size + p->tlv_left > HEAD + p->body)
    return proxy_wrong(p, "PROXY header: a TLV is too long");
  if (p->tlv_type != TLV_CRC32C) return PROXY_NEEDS_MORE;
  if (p->has_crc || p->tlv_left != CRC_SIZE)
    return proxy_wrong(p, "PROXY header: a checksum is none");
  p->has_crc = true;
  return PROXY_NEEDS_MORE;
}

/* A byte behind the addresses. */
static enum proxy_result proxy_feed_tlv(struct proxy *p, unsigned char byte) {
  if (p->tlv_head == 0 && p->tlv_left > 0) { /* of a value */
    bool is_crc = p->tlv_type == TLV_CRC32C;
    p->tlv_left--;
    if (is_crc) p->told_crc = p->told_crc << 8 | byte;
    proxy_sum(p, is_crc ? 0 : byte);
    return PROXY_NEEDS_MORE;
  }
  proxy_sum(p, byte);
  switch (p->tlv_head++) {
    case 0: p->tlv_type = byte; return PROXY_NEEDS_MORE;
    case 1: p->tlv_left = (uint32_t)byte << 8; return PROXY_NEEDS_MORE;
    default: p->tlv_left |= byte; return proxy_read_tlv_head(p);
  }
}

static void proxy_read_addresses(struct proxy *p) {
  const unsigned char *at = p->kept + HEAD;
  unsigned size = p->addresses == 12 ? 4 : 16;
  if (p->addresses == PROXY_V2_ADDRESSES_MAX) {
    p->client_size = proxy_set_unix(&p->client, at);
    p->server_size = proxy_set_unix(&p->server, at + PROXY_V2_ADDRESSES_MAX / 2);
    return;
  }
  int family = size == 4 ? AF_INET : AF_INET6;
  const unsigned char *ports = at + 2 * size;
  p->client_size = proxy_set_inet(&p->client, family, at, proxy_two(ports));
  p->server_size = proxy_set_inet(&p->server, family, at + size, proxy_two(ports + 2));
}

/* All has come. */
static enum proxy_result proxy_read_version_2(struct proxy *p) {
  if (p->is_local) return PROXY_DONE;
  if (p->tlv_head > 0 || p->tlv_left > 0) return proxy_wrong(p, "PROXY header: a TLV is cut");
  if (p->has_crc && p->told_crc != ~p->crc)
    return proxy_wrong(p, "PROXY header: the checksum is wrong");
  proxy_read_addresses(p);
  return PROXY_DONE;
}

static enum proxy_result proxy_feed_version_2(struct proxy *p, unsigned char byte) {
  enum proxy_result result = PROXY_NEEDS_MORE;
  size_t at = p->size++;
  if (at < HEAD) {
    p->kept[at] = byte;
    if (p->size == HEAD) result = proxy_read_head(p);
  } else if (p->is_local) {
    /* passed over */
  } else if (at < HEAD + (size_t)p->addresses) {
    p->kept[at] = byte;
    proxy_sum(p, byte);
  } else {
    result = proxy_feed_tlv(p, byte);
  }
  if (result != PROXY_NEEDS_MORE) return result;
  return p->size >= HEAD && p->size == HEAD + p->body ? proxy_read_version_2(p) : PROXY_NEEDS_MORE;
}

/* ---- both ---- */

/* The first byte says which version may be meant; every further one of the beginning has to fit. */
static enum proxy_result proxy_feed(struct proxy *p, unsigned char byte) {
  static const char version_1[6] = "PROXY ";
  if (p->size == 0) p->is_version_1 = byte == 'P';
  if (p->is_version_1) {
    if (p->size < sizeof version_1 && byte != (unsigned char)version_1[p->size])
      return proxy_wrong(p, "no PROXY header");
    return proxy_feed_version_1(p, byte);
  }
  if (p->size < sizeof signature && byte != signature[p->size])
    return proxy_wrong(p, "no PROXY header");
  return proxy_feed_version_2(p, byte);
}

enum proxy_result proxy_read(struct proxy *p, const void *at, size_t size, size_t *used) {
  const unsigned char *bytes = at;
  enum proxy_result result = PROXY_NEEDS_MORE;
  for (*used = 0; *used < size && result == PROXY_NEEDS_MORE;)
    result = proxy_feed(p, bytes[(*used)++]);
  return result;
}

/* ---- write ---- */

static size_t proxy_put_unix(unsigned char *to, const struct sockaddr *from) {
  const struct sockaddr_un *un = (const void *)from;
  memcpy(to, un->sun_path, sizeof un->sun_path);
  return sizeof un->sun_path;
}

/* Writes the addresses and their ports. Returns their size, 0: of no family that is known. */
static size_t proxy_put_addresses(unsigned char *to, const struct sockaddr *client,
                                  const struct sockaddr *server) {
  const struct sockaddr_in *in[2] = {(const void *)client, (const void *)server};
  const struct sockaddr_in6 *in6[2] = {(const void *)client, (const void *)server};
  switch (client->sa_family) {
    case AF_INET:
      for (int i = 0; i < 2; i++) {
        memcpy(to + 4 * i, &in[i]->sin_addr, 4);
        memcpy(to + 8 + 2 * i, &in[i]->sin_port, 2);
      }
      return 12;
    case AF_INET6:
      for (int i = 0; i < 2; i++) {
        memcpy(to + 16 * i, &in6[i]->sin6_addr, 16);
        memcpy(to + 32 + 2 * i, &in6[i]->sin6_port, 2);
      }
      return 36;
    case AF_UNIX: {
      size_t size = proxy_put_unix(to, client);
      return size + proxy_put_unix(to + size, server);
    }
    default: return 0;
  }
}

size_t proxy_write(const struct sockaddr *client, const struct sockaddr *server, void *to,
                   size_t room) {
  unsigned char *at = to;
  size_t size = 0;
  if (room < PROXY_OUT_MAX) return 0;
  memcpy(at, signature, sizeof signature);
  if (client != NULL && server != NULL && client->sa_family == server->sa_family)
    size = proxy_put_addresses(at + HEAD, client, server);
  at[12] = size > 0 ? 0x20 | COMMAND_PROXY : 0x20 | COMMAND_LOCAL;
  at[13] = size == 12 ? 0x11 : size == 36 ? 0x21 : size > 0 ? 0x31 : 0;
  at[14] = 0;
  at[15] = (unsigned char)size;
  return HEAD + size;
}

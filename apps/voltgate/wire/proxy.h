/* proxy.h: the header of the PROXY protocol, versions 1 and 2: the client of a connection.
 *
 * It is read as its bytes come; nothing behind it is touched. An address is kept, TLVs are checked
 * for their structure and passed over; a checksum (PP2_TYPE_CRC32C) is checked. */
#ifndef VOLTGATE_WIRE_PROXY_H
#define VOLTGATE_WIRE_PROXY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

enum {
  PROXY_V1_MAX = 107,           /* bytes, with CR and LF */
  PROXY_V2_MAX = 16 + 4096,     /* with addresses and TLVs; the protocol asks for 536 at least */
  PROXY_V2_ADDRESSES_MAX = 216, /* two paths of unix sockets */
  PROXY_OUT_MAX = 16 + PROXY_V2_ADDRESSES_MAX
};

enum proxy_result {
  PROXY_NEEDS_MORE, /* bytes */
  PROXY_DONE,
  PROXY_MALFORMED /* p->why says it */
};

/* A header that is read. All-zero at first; it needs no end. */
struct proxy {
  size_t size;                    /* bytes of the header so far; PROXY_DONE: of all of it */
  bool is_local;                  /* PROXY_DONE: it has no address: the peer's own counts */
  struct sockaddr_storage client; /* PROXY_DONE, not is_local */
  socklen_t client_size;
  struct sockaddr_storage server; /* where the client connected to */
  socklen_t server_size;
  const char *why; /* PROXY_MALFORMED: words that live for ever */

  /* private */
  uint32_t body, crc, told_crc; /* of version 2: bytes behind the first 16; the checksum */
  uint32_t tlv_left;            /* bytes of the TLV's value that have not come */
  uint16_t addresses;           /* bytes of addresses */
  uint8_t tlv_type, tlv_head;
  bool has_crc, is_version_1;
  unsigned char kept[16 + PROXY_V2_ADDRESSES_MAX];
};

/* Read bytes of a header.
 * at: the next bytes that have come. used: how many of them are the header's: all, but for
 * PROXY_DONE, where the client's own bytes follow. */
enum proxy_result proxy_read(struct proxy *p, const void *at, size_t size, size_t *used);

/* Write a header of version 2 that says: from client, to server. The path of a unix address has to
 * be filled up with zeros. Addresses of other families, or of two different ones, or a NULL client,
 * become LOCAL, which says nothing.
 * room: at least PROXY_OUT_MAX. Returns the bytes. */
size_t proxy_write(const struct sockaddr *client, const struct sockaddr *server, void *to,
                   size_t room);

#endif

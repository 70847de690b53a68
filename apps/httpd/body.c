/* body.c: the body of a request, which is thrown away. */
#include "body.h"

#define FRAMING_MAX 8192 /* bytes of extensions and zeros before sizes; trailers have a head's */
#define FRAMING_OF_CHUNK 8

enum {
  SIZE_FIRST,    /* the first digit of a size */
  SIZE,          /* more digits, or what follows them */
  SPACE,         /* behind the size: an extension must follow */
  EXTENSION,     /* anything up to the end of the line */
  SIZE_LF,       /* the end of the line of a size */
  DATA,          /* left bytes */
  DATA_CR,       /* behind the data */
  DATA_LF,       /* the same */
  LINE_FIRST,    /* the first byte of a line of a trailer, or the end */
  TRAILER_NAME,  /* a trailer's name, up to its colon */
  TRAILER_VALUE, /* and its value */
  TRAILER_LF,    /* the end of its line */
  LAST_LF        /* the end of all */
};

void body_begin(struct body *body, const struct request *r, const struct limits *limits) {
  *body = (struct body){.left = r->body_bytes,
                        .budget = limits->body_bytes,
                        .extra = FRAMING_MAX + limits->head_bytes,
                        .state = r->is_chunked ? SIZE_FIRST : DATA,
                        .is_chunked = r->is_chunked};
}

#define WRONG (-1)

static int after_size(char byte) {
  if (byte == '\r') return SIZE_LF;
  if (byte == ';') return EXTENSION;
  return byte == ' ' || byte == '\t' ? SPACE : WRONG;
}

/* left is at most budget, so that no size is too large for it. */
static int add_digit(struct body *body, char byte) {
  int digit = byte_hex(byte);
  if (digit < 0) return body->state == SIZE ? after_size(byte) : WRONG;
  if (body->left > UINT64_MAX / 16) body->left = UINT64_MAX / 16; /* it stays too large */
  body->left = body->left * 16 + (unsigned)digit;
  return SIZE;
}

/* The state behind one byte of framing, or WRONG. */
static int step(struct body *body, char byte) {
  switch (body->state) {
    case SIZE_FIRST:
    case SIZE: return add_digit(body, byte);
    case SPACE: return byte == '\r' ? WRONG : after_size(byte);
    case EXTENSION: return byte == '\r' ? SIZE_LF : byte_is_of_value(byte) ? EXTENSION : WRONG;
    case SIZE_LF: return byte != '\n' ? WRONG : body->left > 0 ? DATA : LINE_FIRST;
    case DATA_CR: return byte == '\r' ? DATA_LF : WRONG;
    case DATA_LF: return byte == '\n' ? SIZE_FIRST : WRONG;
    case LINE_FIRST:
      return byte == '\r' ? LAST_LF : byte_in(&byte_token, byte) ? TRAILER_NAME : WRONG;
    case TRAILER_NAME:
      return byte == ':' ? TRAILER_VALUE : byte_in(&byte_token, byte) ? TRAILER_NAME : WRONG;
    case TRAILER_VALUE:
      return byte == '\r' ? TRAILER_LF : byte_is_of_value(byte) ? TRAILER_VALUE : WRONG;
    case TRAILER_LF: return byte == '\n' ? LINE_FIRST : WRONG;
    default: return WRONG; /* LAST_LF is its caller's */
  }
}

static size_t skip_data(struct body *body, size_t count) {
  size_t skipped = body->left < count ? (size_t)body->left : count;
  body->left -= skipped;
  return skipped;
}

enum body_result body_read(struct body *body, const char *bytes, size_t count, size_t *used) {
  size_t at = 0;
  enum body_result result = BODY_PART;
  while (result == BODY_PART) {
    if (body->state == DATA) {
      at += skip_data(body, count - at);
      if (body->left > 0) break;
      if (!body->is_chunked) result = BODY_WHOLE;
      body->state = DATA_CR;
      continue;
    }
    if (at == count) break;
    if (body->extra-- == 0) return *used = at, BODY_LARGE;
    char byte = bytes[at++];
    if (body->state == LAST_LF) {
      result = byte == '\n' ? BODY_WHOLE : BODY_WRONG;
      continue;
    }
    int before = body->state;
    body->state = step(body, byte);
    if (body->state == WRONG) result = BODY_WRONG;
    if (before == SIZE_LF && body->state == DATA) {
      if (body->left > body->budget) result = BODY_LARGE;
      body->budget -= body->left; /* not used again if it was too large */
      body->extra += FRAMING_OF_CHUNK;
    }
  }
  *used = at;
  return result;
}

/* message.c: the format of what two processes say to each other. */
#include "handover/message.h"

#include <string.h>

static uint32_t handover_message_number(const unsigned char *from, unsigned bytes) {
  uint32_t number = 0;
  for (unsigned i = 0; i < bytes; i++) number = number << 8 | from[i];
  return number;
}

static void handover_message_put(unsigned char *to, uint32_t number, unsigned bytes) {
  for (unsigned i = bytes; i-- > 0; number >>= 8) to[i] = (unsigned char)number;
}

/* What can be said of it by its head. */
static int handover_message_is_wrong(const struct message *m) {
  if (m->kind < MESSAGE_HELLO || m->kind >= MESSAGE_KINDS) return 1;
  return m->kind == MESSAGE_LISTENER && m->number >= MESSAGE_LISTENERS;
}

static int handover_message_copy(char *to, const unsigned char *from, size_t size) {
  memcpy(to, from, size);
  to[size] = 0;
  return memchr(from, 0, size) == NULL;
}

enum message_result handover_message_read(struct message *m, const unsigned char *from, size_t size,
                                          size_t *used) {
  *used = 0;
  if (size < MESSAGE_HEAD) return MESSAGE_NEEDS_MORE;
  m->kind = (enum message_kind)from[0];
  m->number = handover_message_number(from + 1, 4);
  size_t name = handover_message_number(from + 5, 2), text = handover_message_number(from + 7, 2);
  if (name > MESSAGE_TEXT || text > MESSAGE_TEXT || handover_message_is_wrong(m))
    return MESSAGE_MALFORMED;
  if (size < MESSAGE_HEAD + name + text) return MESSAGE_NEEDS_MORE;
  if (!handover_message_copy(m->name, from + MESSAGE_HEAD, name)) return MESSAGE_MALFORMED;
  if (!handover_message_copy(m->text, from + MESSAGE_HEAD + name, text)) return MESSAGE_MALFORMED;
  *used = MESSAGE_HEAD + name + text;
  return MESSAGE_DONE;
}

/* Of a longer text no more is looked at: it may be one of megabytes, of which each message takes a part. */
static size_t handover_message_size(const char *text) {
  if (!text) return 0;
  const char *end = (const char *)memchr(text, '\0', MESSAGE_TEXT);
  return end ? (size_t)(end - text) : MESSAGE_TEXT;
}

size_t handover_message_write(unsigned char to[MESSAGE_MAX], enum message_kind kind,
                              uint32_t number, const char *name, const char *text) {
  size_t name_size = handover_message_size(name), text_size = handover_message_size(text);
  to[0] = (unsigned char)kind;
  handover_message_put(to + 1, number, 4);
  handover_message_put(to + 5, (uint32_t)name_size, 2);
  handover_message_put(to + 7, (uint32_t)text_size, 2);
  if (name_size) memcpy(to + MESSAGE_HEAD, name, name_size);
  if (text_size) memcpy(to + MESSAGE_HEAD + name_size, text, text_size);
  return MESSAGE_HEAD + name_size + text_size;
}

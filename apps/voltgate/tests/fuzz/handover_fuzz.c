/* handover_fuzz.c: any bytes as messages of a process that takes over. What is read can be written and
 * is the same bytes, a part of a message is never read as a whole one, and it ends. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "handover/message.h"

static void check(int is_true) {
  if (!is_true) abort();
}

static void check_parts(const uint8_t *data, size_t used) {
  struct message part;
  size_t none;
  for (size_t i = 0; i < used; i++) {
    check(handover_message_read(&part, data, i, &none) == MESSAGE_NEEDS_MORE && none == 0);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  for (;;) {
    struct message m;
    unsigned char again[MESSAGE_MAX];
    size_t used;
    enum message_result result = handover_message_read(&m, data, size, &used);
    check((result == MESSAGE_DONE) == (used > 0) && used <= size && used <= MESSAGE_MAX);
    check(result != MESSAGE_NEEDS_MORE || size < MESSAGE_MAX);
    if (result != MESSAGE_DONE) return 0;
    check(handover_message_write(again, m.kind, m.number, m.name, m.text) == used);
    check(memcmp(again, data, used) == 0);
    check_parts(data, used);
    data += used;
    size -= used;
  }
}

/* answer_texts.c: what volt_dump() and volt_deadlocks() say, in pieces; the rest is cut where there is no room. */
#include <string.h>

#include "answer.h"

typedef struct answer_pieces {
  volt_json_ *to;
  volt_answer_end_ *end;
} answer_pieces;

/* As much of the text as one string has room for, cut at a character. */
static size_t answer_piece(const char *text, size_t length) {
  size_t size = 0;
  while (size < length) {
    size_t bytes = volt_json_utf8_(text + size, length - size);
    if (bytes == 0) bytes = 1;
    if (size + bytes > VOLT_JSON_TEXT_) break;
    size += bytes;
  }
  return size;
}

static bool answer_sink(void *ctx, const char *text, size_t length) {
  answer_pieces *p = (answer_pieces *)ctx;
  while (length > 0) {
    size_t size = answer_piece(text, length);
    volt_json_begin_(p->to, "text");
    volt_json_put_bytes_(p->to, "text", text, size);
    if (!volt_answer_line_(p->to, p->end)) return false;
    text += size;
    length -= size;
  }
  return true;
}

static void answer_dumped(int result, volt_answer_end_ *end) {
  if (result == VOLT_ETIMEDOUT) end->is_partial = true;
  if (result == VOLT_ENOMEM) volt_answer_fail_(end, "memory", VOLT_ANSWER_NO_MEMORY_);
}

void volt_answer_dump_(const volt_ask_ *ask, volt_json_ *to, volt_answer_end_ *end) {
  answer_pieces p = {.to = to, .end = end};
  unsigned how = ask->each ? VOLT_DUMP_EACH : 0;
  if (ask->stacks) how |= VOLT_DUMP_STACKS;
  answer_dumped(volt_dump(NULL, how, answer_sink, &p), end);
}

void volt_answer_deadlocks_(const volt_ask_ *ask, volt_json_ *to, volt_answer_end_ *end) {
  answer_pieces p = {.to = to, .end = end};
  (void)ask;
  answer_dumped(volt_deadlocks(answer_sink, &p), end);
}

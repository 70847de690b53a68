/* answer.h: what volt-top asks, and the answers; docs/sight-protocol.md has each of them. Nothing here
 * waits, but for short locks. */
#ifndef VOLT_SIGHT_ANSWER_ANSWER_H
#define VOLT_SIGHT_ANSWER_ANSWER_H

#include "json.h"

/* Answer a line: whole lines are written to *to, the last of them an "end" or an "error". to: room for
 * at least ANSWER_LEAST_ bytes, which is kept for the last line. On the thread volt-sight only. */
enum { ANSWER_LEAST_ = 1024 };
void volt_answer_(const char *line, size_t size, volt_json_ *to);

/* Write an error; why: a word of the page. */
void volt_answer_error_(volt_json_ *to, const char *why, const char *text);

#endif

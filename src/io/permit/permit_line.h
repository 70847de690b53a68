/* permit_line.h: the lines of a gate's permits, written and read. Nothing of I/O.
 *
 *   take KIND=N... wait=30s label="TEXT" command="TEXT"       to the gate
 *   queued N | granted KIND=N... id=ID wait_ms=N | given KIND=N... | refused WORD: TEXT | hello ...
 *
 * docs/voltgate/permits.md has the protocol. */
#ifndef VOLT_IO_PERMIT_PERMIT_LINE_H
#define VOLT_IO_PERMIT_PERMIT_LINE_H

#include <volt/permit_client.h>

/* A line that is written. size: with its end, once that is there. */
typedef struct permit_line {
  char *to; /* VOLT_PERMIT_LINE bytes */
  size_t size;
  bool is_cut; /* it is longer than a line may be */
} permit_line;

/* Write a request. why: VOLT_PERMIT_WORDS bytes: what is wrong with it.
 * Returns VOLT_OK or VOLT_EINVAL. */
int permit_line_take(permit_line *l, const volt_permit_request *request, char *why);

/* Write a give. amounts: NULL: all. Else as permit_line_take(). */
int permit_line_give(permit_line *l, const char *amounts, char *why);

/* What a line of a gate says. */
enum permit_line_says {
  PERMIT_SAYS_NOTHING, /* that a client of version 1 would know */
  PERMIT_SAYS_HELLO,
  PERMIT_SAYS_QUEUED,
  PERMIT_SAYS_GRANTED,
  PERMIT_SAYS_GIVEN,
  PERMIT_SAYS_REFUSED,
  PERMIT_SAYS_WRONG /* it breaks the protocol */
};

typedef struct permit_line_read {
  uint32_t place; /* queued */
  uint32_t count; /* granted, given */
  volt_permit_amount amounts[VOLT_PERMIT_KINDS];
  uint64_t waited_ns;        /* granted */
  char id[VOLT_PERMIT_NAME]; /* granted */
  int result;                /* refused: of the operation */
  bool is_state;             /* refused, because of what the connection holds */
  const char *words;         /* refused: behind "refused " */
} permit_line_read;

/* Read a line. line: without its end, ended by 0. Returns what it says. */
enum permit_line_says permit_line_parse(permit_line_read *out, const char *line);

#endif

/* page.h: text in lines, bounded in size and width. What comes from the other process is shown without
 * control characters, so that a name cannot command the terminal; all but ASCII is shown as ?. */
#ifndef VOLT_TOP_PAGE_H
#define VOLT_TOP_PAGE_H

#include <stddef.h>
#include <stdint.h>

typedef struct page {
  char *at;
  size_t size, max;
  unsigned width;  /* of a line; 0: any, and this is no screen */
  unsigned height; /* what is behind so many lines is left out; 0: any */
  unsigned column; /* in the line that is written */
  unsigned lines;  /* that are whole */
} page;

void page_begin(page *p);
void page_put(page *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The line ends: what is left of it is cleared, on a screen. */
void page_end_line(page *p);

/* A control sequence of this program's own; only on a screen. */
void page_control(page *p, const char *sequence);

/* A duration in at most eight characters: "812 ms", "4.2 s". */
typedef struct page_text {
  char text[16];
} page_text;
page_text page_duration(uint64_t ns);

/* A count: "4,711", "12.3 M". */
page_text page_count(uint64_t count);

#endif

/* page.c: text in lines. */
#include "page.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static void put_bytes(page *p, const char *bytes, size_t size) {
  bool is_below = p->height > 0 && p->lines >= p->height;
  if (is_below || size > p->max - p->size) return;
  memcpy(p->at + p->size, bytes, size);
  p->size += size;
}

void page_begin(page *p) {
  p->size = 0;
  p->column = 0;
  p->lines = 0;
  p->height = 0;
}

/* The first byte of a character stands for all of it; those behind it are left out. */
static void put_character(page *p, unsigned char byte) {
  if ((byte & 0xc0) == 0x80) return;
  char shown = byte >= 0x20 && byte < 0x7f ? (char)byte : '?';
  if (p->width > 0 && p->column >= p->width) return;
  put_bytes(p, &shown, 1);
  p->column++;
}

void page_put(page *p, const char *format, ...) {
  char text[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  for (const char *at = text; *at; at++) put_character(p, (unsigned char)*at);
}

void page_end_line(page *p) {
  page_control(p, "\x1b[0m\x1b[K");
  put_bytes(p, "\n", 1);
  p->column = 0;
  p->lines++;
}

void page_control(page *p, const char *sequence) {
  if (p->width > 0) put_bytes(p, sequence, strlen(sequence));
}

page_text page_duration(uint64_t ns) {
  page_text t;
  uint64_t us = ns / 1000, ms = us / 1000, s = ms / 1000;
  if (ns < 1000) {
    snprintf(t.text, sizeof t.text, "%u ns", (unsigned)ns);
  } else if (us < 1000) {
    snprintf(t.text, sizeof t.text, "%u us", (unsigned)us);
  } else if (ms < 10) {
    snprintf(t.text, sizeof t.text, "%u.%u ms", (unsigned)ms, (unsigned)(us / 100 % 10));
  } else if (ms < 1000) {
    snprintf(t.text, sizeof t.text, "%u ms", (unsigned)ms);
  } else if (s < 100) {
    snprintf(t.text, sizeof t.text, "%u.%u s", (unsigned)s, (unsigned)(ms / 100 % 10));
  } else if (s < 6000) {
    snprintf(t.text, sizeof t.text, "%u min", (unsigned)(s / 60));
  } else {
    snprintf(t.text, sizeof t.text, "%u h", (unsigned)(s / 3600));
  }
  return t;
}

page_text page_count(uint64_t count) {
  page_text t;
  if (count < 1000) {
    snprintf(t.text, sizeof t.text, "%u", (unsigned)count);
  } else if (count < 1000000) {
    snprintf(t.text, sizeof t.text, "%u,%03u", (unsigned)(count / 1000), (unsigned)(count % 1000));
  } else {
    static const char units[] = "MGTPE";
    unsigned unit = 0;
    for (count /= 100000; count >= 10000 && unit < 4; count /= 1000) unit++;
    snprintf(t.text, sizeof t.text, "%u.%u %c", (unsigned)(count / 10), (unsigned)(count % 10),
             units[unit]);
  }
  return t;
}

/* record.h: what a process of voltgate says of a client of a permit gate when it passes its connection on. */
#ifndef VOLTGATE_PERMIT_RECORD_H
#define VOLTGATE_PERMIT_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/permit.h"

enum { RECORD_TENANT = 256 }; /* the longest name of what a tenant is found by, with its end */

enum record_stand { RECORD_IDLE, RECORD_WAITS, RECORD_HOLDS };

/* Bytes: owned. */
struct record_bytes {
  char *at;
  size_t size;
};

/* Times are how long ago something was, because two processes need not have the same clock. */
struct record {
  enum record_stand stand;
  uint64_t id;
  uint32_t told;     /* the place that it knows */
  uint64_t age_ns;   /* since it was accepted */
  uint64_t since_ns; /* since its request was made, or granted */
  uint64_t asked_ns; /* since its request was made */
  uint64_t rests_ns; /* since it has said something, or held */
  uint64_t left_ns;  /* for how long it may wait still; UINT64_MAX: for ever */
  struct permit_amounts amounts;
  char label[PERMIT_LABEL_BYTES], command[PERMIT_COMMAND_BYTES];
  char tenant[RECORD_TENANT]; /* the cgroup of its process when it connected, or "" */
  struct record_bytes in;     /* the beginning of a line */
  struct record_bytes out;    /* what it has not read yet */
};

/* Write it: text without a zero, the caller's to free. Returns NULL: no memory. */
char *record_write(const struct record *r);

/* Read it. Returns false: it is none, or there is no memory; then nothing is owned. */
bool record_read(struct record *r, const char *text);

/* What it owns goes. */
void record_drop(struct record *r);

#endif

/* units.h: times and addresses as they are written in options. */
#ifndef VOLTGATE_CONFIG_UNITS_H
#define VOLTGATE_CONFIG_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UNITS_TIME_MOST_NS (365u * 86400u * UINT64_C(1000000000))

/* Read a time: "250ms", "1.5s", "2m", "1h", "0"; at most a year. Units: ns, us, ms, s, m, h, d.
 * Returns false, and *out_ns is unchanged: it is none. */
bool units_time(const char *text, uint64_t *out_ns);

/* Write a time so that units_time() reads the same: "1500ms". to: UNITS_TIME_TEXT bytes. Returns
 * to. */
enum { UNITS_TIME_TEXT = 32 };
const char *units_time_text(uint64_t ns, char *to);

/* Where an address is written. */
enum address_use {
  ADDRESS_LISTEN, /* an address with a port, :PORT, unix:PATH, unix:@NAME, fd:NAME */
  ADDRESS_SERVER, /* no :PORT and no port 0, but names */
  ADDRESS_ADMIN   /* :PORT is of 127.0.0.1; no fd:, no *: */
};

/* Copy an address in the one form that equal addresses share. Returns it, to be freed; or NULL, and
 * *why says what is wrong: words that stay. */
char *units_address(const char *text, enum address_use use, const char **why);

/* Whether two sockets cannot listen on both: addresses as ADDRESS_LISTEN and ADDRESS_ADMIN give
 * them. */
bool units_addresses_clash(const char *one, const char *other);

#endif

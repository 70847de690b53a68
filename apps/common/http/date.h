/* date.h: the dates of HTTP (RFC 9110, 5.6.7), in seconds since 1970. */
#ifndef COMMON_HTTP_DATE_H
#define COMMON_HTTP_DATE_H

#include "common/http/text.h"

#define DATE_SIZE 29 /* "Sun, 06 Nov 1994 08:49:37 GMT" */

/* Write a date in the one form that is written. seconds: of the years 0 to 9999. */
void date_write(char to[DATE_SIZE], int64_t seconds);

/* Read a date in one of the three forms. A date that no calendar has is none: 30 February, 24
 * o'clock, a Monday that was a Sunday.
 * now: says which century a year of two digits is in. Returns whether it is a date. */
bool date_read(struct text text, int64_t now, int64_t *seconds);

#endif

/* utf8.h: where a character of UTF-8 ends. */
#ifndef COMMON_UTF8_H
#define COMMON_UTF8_H

#include <stddef.h>

/* The number of bytes of the character at the beginning of size bytes; 0: it is none. */
size_t utf8_size(const char *at, size_t size);

#endif

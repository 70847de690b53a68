/* symbols.h: what an address of a process is: a function, its file and line. */
#ifndef VOLT_RUN_SYMBOLS_H
#define VOLT_RUN_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbols;

/* maps: the text of /proc/PID/maps. Returns NULL: there is no memory. */
struct symbols *symbols_open(const char *maps, size_t size);
void symbols_close(struct symbols *s);

/* Write "function (file.c:12)", "function in libx.so" or "libx.so+0x123". at: where a call returns to. */
void symbols_text(struct symbols *s, uintptr_t at, char *to, size_t size);

/* Whether this memory is a variable of a program or a library: it is not given back while that is loaded. */
bool symbols_is_static(const struct symbols *s, uintptr_t address);

#endif

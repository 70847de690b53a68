/* dump_fd.h: write to a descriptor without waiting for ever, and without SIGPIPE. */
#ifndef VOLT_SIGHT_DUMP_DUMP_FD_H
#define VOLT_SIGHT_DUMP_DUMP_FD_H

#include <stdbool.h>
#include <stddef.h>

/* As volt_dump_to_fd(), but it gives up if fd has taken nothing for so long. */
bool volt_dump_write_(int fd, const char *text, size_t length, int patience_ms);

#endif

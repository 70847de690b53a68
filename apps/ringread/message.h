/* message.h: what the program says on standard error. Threads: any; a call is one line. */
#ifndef RINGREAD_MESSAGE_H
#define RINGREAD_MESSAGE_H

#define EXIT_USAGE 2
#define EXIT_SKIPPED 77 /* io_uring is not to be had here */

/* Print "ringread: ..." and a newline. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Print that and end the program with exit code 1, at once. */
void fatal(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

#endif

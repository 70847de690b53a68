/* handover.h: a process of voltgate takes over from another one. handover.c says how. */
#ifndef VOLTGATE_HANDOVER_HANDOVER_H
#define VOLTGATE_HANDOVER_HANDOVER_H

#include <stdbool.h>

struct handover;
struct inheritance;
struct program;

/* Returns NULL: no memory. */
struct handover *handover_new(struct program *p);

/* Take listeners from the process that serves path; if there is none, *to stays empty. Before there are
 * threads, and before rights are dropped: the other process looks whose process asks. Returns NULL, or why it
 * was refused: words that the caller frees. May wait. */
char *handover_take(struct handover *h, const char *path, struct inheritance *to);

/* The admin side's listener, if it was taken and had this address, or -1. */
int handover_take_admin(struct handover *h, const char *address);
/* It is in use. */
void handover_keep_admin(struct handover *h);

/* Listen for a process that takes over from this one, or go on where the one before did. Before there
 * are threads. Returns NULL, or what is wrong: words that the caller frees. */
char *handover_listen(struct handover *h, const char *path);

/* The gates are there, and could accept: the process before accepts no more when this returns. Returns
 * NULL, or why not: words that the caller frees; then nothing has changed for it. */
char *handover_begin(struct handover *h);

/* The gates accept. Start the thread that serves other processes. Returns false: it cannot. */
bool handover_run(struct handover *h);

/* No gate has a client: what the other process has or had does not matter any more. */
void handover_stop(struct handover *h);

/* The gates are gone, too. h: may be NULL. */
void handover_free(struct handover *h);

#endif

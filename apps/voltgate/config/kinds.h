/* kinds.h: amounts of named kinds, and users, as they are written in options. */
#ifndef VOLTGATE_CONFIG_KINDS_H
#define VOLTGATE_CONFIG_KINDS_H

#include "config/settings.h"

/* Read "cores=8 memory=16G": KIND=NUMBER behind blanks or commas.
 * is_limits: cores and memory may be auto, and a number may be 0. why: set if what is wrong has words
 * of its own, which live for ever. Returns false: *to is unchanged. */
bool kinds_read(const char *text, bool is_limits, struct permit_amounts *to, const char **why);

/* The amount of a kind, or NULL: it is not there. */
const uint64_t *kinds_find(const struct permit_amounts *a, const char *kind);

/* Read "anna,1001,@build". May block: it looks names up. why: set if it returns false. */
enum { USERS_WHY = 200 };
bool users_read(const char *text, struct user_set *to, char why[USERS_WHY]);

/* The user of that name or number. May block. Returns false: there is none. */
bool users_find(const char *name, uint32_t *uid);

#endif

/* privileges.h: the process's limits, and the rights that it gives up for good. */
#ifndef VOLTGATE_PROCESS_PRIVILEGES_H
#define VOLTGATE_PROCESS_PRIVILEGES_H

#include <stddef.h>
#include <stdint.h>

/* Set how many descriptors the process may have. wanted: 0: the hard limit. More than the hard limit
 * is tried, too, and then the hard limit is kept.
 * Returns how many it may have. */
uint64_t privileges_raise_descriptors(uint64_t wanted);

/* Give up what is not needed, for good: take the user's and group's identity, no groups besides, no
 * capabilities, no new privileges by exec, no core dump of keys and passwords to others. Checked
 * afterwards. Call it while there is one thread, after what needs root was done.
 * user, group: a name or a number; NULL: user's own group; both NULL: the identity stays.
 * Returns VOLT_OK, or what failed; then words say it, and the caller must end. */
int privileges_drop(const char *user, const char *group, char *words, size_t room);

/* Before privileges_drop(): let a unix socket that was bound at that path belong to the user and the
 * group that the process takes. Does nothing if neither is given. Returns VOLT_OK, or VOLT_ERRNO(e):
 * words say what failed. */
int privileges_give_socket(const char *path, const char *user, const char *group, char *words,
                           size_t room);

#endif

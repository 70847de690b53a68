/* socket_place.h: where a process that serves volt-top has its socket, and which users reach it. volt-top
 * is compiled with this, too, so it needs nothing of volt. Results are 0 or an errno value. */
#ifndef VOLT_SIGHT_ANSWER_SOCKET_PLACE_H
#define VOLT_SIGHT_ANSWER_SOCKET_PLACE_H

#include <stdbool.h>
#include <sys/types.h>

enum { VOLT_SOCKET_PATH_ = 108 }; /* of sockaddr_un */

/* The directories in which the sockets of a user may be, those that are tried first first:
 * $XDG_RUNTIME_DIR/volt (of this process's user only), /run/user/UID/volt, /tmp/volt-UID. Returns
 * false: there are no more. path: "" if this one cannot be. */
bool volt_socket_directory_(unsigned i, uid_t user, char path[VOLT_SOCKET_PATH_]);

/* The socket that a process of this process's user has if it was given no path. The directory is
 * made; it must be no symbolic link, and of that user, which alone may have access. */
int volt_socket_place_(pid_t process, char path[VOLT_SOCKET_PATH_]);

/* The process whose socket in such a directory has that name; 0: it is none. */
pid_t volt_socket_process_(const char *name);

/* Remove the sockets in such a directory whose processes have ended and left them, as one that was
 * killed. */
void volt_socket_sweep_(const char *directory);

/* What is bound: so it is known again when it is to be removed. */
typedef struct volt_socket_ {
  int fd;
  dev_t device;
  ino_t inode;
  char path[VOLT_SOCKET_PATH_];
} volt_socket_;

/* Listen at that path: absolute, in a directory of this user's or root's in which no other can
 * remove a file. A socket of this user's at which no process listens is replaced. All else that is
 * there is left alone, and the result is EADDRINUSE. */
int volt_socket_listen_(volt_socket_ *s, const char *path);

/* Remove the file if it is the same still. */
void volt_socket_remove_(const volt_socket_ *s);

/* The same, and close it; or close it alone. */
void volt_socket_end_(volt_socket_ *s);
void volt_socket_forget_(volt_socket_ *s);

/* Connect. *fd: does not wait in calls; the connection is there when this returns. */
int volt_socket_connect_(const char *path, int *fd);

/* The user at the other end, and the process if process is not NULL. */
int volt_socket_peer_(int fd, uid_t *user, pid_t *process);

#endif

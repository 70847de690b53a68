/* systemd.h: the sockets of a service manager, and notifications to it. */
#ifndef VOLTGATE_PROCESS_SYSTEMD_H
#define VOLTGATE_PROCESS_SYSTEMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SYSTEMD_LISTENERS = 64 };

/* Sockets that listen and were inherited. The caller owns the descriptors; names are copies. */
struct systemd_listeners {
  size_t count;
  struct {
    int fd;
    char name[256]; /* of LISTEN_FDNAMES; "unknown" if it says nothing */
  } at[SYSTEMD_LISTENERS];
};

/* Take what LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES say is ours, and unset them. The descriptors
 * become close-on-exec and non-blocking. Call it before there are threads.
 * Returns NULL, or what is wrong: words in to. Then nothing was taken. */
const char *systemd_take_listeners(struct systemd_listeners *to, char *words, size_t room);

/* The descriptor of that name that was not asked for before, or -1. The caller owns it. */
int systemd_listener(struct systemd_listeners *from, const char *name);

/* Remember NOTIFY_SOCKET and WATCHDOG_USEC and unset them, so that no program that is started later
 * speaks for us. Before it, and without NOTIFY_SOCKET, the calls below do nothing. Call it before
 * there are threads, and before the sandbox. */
void systemd_start(void);

/* Notify the service manager. None of them waits. Each returns VOLT_OK, also if there is no
 * manager, or what failed. */
int systemd_ready(const char *status);
int systemd_reloading(void);
int systemd_stopping(void);
int systemd_status(const char *status);
int systemd_main_pid(uint64_t pid); /* another process goes on in our stead */
int systemd_watchdog(void);         /* we are well */

/* How often systemd_watchdog() has to be called, half of what is asked for; 0: never. */
uint64_t systemd_watchdog_ns(void);

#endif

/* cancel_epoll.c: the limit of cancel.h by epoll: one list of deadlines. */
#include <sys/epoll.h>

#include "cancel.h"

int main(int count, char **values) {
  cancel_options o = cancel_take_options(count, values);
  int epoll = epoll_create1(EPOLL_CLOEXEC), *fds = (int *)calloc(o.tasks, sizeof *fds);
  if (!fds) cancel_fail("calloc");
  for (unsigned i = 0; i < o.tasks; i++) fds[i] = cancel_socket();
  uint64_t until = cancel_now() + CANCEL_NS;
  for (unsigned i = 0; i < o.tasks; i++) {
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = i};
    char byte;
    if (recv(fds[i], &byte, 1, 0) >= 0 || errno != EAGAIN) cancel_fail("recv");
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fds[i], &event) != 0) cancel_fail("epoll_ctl");
  }
  cancel_started(until);
  for (uint64_t now; (now = cancel_now()) < until;) {
    struct epoll_event event;
    if (epoll_wait(epoll, &event, 1, (int)((until - now + 999999) / 1000000)) != 0) {
      cancel_fail("a receive has ended by itself");
    }
  }
  for (unsigned i = 0; i < o.tasks; i++) {
    if (epoll_ctl(epoll, EPOLL_CTL_DEL, fds[i], NULL) != 0) cancel_fail("epoll_ctl");
  }
  cancel_say("epoll", until);
  return 0;
}

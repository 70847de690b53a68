// sys/epoll.h for a model: the system's, and its calls are those of model_kernel.hpp.
#ifndef VOLT_MODEL_EPOLL_H
#define VOLT_MODEL_EPOLL_H

#include_next <sys/epoll.h>

extern "C" {
int model_epoll_create(void);
int model_epoll_add(int epoll, int fd, struct epoll_event *event);
int model_epoll_remove(int epoll, int fd);
int model_epoll_wait(int epoll, struct epoll_event *events, int most, int timeout_ms);
}

#define epoll_create1(flags) model_epoll_create()
#define epoll_ctl(epoll, operation, fd, event)                        \
  ((operation) == EPOLL_CTL_ADD ? model_epoll_add(epoll, fd, (event)) \
                                : model_epoll_remove(epoll, fd))
#define epoll_wait(epoll, events, most, timeout) model_epoll_wait(epoll, events, most, timeout)

#endif

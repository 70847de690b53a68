// unistd.h for a model: the system's, and what epoll.c calls of it is that of model_kernel.hpp.
#ifndef VOLT_MODEL_UNISTD_H
#define VOLT_MODEL_UNISTD_H

#include <stdint.h>

#include_next <unistd.h>

extern "C" {
struct epoll_event;
int model_close(int fd);
ssize_t model_ring(int fd);
int model_epoll_pwait2(int epoll, struct epoll_event *events, int most, const int64_t *left);
}

#define close(fd) model_close(fd)
#define write(fd, from, size) ((void)*(from), (void)(size), model_ring(fd))
#define syscall(number, epoll, events, most, left, mask, size) \
  model_epoll_pwait2(epoll, events, most, left)

#endif

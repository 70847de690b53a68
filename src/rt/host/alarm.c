/* alarm.c: what makes the descriptor of a bridge readable. See alarm.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* close, struct itimerspec */
#endif
#include "alarm.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "doorbell.h"

static bool alarm_add(volt_alarm_ *a, int descriptor, uint32_t events) {
  struct epoll_event event = {.events = events, .data = {.fd = descriptor}};
  return epoll_ctl(a->set, EPOLL_CTL_ADD, descriptor, &event) == 0;
}

bool volt_alarm_open_(volt_alarm_ *a) {
  int saved = errno;
  a->bell = volt_doorbell_take_();
  a->set = epoll_create1(EPOLL_CLOEXEC);
  a->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  a->timer_ns = VOLT_NO_DEADLINE;
  bool opened = a->bell && a->set >= 0 && a->timer >= 0 &&
                alarm_add(a, a->bell->eventfd, EPOLLIN | EPOLLET) &&
                alarm_add(a, a->timer, EPOLLIN | EPOLLET);
  if (!opened) volt_alarm_close_(a);
  errno = saved;
  return opened;
}

bool volt_alarm_watch_(volt_alarm_ *a, int descriptor) {
  int saved = errno;
  bool added = alarm_add(a, descriptor, EPOLLIN);
  errno = saved;
  return added;
}

void volt_alarm_take_(volt_alarm_ *a) {
  int saved = errno;
  struct epoll_event events[3]; /* as many as are in the set */
  int count = epoll_wait(a->set, events, 3, 0);
  for (int i = 0; i < count; i++) {
    if (events[i].data.fd == a->timer) a->timer_ns = VOLT_NO_DEADLINE;
  }
  errno = saved;
}

static void alarm_ring(void *bell) {
  volt_doorbell_ring_((volt_doorbell *)bell);
}

volt_waker volt_alarm_waker_(const volt_alarm_ *a) {
  volt_waker waker = {alarm_ring, a->bell};
  return waker;
}

/* A timer that is set for an earlier time stays so: it rings for nothing once, and that is rarer
 * than a deadline that moves. A time that the clock cannot say is not reached. */
void volt_alarm_set_(volt_alarm_ *a, uint64_t deadline_ns) {
  if (deadline_ns >= a->timer_ns) return;
  const uint64_t last_s = INT32_MAX;
  uint64_t s = deadline_ns / 1000000000u;
  struct itimerspec at = {.it_value = {.tv_sec = (time_t)(s < last_s ? s : last_s),
                                       .tv_nsec = (long)(deadline_ns % 1000000000u)}};
  if (deadline_ns == 0) at.it_value.tv_nsec = 1; /* all zero would stop it */
  int saved = errno;
  (void)timerfd_settime(a->timer, TFD_TIMER_ABSTIME, &at, NULL);
  errno = saved;
  a->timer_ns = deadline_ns;
}

void volt_alarm_close_(volt_alarm_ *a) {
  int saved = errno;
  if (a->set >= 0) close(a->set); /* before the doorbell may be another's */
  if (a->timer >= 0) close(a->timer);
  if (a->bell) volt_doorbell_give_(a->bell);
  errno = saved;
}

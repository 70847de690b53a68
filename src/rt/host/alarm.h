/* alarm.h: one descriptor that is readable when a bridge has something to do: it was rung, its
 * timer has expired, or the runtime's I/O has something. alarm.c.
 *
 * The descriptor is an epoll instance. In it are a doorbell (doorbell.h) and a timer, both
 * edge-triggered: they are never read, and each ring, each expiry, makes the instance readable
 * once, until volt_alarm_take_(). So to take all of them is one system call.
 *
 * Threads: a ring may come from any thread at any time, also when the alarm was closed long ago,
 * because a doorbell is never closed and never freed. All else is the loop's thread's. */
#ifndef VOLT_RT_HOST_ALARM_H
#define VOLT_RT_HOST_ALARM_H

#include <volt/bridge.h>

/* Returns whether there was memory and a descriptor for it; if not, nothing is left behind. */
bool volt_alarm_open_(volt_alarm_ *a);

/* It is readable, too, while that descriptor is. Returns whether that is possible. */
bool volt_alarm_watch_(volt_alarm_ *a, int descriptor);

/* A ring that has come before is for what the caller does now; one that comes later makes the
 * descriptor readable again. */
void volt_alarm_take_(volt_alarm_ *a);

/* What rings: its wake may be called on any thread, at any time. */
volt_waker volt_alarm_waker_(const volt_alarm_ *a);

/* It rings by itself at that time (as volt_now_ns()), or before. */
void volt_alarm_set_(volt_alarm_ *a, uint64_t deadline_ns);

void volt_alarm_close_(volt_alarm_ *a);

/* bridge.c: volt_bridge_open() of a bridge whose alarm is open, and is rung by the waker of rt. */
void volt_bridge_begin_(volt_bridge *b, volt_rt *rt, void (*stop)(volt_bridge *b));

#endif

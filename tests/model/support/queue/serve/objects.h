// objects.h: what queue.c uses of volt-run's objects, and what it asks of glibc and the kernel, for a model:
// model_queue.cpp has these.
#ifndef SERVE_OBJECTS_H
#define SERVE_OBJECTS_H

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <volt/cond.h>
#include <volt/mutex.h>
#include <volt/semaphore.h>

enum books_kind { BOOKS_MUTEX, BOOKS_RWLOCK, BOOKS_CONDITION, BOOKS_SEMAPHORE, BOOKS_BARRIER };

struct served {
  uint8_t kind;
  VOLT_ATOMIC(uint32_t) on_the_way;
};

// ---- forks ----

extern uint32_t served_forks;
inline void served_check_fork() { // the handler of pthread_atfork() was there before
}

// ---- glibc and the kernel ----

long queue_futex(long number, VOLT_ATOMIC(uint32_t) *word, int operation, uint32_t value,
                 const struct timespec *until, void *, unsigned);
int queue_setcancelstate(int next, int *before);
int queue_setcanceltype(int next, int *before);
int queue_sigmask(int how, const sigset_t *next, sigset_t *before);
void queue_push(void (*run)(void *), void *arg);
void queue_pop();

#define syscall queue_futex
#define pthread_setcancelstate queue_setcancelstate
#define pthread_setcanceltype queue_setcanceltype
#define pthread_sigmask queue_sigmask
#undef pthread_cleanup_push
#undef pthread_cleanup_pop
#define pthread_cleanup_push(run, arg) queue_push(run, arg)
#define pthread_cleanup_pop(runs) queue_pop()

#endif

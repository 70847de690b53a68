/* machine.h: a machine that is simulated: cores, cache lines that travel between them, threads that
 * sleep and wake. machine.c says how. Times in picoseconds; one thread of the host runs all of it.
 *
 * What runs on it is the library itself, compiled so that each of its accesses to memory calls a
 * function of accesses.c. */
#ifndef VOLT_SIMULATION_MACHINE_H
#define VOLT_SIMULATION_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_CORES 160

/* What things cost, in nanoseconds. scale.py says where each figure is from. */
typedef struct sim_costs {
  double access;       /* a plain access to memory that hits, with the instructions around it */
  double call;         /* a call of a function */
  double rmw;          /* a read-modify-write on a line that the core owns */
  double near, far;    /* a line comes to a core: within its group, from another group */
  double hold;         /* how long at least a core keeps a line that others ask for */
  double pause;        /* volt_cpu_relax_() */
  double clock;        /* volt_now_ns() */
  double system_call;  /* any, also if it does nothing */
  double wake, asleep; /* what the waking thread pays; until the woken one runs, and its core too */
  double change;       /* from one thread to another on the same core */
  double slice;        /* how long a thread runs while others are ready on its core */
  double lost_every;   /* a core is taken away, on average after so long; 0: never */
  double lost_for;
  double look, event;   /* at what is ready, with the system call; and for each that is */
  double receive, send; /* with the system call */
} sim_costs;

extern sim_costs sim_cost;
extern unsigned sim_group; /* how many cores are a group */

/* ---- threads ---- */

typedef struct sim_thread sim_thread;

/* What the library keeps for each thread. */
typedef struct sim_locals {
  void *slot, *calls, *blocker;
  uint64_t random;
  uint32_t number; /* of the thread, and 1 more; 0: it has none yet */
  void *here[4];
} sim_locals;

void sim_begin(unsigned cores, uint64_t seed);

/* Run main(arg) as the first thread, on a core of its own beside the others, until it returns. */
void sim_run(void *(*main)(void *), void *arg);

/* On the next core, round robin. */
sim_thread *sim_start(void *(*main)(void *), void *arg);
void sim_join(sim_thread *t);
sim_thread *sim_self(void);
sim_locals *sim_own(void);
unsigned sim_core(void); /* of this thread */
void sim_pause(void);
uint64_t sim_peek_ns(void); /* at no cost */

/* From now on nothing costs anything, and no other thread runs; or no more. For books. */
void sim_aside(bool is_aside);
_Noreturn void sim_stop(const char *why);

/* ---- what a thread does ---- */

uint64_t sim_now_ns(void);
uint64_t sim_random(void);
void sim_work(double ns); /* on nothing that is shared */
void sim_yield(void);
/* Returns false: the deadline has passed. */
bool sim_sleep(const uint32_t *word, uint32_t seen, uint64_t deadline_ns);
void sim_wake(const uint32_t *word, int count);

/* ---- what happens on no core of the machine ---- */

/* At that time, as sim_peek_ns(), call it. No thread runs then, so it calls nothing that costs. */
void sim_at(uint64_t ns, void (*happens)(void *arg, uint64_t ns), void *arg);

/* As sim_wake(), from there, of one thread. Returns whether one slept. */
bool sim_wake_at(const uint32_t *word, uint64_t ns);

/* ---- memory ---- */

void *sim_alloc(size_t bytes); /* as malloc() places it; never given back */
void *sim_alloc_lines(size_t bytes);
void sim_read(const void *at);
void sim_write(void *at);
void sim_load(const void *at); /* atomic: in order with all other threads */
void sim_store(void *at);      /* the same; the core does not wait for the line */
void sim_rmw(void *at);
void sim_fence(void);
void sim_call(void);
double sim_busy_ns(void);  /* of all cores, so far */
uint64_t sim_sleeps(void); /* of all threads */

#endif

/* simulated.h: I/O without a network: sockets in memory, a clock of its own, faults by a seed.
 *
 * A server and its clients run in one thread, as tasks of one runtime by hand, and talk through
 * sockets that exist in that runtime only. The same seed, which is not 0, gives the same run: each
 * delay, each short read, each reset. So a test can run thousands of seeds, and repeat the one that
 * fails.
 *
 *   volt_rt_config config = {.flags = VOLT_RT_BY_HAND | VOLT_RT_VIRTUAL_CLOCK,
 *                            .seed = seed,
 *                            .io = volt_io_simulated()};
 *   volt_rt_create(&rt, &config);
 *   volt_simulated_set_faults(rt, &(volt_simulated_faults){.delay_max_ns = 1000000,
 *                                                          .short_per_million = 200000,
 *                                                          .reset_per_million = 100});
 *   volt_rt_run_until(rt, ...);
 *
 * Simulated: stream and datagram sockets of IPv4, IPv6 and unix addresses; pipes; pairs of stream
 * sockets; listen, connect, accept, shutdown, close, a connection that is reset, a buffer that is
 * full. With a virtual clock a second of delay costs no time.
 *
 * Not simulated: regular files, which are the real ones; descriptors that are passed
 * (VOLT_ERRNO(EOPNOTSUPP)). No operation waits for what else is real: a signal, the end of a child
 * process, a descriptor given to volt_fd_init(). An operation on those that would have to wait
 * polls as VOLT_ERRNO(EPERM).
 *
 * The runtime has to be by hand, and one thread uses it and its descriptors. All simulated sockets
 * must be closed before volt_rt_destroy() (else it aborts). */
#ifndef VOLT_SIMULATED_H
#define VOLT_SIMULATED_H

#include "io.h"

/* What goes wrong, and how often. All-zero: nothing does, and everything arrives at once. */
typedef struct volt_simulated_faults {
  /* Delay of all that is sent, of a connect and of a close, by chance between the two. A stream
   * keeps its order; datagrams do not. */
  uint64_t delay_min_ns;
  uint64_t delay_max_ns;
  uint32_t short_per_million;  /* receives and sends that move less than they could */
  uint32_t reset_per_million;  /* sends after which the connection is reset, on both sides */
  uint32_t refuse_per_million; /* connects that are refused */
  uint32_t accept_per_million; /* accepts that fail with EMFILE; the connection stays queued */
  uint32_t lose_per_million;   /* datagrams that do not arrive */
  uint32_t buffer_size;        /* bytes under way and not read, in each direction; 0: 65536 */
} volt_simulated_faults;

VOLT_BEGIN_DECLS

/* For volt_rt_config.io: the simulation. Without VOLT_RT_BY_HAND volt_rt_create() returns
 * VOLT_EINVAL. The seed is volt_rt_config.seed; if that is 0, the clock chooses it. Threads:
 * any. */
VOLT_API const volt_io_kind *volt_io_simulated(void);

/* Set what goes wrong from now on. faults: copied; NULL: nothing. buffer_size: for connections that
 * are made later.
 * Returns VOLT_OK; VOLT_EINVAL: rt is not simulated, delay_min_ns above delay_max_ns, a delay of
 *   2^62 ns or more, or more than a million per million. Threads: the one that runs rt. */
VOLT_API VOLT_NODISCARD int volt_simulated_set_faults(volt_rt *rt,
                                                      const volt_simulated_faults *faults);

/* Reset every connection that there is, on both sides, as if the network had been replaced.
 * Returns how many, or 0 if rt is not simulated. Wakes: what waits on them.
 * Threads: the one that runs rt. */
VOLT_API uint64_t volt_simulated_reset_all(volt_rt *rt);

/* Count the simulated sockets of rt that are open. Returns 0 if rt is not simulated.
 * Threads: the one that runs rt. */
VOLT_API uint64_t volt_simulated_open(volt_rt *rt);

VOLT_END_DECLS
#endif

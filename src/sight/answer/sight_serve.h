/* sight_serve.h: the server of volt_sight_serve(). */
#ifndef VOLT_SIGHT_ANSWER_SIGHT_SERVE_H
#define VOLT_SIGHT_ANSWER_SIGHT_SERVE_H

/* What is served at most. A line of a request has SERVE_LINE_ bytes, the answer to one line
 * SERVE_ANSWER_; a client that takes nothing for SERVE_PATIENCE_NS_ is dropped. */
enum { SERVE_CLIENTS_ = 4, SERVE_LINE_ = 4096, SERVE_ANSWER_ = 1 << 20 };
#define SERVE_PATIENCE_NS_ UINT64_C(2000000000)

/* End what volt_sight_serve() has begun: clients are dropped, the socket is removed. Nothing happens
 * if it has not begun. Threads: any but volt-sight. */
void volt_sight_serve_end_(void);

#endif

/* stage.h: a gate on a network in memory: its acceptor and sessions run by hand, on a virtual clock;
 * the test is all its clients and its server. */
#ifndef VOLTGATE_TEST_STAGE_H
#define VOLTGATE_TEST_STAGE_H

#include <volt/net.h>
#include <volt/simulated.h>
#include <volt/volt.h>

#include "gate/gate.h"
#include "program/program.h"
#include "session/acceptor.h"

#define STAGE_MS UINT64_C(1000000)
#define STAGE_S (1000 * STAGE_MS)

struct stage {
  volt_rt *rt;
  struct program program;
  struct gate_settings settings; /* changed by the test before stage_open() */
  struct gate *gate;
  volt_group acceptors, sessions;
  struct acceptor *acceptor;
  volt_fd server; /* listens; the test accepts */
  volt_address gate_at, server_at;
  uint32_t descriptors; /* for clients */
};

/* A socket of the test, on the other side of the gate. */
struct peer {
  volt_fd fd;
  char got[8192];
  size_t size;     /* of got */
  bool has_ended;  /* it has read the end */
  bool has_failed; /* it was reset */
};

/* Settings of a tcp gate, to be changed. */
void stage_begin(struct stage *s, uint64_t seed);

/* Start to listen. */
void stage_open(struct stage *s);

/* Everything has ended: no session is left, no permit and no descriptor is missing, no socket is
 * open but the test's. Sessions that are left are cancelled. */
void stage_end(struct stage *s);

/* The listener closes. */
void stage_stop_accepting(struct stage *s);

/* Run what is ready, until nothing is. Time stands still. */
void stage_run(struct stage *s);

/* Let time pass, and run what becomes ready in it. Then no task may look wrong to who watches. */
void stage_pass(struct stage *s, uint64_t ns);

/* A client connects, and is accepted. */
void stage_connect(struct stage *s, struct peer *p);

/* The server accepts the next connection, if there is one. */
bool stage_accept(struct stage *s, struct peer *p);

/* Send words; run. */
void stage_send(struct stage *s, struct peer *p, const char *words);

/* Run; read what has come. Returns what has come so far. */
const char *stage_read(struct stage *s, struct peer *p);

void stage_shut(struct stage *s, struct peer *p);  /* FIN; run */
void stage_close(struct stage *s, struct peer *p); /* run */

uint64_t stage_counted(struct stage *s, enum count kind);
uint64_t stage_refused(struct stage *s, enum gate_reason reason);

#endif

/* tls_scene.h: a client and a server over TLS, in one thread, on the simulated network: each operation
 * is a task of its own, so several are under way at once. Nothing is allocated by the scene but what OpenSSL has. */
#ifndef VOLT_TEST_TLS_SCENE_H
#define VOLT_TEST_TLS_SCENE_H

#include <errno.h>
#include <volt/net.h>
#include <volt/simulated.h>
#include <volt/tls.h>

#include "by_hand.h"
#include "rng.h"
#include "tls_ca.h"

enum { SCENE_CLIENT = 0, SCENE_SERVER = 1, SCENE_ERRNO = 77 };

/* What all scenes of a program have: a root, a good server, a good client. */
typedef struct scene_ca {
  ca_one root, server, client;
} scene_ca;

static scene_ca the_ca;

static inline void scene_make_ca(void) {
  the_ca.root = ca_make(NULL, (ca_want){.name = "root", .is_ca = true});
  the_ca.server =
      ca_make(&the_ca.root, (ca_want){.name = "server",
                                      .dns = "DNS:example.org,DNS:*.wild.org,IP:10.1.2.3",
                                      .serial = 7});
  the_ca.client = ca_make(&the_ca.root, (ca_want){.name = "client", .serial = 8});
}

static inline void scene_free_ca(void) {
  ca_free(&the_ca.root);
  ca_free(&the_ca.server);
  ca_free(&the_ca.client);
}

/* ---- contexts ---- */

static inline volt_tls_config scene_server_config(void) {
  volt_tls_config config;
  memset(&config, 0, sizeof config);
  config.certificates = the_ca.server.pem;
  config.key = the_ca.server.key_pem;
  return config;
}

static inline volt_tls_config scene_client_config(void) {
  volt_tls_config config;
  memset(&config, 0, sizeof config);
  config.trust = the_ca.root.pem;
  return config;
}

static inline volt_tls_context *scene_context(enum volt_tls_role role,
                                              const volt_tls_config *config) {
  char why[200];
  volt_tls_context *c = NULL;
  errno = SCENE_ERRNO;
  int result = volt_tls_context_create(&c, role, config, why, sizeof why);
  if (result != VOLT_OK) fprintf(stderr, "%s: %s\n", volt_strresult(result), why);
  REQUIRE(result == VOLT_OK && errno == SCENE_ERRNO);
  return c;
}

/* ---- one operation, as a task ---- */

typedef struct job {
  volt_task task;
  volt_tls_op op;
  volt_future *f;
} job;

static inline int job_poll(volt_task *t, volt_ctx *ctx) {
  return volt_future_poll_ctx(volt_container_of(t, job, task)->f, ctx);
}

/* f: of j->op, or one around it. */
static inline void job_start(by_hand *h, job *j, volt_future *f) {
  j->f = f;
  volt_task_init(&j->task, job_poll);
  REQUIRE(volt_spawn(h->rt, &j->task) == VOLT_OK);
}

static inline int job_finish(by_hand *h, job *j) {
  volt_future join;
  volt_future_made(volt_task_join_future(&join, &j->task));
  return volt_rt_run_until(h->rt, &join, VOLT_NO_DEADLINE);
}

static inline int job_cancel(by_hand *h, job *j) {
  (void)volt_task_cancel(&j->task);
  return job_finish(h, j);
}

/* ---- the scene ---- */

typedef struct scene {
  by_hand h;
  volt_fd fd[2];
  volt_tls tls[2];
  volt_tls_context *context[2];
} scene;

static inline void scene_begin_with(scene *s, uint64_t seed, const volt_simulated_faults *faults) {
  memset((void *)s, 0, sizeof *s);
  volt_rt_config config = by_hand_config(&s->h);
  config.seed = seed;
  config.io = volt_io_simulated();
  REQUIRE(volt_rt_create(&s->h.rt, &config) == VOLT_OK);
  REQUIRE(volt_simulated_set_faults(s->h.rt, faults) == VOLT_OK);
  REQUIRE(volt_pair_open(&s->fd[0], &s->fd[1], s->h.rt, SOCK_STREAM) == VOLT_OK);
}

static inline void scene_begin(scene *s, const volt_tls_config *client,
                               const volt_tls_config *server) {
  volt_tls_config good_client = scene_client_config(), good_server = scene_server_config();
  static const volt_simulated_faults none;
  scene_begin_with(s, 1, &none);
  s->context[SCENE_CLIENT] = scene_context(VOLT_TLS_CLIENT, client ? client : &good_client);
  s->context[SCENE_SERVER] = scene_context(VOLT_TLS_SERVER, server ? server : &good_server);
}

static inline void scene_init(scene *s, const char *name) {
  for (int i = 0; i < 2; i++) {
    int result =
        volt_tls_init(&s->tls[i], s->context[i], &s->fd[i], i == SCENE_CLIENT ? name : NULL);
    REQUIRE(result == VOLT_OK);
  }
}

/* Both handshakes. Returns the client's result; *of_server: the server's. */
static inline int scene_shake_as(scene *s, const char *name, int *of_server) {
  job jobs[2];
  int results[2];
  scene_init(s, name);
  for (int i = 0; i < 2; i++)
    job_start(&s->h, &jobs[i], volt_tls_handshake_future(&jobs[i].op, &s->tls[i]));
  results[0] = job_finish(&s->h, &jobs[0]);
  if (results[0] != VOLT_OK) volt_tls_close(&s->tls[0]); /* else the other may wait for it */
  results[1] = job_finish(&s->h, &jobs[1]);
  *of_server = results[1];
  return results[0];
}

static inline void scene_shake(scene *s) {
  int of_server;
  int result = scene_shake_as(s, "example.org", &of_server);
  if (result != VOLT_OK) fprintf(stderr, "%s\n", volt_strerror(result));
  REQUIRE(result == VOLT_OK && of_server == VOLT_OK);
}

/* An operation of one side, run to its end. */
static inline int scene_run(scene *s, volt_future *f) {
  errno = SCENE_ERRNO;
  int result = volt_rt_run_until(s->h.rt, f, volt_rt_now_ns(s->h.rt) + UINT64_C(3600000000000));
  REQUIRE(errno == SCENE_ERRNO);
  return result;
}

static inline size_t scene_recv(scene *s, int side, void *to, size_t size) {
  volt_tls_op op;
  REQUIRE(scene_run(s, volt_tls_recv_future(&op, &s->tls[side], to, size)) == VOLT_OK);
  return op.n;
}

static inline void scene_send(scene *s, int side, const void *from, size_t size) {
  volt_tls_op op;
  REQUIRE(scene_run(s, volt_tls_send_all_future(&op, &s->tls[side], from, size)) == VOLT_OK);
  REQUIRE(op.n == size);
}

static inline void scene_end(scene *s) {
  for (int i = 0; i < 2; i++) {
    volt_tls_close(&s->tls[i]);
    volt_fd_close(&s->fd[i]);
    volt_tls_context_drop(s->context[i]);
  }
  REQUIRE(volt_simulated_open(s->h.rt) == 0);
  by_hand_end(&s->h, 0);
}

#endif

/* io_scene.h: each kind of operation that may have to wait, in a scene: what it waits for, how that
 * comes, and how to see what it has done. For tests of what ends operations early. */
#ifndef VOLT_TEST_IO_SCENE_H
#define VOLT_TEST_IO_SCENE_H

#include "io_kit.h"

typedef struct scene {
  io_kit *k;
  kit_link l;
  volt_op op;
  char text[16];
  unsigned char byte; /* that is sent */
  size_t filled;      /* bytes on their way out before */
  size_t taken;       /* bytes that the far end has taken: more than filled if it came then */
  int kind;           /* of the link */
  volt_fd out;        /* accept */
  int client;         /* accept: -1: none yet */
  struct sockaddr_storage at;
  socklen_t size;
  struct iovec part;
  struct msghdr message;
} scene;

typedef struct scene_kind {
  const char *name;
  int link;
  void (*make)(scene *s);
  volt_future *(*begin)(scene *s);
  void (*let)(scene *s);            /* what it waits for comes */
  void (*expect_done)(scene *s);    /* it was done, once, and nothing is left to do */
  void (*expect_nothing)(scene *s); /* it has moved nothing: it can be done in full now */
} scene_kind;

static inline void scene_make_in(scene *s) {
  kit_link_in(s->k, &s->l, s->kind);
}

static inline void scene_make_out(scene *s) {
  kit_link_out(s->k, &s->l, s->kind);
  s->filled = kit_fill(&s->l);
  s->byte = (unsigned char)(s->filled % 251);
}

static inline volt_future *scene_recv(scene *s) {
  return volt_fd_recv_future(&s->op, &s->l.near, s->text, sizeof s->text - 1, 0);
}

static inline volt_future *scene_read(scene *s) {
  return volt_fd_read_future(&s->op, &s->l.near, s->text, sizeof s->text - 1, -1);
}

static inline volt_future *scene_readv(scene *s) {
  s->part = (struct iovec){s->text, sizeof s->text - 1};
  return volt_fd_readv_future(&s->op, &s->l.near, &s->part, 1, -1);
}

static inline volt_future *scene_recvmsg(scene *s) {
  s->part = (struct iovec){s->text, sizeof s->text - 1};
  memset(&s->message, 0, sizeof s->message);
  s->message.msg_iov = &s->part;
  s->message.msg_iovlen = 1;
  return volt_fd_recvmsg_future(&s->op, &s->l.near, &s->message, 0);
}

static inline volt_future *scene_ready_in(scene *s) {
  return volt_fd_ready_future(&s->op, &s->l.near, POLLIN);
}

static inline volt_future *scene_send(scene *s) {
  return volt_fd_send_future(&s->op, &s->l.near, &s->byte, 1, 0);
}

static inline volt_future *scene_write(scene *s) {
  return volt_fd_write_future(&s->op, &s->l.near, &s->byte, 1, -1);
}

static inline volt_future *scene_sendmsg(scene *s) {
  s->part = (struct iovec){&s->byte, 1};
  memset(&s->message, 0, sizeof s->message);
  s->message.msg_iov = &s->part;
  s->message.msg_iovlen = 1;
  return volt_fd_sendmsg_future(&s->op, &s->l.near, &s->message, 0);
}

/* ---- in: "abc" comes, once ---- */

static inline void scene_let_in(scene *s) {
  kit_far_send(&s->l, "abc");
}

static inline void scene_in_is_empty(scene *s) {
  struct pollfd p = {volt_fd_number(&s->l.near), POLLIN, 0};
  assert_int_equal(poll(&p, 1, 0), 0);
}

static inline void scene_in_done(scene *s) {
  assert_int_equal(s->op.n, 3);
  assert_string_equal(s->text, "abc");
  scene_in_is_empty(s);
}

static inline void scene_in_nothing(scene *s) {
  char text[8] = "";
  assert_int_equal(s->op.n, 0);
  assert_int_equal(read(volt_fd_number(&s->l.near), text, sizeof text), 3);
  assert_string_equal(text, "abc");
  scene_in_is_empty(s);
}

/* n is what it is ready for: that was seen, and nothing was moved. */
static inline void scene_ready_nothing(scene *s) {
  assert_true(s->op.n == 0 || s->op.n & POLLIN);
  s->op.n = 0;
  scene_in_nothing(s);
}

static inline void scene_ready_done(scene *s) {
  assert_true(s->op.n & POLLIN);
  scene_ready_nothing(s);
}

/* ---- out: the far end takes all that was sent before ---- */

static inline void scene_let_out(scene *s) {
  while (s->taken < s->filled) (void)kit_drain(s->l.far, &s->taken);
}

/* It was sent, so it is what comes next; or it comes when it is sent now. */
static inline void scene_out_is(scene *s, size_t n) {
  assert_int_equal(s->op.n, n);
  unsigned char got = 0;
  struct pollfd p = {s->l.far, POLLIN, 0};
  if (n && s->taken == s->filled) {
    REQUIRE(poll(&p, 1, KIT_SECONDS * 1000) == 1);
    assert_int_equal(read(s->l.far, &got, 1), 1);
    assert_int_equal(got, s->byte);
    s->taken += 1;
  }
  assert_int_equal(s->taken, s->filled + n);
  assert_int_equal(poll(&p, 1, 0), 0);
}

static inline void scene_out_done(scene *s) {
  scene_out_is(s, 1);
}

static inline void scene_out_nothing(scene *s) {
  scene_out_is(s, 0);
}

/* ---- accept: a client connects ---- */

static inline void scene_make_accept(scene *s) {
  int listener = kit_listen(s->kind, 4, &s->at, &s->size);
  REQUIRE(volt_fd_init(&s->l.near, s->k->rt, listener, 0) == VOLT_OK);
  s->l.far = -1;
}

static inline volt_future *scene_accept(scene *s) {
  return volt_fd_accept_future(&s->op, &s->l.near, &s->out);
}

static inline void scene_let_accept(scene *s) {
  s->client = kit_socket_for(&s->at);
  REQUIRE(connect(s->client, (struct sockaddr *)&s->at, s->size) == 0);
}

/* These two ends are of one connection. */
static inline void scene_are_connected(int a, int b) {
  char got = 0;
  REQUIRE(write(a, "x", 1) == 1);
  struct pollfd p = {b, POLLIN, 0};
  REQUIRE(poll(&p, 1, KIT_SECONDS * 1000) == 1);
  REQUIRE(read(b, &got, 1) == 1 && got == 'x');
}

static inline void scene_accept_done(scene *s) {
  scene_are_connected(s->client, volt_fd_number(&s->out));
  scene_in_is_empty(s);
  volt_fd_close(&s->out);
  close(s->client);
}

/* It is queued still. */
static inline void scene_accept_nothing(scene *s) {
  int fd = accept(volt_fd_number(&s->l.near), NULL, NULL);
  REQUIRE(fd >= 0);
  scene_are_connected(s->client, fd);
  scene_in_is_empty(s);
  close(fd);
  close(s->client);
}

/* It was cancelled: it is queued still, or it was accepted and closed because no poll has seen it. */
static inline void scene_accept_unseen(scene *s) {
  struct pollfd queued = {volt_fd_number(&s->l.near), POLLIN, 0}, client = {s->client, POLLIN, 0};
  char text[4];
  if (poll(&queued, 1, 0) == 1) {
    scene_accept_nothing(s);
    return;
  }
  REQUIRE(poll(&client, 1, KIT_SECONDS * 1000) == 1);
  assert_true(read(s->client, text, sizeof text) <= 0);
  close(s->client);
}

static inline void scene_begin(scene *s, io_kit *k, const scene_kind *what) {
  memset((void *)s, 0, sizeof *s);
  s->k = k;
  s->client = -1;
  s->kind = what->link;
  what->make(s);
}

static inline void scene_end(scene *s) {
  kit_unlink(&s->l);
}

#define SCENE_IN scene_let_in, scene_in_done, scene_in_nothing
#define SCENE_OUT scene_let_out, scene_out_done, scene_out_nothing
#define SCENE_ACCEPT scene_let_accept, scene_accept_done, scene_accept_nothing

static const scene_kind scenes[] = {
    {"recv TCP", TCP4, scene_make_in, scene_recv, SCENE_IN},
    {"recv TCP of IPv6", TCP6, scene_make_in, scene_recv, SCENE_IN},
    {"recv unix", UNIX_STREAM, scene_make_in, scene_recv, SCENE_IN},
    {"recvmsg", UNIX_STREAM, scene_make_in, scene_recvmsg, SCENE_IN},
    {"read of a socket", TCP4, scene_make_in, scene_read, SCENE_IN},
    {"read of a pipe", PIPE, scene_make_in, scene_read, SCENE_IN},
    {"readv of a pipe", PIPE, scene_make_in, scene_readv, SCENE_IN},
    {"read of a terminal", PTY, scene_make_in, scene_read, SCENE_IN},
    {"ready", TCP4, scene_make_in, scene_ready_in, scene_let_in, scene_ready_done,
     scene_ready_nothing},
    {"send TCP", TCP4, scene_make_out, scene_send, SCENE_OUT},
    {"send unix", UNIX_STREAM, scene_make_out, scene_send, SCENE_OUT},
    {"sendmsg", UNIX_STREAM, scene_make_out, scene_sendmsg, SCENE_OUT},
    {"write to a pipe", PIPE, scene_make_out, scene_write, SCENE_OUT},
    {"accept TCP", TCP4, scene_make_accept, scene_accept, SCENE_ACCEPT},
    {"accept unix", UNIX_STREAM, scene_make_accept, scene_accept, SCENE_ACCEPT},
};

#define FOR_EACH_SCENE(what) \
  for (const scene_kind *what = scenes; what < scenes + sizeof scenes / sizeof *scenes; what++)

#endif

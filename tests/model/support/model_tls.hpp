// model_tls.hpp: a TLS stream as shipped (tls_op.c, end.c) between an OpenSSL and a network of the model's own.
#ifndef VOLT_MODEL_TLS_HPP
#define VOLT_MODEL_TLS_HPP

#include "model_io.hpp"
#include "tls/stream/stream.h"

// A client's stream, which is open.
struct tls_world : model {
  model_io io;
  volt_fd *d;
  ssl_st ssl;
  volt_tls *t;
  volt_tls_op op, other, closer;
  char bytes[4];

  tls_world();
  ~tls_world() override;
  // So many bytes come, or so much room.
  void arrive(uint32_t n) {
    io.arrive(0, n);
  }
  void make_recv(volt_tls_op *which, size_t size = 1) {
    volt_future_made(volt_tls_recv_future(which, t, bytes, size));
  }
  void make_send(volt_tls_op *which, size_t size = 1) {
    volt_future_made(volt_tls_send_all_future(which, t, bytes, size));
  }
  // It is closed; the memory of the socket is used again.
  void close();
  // And that of the stream: no thread begins anything.
  void close_and_free();
  // At quiescence: bytes that have come, and that no operation has.
  uint32_t left() {
    return io.left(0) + ssl.plain;
  }
  // At quiescence: no operation has anything of the stream.
  void expect_unused();
};

#endif

/* connect.c: voltgate check --connect: whether the servers can be reached, and what is wrong with their TLS. */
#include <stdio.h>
#include <stdlib.h>

#include "gate/secure.h"
#include "main/run.h"
#include "session/server.h"

/* One attempt. */
struct connect {
  struct gate *gate;
  volt_fd fd;
  struct server_probe probe;
  struct secure secure;
};

static bool connect_say(const struct connect *c, const char *words, FILE *to) {
  fprintf(to, "%sgate %s: %s: %s\n", to == stderr ? "voltgate: " : "", c->gate->name,
          gate_settings(c->gate)->to, words);
  return to != stderr;
}

static bool connect_by_tls(struct connect *c) {
  char words[64];
  int result = volt_future_wait(secure_probe_future(&c->secure, c->gate, &c->fd));
  if (result != VOLT_OK) return connect_say(c, c->secure.why, stderr);
  snprintf(words, sizeof words, "connected, by %s", volt_tls_version(c->secure.tls));
  volt_tls_close(c->secure.tls);
  free(c->secure.tls);
  return connect_say(c, words, stdout);
}

static bool connect_to(struct connect *c) {
  int result = volt_future_wait(server_probe(&c->probe, c->gate, &c->fd));
  if (result != VOLT_OK) return connect_say(c, server_probe_error(&c->probe, result), stderr);
  bool is_fine =
      secure_is_wanted(c->gate) ? connect_by_tls(c) : connect_say(c, "connected", stdout);
  volt_fd_close(&c->fd);
  return is_fine;
}

/* ---- all gates ---- */

bool connect_read_certificates(struct certificates *out, const struct gate_settings *settings) {
  char *wrong = certificates_read(out, settings);
  if (!wrong) return true;
  fprintf(stderr, "voltgate: gate %s: %s\n", settings->name, wrong);
  free(wrong);
  return false;
}

static bool connect_gate(volt_rt *rt, const struct gate_settings *settings) {
  struct certificates certificates;
  if (!connect_read_certificates(&certificates, settings)) return false;
  if (settings->protocol == PROTOCOL_PERMIT) {
    certificates_drop(&certificates);
    printf("gate %s: it has no server\n", settings->name);
    return true;
  }
  struct gate *gate = (struct gate *)aligned_alloc(64, (sizeof *gate + 63) / 64 * 64);
  bool is_fine = gate && gate_init(gate, NULL, rt, settings);
  if (is_fine) {
    gate_set_certificates(gate, &certificates);
    struct connect c = {.gate = gate};
    is_fine = connect_to(&c);
    gate_destroy(gate);
  } else {
    certificates_drop(&certificates);
    fputs("voltgate: there is no memory\n", stderr);
  }
  free(gate);
  return is_fine;
}

bool connect_to_servers(const struct settings *settings) {
  const volt_rt_config config = {.workers = 1, .io = volt_io_epoll()};
  volt_rt *rt;
  bool is_fine = true;
  int result = volt_rt_create(&rt, &config);
  if (result != VOLT_OK) {
    fprintf(stderr, "voltgate: the runtime: %s\n", volt_strerror(result));
    return false;
  }
  for (size_t i = 0; i < settings->gate_count; i++) {
    if (!connect_gate(rt, &settings->gates[i])) is_fine = false;
  }
  (void)volt_rt_shutdown(rt, VOLT_NO_DEADLINE);
  volt_rt_destroy(rt);
  return is_fine;
}

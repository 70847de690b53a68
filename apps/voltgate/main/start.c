/* start.c: the order in which voltgate starts.
 *
 *   settings, descriptors         before all else, because it may be refused
 *   listeners, certificates       what may need root
 *   privileges, sandbox           while there is one thread
 *   log, runtime, cluster, gates, admin    threads
 *   accept                        the last: from now on clients come
 *
 * Listeners are made by a runtime by hand, which starts no thread, and taken from it. */
#define _GNU_SOURCE /* asprintf */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <volt/io.h>
#include <volt/name.h>

#include "admin/admin.h"
#include "admin/sight.h"
#include "cluster/cluster.h"
#include "config/command.h"
#include "handover/handover.h"
#include "main/run.h"
#include "process/log.h"
#include "process/privileges.h"
#include "process/sandbox.h"
#include "process/systemd.h"
#include "program/budget.h"
#include "program/site.h"

enum { EXIT_WRONG = 2, START_WORDS = 512 };

/* What has been made of one gate before the runtime runs. */
struct start_gate {
  struct listener_set listeners;
  struct certificates certificates;
};

struct start {
  struct program program;
  struct settings *settings;
  struct start_gate *gates;
  struct systemd_listeners systemd;
  struct inheritance inheritance;
};

static bool start_complain(const char *what, const char *why) {
  fprintf(stderr, "voltgate: %s%s%s\n", what, *what ? ": " : "", why);
  return false;
}

static bool start_complain_freeing(char *words) {
  start_complain("", words);
  free(words);
  return false;
}

/* ---- before there are threads ---- */

static bool start_read(struct start *s, int argc, char *const *argv) {
  s->settings = (struct settings *)calloc(1, sizeof *s->settings);
  s->program.argc = argc;
  s->program.argv = argv;
  if (!s->settings) return start_complain("", "there is no memory");
  if (settings_read(s->settings, argc, argv) == SETTINGS_RUN) return true;
  free(s->settings);
  s->settings = NULL;
  return false;
}

static bool start_descriptors(struct start *s) {
  char words[START_WORDS];
  struct budget budget;
  uint64_t all = privileges_raise_descriptors(s->settings->nofile);
  if (!fd_budget_compute(&budget, s->settings, all, words, sizeof words)) {
    return start_complain("", words);
  }
  s->program.descriptors_all = all;
  uint64_t clients = budget.clients > VOLT_SEM_MAX ? VOLT_SEM_MAX : budget.clients;
  volt_sem_init(&s->program.host.descriptors, (uint32_t)clients);
  return true;
}

static bool start_open_with(struct start *s, volt_rt *by_hand) {
  for (size_t i = 0; i < s->settings->gate_count; i++) {
    const struct gate_settings *gate = &s->settings->gates[i];
    char *wrong = site_open(&s->gates[i].listeners, by_hand, gate, NULL, &s->inheritance);
    if (!wrong) wrong = certificates_read(&s->gates[i].certificates, gate);
    if (wrong) return start_complain_freeing(wrong);
  }
  return true;
}

static bool start_open(struct start *s) {
  s->gates = (struct start_gate *)calloc(s->settings->gate_count + 1, sizeof *s->gates);
  if (!s->gates) return start_complain("", "there is no memory");
  const volt_rt_config config = {.flags = VOLT_RT_BY_HAND, .workers = 1, .io = volt_io_epoll()};
  volt_rt *by_hand;
  int result = volt_rt_create(&by_hand, &config);
  if (result != VOLT_OK) return start_complain("cannot start", volt_strerror(result));
  bool is_open = start_open_with(s, by_hand);
  volt_rt_destroy(by_hand);
  return is_open;
}

static bool start_service_manager(struct start *s) {
  char words[START_WORDS];
  systemd_start();
  const char *wrong = systemd_take_listeners(&s->systemd, words, sizeof words);
  if (wrong) return start_complain("", wrong);
  s->inheritance.systemd = &s->systemd;
  return true;
}

static bool start_take_over(struct start *s) {
  struct handover *h = s->program.handover = handover_new(&s->program);
  const char *path = s->settings->take_over;
  if (!h) return start_complain("", "there is no memory");
  char *wrong = path ? handover_take(h, path, &s->inheritance) : NULL;
  return wrong ? start_complain_freeing(wrong) : true;
}

static bool start_handover(struct start *s) {
  if (!s->settings->handover) return true;
  char *wrong = handover_listen(s->program.handover, s->settings->handover);
  return wrong ? start_complain_freeing(wrong) : true;
}

/* ---- rights ---- */

static void start_read_path(struct sandbox_needs *needs, const char *path) {
  if (path && needs->read_count < SANDBOX_PATHS) needs->reads[needs->read_count++] = path;
}

static void start_write_path(struct sandbox_needs *needs, const char *path) {
  bool is_file = path && strcmp(path, "-") != 0;
  if (is_file && needs->write_count < SANDBOX_PATHS) needs->writes[needs->write_count++] = path;
}

static void start_socket(struct sandbox_needs *needs, const char *path) {
  if (path && needs->socket_count < SANDBOX_PATHS) needs->sockets[needs->socket_count++] = path;
}

static void start_socket_path(struct sandbox_needs *needs, const char *address) {
  bool has_path = address && strncmp(address, "unix:", 5) == 0 && address[5] != '@';
  start_socket(needs, has_path ? address + 5 : NULL);
}

/* What the program will still ask for, now that its listeners are open. A reload may bring other
 * ports, and names have ports that are not known yet. */
/* The system's roots, which OpenSSL reads when it needs one. */
static void start_roots(struct sandbox_needs *needs, const struct gate_settings *gate) {
  static const char *const roots[] = {"/etc/ssl/certs/", "/usr/lib/ssl/",
                                      "/usr/share/ca-certificates/",
                                      "/usr/local/share/ca-certificates/"};
  bool checks =
      gate->server_tls == SERVER_TLS_VERIFY_CA || gate->server_tls == SERVER_TLS_VERIFY_FULL;
  if (!checks || gate->server_ca) return;
  for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) start_read_path(needs, roots[i]);
}

static void start_needs(const struct settings *settings, struct sandbox_needs *needs) {
  *needs = (struct sandbox_needs){.any_connect = true, .any_bind = true};
  start_read_path(needs, settings->config);
  start_read_path(needs, settings->token_file);
  start_read_path(needs, settings->cluster_auth_file);
  start_read_path(needs, "/proc/self");
  start_write_path(needs, settings->log.path);
  start_write_path(needs, settings->access.path);
  start_socket_path(needs, settings->metrics);
  start_socket(needs, settings->handover);
  start_socket(needs, settings->sight);
  for (size_t i = 0; i < settings->gate_count; i++) {
    const struct gate_settings *gate = &settings->gates[i];
    if (gate->tenant_by == TENANT_BY_CGROUP) start_read_path(needs, "/proc");
    start_read_path(needs, gate->tls_cert);
    start_read_path(needs, gate->tls_key);
    start_read_path(needs, gate->server_ca);
    start_roots(needs, gate);
    start_read_path(needs, gate->server_cert);
    start_read_path(needs, gate->server_key);
    for (size_t j = 0; j < gate->listen_count; j++) start_socket_path(needs, gate->listen[j]);
  }
  needs->uses_uring = settings->io != IO_EPOLL;
}

/* Sockets that root has made will belong to the user that the program becomes. */
static bool start_give_sockets(const struct settings *settings) {
  char words[START_WORDS] = "";
  for (size_t i = 0; i < settings->gate_count; i++) {
    const struct gate_settings *gate = &settings->gates[i];
    for (size_t j = 0; j < gate->listen_count; j++) {
      const char *address = gate->listen[j];
      if (strncmp(address, "unix:/", 6) != 0) continue;
      int result =
          privileges_give_socket(address + 5, settings->user, settings->group, words, sizeof words);
      if (result != VOLT_OK) return start_complain("", words);
    }
  }
  return true;
}

static bool start_drop_rights(const struct settings *settings) {
  char words[START_WORDS] = "";
  if (!start_give_sockets(settings)) return false;
  if (privileges_drop(settings->user, settings->group, words, sizeof words) != VOLT_OK) {
    return start_complain("", words);
  }
  if (settings->sandbox == SANDBOX_NO) return true;
  struct sandbox_needs needs;
  start_needs(settings, &needs);
  enum sandbox_result result = sandbox_enter(&needs, words, sizeof words);
  if (result == SANDBOX_ENTERED) return true;
  if (settings->sandbox == SANDBOX_REQUIRE) return start_complain("sandbox", words);
  log_line(LOG_WARN, NULL, "sandbox: %s", words);
  return true;
}

/* ---- threads ---- */

static const volt_io_kind *start_io(enum io_choice choice) {
  switch (choice) {
    case IO_AUTO: return volt_io_auto();
    case IO_URING: return volt_io_uring();
    case IO_EPOLL: break;
  }
  return volt_io_epoll();
}

static bool start_log(const struct settings *settings) {
  const char *what = "";
  int result = log_start(&settings->log, &settings->access, &what);
  if (result == VOLT_OK) return true;
  const char *user = settings->user; /* the directory may be another user's */
  fprintf(stderr, "voltgate: cannot log: %s: %s%s%s%s\n", what, volt_strerror(result),
          user ? " (as user " : "", user ? user : "", user ? ")" : "");
  return false;
}

static bool start_runtime(struct program *p, const struct settings *settings) {
  const volt_rt_config config = {
      .workers = settings->workers, .io = start_io(settings->io), .thread_prefix = "gate"};
  int result = volt_rt_create(&p->rt, &config);
  if (result == VOLT_OK) p->began_ns = volt_rt_now_ns(p->rt);
  return result == VOLT_OK || start_complain("cannot start", volt_strerror(result));
}

/* Without it the program would serve as well. */
static void start_sight(struct program *p, const struct settings *settings) {
  (void)volt_name(&p->host.descriptors, "descriptors");
  int result = admin_sight_start(settings);
  if (result == VOLT_OK) return;
  log_line(LOG_WARN, NULL, "nothing is watched: %s", volt_strerror(result));
}

static bool start_cluster(struct program *p, const struct settings *settings) {
  char *wrong = settings->cluster ? gate_cluster_open(&p->cluster, p->rt, settings) : NULL;
  return wrong ? start_complain_freeing(wrong) : true;
}

static bool start_gates(struct start *s) {
  struct site **last = &s->program.first;
  for (size_t i = 0; i < s->settings->gate_count; i++) {
    struct start_gate *gate = &s->gates[i];
    struct site *site =
        site_new(&s->program, &s->settings->gates[i], &gate->listeners, &gate->certificates);
    if (!site) return start_complain("", "there is no memory");
    *last = site;
    last = &site->next;
  }
  return true;
}

static bool start_admin(struct program *p, const struct settings *settings) {
  if (!settings->metrics) return true;
  int number = handover_take_admin(p->handover, settings->metrics);
  int result = admin_start(&p->admin, p, settings->metrics, number);
  if (result != VOLT_OK) {
    fprintf(stderr, "voltgate: the admin side cannot listen on %s: %s\n", settings->metrics,
            volt_strerror(result));
    return false;
  }
  if (number >= 0) handover_keep_admin(p->handover);
  if (number >= 0) admin_keep_path(p->admin, true); /* until the process before has said GO */
  log_notice(NULL, "admin on %s", admin_address(p->admin));
  return true;
}

static bool start_accepting(struct program *p) {
  char *wrong = handover_begin(p->handover);
  if (wrong) return start_complain_freeing(wrong);
  for (struct site *s = p->first; s; s = s->next) {
    int result = site_accept(s);
    if (result != VOLT_OK) return start_complain(s->gate.name, volt_strerror(result));
  }
  return handover_run(p->handover) || start_complain("handover", "there is no thread");
}

static void start_say(struct start *s) {
  char words[START_WORDS];
  struct budget budget;
  if (fd_budget_compute(&budget, s->settings, s->program.descriptors_all, words, sizeof words)) {
    fd_budget_say(&s->program, &budget);
  }
  volt_rt_stats_of stats;
  volt_rt_stats(s->program.rt, &stats);
  unsigned gates = (unsigned)s->settings->gate_count, workers = stats.workers;
  log_line(LOG_INFO, NULL, "voltgate %s runs: %u gate%s, %u worker%s, %s", VOLTGATE_VERSION, gates,
           gates == 1 ? "" : "s", workers, workers == 1 ? "" : "s", volt_rt_io_name(s->program.rt));
}

/* ---- all of it ---- */

static bool start_before_threads(struct start *s) {
  umask(0117); /* sockets: 0660 */
  int result = serve_block_signals();
  if (result != VOLT_OK) return start_complain("signals", volt_strerror(result));
  return start_service_manager(s) && start_descriptors(s) && start_take_over(s) && start_open(s) &&
         start_drop_rights(s->settings) && start_handover(s);
}

static bool start_threads(struct start *s) {
  struct program *p = &s->program;
  if (!start_log(s->settings) || !start_runtime(p, s->settings)) return false;
  start_sight(p, s->settings);
  if (!start_cluster(p, s->settings) || !start_gates(s)) return false;
  if (!start_admin(p, s->settings)) return false;
  start_say(s);
  return start_accepting(p);
}

static bool start_serve(struct start *s) {
  (void)systemd_ready("serves");
  int result = serve_program(&s->program);
  return result == VOLT_OK || start_complain("signals", volt_strerror(result));
}

/* What was made so far goes again; the runtime ends what is left. */
static void start_end(struct start *s) {
  struct program *p = &s->program;
  admin_sight_stop(); /* its reports go to the log */
  handover_stop(p->handover);
  admin_stop(p->admin);
  gate_cluster_close(p->cluster); /* others have its leases now, not when the session has ended */
  if (p->rt) (void)volt_rt_shutdown(p->rt, VOLT_NO_DEADLINE);
  for (struct site *site = p->first; site;) {
    struct site *next = site->next;
    site_free(site);
    site = next;
  }
  gate_cluster_destroy(p->cluster);
  volt_rt_destroy(p->rt);
  for (size_t i = 0; s->gates && i < s->settings->gate_count; i++) {
    listener_set_close(&s->gates[i].listeners);
    certificates_drop(&s->gates[i].certificates);
  }
  free(s->gates);
  handover_free(p->handover);
  log_stop();
  program_destroy(p);
}

int start_program(int argc, char *const *argv) {
  struct start *s = (struct start *)calloc(1, sizeof *s);
  if (!s) return EXIT_FAILURE;
  if (!start_read(s, argc, argv)) {
    free(s);
    return EXIT_WRONG;
  }
  program_init(&s->program, s->settings);
  bool is_served = start_before_threads(s) && start_threads(s) && start_serve(s);
  start_end(s);
  free(s);
  return is_served ? EXIT_SUCCESS : EXIT_FAILURE;
}

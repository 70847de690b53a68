/* 26_fiber_echo.c: a TCP server in straight code: one fiber accepts, each connection is a fiber.
 *
 *   cc -std=c11 26_fiber_echo.c $(pkg-config --cflags --libs volt-io)
 *   ./a.out :7000            serves until it is ended; without an address it tries itself out
 *
 * prints: 100 clients were answered; the server was cancelled */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <volt/fiber.h>
#include <volt/net.h>
#include <volt/volt.h>

static volt_rt *rt;
static volt_fd listener;

static void drop(void *arg) {
  volt_fd_close(arg);
  free(arg);
}

static int echo(void *arg) {
  volt_fd *client = arg;
  char bytes[4096];
  volt_op op;
  int result;
  do {
    result = volt_future_wait(volt_fd_recv_future(&op, client, bytes, sizeof bytes, 0));
    if (result != VOLT_OK || op.n == 0) break; /* it failed, or the client has closed its side */
    result = volt_future_wait(volt_fd_send_future(&op, client, bytes, op.n, 0)); /* all of it */
  } while (result == VOLT_OK);
  drop(client);
  return result;
}

static int serve(void *arg) {
  const volt_fiber_config config = {.unrun = drop}; /* instead of echo(), if there is no stack */
  (void)arg;
  volt_op op;
  volt_accept_pause pause = {0}; /* it knows how long the last one was */
  volt_group clients;
  int result = VOLT_OK;
  volt_group_init_how(&clients, VOLT_GROUP_KEEP_GOING);
  while (result != VOLT_ECANCELED) {
    volt_fd *client = calloc(1, sizeof *client);
    result = client ? volt_future_wait(volt_fd_accept_future(&op, &listener, client)) : VOLT_ENOMEM;
    volt_task *fiber = result == VOLT_OK ? volt_fiber_new(rt, echo, client, &config) : NULL;
    if (result == VOLT_OK) result = volt_group_spawn(&clients, rt, fiber);
    if (result == VOLT_OK) continue;
    if (fiber) volt_task_detach(fiber);
    if (client) drop(client);
    if (result == VOLT_ECANCELED) break;
    result = volt_future_wait(
        volt_accept_pause_future(&pause, rt, result)); /* no descriptor, no memory */
  }
  volt_group_cancel(&clients);
  (void)volt_group_wait(&clients);
  volt_group_destroy(&clients);
  volt_fd_close(&listener);
  return result;
}

/* ---- a client, on the thread of main(): the same calls block it ---- */

static bool is_answered(const char *server) {
  char word[] = "hello", answer[sizeof word] = "";
  volt_fd fd = {0};
  volt_op op;
  volt_dial dial;
  if (volt_future_wait(volt_dial_future(&dial, rt, &fd, server, NULL)) != VOLT_OK) return false;
  int result = volt_future_wait(volt_fd_send_future(&op, &fd, word, sizeof word, 0));
  for (size_t n = 0; result == VOLT_OK && n < sizeof answer; n += op.n) {
    result = volt_future_wait(volt_fd_recv_future(&op, &fd, answer + n, sizeof answer - n, 0));
    if (op.n == 0) break;
  }
  volt_fd_close(&fd);
  return result == VOLT_OK && strcmp(answer, word) == 0;
}

int main(int argc, char **argv) {
  char text[VOLT_ADDRESS_TEXT];
  volt_address at;
  const volt_rt_config config = {.io = volt_io_auto()};
  if (volt_rt_create(&rt, &config) != VOLT_OK) return 1;
  if (volt_address_parse(&at, argc > 1 ? argv[1] : "127.0.0.1:0") != VOLT_OK) return 2;
  if (volt_listen(&listener, rt, &at, 0, 0) != VOLT_OK) return 1;
  volt_task *server = volt_fiber_new(rt, serve, NULL, &(volt_fiber_config){.name = "server"});
  if (volt_fd_local(&listener, &at) != VOLT_OK || volt_spawn(rt, server) != VOLT_OK) return 1;
  int answered = 0;
  if (argc == 1) {
    for (int i = 0; i < 100; i++) answered += is_answered(volt_address_text(&at, text));
    volt_task_cancel(server);
  }
  int result = volt_task_join(server);
  volt_task_detach(server);
  volt_rt_destroy(rt);
  printf("%d clients were answered; the server was %s\n", answered,
         result == VOLT_ECANCELED ? "cancelled" : volt_strerror(result));
  return 0;
}

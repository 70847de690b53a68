/* 27_fiber_httpd.c: the files of a directory by HTTP/1.1, in straight code: a fiber for each
 * connection, files sent by the system without a copy. Only names without '/' and without a dot in
 * front; whole servers are apps/httpd and others: this one shows what a handler looks like.
 *
 *   cc -std=c11 27_fiber_httpd.c $(pkg-config --cflags --libs volt-io)
 *   ./a.out 127.0.0.1:8080 /usr/share/doc     serves it; without arguments it tries itself out
 *
 * prints: 200 404 400 and the file */
#define _GNU_SOURCE /* O_DIRECTORY */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <volt/fiber.h>
#include <volt/net.h>
#include <volt/volt.h>

static volt_rt *rt;
static volt_fd listener;
static int root;

/* ---- the server ---- */

/* Read until the empty line behind a request, behind the *have bytes that are there. Returns its
 * length; 0: there is none, or it is too long. */
static size_t read_request(volt_fd *client, char *text, size_t room, size_t *have) {
  volt_op op;
  for (;;) {
    text[*have] = '\0';
    char *end = strstr(text, "\r\n\r\n");
    if (end) return (size_t)(end - text) + 4;
    if (*have + 1 >= room) return 0;
    int result =
        volt_future_wait(volt_fd_recv_future(&op, client, text + *have, room - *have - 1, 0));
    if (result != VOLT_OK || op.n == 0) return 0;
    *have += op.n;
  }
}

static int send_head(volt_fd *client, const char *status, size_t length) {
  char head[128];
  volt_op op;
  int n = snprintf(head, sizeof head, "HTTP/1.1 %s\r\nContent-Length: %zu\r\n\r\n", status, length);
  return volt_future_wait(volt_fd_send_future(&op, client, head, (size_t)n, 0));
}

static int answer(volt_fd *client, const char *request) {
  char name[128];
  struct stat about;
  volt_fd file = {0};
  volt_op op;
  if (sscanf(request, "GET /%127[^ /] HTTP/1.1\r", name) != 1 || name[0] == '.') {
    return send_head(client, "400 Bad Request", 0);
  }
  int result =
      volt_future_wait(volt_open_future(&op, rt, &file, root, name, O_RDONLY | O_NOFOLLOW, 0));
  if (result == VOLT_ECANCELED) return result;
  if (result != VOLT_OK || fstat(volt_fd_number(&file), &about) != 0 || !S_ISREG(about.st_mode)) {
    result = send_head(client, "404 Not Found", 0);
  } else {
    result = send_head(client, "200 OK", (size_t)about.st_size);
    if (result == VOLT_OK && about.st_size > 0) {
      result =
          volt_future_wait(volt_fd_sendfile_future(&op, client, &file, 0, (size_t)about.st_size));
    }
  }
  volt_fd_close(&file);
  return result;
}

static void drop(void *arg) {
  volt_fd_close(arg);
  free(arg);
}

static int serve(void *arg) {
  volt_fd *client = arg;
  char text[4096];
  size_t have = 0, length;
  int result = VOLT_OK;
  while (result == VOLT_OK && (length = read_request(client, text, sizeof text, &have)) > 0) {
    result = answer(client, text);
    memmove(text, text + length, have -= length); /* what the client has sent ahead */
  }
  drop(client);
  return result;
}

static int accept_all(void *arg) {
  const volt_fiber_config config = {.unrun = drop}; /* instead of serve(), if there is no stack */
  volt_accept_pause pause = {0};
  (void)arg;
  for (;;) {
    volt_op op;
    volt_fd *client = calloc(1, sizeof *client);
    int result =
        client ? volt_future_wait(volt_fd_accept_future(&op, &listener, client)) : VOLT_ENOMEM;
    volt_task *fiber = result == VOLT_OK ? volt_fiber_new(rt, serve, client, &config) : NULL;
    if (volt_spawn(rt, fiber) != VOLT_OK && client) drop(client);
    if (fiber) volt_task_detach(fiber);
    if (result == VOLT_OK) continue;
    result = volt_future_wait(
        volt_accept_pause_future(&pause, rt, result)); /* e.g. no descriptor left */
    if (result != VOLT_OK) return result;              /* to accept again is of no use */
  }
}

/* ---- by itself: three requests at once, from the thread of main() ---- */

static int try_it(volt_fd *fd) {
  static const char requests[] =
      "GET /passwd HTTP/1.1\r\n\r\nGET /none HTTP/1.1\r\n\r\nGET /../etc HTTP/1.1\r\n\r\n";
  char text[65536] = "";
  volt_op op;
  int result = volt_future_wait(volt_fd_send_future(&op, fd, requests, strlen(requests), 0));
  (void)volt_fd_shutdown(fd, SHUT_WR);
  for (size_t n = 0; result == VOLT_OK && n + 1 < sizeof text; n += op.n) {
    result = volt_future_wait(volt_fd_recv_future(&op, fd, text + n, sizeof text - n - 1, 0));
    if (op.n == 0) break;
  }
  volt_fd_close(fd);
  for (char *line = text; (line = strstr(line, "HTTP/1.1 ")); line++) printf("%.3s ", line + 9);
  printf("%s\n", strstr(text, "root:") ? "and the file" : "without the file");
  return result == VOLT_OK ? 0 : 1;
}

int main(int argc, char **argv) {
  volt_address at;
  volt_fd mine;
  volt_fd *client = calloc(1, sizeof *client);
  const volt_rt_config config = {.io = volt_io_auto()};
  root = open(argc > 2 ? argv[2] : "/etc", O_RDONLY | O_DIRECTORY);
  if (root < 0 || !client || volt_rt_create(&rt, &config) != VOLT_OK) return 1;
  if (argc > 2) {
    if (volt_address_parse(&at, argv[1]) != VOLT_OK) return 2;
    if (volt_listen(&listener, rt, &at, 0, 0) != VOLT_OK) return 1;
    return accept_all(NULL) == VOLT_OK ? 0 : 1; /* this thread accepts: it may be a fiber as well */
  }
  if (volt_pair_open(&mine, client, rt, SOCK_STREAM) != VOLT_OK) return 1;
  if (volt_fiber_spawn(rt, serve, client) != VOLT_OK) return 1;
  int result = try_it(&mine);
  volt_rt_destroy(rt);
  return result;
}

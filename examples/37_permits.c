/* 37_permits.c: a permit of cores and memory from a voltgate, and what the program does when it is lost.
 * With the address of a gate it asks that gate; without, it answers itself, to be tried out.
 *
 *   cc -std=c11 37_permits.c $(pkg-config --cflags --libs volt-io)
 *   ./a.out unix:/run/voltgate/permits.sock
 *
 * prints: place 2
 * prints: 2 cores are held
 * prints: the permit is lost: closed */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <volt/fiber.h>
#include <volt/net.h>
#include <volt/permit_client.h>
#include <volt/select.h>
#include <volt/semaphore.h>

static volt_rt *rt;
static volt_fd listener;
static volt_sem places = VOLT_SEM_INIT(0); /* how many were printed */

/* ---- instead of a gate ---- */

static int answer(void *arg) {
  static const char *const lines[] = {"hello 1 voltgate 0.1.0 example\n", "queued 2\n",
                                      "granted cores=2 memory=4294967296 id=1 wait_ms=0\n"};
  volt_fd client = {0};
  volt_op op;
  char bytes[256];
  (void)arg;
  int result = volt_future_wait(volt_fd_accept_future(&op, &listener, &client));
  for (size_t i = 0; result == VOLT_OK && i < sizeof lines / sizeof lines[0]; i++) {
    if (result == VOLT_OK && i == 2)
      result = volt_sem_acquire(&places, 1); /* the place is seen before the grant comes */
    if (i < 2)                               /* hello, take */
      result = volt_future_wait(volt_fd_recv_future(&op, &client, bytes, sizeof bytes, 0));
    if (result == VOLT_OK)
      result = volt_future_wait(volt_fd_send_future(&op, &client, lines[i], strlen(lines[i]), 0));
  }
  volt_fd_close(&client); /* it ends while the permit is held */
  return result;
}

static volt_task *answer_at(const char *at) {
  volt_address address;
  if (volt_address_parse(&address, at) != VOLT_OK) return NULL;
  if (volt_listen(&listener, rt, &address, 0, 0) != VOLT_OK) return NULL;
  volt_task *gate = volt_fiber_new(rt, answer, NULL, NULL);
  return gate && volt_spawn(rt, gate) == VOLT_OK ? gate : NULL;
}

/* ---- the program ---- */

/* Acquire, and print each place in the queue meanwhile. */
static int acquire(volt_permit_client *c, const volt_permit_request *job) {
  uint64_t seen = 1; /* the version before any place */
  volt_future place;
  volt_select select;
  volt_future *either[] = {volt_permit_client_place_future(&place, c, &seen),
                           volt_permit_client_acquire_future(c, job)};
  for (;;) {
    int result = volt_future_wait(
        volt_select_future(&select, either, 2, VOLT_SELECT_BIASED | VOLT_SELECT_KEEP));
    if (volt_select_winner(&select) == 1) {
      volt_future_cancel(&place);
      return result;
    }
    if (volt_permit_client_place(c) > 0) {
      printf("place %u\n", volt_permit_client_place(c));
      volt_sem_release(&places, 1);
    }
    either[0] = volt_permit_client_place_future(&place, c, &seen);
  }
}

static int work(const char *gate) {
  volt_permit_client client;
  const volt_permit_request job = {.text = "cores=2 memory=4G", .label = "example"};
  volt_permit_client_init(&client, rt);
  int result = volt_future_wait(volt_permit_client_connect_future(&client, gate));
  if (result == VOLT_OK) result = acquire(&client, &job);
  if (result == VOLT_OK) {
    printf("%llu cores are held\n", (unsigned long long)volt_permit_client_held(&client, "cores"));
    /* A program works here, and looks at this future beside its work. */
    int why = volt_future_wait_until(volt_permit_client_lost_future(&client), volt_deadline_s(10));
    if (why == VOLT_ETIMEDOUT) {
      result = volt_future_wait(volt_permit_client_release_future(&client, NULL));
    } else {
      printf("the permit is lost: %s\n", volt_strerror(why));
    }
  } else {
    fprintf(stderr, "%s: %s: %s\n", gate, volt_strerror(result), volt_permit_client_words(&client));
  }
  volt_permit_client_close(&client);
  return result == VOLT_OK ? 0 : 1;
}

int main(int argc, char **argv) {
  const volt_rt_config config = {.io = volt_io_auto()};
  if (volt_rt_create(&rt, &config) != VOLT_OK) return 1;
  char at[64];
  snprintf(at, sizeof at, "unix:@volt-example-%d", (int)getpid());
  const char *gate = argc > 1 ? argv[1] : at;
  volt_task *own = argc > 1 ? NULL : answer_at(gate);
  int code = argc <= 1 && !own ? 1 : work(gate);
  if (own) {
    if (code != 0) volt_task_cancel(own); /* it may wait for a client that has not come */
    (void)volt_task_join(own);
    volt_task_detach(own);
  }
  volt_fd_close(&listener);
  volt_rt_destroy(rt);
  return code;
}

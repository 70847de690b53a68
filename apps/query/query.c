/* query.c: one query on one of eight connections. Threads and fibers call the same function, of the
 * same object file. */
#include "query.h"

#include <volt/volt.h>

static volt_sem connections = VOLT_SEM_INIT(8);
int run_on_a_connection(const char *sql);

int query(const char *sql) {
  /* at most 8 at once, in the order of their arrival; wait for at most 50 ms */
  int result = volt_sem_acquire_until(&connections, 1, volt_deadline_ms(50));
  if (result != VOLT_OK) return result; /* VOLT_ETIMEDOUT: no permit is held */
  result = run_on_a_connection(sql);
  volt_sem_release(&connections, 1);
  return result;
}

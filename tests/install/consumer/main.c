/* A stranger's program: one fast path, one call into the library. */
#include <stdio.h>
#include <string.h>
#include <volt/volt.h>

int main(void) {
  volt_sem sem = VOLT_SEM_INIT(1);
  if (volt_sem_try_acquire(&sem, 1) != VOLT_OK) return 1;
  if (volt_sem_acquire_until(&sem, 1, volt_deadline_ns(1000)) != VOLT_ETIMEDOUT) return 2;
  volt_sem_release(&sem, 1);
  volt_sem_destroy(&sem);
  char version[32];
  snprintf(version, sizeof version, "%d.%d.%d", VOLT_VERSION_MAJOR, VOLT_VERSION_MINOR,
           VOLT_VERSION_PATCH);
  puts(volt_version());
  return strcmp(version, volt_version()) == 0 ? 0 : 3;
}

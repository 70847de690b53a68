// The same as valgrind.c, by the fast paths that a C++ compiler has compiled. With -DRACE two threads also
// add to a variable that nothing protects.
#include <volt/mutex.h>
#include <volt/rwlock.h>
#include <volt/semaphore.h>
#include <cstdlib>
#include <thread>

enum { ROUNDS = 300 };

static volt_mutex mutex = VOLT_MUTEX_INIT;
static volt_rwlock rwlock = VOLT_RWLOCK_INIT;
static volt_sem semaphore = VOLT_SEM_INIT(1);
static int under_mutex, under_rwlock, under_semaphore;

#ifdef RACE
static int unprotected;
#endif

static void work() {
  for (int i = 0; i < ROUNDS; i++) {
    if (volt_mutex_lock_until(&mutex, VOLT_NO_DEADLINE) != VOLT_OK) std::abort();
    under_mutex += 1;
    volt_mutex_unlock(&mutex);
    if (volt_rwlock_write_until(&rwlock, VOLT_NO_DEADLINE) != VOLT_OK) std::abort();
    under_rwlock += 1;
    volt_rwlock_write_unlock(&rwlock);
    if (volt_sem_acquire(&semaphore, 1) != VOLT_OK) std::abort();
    under_semaphore += 1;
    volt_sem_release(&semaphore, 1);
#ifdef RACE
    unprotected += 1;
#endif
  }
}

int main() {
  std::thread a(work), b(work);
  a.join();
  b.join();
  return under_mutex == 2 * ROUNDS && under_rwlock == 2 * ROUNDS && under_semaphore == 2 * ROUNDS
             ? 0
             : 1;
}

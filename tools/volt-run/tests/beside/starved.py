"""Readers that always overlap, and a writer that never gets in: glibc's read-write locks prefer readers."""
import ctypes
import sys
import threading
import time

c = ctypes.CDLL(None)
lock = ctypes.create_string_buffer(64)  # as PTHREAD_RWLOCK_INITIALIZER
end = time.monotonic() + float(sys.argv[1])


def read(i):
    time.sleep(i * 0.01)
    while time.monotonic() < end:
        c.pthread_rwlock_rdlock(lock)
        time.sleep(0.03)
        c.pthread_rwlock_unlock(lock)


def write():
    time.sleep(0.1)
    begun = time.monotonic()
    c.pthread_rwlock_wrlock(lock)
    print(f"the writer waited for {time.monotonic() - begun:.1f} s")
    c.pthread_rwlock_unlock(lock)


threads = [threading.Thread(target=read, args=(i,)) for i in range(3)] + [threading.Thread(target=write)]
for t in threads:
    t.start()
for t in threads:
    t.join()

"""Three threads that wait for each other, after each lock has been used well."""
import threading

locks = [threading.Lock() for _ in range(3)]
all_hold_one = threading.Barrier(3)
for lock in locks:
    with lock:
        pass


def work(i):
    with locks[i]:
        all_hold_one.wait()
        with locks[(i + 1) % 3]:
            pass


threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
for t in threads:
    t.start()
for t in threads:
    t.join()

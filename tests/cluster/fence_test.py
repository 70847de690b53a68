#!/usr/bin/env python3
"""fence_test.py DIRECTORY [test]...: the SQL of docs/cluster/README.md in a PostgreSQL: a write with an
older permit is refused, also if transactions overlap, and if a host was stopped in the middle."""

from zookeeper_kit import *

TREE = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../..")
REFUSED = "VF001"


def blocks_of_the_page():
    """What stands between ```sql and ``` on the page."""
    with open(os.path.join(TREE, "docs/cluster/README.md")) as f:
        return re.findall(r"^```sql\n(.*?)^```$", f.read(), re.M | re.S)


def example(name):
    with open(os.path.join(TREE, "examples", name)) as f:
        return f.read()


class Database(Postgres):
    """With what the page says; `stock`, which the page's transaction changes; and `written`, in which
    each write of these tests leaves a line."""

    def __init__(self):
        super().__init__()
        self.run(blocks_of_the_page()[0], "CREATE TABLE written (id bigserial, what text)",
                 "CREATE TABLE stock (item text PRIMARY KEY, amount int)",
                 "INSERT INTO stock VALUES ('bread', 100)")

    def bread(self):
        return int(self.run("SELECT amount FROM stock WHERE item = 'bread'")[0][0][0])

    def writer(self):
        return Writer(self.port)

    def written(self):
        return [row[0] for row in self.run("SELECT what FROM written ORDER BY id")[0]]


def fence(*numbers, resource="shop", slot=0):
    return f"SELECT volt_fence('{resource}', {slot}, {', '.join(map(str, numbers))})"


class Writer(Pg):
    def begin(self, *numbers, how="", **named):
        self.query(f"BEGIN {how}")
        self.send(fence(*numbers, **named))

    def answered(self):
        """None: it was accepted; or the SQLSTATE. Writes a line if it may."""
        try:
            self.until_ready()
            return None
        except PgError as e:
            return e.code

    def end(self, what, how="COMMIT"):
        self.query(f"INSERT INTO written (what) VALUES ('{what}')")
        self.query(how)

    def write(self, what, *numbers, **named):
        """One transaction. Returns None, or why it was refused."""
        self.begin(*numbers, **named)
        refused = self.answered()
        self.query("ROLLBACK") if refused else self.end(what)
        return refused


def waits(database):
    """Until a transaction waits for another one."""
    wait_until(lambda: database.run("SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'")[0],
               "a transaction that waits for another one")


def test_page():
    """the page's SQL is that of the example; its transaction is done once, and refused when it is old"""
    setup, transaction = blocks_of_the_page()
    equal(setup, example("15_cluster.sql"), "the first block of SQL on the page")
    database = Database()
    for statement, bread in ((transaction, 99), (transaction, 98)):
        database.run(*statement.strip().splitlines())
        equal(database.bread(), bread, "bread")
    with database.writer() as w:
        equal(w.write("a newer one", 1, 1 << 40, 1), None, "a newer permit")
    try:
        database.run(transaction)
        raise AssertionError("the older one is accepted")
    except PgError as e:
        equal(e.code, REFUSED, "the older one")
    equal(database.bread(), 98, "bread")


def test_order():
    """fences are compared by era, epoch, grant, for each slot and resource alone"""
    database = Database()
    with database.writer() as w:
        for accepted, *numbers in ((True, 1, 5, 5), (True, 1, 5, 5), (True, 1, 5, 6), (False, 1, 5, 5),
                                 (True, 1, 6, 1), (False, 1, 5, 7), (True, 2, 1, 1), (False, 1, 9, 9),
                                 (True, 2, 1, 1), (True, 2, 1 << 62, 1), (False, 2, 7, 1)):
            equal(w.write(str(numbers), *numbers), None if accepted else REFUSED, f"the answer to {numbers}")
        equal(w.write("another slot", 1, 1, 1, slot=1), None, "another slot")
        equal(w.write("another resource", 1, 1, 1, resource="bakery"), None, "another resource")
    equal(len(database.written()), 9, "lines written")


def two_at_once(database, first, second, how, isolation=""):
    """A transaction is open with one fence, and another one begins: what becomes of the second."""
    with database.writer() as a, database.writer() as b:
        a.begin(*first)
        equal(a.answered(), None, "the first")
        b.begin(*second, how=isolation)
        waits(database)
        a.end("first", how)
        refused = b.answered()
        b.query("ROLLBACK") if refused else b.end("second")
    return refused


def test_two_at_once():
    """two transactions at once: the second waits, and is then judged by what the first one left"""
    database = Database()
    for old in (None, (1, 1, 1)):  # the row is not there yet; it is there
        for first, second, how, expected in (
                ((1, 7, 1), (1, 8, 1), "COMMIT", None), ((1, 8, 1), (1, 7, 1), "COMMIT", REFUSED),
                ((1, 8, 1), (1, 7, 1), "ROLLBACK", None), ((1, 7, 1), (1, 7, 1), "COMMIT", None)):
            database.run("TRUNCATE volt_fences, written")
            if old:
                with database.writer() as w:
                    w.write("old", *old)
            equal(two_at_once(database, first, second, how), expected,
                  f"{second} while {first} is not yet through, {how}")
            lines = ([] if not old else ["old"]) + (["first"] if how == "COMMIT" else []) + (
                ["second"] if not expected else [])
            equal(database.written(), lines, "what was written")


def test_isolation():
    """at stricter levels, the second of two is refused in another way, and never accepted late"""
    database = Database()
    for level in ("REPEATABLE READ", "SERIALIZABLE"):
        for old in ((1, 1, 1), None):
            database.run("TRUNCATE volt_fences, written")
            if old:
                with database.writer() as w:
                    w.write("old", *old)
            isolation = f"ISOLATION LEVEL {level}"
            refused = two_at_once(database, (1, 8, 1), (1, 7, 1), "COMMIT", isolation)
            require(refused in (REFUSED, "40001"), f"{level}: {refused}")
            refused = two_at_once(database, (1, 9, 1), (1, 10, 1), "COMMIT", isolation)
            require(refused in (None, "40001"), f"{level}: {refused}")


def test_commits_late():
    """a transaction that began before a newer fence does not commit after it"""
    database = Database()
    with database.writer() as old, database.writer() as new:
        old.begin(1, 7, 1)
        equal(old.answered(), None, "the old one, which is the newest so far")
        new.begin(1, 8, 1)
        waits(database)
        old.end("old")
        equal(new.answered(), None, "the new one")
        new.end("new")
    equal(database.written(), ["old", "new"], "order of the writes")


def test_misuse():
    """called in a transaction of its own it protects nothing: these tests can fail"""
    database = Database()
    with database.writer() as old, database.writer() as new:
        old.query(fence(1, 7, 1))
        equal(new.write("new", 1, 8, 1), None, "the new one")
        old.query("INSERT INTO written (what) VALUES ('old')")
    equal(database.written(), ["new", "old"], "order of the writes")


def test_idle():
    """a host that is stopped inside a transaction: after idle_in_transaction_session_timeout another
    one goes on, and nothing of the first is left"""
    database = Database()
    with database.writer() as old, database.writer() as new:
        old.query("BEGIN")
        old.query(fence(1, 7, 1))
        old.query("INSERT INTO written (what) VALUES ('old')")
        old.query("SET idle_in_transaction_session_timeout = '300ms'")
        equal(new.write("new", 1, 8, 1), None, "the new one")
        try:
            old.query("COMMIT")
            raise AssertionError("the old one commits")
        except (PgError, OSError):
            pass
    equal(database.written(), ["new"], "what was written")


# ---- a host that is stopped ----

class Command:
    """15_cluster.c with a command that waits for a word, as if it computed, and then runs psql."""

    def __init__(self, zks, database, sql):
        self.directory = scratch()
        self.word = os.path.join(self.directory, "word")
        os.mkfifo(self.word)
        with open(os.path.join(self.directory, "write.sql"), "w") as f:
            f.write(sql)
        script = (f"cd {self.directory}; touch begun; read word < word;"
                  f" psql -h 127.0.0.1 -p {database.port} -U postgres -v ON_ERROR_STOP=1 -f write.sql"
                  f" postgres > said 2>&1; echo $? > code.new; mv code.new code")
        self.process = Process([os.path.join(program(), "../../examples/example.15_cluster"), zks.address,
                                "shop", "1", "sh", "-c", script])

    def has_begun(self):
        """Or has lost its permit before that."""
        is_lost = not self.process.alive() and "the permit is lost" in self.process.said()
        require(is_lost or self.process.alive(), f"the host ended: {self.process.said()}")
        return is_lost or self.has("begun")

    def write(self):
        """Lets the command go on. Returns psql's exit code and what it said; None if the host ended before that,
        as one does that loses its permit: on a busy machine it may not run for as long as its session lasts."""
        wait_until(lambda: self.lets_go_on() or not self.process.alive(), "the command reads its word")
        wait_until(lambda: self.has("code") or not self.process.alive(), "psql has ended")
        return (int(self.file("code")), self.file("said")) if self.has("code") else None

    def lets_go_on(self):
        try:
            word = os.open(self.word, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:  # no reader yet
            return False
        os.write(word, b"go\n")
        os.close(word)
        return True

    def has(self, name):
        return os.path.exists(os.path.join(self.directory, name))

    def file(self, name):
        with open(os.path.join(self.directory, name)) as f:
            return f.read()


def late_write(sql):
    """A host has the permit, and is stopped for longer than its session, command and all. Another one
    gets the permit and writes. Then the command of the first goes on: as if the kernel ran it before
    the task that ends it. Returns psql's exit code and words, for both, and how many loaves the late one took."""
    database = Database()
    zks = ZooKeepers(1, tick_ms=200)  # so a session lasts 4 s at most
    first = Command(zks, database, sql)
    wait_until(first.has_begun, "the first has the permit")
    os.killpg(first.process.pid, signal.SIGSTOP)
    in_time = None
    while in_time is None:
        second = Command(zks, database, sql)
        wait_until(second.has_begun, "the second has the permit, when the session of the first has ended")
        in_time = second.write()
        ended = second.process.process.wait(LIMIT)
        require(ended == 0 or "the permit is lost" in second.process.said(), f"the second: {second.process.said()}")
    bread = database.bread()
    command, = children_of(first.process.pid)
    for pid in (*children_of(command), command):  # itself last: it reaps those that have ended
        os.kill(pid, signal.SIGCONT)
    late = first.write()
    first.process.send_signal(signal.SIGCONT)
    wait_until(lambda: not first.process.alive(), "the first ends")
    zks.kill()
    return in_time, late, bread - database.bread()


def children_of(pid):
    found = []
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/children") as f:
            found += map(int, f.read().split())
    return found


def test_stopped_host():
    """a host that was stopped for longer than its session: its write is refused by the database"""
    in_time, late, taken = late_write(example("15_cluster_write.sql"))
    equal(in_time[0], 0, f"psql of the host in time: {in_time[1]}")
    require(late[0] == 3 and "is not the newest one" in late[1], f"psql of the late one: {late}")
    equal(taken, 0, "bread that the late one took")
    return late[1].strip().splitlines()[0].partition("ERROR:")[2].strip()


def test_stopped_host_without_fence():
    """the same without the call of volt_fence(): the late write is accepted"""
    sql = "".join(line for line in example("15_cluster_write.sql").splitlines(True) if "volt_fence(" not in line or
                  line.startswith("--"))
    in_time, late, taken = late_write(sql)
    equal((in_time[0], late[0]), (0, 0), f"psql: {in_time}, {late}")
    equal(taken, 1, "bread that the late one took")


def needs_servers(test):
    """The test is skipped, and no other, where there are no servers."""
    def run():
        if not (java() and zookeeper() and psql()):
            raise Skip("it needs java, ZooKeeper and psql")
        return test()
    run.__doc__, run.__name__ = test.__doc__, test.__name__
    return run


if __name__ == "__main__":
    run_tests([postgres], test_page, test_order, test_two_at_once, test_isolation, test_commits_late,
              test_misuse, test_idle, needs_servers(test_stopped_host),
              needs_servers(test_stopped_host_without_fence))

"""Pretty printers: a mutex is "locked, 3 wait" and not its words. They need debug information."""
import gdb
import gdb.printing

from . import futures

OBJECTS = ('volt_mutex', 'volt_sem', 'volt_rwlock', 'volt_chan')


def number(value):
    """Of a member that may be atomic, in C or in C++."""
    kind = value.type.strip_typedefs()
    if kind.code == gdb.TYPE_CODE_STRUCT:  # std::atomic<T>
        value = value['_M_i'] if any(f.name == '_M_i' for f in kind.fields()) else value[kind.fields()[0]]
        return number(value)
    return int(value)


class Object:
    """A mutex, a semaphore, an rwlock, a channel."""

    def __init__(self, value, kind):
        self.value, self.kind = value, kind

    def to_string(self):
        queue = self.value['queue']
        word = number(queue['word'])
        more = {'capacity': int(self.value['capacity'])} if self.kind == 'volt_chan' else {}
        waiters = number(queue['waiters']) if word & futures.QUEUED else 0
        return futures.words_of(self.kind, word, waiters, **more)


class Task:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        state = number(self.value['state'])
        bits = ('spawned', 'active', 'notified', 'complete', 'cancel', 'ended', 'joined', 'detached', 'grouped')
        said = [name for bit, name in enumerate(bits) if state >> bit & 1]
        registrations = state >> 10
        said.append(f'{registrations - (1 << 54) if registrations >> 53 else registrations} registrations')
        return f'{self.value["poll"].format_string(symbols=True)} at line {int(self.value["frame"]["step"])}: {", ".join(said)}'


class Future:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        ops = self.value['ops']
        if not ops:
            return 'no operation'
        waiter = self.value['waiter']
        state = number(waiter['future'])
        state = 'waits' if state & futures.WAITING else futures.STATES.get(state, 'is broken')
        return f'{ops.format_string(symbols=True)}, object {int(self.value["object"]):#x}: {state}'


class Parker:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        word = number(self.value['word'])
        return f'{word >> 2 & (1 << 29) - 1} unparks' + (', sleeps' if word & 1 else ', a fiber waits' if word & 2 else '')


def lookup():
    found = gdb.printing.RegexpCollectionPrettyPrinter('volt')
    for name in OBJECTS:
        found.add_printer(name, f'^{name}$', lambda value, kind=name: Object(value, kind))
    found.add_printer('volt_task', '^volt_task$', Task)
    found.add_printer('volt_future', '^volt_future$', Future)
    found.add_printer('volt_parker', '^volt_parker$', Parker)
    return found


def register():
    gdb.printing.register_pretty_printer(None, lookup(), replace=True)

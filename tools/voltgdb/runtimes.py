"""Runtimes, their workers, tasks and timers."""
import functools
import time

import gdb

from . import memory

MOST_TASKS = 10_000_000  # more than that in one list is a circle
FINALLY, END, ENDED = 0x7ffffff0, 0x7ffffff1, 0x7ffffff2  # frame->step: include/volt/detail/await.h
MOST_COROUTINES = 64
STAMP_SHIFT = 20  # of task.since: nanoseconds by 2^20


class Runtime:
    def __init__(self, layout, address, index):
        self.layout, self.address, self.index = layout, address, index
        self.workers = layout.memory.u32(address + layout['rt.workers'])

    def name(self):
        """As the names of its threads begin."""
        return self.layout.memory.text(self.address + self.layout['rt.thread_prefix'])

    def u64(self, member):
        return self.layout.memory.u64(self.address + self.layout[member])

    def worker(self, index):
        return Worker(self, index)

    def tasks(self):
        """The addresses of all that have not ended."""
        layout, mem = self.layout, self.layout.memory
        registry = mem.pointer(self.address + layout['rt.registry'])
        for shard in range(self.workers + 1):
            for which in ('registry.running', 'registry.cancelled'):
                head = registry + shard * layout['sizeof registry'] + layout[which]
                link = mem.pointer(head + layout['link.next'])
                for _ in range(MOST_TASKS):
                    if link == head:
                        break
                    yield link - layout['task.entry']
                    link = mem.pointer(link + layout['link.next'])

    def timers(self):
        """(deadline in ns, address of its waiter) of each that is started, the earliest first. Those
        that another thread is just about to insert are missing."""
        layout, mem = self.layout, self.layout.memory
        root = mem.pointer(self.address + layout['rt.timers'] + layout['timers.root'])
        found, left = [], [root] if root else []
        while left and len(found) < MOST_TASKS:
            waiter = left.pop()
            deadline = waiter - layout['timer.waiter'] + layout['timer.deadline_ns']
            found.append((mem.u64(deadline), waiter))
            for member in ('waiter.data', 'waiter.next'):  # its first child, its next sibling
                below = mem.pointer(waiter + layout[member])
                if below:
                    left.append(below)
        return sorted(found)

    @functools.cached_property
    def now_ns(self):
        """The time by the clock of its timers. In a core: the latest that is known, when a worker has
        looked at the clock last or a task has begun to wait."""
        layout, mem = self.layout, self.layout.memory
        timers = self.address + layout['rt.timers']
        if mem.u8(timers + layout['timers.is_virtual']):
            return mem.u64(timers + layout['timers.virtual_ns'])
        if memory.is_live():
            return time.monotonic_ns()
        known = [self.worker(i).u64('looked_ns') for i in range(self.workers)]
        if layout.has('task.since'):
            last = max(known)
            stamps = (mem.u32(task + layout['task.since']) for task in self.tasks())
            ahead = ((stamp - (last >> STAMP_SHIFT)) & 0xffffffff for stamp in stamps)
            known.append(last + (max((a for a in ahead if not a >> 31), default=0) << STAMP_SHIFT))
        return max(known)


def runtimes(layout):
    address, found = layout.first, []
    while address:
        found.append(Runtime(layout, address, len(found)))
        address = layout.memory.pointer(address + layout['rt.next'])
    return found


def runtimes_or_say(layout):
    """The same; if there are none, say so: a list of nothing looks as if all were well."""
    found = runtimes(layout)
    if not found:
        print('this program has no runtime now, so it has no tasks; volt threads lists threads that wait')
    return found


def now_of(layout, known=()):
    """The time by CLOCK_MONOTONIC. In a core: the latest that is known; known: of those that wait."""
    if memory.is_live():
        return time.monotonic_ns()
    return max([runtime.now_ns for runtime in runtimes(layout)] + list(known), default=0)


class Worker:
    def __init__(self, runtime, index):
        layout = runtime.layout
        self.runtime, self.index, self.layout = runtime, index, layout
        self.address = runtime.address + layout['rt.worker'] + index * layout['sizeof worker']

    def at(self, member):
        return self.address + self.layout['worker.' + member]

    def u64(self, member):
        return self.layout.memory.u64(self.at(member))

    def pointer(self, member):
        return self.layout.memory.pointer(self.at(member))

    def running(self):
        """The task that it polls, or polled last; 0: none."""
        return self.pointer('running')

    def is_parked(self):
        return bool(self.runtime.u64('rt.idle') >> self.index & 1)

    def queued(self):
        """The tasks in its slot, its ring and its list."""
        layout, mem = self.layout, self.layout.memory
        found = [self.pointer('lifo')] if self.pointer('lifo') else []
        head, tail = self.u64('ring.head'), self.u64('ring.tail')
        for i in range(head, min(tail, head + layout['worker ring'])):
            slot = self.at('ring.slots') + i % layout['worker ring'] * mem.pointer_bytes
            found.append(mem.pointer(slot))
        homed = self.pointer('home.first')
        while homed and len(found) < MOST_TASKS:
            found.append(homed)
            homed = mem.pointer(homed + layout['task.next'])
        return found


class Site:
    """Where the source of a function with BEGIN and END is; what of it cannot be read is None."""

    def __init__(self, layout, address):
        mem = layout.memory
        try:
            self.function = mem.text(mem.pointer(address + layout['site.function']))
            self.file = mem.text(mem.pointer(address + layout['site.file']))
        except gdb.MemoryError:
            self.function = self.file = None


def short(function):
    """The name in what a C++ compiler says of a function: outer, of "volt::task<int> outer()"."""
    return (function.split('(')[0].split() or [function])[-1]


class Frame:
    """A volt_frame: of a task or of an async function. poll: its function."""

    def __init__(self, layout, address, poll):
        mem = layout.memory
        self.layout, self.poll, self.address = layout, poll, address
        self.step = mem.u32(address + layout['frame.step'])
        self.awaiting = mem.pointer(address + layout['frame.awaiting'])
        self.site = None
        if layout.has('frame.site'):
            offset = mem.i32(address + layout['frame.site'])
            self.site = Site(layout, poll + offset) if offset else None

    @functools.cached_property
    def trail(self):
        """(file:line, function) of the co_await of each coroutine that its poller runs, the outermost
        first; what cannot be read is None."""
        layout, mem = self.layout, self.layout.memory
        if not layout.has('step trail') or not layout['step trail'] < self.step < FINALLY:
            return []
        trail = mem.pointer(self.address + self.step - layout['step trail'])
        found = []
        while trail and len(found) < MOST_COROUTINES:
            found.append(self.place_at(mem.pointer(trail + layout['trail.place'])))
            has_parent = mem.pointer(trail + layout['trail.parent'])
            trail = mem.pointer(trail + layout['trail.awaited_by']) if has_parent else 0
        return found[::-1]

    def place_at(self, place):
        layout, mem = self.layout, self.layout.memory
        try:
            file = mem.text(mem.pointer(place + layout['place.file'])) if place else None
            function = mem.text(mem.pointer(place + layout['place.function'])) if place else None
            line = mem.u32(place + layout['place.line']) if place else 0
        except gdb.MemoryError:
            return None, None
        where = f'{file.rsplit("/", 1)[-1]}:{line}' if file else f'line {line}' if line else None
        return where, short(function) if function else None

    def function(self):
        if self.trail:
            return self.trail[0][1] or f'{self.poll:#x}'
        if self.site and self.site.function:
            return self.site.function
        return memory.symbol_at(self.poll) or f'{self.poll:#x}'

    def place(self):
        """file:line, or as much of it as is known. standing() has the word before it."""
        if self.trail:
            return self.trail[0][0] or 'in a coroutine'
        if self.step == 0:
            return 'at its beginning'
        if self.step >= FINALLY:
            return 'at its end'
        if self.layout.has('step trail') and self.step >= self.layout['step trail']:
            return 'in a coroutine'
        file = self.site.file if self.site else None
        return f'{file.rsplit("/", 1)[-1]}:{self.step}' if file else f'line {self.step}'


    def standing(self):
        """at file:line; in a coroutine."""
        place = self.place()
        return place if place.startswith(('at ', 'in ')) else f'at {place}'


class Task:
    def __init__(self, runtime, address):
        layout, mem = runtime.layout, runtime.layout.memory
        self.runtime, self.address, self.layout = runtime, address, layout
        self.state = mem.u64(address + layout['task.state'])
        self.poll = mem.pointer(address + layout['task.poll'])
        self.frame = Frame(layout, address + layout['task.frame'], self.poll)
        self.is_fiber = self.poll == layout.fiber_poll
        self.polls = mem.u32(address + layout['task.polls']) if layout.has('task.polls') else None

    def fiber_name(self):
        mem = self.layout.memory
        return mem.text(mem.pointer(self.address + self.layout['fiber.name']))

    def names(self):
        """By which a user may ask for it."""
        if not self.is_fiber:
            return [self.frame.function()]
        fn = self.layout.memory.pointer(self.address + self.layout['fiber.fn'])
        return [name for name in (self.fiber_name(), memory.symbol_at(fn)) if name]

    def has(self, bit):
        return bool(self.state & self.layout['task ' + bit])

    def registrations(self):
        """Wakers of it that may still be called. While it is queued or runs, those of its last poll
        may be missing."""
        count = self.state // self.layout['task registration']
        return count - (1 << 54) if count >> 53 else count

    def worker(self):
        """The one that polls it; None: none does."""
        for i in range(self.runtime.workers):
            worker = self.runtime.worker(i)
            if worker.running() == self.address and not worker.is_parked():
                return worker
        return None

    def age_ns(self):
        """How long ago it was polled last; None: not known."""
        if not self.layout.has('task.since'):
            return None
        since = self.layout.memory.u32(self.address + self.layout['task.since'])
        stamps = ((self.runtime.now_ns >> STAMP_SHIFT) - since) & 0xffffffff
        return 0 if stamps >> 31 else stamps << STAMP_SHIFT

    def how(self):
        """waits, runs, queued or ends."""
        if self.has('is complete'):
            return 'ends'
        if not self.has('is active'):
            return 'waits'
        return 'runs' if self.worker() else 'queued'


def all_tasks(layout):
    for runtime in runtimes(layout):
        for address in runtime.tasks():
            yield Task(runtime, address)


def task_at(layout, text):
    """The task of an address, in any form that gdb understands, or of a function's name; a fiber has a name of
    its own, too."""
    if not text:
        raise gdb.GdbError('which task? volt tasks lists them')
    try:
        address = int(gdb.parse_and_eval(f'(unsigned long)({text})'))
    except gdb.error:
        address = None
    named = []
    for task in all_tasks(layout):
        if task.address == address:
            return task
        if text in task.names():
            named.append(task)
    if len(named) == 1:
        return named[0]
    raise gdb.GdbError(f'{len(named)} tasks are called {text}' if named else f'there is no task {text}')

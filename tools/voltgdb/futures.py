"""What a task waits for: the futures that it awaits, their objects, and who waits at an object."""
import gdb

from . import memory
from .runtimes import Frame, all_tasks

DEPTH = 64
MOST_WAITERS = 1_000_000
QUEUED, LOCKED, CLOSED = 1, 2, 4  # of a word: include/volt/detail/fifo.h
WRITER = 0x1fffffff               # of an rwlock's value
MUTEX_BYPASS_OPEN = 0x10
STATES = {0: 'has not begun', 2: 'is ready'}
WAITING = 1  # a bit of a future's state: src/core/future/future_ops.h


def seconds(ns):
    """As reports say a time."""
    if ns == 0:
        return 'less than 1 ms'  # the unit of task.since
    for unit, name in ((1_000_000_000, 's'), (1_000_000, 'ms'), (1_000, 'us')):
        if ns >= unit:
            value = ns / unit
            return f'{value:.1f} {name}' if value < 100 else f'{value:.0f} {name}'
    return f'{ns} ns'


# ---- objects ----

def nth(number):
    """1st, 2nd, 11th."""
    ending = {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th') if number % 100 // 10 != 1 else 'th'
    return f'{number}{ending}'


def signed(value):
    return value - (1 << 32) if value >> 31 else value


def mutex_words(word, value, waiters):
    del word
    return 'locked' if waiters or value else 'free'


def semaphore_words(word, value, waiters):
    del word
    return '0 free' if waiters else f'{signed(value)} free'


def rwlock_words(word, value, waiters):
    if waiters and not word & MUTEX_BYPASS_OPEN:
        return 'held'  # the value is 0 while a waiter is queued, unless it may be passed
    if value == WRITER:
        return 'held by a writer'
    return f'held by {value} readers' if value else 'free'


def channel_words(word, value, waiters, capacity='?'):
    del value
    length = word >> 8 & (1 << 28) - 1
    side = '' if not waiters else ', receivers wait' if length == 0 else ', senders wait'
    return f'{length} of {capacity} elements{side}'


WORDS = {'mutex': mutex_words, 'semaphore': semaphore_words, 'rwlock': rwlock_words, 'channel': channel_words}
KINDS = {'volt_mutex': 'mutex', 'volt_sem': 'semaphore', 'volt_rwlock': 'rwlock', 'volt_chan': 'channel'}


def words_of(kind, word, waiters, **more):
    """An object's word in words; kind: as reports call it, or its type."""
    kind = KINDS.get(kind, kind)
    said = [WORDS[kind](word, word >> 32, waiters, **more)] if kind in WORDS else []
    if word & CLOSED:
        said.append('closed')
    if word & LOCKED:
        said.append('a thread works on it')
    if waiters:
        said.append(f'{waiters} wait' if waiters > 1 else '1 waits')
    return ', '.join(said)


class Queue:
    """The FIFO that an object begins with."""

    def __init__(self, layout, address):
        mem = layout.memory
        self.layout, self.address = layout, address
        self.word = mem.u64(address + layout['fifo.word'])
        self.count = mem.u32(address + layout['fifo.waiters']) if self.word & QUEUED else 0

    def waiters(self):
        """Their addresses, the oldest first."""
        mem = self.layout.memory
        waiter = mem.pointer(self.address + self.layout['fifo.head']) if self.word & QUEUED else 0
        for _ in range(MOST_WAITERS):
            if not waiter:
                return
            yield waiter
            waiter = mem.pointer(waiter + self.layout['waiter.next'])

    def place_of(self, waiter):
        """From 1; 0: it is not there."""
        for place, other in enumerate(self.waiters(), 1):
            if other == waiter:
                return place
        return 0


def name_of(layout, address):
    """As reports say it: 'pool', or the symbol of a variable; '': it has neither."""
    named = layout.names.get(address)
    if named:
        return f"'{named}'"
    symbol = memory.symbol_at(address, offset=False)
    return f"'{symbol}'" if symbol else ''


def object_words(layout, kind, address):
    """'pool' (semaphore 0x55d0c19a4080: 0 free, 12 wait); '': there is no object."""
    if not address:
        return ''
    kind = KINDS.get(kind, kind)
    said = f'{kind} {address:#x}'.strip()
    if kind in WORDS:
        try:
            queue = Queue(layout, address)
            more = {'capacity': layout.memory.u32(address + layout['channel.capacity'])} if kind == 'channel' else {}
            said += ': ' + words_of(kind, queue.word, queue.count, **more)
        except gdb.MemoryError:
            said += ': gone'
    name = name_of(layout, address)
    return f'{name} ({said})' if name else said


# ---- futures ----

class Future:
    def __init__(self, layout, address):
        mem = layout.memory
        self.layout, self.address = layout, address
        self.ops = mem.pointer(address + layout['future.ops'])
        self.object = mem.pointer(address + layout['future.object'])
        self.waiter = address + layout['future.waiter']
        self.state = mem.u8(self.waiter + layout['waiter.future'])
        self.want = mem.u32(self.waiter + layout['waiter.want'])
        self.operation = self.of_ops('operation', mem.text_at) or ''
        self.kind = layout.kinds.get(self.of_ops('kind', mem.u32), '')
        self.is_parked = self.operation == 'volt_park_until'
        if self.is_parked:
            self.look_at_call()

    def look_at_call(self):
        """A fiber waits in a blocking call by a future of the library's own: what it waits for is the call's."""
        mem, layout = self.layout.memory, self.layout
        call = mem.pointer(self.address + layout['fiber_futex.call'])

        def member(name):
            return mem.pointer(call + layout['call.' + name])

        self.operation = mem.text(member('name')) or self.operation
        self.object = member('object')
        self.kind = layout.kinds.get(mem.u32(call + layout['call.kind']), '')

    def parker(self):
        """Of a fiber that waits in a blocking call: the ctx of the waker that it has left. 0: of no fiber."""
        if not self.is_parked:
            return 0
        return self.layout.memory.pointer(self.waiter + self.layout['waiter.data']) - self.layout['parker.word']

    def of_ops(self, member, read):
        """A member of its operations; None: it has none, or they cannot be read."""
        try:
            return read(self.ops + self.layout['ops.' + member]) if self.ops else None
        except gdb.MemoryError:
            return None

    def outer(self, member):
        """The address of the struct whose future this is."""
        return self.address - self.layout[member]

    def deadline(self, now_ns, member, of):
        deadline = self.layout.memory.u64(self.outer(of) + self.layout[member])
        if deadline == (1 << 64) - 1:
            return 'for ever'
        if deadline <= now_ns:
            return f'over for {seconds(now_ns - deadline)}'
        return f'{seconds(deadline - now_ns)} left'

    def is_waiting(self):
        return bool(self.state & WAITING)

    def is_granted(self):
        state = self.layout.memory.u32(self.waiter + self.layout['waiter.state'])
        return self.is_waiting() and state == self.layout['waiter is granted']

    def inside(self):
        """The futures that it awaits."""
        mem, layout = self.layout.memory, self.layout
        if self.operation in ('volt_select', 'volt_join'):
            which = self.operation[5:]
            outer = self.outer(which + '.future')
            branches = mem.pointer(outer + layout[which + '.branches'])
            count = mem.u32(outer + layout[which + '.count'])
            found = [mem.pointer(branches + i * mem.pointer_bytes) for i in range(min(count, 10_000))]
        elif self.operation == 'volt_timeout':
            found = [mem.pointer(self.outer('timeout.future') + layout['timeout.inner'])]
        else:
            found = []
        return [Future(layout, future) for future in found if future]

    def frame(self):
        """Of an async function; None: it is none."""
        if self.operation != 'volt_async':
            return None
        outer = self.outer('async.future')
        poll = self.layout.memory.pointer(outer + self.layout['async.poll'])
        return Frame(self.layout, outer + self.layout['async.frame'], poll)

    def place(self):
        """In the queue of its object, from 1; 0: not known."""
        if KINDS.get(self.kind, self.kind) not in WORDS or not self.is_waiting():
            return 0
        try:
            return Queue(self.layout, self.object).place_of(self.waiter)
        except gdb.MemoryError:
            return 0

    def says_object(self, with_place):
        if not self.object:
            return ''
        at = self.place() if with_place else 0
        words = object_words(self.layout, self.kind or self.operation, self.object)
        return f' of {words}' + (f', {nth(at)} in line' if at else '')

    def says(self, now_ns, with_place=True):
        """One line."""
        if self.operation == 'volt_timeout':
            return f"{self.operation}, {self.deadline(now_ns, 'timeout.deadline_ns', 'timeout.future')}"
        if self.operation.startswith('volt_sleep'):
            return f"{self.operation}, {self.deadline(now_ns, 'sleep.deadline_ns', 'sleep.future')}"
        said = self.operation or f'a future with operations at {symbol_or_address(self.ops)}'
        if KINDS.get(self.kind or self.operation) == 'semaphore' or self.kind == 'semaphore':
            said += f' {self.want}'
        said += self.says_object(with_place)
        if self.is_granted():
            said += ', granted and not polled'
        elif not self.is_waiting():
            said += ', ' + STATES.get(self.state, 'is broken')
        return said


def symbol_or_address(address):
    return memory.symbol_at(address) or f'{address:#x}'


def walk(layout, frame, now_ns, depth=1):
    """Lines: what a frame awaits, two spaces for each level."""
    future = Future(layout, frame.awaiting) if frame.awaiting else None
    for place, function in frame.trail[:-1]:
        yield f'{"  " * depth}{place or "in a coroutine"} {function or ""}: co_await'
        depth += 1
    if frame.trail and future:
        place, function = frame.trail[-1]
        yield f'{"  " * depth}{place or "in a coroutine"} {function or ""}: {future.says(now_ns)}'
        yield from walk_inside(layout, future, now_ns, depth + 1)
        return
    indent = '  ' * depth
    if not future:
        yield f'{indent}{frame.place()} {frame.function()}: awaits nothing'
        return
    yield f'{indent}{frame.place()} {frame.function()}: {future.says(now_ns)}'
    yield from walk_inside(layout, future, now_ns, depth + 1)


def walk_inside(layout, future, now_ns, depth):
    if depth > DEPTH:
        return
    inner = future.frame()
    if inner:
        yield from walk(layout, inner, now_ns, depth)
    for below in future.inside():
        yield '  ' * depth + below.says(now_ns)
        yield from walk_inside(layout, below, now_ns, depth + 1)


def leaves(layout, frame, depth=0):
    """The futures at the end of what a frame awaits."""
    if depth > DEPTH or not frame.awaiting:
        return
    yield from leaves_of(layout, Future(layout, frame.awaiting), depth)


def leaves_of(layout, future, depth):
    inner = future.frame()
    if inner:
        yield from leaves(layout, inner, depth + 1)
        return
    below = future.inside()
    if not below:
        yield future
    for branch in below:
        if depth < DEPTH:
            yield from leaves_of(layout, branch, depth + 1)


# ---- who a waiter is of ----

def owners_of_wakers(layout):
    """By the ctx of a waker: the task that it wakes."""
    found = {}
    for task in all_tasks(layout):
        found[task.address] = task
        parker = Future(layout, task.frame.awaiting).parker() if task.how() == 'waits' and task.frame.awaiting else 0
        if parker:
            found[parker] = task
    return found


def thread_with(address):
    """The thread on whose stack this is; None: on none."""
    best, found = 64 << 20, None  # no stack is larger
    selected = gdb.selected_thread()
    try:
        for thread in gdb.selected_inferior().threads():
            thread.switch()
            above = address - int(gdb.newest_frame().read_register('sp'))
            if 0 <= above < best:
                best, found = above, thread
    finally:
        if selected and selected.is_valid():
            selected.switch()
    return found

"""Numbers and texts of a process, or of a core, without types; and where volt has its own."""
import functools
import re

import gdb

MAGIC = b'volt-debugger-4\0'  # src/core/hooks/numbers.h
ROW_BYTES = 32


class Memory:
    """Numbers of the process, without types."""

    def __init__(self):
        self.inferior = gdb.selected_inferior()
        self.pointer_bytes = int(gdb.parse_and_eval('sizeof(char *)'))
        self.order = 'big' if 'big' in gdb.execute('show endian', to_string=True) else 'little'

    def bytes(self, address, size):
        """Raises gdb.MemoryError: it is not in the core, and not in a file that is here."""
        return self.inferior.read_memory(address, size).tobytes()

    def number(self, address, size):
        return int.from_bytes(self.bytes(address, size), self.order)

    def u8(self, address):
        return self.number(address, 1)

    def u32(self, address):
        return self.number(address, 4)

    def i32(self, address):
        return int.from_bytes(self.bytes(address, 4), self.order, signed=True)

    def u64(self, address):
        return self.number(address, 8)

    def pointer(self, address):
        return self.number(address, self.pointer_bytes)

    def text_at(self, address):
        """The text to which the pointer there points."""
        return self.text(self.pointer(address))

    def text(self, address):
        """None: it cannot be read. A constant text is not in a core: without the program's file it
        is nowhere."""
        found = b''
        try:
            while address and not found.endswith(b'\0') and len(found) < 256:
                found += self.bytes(address + len(found), 1)
        except gdb.MemoryError:
            return None
        return found.rstrip(b'\0').decode(errors='replace')


def address_of(symbol):
    """None: the program has none of that name."""
    try:
        return int(gdb.parse_and_eval(f'(unsigned long)&{symbol}'))
    except gdb.error:
        return None


def symbol_at(address, offset=True):
    """The name of the function or object at an address; None: there is no symbol for it."""
    said = gdb.execute(f'info symbol {address:#x}', to_string=True)
    found = re.match(r'(\S+)( \+ \d+)? in section', said)
    if not found or (found.group(2) and not offset):
        return None
    return found.group(1) + (found.group(2) or '').replace(' ', '')


def is_live():
    """Whether this is a process of this machine, whose clock is ours; and not a core."""
    connection = gdb.selected_inferior().connection
    return connection is not None and connection.type == 'native'


def sections():
    """(first, past the end, name) of what a program has in memory, and a core has."""
    for line in gdb.execute('info files', to_string=True).splitlines():
        found = re.match(r'\s+(0x[0-9a-f]+) - (0x[0-9a-f]+) is (\S+)', line)
        if found:
            yield int(found.group(1), 16), int(found.group(2), 16), found.group(3)


def search():
    """Where MAGIC is in writable memory. For a program without symbols."""
    inferior = gdb.selected_inferior()
    for first, end, name in sections():
        if not name.startswith(('.data', 'load')):
            continue
        at = first
        while at is not None and at < end:
            try:
                at = inferior.search_memory(at, end - at, MAGIC)
            except (gdb.error, gdb.MemoryError, OverflowError):
                at = None
            if at is not None and at % 8 == 0:
                yield at
            if at is not None:
                at += 1


class Numbers:
    """What one library says: src/core/hooks/numbers.h."""

    def __init__(self, memory, here):
        if memory.bytes(here, len(MAGIC)) != MAGIC:
            raise gdb.GdbError('this volt is of another version than these commands')
        word, self.here = memory.pointer_bytes, here
        size = memory.u64(here + 16)
        self.sync, self.first, self.fiber_poll, self.sleepers, self.name_table = (
            memory.pointer(here + 24 + i * word) for i in range(5))
        at = here + 24 + 5 * word
        at += -at % 8
        self.numbers = {}
        for row in range(at, here + size, ROW_BYTES):
            name = memory.bytes(row, 24).split(b'\0')[0].decode()
            if not name:
                break
            self.numbers[name] = memory.u64(row + 24)

    def worth(self):
        """How much it leads to: that of libvolt-rt with runtimes, or without; that of libvolt-sync; nothing."""
        return (self.sync != 0) + (self.sync != self.here) + (self.first != 0) if self.sync else 0


class Layout:
    """What src/rt/inspect/debugger.c and src/async/numbers.c say; the second alone, if the program has no libvolt-rt."""

    def __init__(self):
        self.memory = memory = Memory()
        found = [Numbers(memory, here) for here in self.places()]
        best = max(found, key=Numbers.worth, default=None)
        if best is None or not best.worth():
            raise gdb.GdbError('there is no volt in this program, or it has not begun')
        sync = Numbers(memory, best.sync)
        self.first, self.fiber_poll = best.first, best.fiber_poll
        self.sleepers, self.name_table = sync.sleepers, sync.name_table
        self.numbers = {**sync.numbers, **best.numbers}

    @staticmethod
    def places():
        named = [address_of(name) for name in ('volt_debugger_here_', 'volt_debugger_sync_')]
        return [here for here in named if here is not None] or search()

    @functools.cached_property
    def names(self):
        """What objects are called (volt/name.h), by their addresses."""
        size, found = self['sizeof name'], {}
        if not self.name_table:
            return found
        table = self.memory.bytes(self.name_table, self['name slots'] * size)
        word, order = self.memory.pointer_bytes, self.memory.order

        def pointer(slot, member):
            at = slot * size + self[member]
            return int.from_bytes(table[at : at + word], order)

        for slot in range(self['name slots']):
            address = pointer(slot, 'name.object')
            if address > 1:  # 0: free; 1: taken
                found[address] = self.memory.text(pointer(slot, 'name.name'))
        return found

    @functools.cached_property
    def kinds(self):
        """What kinds of objects are called, by their numbers (src/core/hooks/kind.h)."""
        return {number: name[len('kind '):] for name, number in self.numbers.items() if name.startswith('kind ')}

    def __getitem__(self, name):
        return self.numbers[name]

    def has(self, name):
        return name in self.numbers

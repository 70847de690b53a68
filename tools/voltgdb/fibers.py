"""Fibers: those that are suspended, and the frames of their stacks.

A fiber that is suspended has its registers in volt_switch_ (src/rt/fiber/fiber_switch.h). An unwinder says
that these are those of the caller of the innermost frame of the selected thread, and a frame filter
hides that frame.
"""
import contextlib
import itertools

import gdb
import gdb.unwinder

from .memory import Layout
from .runtimes import runtimes


class Fiber:
    def __init__(self, runtime, address, number):
        self.runtime, self.address, self.number = runtime, address, number
        layout, memory = runtime.layout, runtime.layout.memory

        def member(name):
            return address + layout['fiber.' + name]

        self.name = memory.text(memory.pointer(member('name')))
        self.stage = memory.u32(member('stage'))
        self.home = memory.u32(member('home'))
        self.fn = memory.pointer(member('fn'))
        self.bottom = memory.pointer(member('stack.bottom'))
        self.top = self.bottom + memory.pointer(member('stack.bytes'))
        self.inside = [memory.pointer(member('inside') + i * memory.pointer_bytes) for i in range(4)]

    def is_at(self, stage):
        return self.stage == self.runtime.layout['stage ' + stage]

    def thread(self):
        """The thread that runs on its stack; None: none."""
        with selected_thread():
            for thread in gdb.selected_inferior().threads():
                thread.switch()
                if self.bottom <= int(gdb.newest_frame().read_register('sp')) < self.top:
                    return thread
        return None


def fibers(layout):
    found = []
    for runtime in runtimes(layout):
        for task in runtime.tasks():
            if layout.memory.pointer(task + layout['task.poll']) == layout.fiber_poll:
                found.append(Fiber(runtime, task, len(found) + 1))
    return found


def fiber_named(text):
    found = fibers(Layout())
    for fiber in found:
        if text in (str(fiber.number), fiber.name, hex(fiber.address)):
            return fiber
    raise gdb.GdbError(f'there is no fiber {text}: volt fibers lists {len(found)}')


# ---- frames of a fiber ----

@contextlib.contextmanager
def selected_thread():
    """The thread and the frame that are selected now are so again afterwards."""
    thread = gdb.selected_thread()
    try:
        frame = gdb.selected_frame()
    except gdb.error:
        frame = None
    try:
        yield
    finally:
        if thread and thread.is_valid():
            thread.switch()
        if frame and frame.is_valid():
            frame.select()


class FrameId:
    """Frames of a fiber lie above this on any stack: gdb refuses a caller that lies below."""

    def __init__(self, pc):
        self.sp, self.pc = gdb.Value(16), pc


class Unwinder(gdb.unwinder.Unwinder):
    """While it has registers: the caller of one frame, the innermost of a thread, has those."""

    def __init__(self):
        super().__init__('volt')
        self.registers = None
        self.below = None

    def __call__(self, frame):
        if self.registers is None or self.below != (int(frame.read_register('pc')), int(frame.read_register('sp'))):
            return None
        unwound = frame.create_unwind_info(FrameId(frame.read_register('pc')))
        kind = gdb.lookup_type('unsigned long')
        for name, value in self.registers.items():
            unwound.add_saved_register(name, gdb.Value(value).cast(kind))
        return unwound

    def set(self, registers):
        gdb.invalidate_cached_frames()
        self.registers = None
        if registers:
            newest = gdb.newest_frame()
            self.below = (int(newest.read_register('pc')), int(newest.read_register('sp')))
            self.registers = registers
            gdb.invalidate_cached_frames()
            gdb.newest_frame().older().select()


class Filter:
    """Hides the frame below those of a fiber, and what is above the first one."""

    def __init__(self, unwinder):
        self.name, self.priority, self.enabled = 'volt', 1000, True
        self.unwinder = unwinder

    def filter(self, frames):
        if self.unwinder.registers is None:
            return frames
        return itertools.takewhile(lambda frame: frame.inferior_frame().pc() != 0, itertools.islice(frames, 1, None))


def register_names():
    names = {'x86-64': ('rip', 'rsp', 'rbp', 'rbx'), 'aarch64': ('pc', 'sp', 'x29', 'x19')}
    architecture = gdb.newest_frame().architecture().name()
    for part, found in names.items():
        if part in architecture:
            return found
    raise gdb.GdbError(f'frames of fibers are not known for {architecture}')


def registers_of(fiber):
    if not fiber.runtime.layout['has registers']:
        raise gdb.GdbError('this program switches fibers by swapcontext(): their frames are not known')
    return dict(zip(register_names(), fiber.inside))


UNWINDER = Unwinder()
gdb.unwinder.register_unwinder(None, UNWINDER, replace=True)
gdb.frame_filters['volt'] = Filter(UNWINDER)


@contextlib.contextmanager
def entered(fiber):
    """As if it ran."""
    if fiber.is_at('new'):
        raise gdb.GdbError(f'fiber {fiber.number} has not begun: it has no stack')
    with selected_thread():
        thread = None if fiber.is_at('suspended') else fiber.thread()
        if thread:
            thread.switch()
            yield
            return
        before = UNWINDER.registers
        UNWINDER.set(registers_of(fiber))
        try:
            yield
        finally:
            UNWINDER.set(before)


def frame_names():
    """The functions from the selected frame outwards, without what compilers add: f.isra.0."""
    frame = gdb.selected_frame()
    while frame is not None:
        yield (frame.name() or hex(frame.pc())).split('.')[0]
        frame = frame.older()


OF_THE_SWITCH = ('volt_fiber_', 'fiber_', 'volt_switch_')  # how names of its functions begin


def call(name):
    """As it is written in C; an address stays one."""
    return name if name.startswith('0x') else f'{name}()'


def waits_in(fiber):
    """The function of volt that its own code has called, and what has called that: as far as the compiler
    has left them."""
    with entered(fiber):
        names = [name for name in frame_names() if name != '0x0']
    below = names[::-1]  # the first is volt_fiber_entry_
    for caller, called in zip(below, below[1:]):
        if called.startswith('volt_') and not caller.startswith('volt_') and not called.startswith(OF_THE_SWITCH):
            return f'in {call(called)}, called by {call(caller)}'
    while len(names) > 2 and names[0].startswith(OF_THE_SWITCH):
        names.pop(0)
    return 'in ' + ', called by '.join(call(name) for name in names[:2])


def state_of(fiber):
    if fiber.is_at('new'):
        return 'has not begun'
    if fiber.is_at('suspended'):
        return f'waits {waits_in(fiber)}'
    thread = fiber.thread()
    return f'runs on thread {thread.num}' if thread else 'runs or ends'


def show_stack(fiber, command, from_tty):
    """Call a command of gdb as if that fiber ran."""
    number = f' {fiber.number}' if fiber.number else ''
    print(f"fiber{number} '{fiber.name}', {state_of(fiber)}")
    if not fiber.is_at('new'):
        with entered(fiber):
            gdb.execute(command, from_tty)


def enter(fiber):
    if not fiber.is_at('suspended'):
        raise gdb.GdbError(f'fiber {fiber.number} {state_of(fiber)}: it is not suspended')
    UNWINDER.set(registers_of(fiber))


def forget(event):
    """The process goes on: no frame of before is right."""
    del event
    UNWINDER.registers = None


gdb.events.cont.connect(forget)

"""volt_gdb.py: commands of gdb for programs with volt, on a process or on a core.

    (gdb) source /usr/share/volt/volt_gdb.py

    volt tasks [--older S] [--on OBJECT] [--each]    which wait where, and since when
    volt task T                what one task waits for: T is an address or its function's name
    volt waiters OBJECT        who is queued there, the oldest first
    volt owner OBJECT          who holds it
    volt deadlock              tasks and threads that wait for each other in a circle
    volt workers               what each worker does
    volt threads               the threads that wait in a call of volt
    volt timers                what is due when
    volt fibers                the fibers of all runtimes, and what they wait in
    volt fiber N [COMMAND]     call COMMAND, bt if there is none, as if fiber N ran; all: in each
    volt bt T                  the frames of a task: of a fiber, its stack
    volt enter N               the same for all that follows: bt, up, frame, info locals
    volt leave                 ... until this, or until the process goes on

N is a number of the list, a name, or an address. OBJECT is an expression of gdb. The program may be
without debug information, and stripped: its symbols are not needed. Names of functions and objects
are constants in the program's file: with a core alone, without that file, they are missing.

How: volt_debugger_here_ (src/rt/inspect/debugger.c) says where the runtimes are, and volt_debugger_sync_
(src/async/numbers.c) where threads are that sleep; both, where in their memory the rest is. The commands are in voltgdb/, beside this file or in share/volt.
"""
import os
import sys


def directory():
    """Of voltgdb/: gdb may have loaded this file from share/gdb/auto-load/, too."""
    at = os.path.dirname(os.path.realpath(__file__))
    while True:
        for found in (at, os.path.join(at, 'share', 'volt')):
            if os.path.isdir(os.path.join(found, 'voltgdb')):
                return found
        if at == os.path.dirname(at):
            raise ImportError('volt_gdb.py: voltgdb/ is neither beside it nor in share/volt')
        at = os.path.dirname(at)


def load():
    sys.path.insert(0, directory())
    writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # nothing appears beside it
    try:
        for name in [name for name in sys.modules if name.split('.')[0] == 'voltgdb']:
            del sys.modules[name]  # it may have been loaded before, from elsewhere
        import voltgdb.commands
        import voltgdb.printers
        voltgdb.commands.register()
        voltgdb.printers.register()
    finally:
        sys.dont_write_bytecode = writes
        sys.path.pop(0)


load()

#!/usr/bin/env python3
"""house.py sees what it is for: it accepts a small tree that is in order; then each rule is broken
there, one at a time, and house.py has to name what was broken; last, in a copy of this tree."""
import contextlib
import io
import shutil
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).parent))
import house  # noqa: E402


def header(guard, body=""):
    return f"#ifndef {guard}\n#define {guard}\n{body}#endif\n"


NAMES = {"wait": "`word_`", "sched": "`task_`", "config": "`units()`"}  # how the functions of a sub-room begin
IN_ORDER = {
    "include/volt/base.h": header("VOLT_BASE_H"),
    "include/volt/word.h": header("VOLT_WORD_H", "typedef struct volt_word volt_word;\n"),
    "include/volt/detail/word.h": header("VOLT_DETAIL_WORD_H", '#include "../word.h"\n'),
    "src/core/os/bits.h": header("VOLT_CORE_OS_BITS_H",
                              "#include <volt/word.h>\nstruct bits {\n  int bit;\n};\n"),
    "src/core/wait/word.c": """/* word.c: what the lock stands on. For its race see lock.c R1. */
#include "../os/bits.h"

static int word_swap(volt_word *w) {
  /* word:A1 <-> lock:L1, word:A1: each swap sees what the one before it did */
  return volt_exchange_acq_rel(w, 1);
}
""",
    "src/sync/lock.c": """/* lock.c: a lock.
 *
 *   R1  Two threads take it. Prevented by: the swap. */
#include "../core/os/bits.h"

bool volt_lock_take(volt_word *w) {
  uint32_t seen = 0;
  /* lock:L1 <- lock:U1, word:A1: the holder sees what the last one did */
  return volt_cas_acquire(w, &seen, 1); /* R1 */
}

void volt_lock_leave(volt_word *w) {
  volt_store_release(w, 0); /* lock:U1 -> lock:L1: the next holder sees what this one did */
}
""",
    "src/bcs/job.c": "void volt_job_run(void) {\n  /* relaxed, by lock:L1: under the lock of the job */\n"
                     "  volt_fetch_and_relaxed(&word, 1);\n}\n",
    "src/bcs/heap.c": "void volt_heap_push(void) {\n}\n",
    "src/sync/gate.c": "void volt_gate_open(void) {\n}\n",
    "src/rt/sched/task.h": header("VOLT_RT_SCHED_TASK_H", '#include "../../core/os/bits.h"\n'),
    "src/rt/sched/task.c": '#include "task.h"\n\nvoid volt_task_run(void) {\n  volt_job_run();\n}\n',
    "src/core/wait/list.h": header("VOLT_CORE_WAIT_LIST_H"),
    "src/core/hooks/counters.h": header("VOLT_CORE_HOOKS_COUNTERS_H"),
    "src/core/hooks/tally.h": header("VOLT_CORE_HOOKS_TALLY_H"),
    **{f"src/{room}/README.md": "# It\n" + "".join(f"`{sub}/` {NAMES.get(sub, '')}\n" for sub in subs)
       for room, subs in ((room, house.WITHIN[room]) for room in ("core", "rt"))},
    "src/sync/README.md": "# Locks\n`lock_`, `gate_`, see `lock.c`\n",
    "src/bcs/README.md": "# Jobs\n`job_`, `heap_`\n",
    "apps/voltgate/README.md": "".join(f"- `{sub}/` {NAMES.get(sub, '')}\n" for sub in house.ROOMS_OF_GATE),
    "bench/variants/ring.c": "static int word_swap(void) {\n  return 0;\n}\n",
    "apps/common/text.h": header("COMMON_TEXT_H"),
    "apps/echo/echo.h": header("ECHO_ECHO_H"),
    "apps/echo/main.c": '#include "common/text.h"\n#include "echo.h"\n',
    "apps/voltgate/wire/bytes.h": header("VOLTGATE_WIRE_BYTES_H"),
    "apps/voltgate/config/units.h": header("VOLTGATE_CONFIG_UNITS_H", '#include "wire/bytes.h"\n'),
    "apps/voltgate/config/units.c": '#include "config/units.h"\n\nint units(void) {\n}\n',
    "README.md": "A waiter is granted. `who` is code.\n\n```\nwho told\n```\n",
}

WORD, LONG, LOCK, JOB = "src/core/wait/word.c", "src/core/wait/long.c", "src/sync/lock.c", "src/bcs/job.c"
HERE = Path(__file__).parents[2]
ECHO, BYTES, GATE_MAIN = "apps/echo/main.c", "apps/voltgate/wire/bytes.h", "apps/voltgate/main/main.c"
ATOMIC = str(next((HERE / "include").rglob("atomic.h")).relative_to(HERE))
TASK, TASK_H, RING = "src/rt/sched/task.c", "src/rt/sched/task.h", "bench/variants/ring.c"
OF_FOUR = "".join(f"void volt_{name}(void);\n" for name in ("heap_push", "gate_open", "job_run", "lock_take"))

# file, what stands there (None: all of it), what comes in its place (None: no file), and what has
# to be named (None: nothing, it is right)
BROKEN = {
    "rooms": [
        (WORD, '"../os/bits.h"', '"../../rt/sched/task.h"', "core includes src/rt/sched/task.h of rt"),
        (JOB, None, '#include "../sync/lock.c"\n', "bcs includes src/sync/lock.c of sync"),
        (JOB, None, '#include "../core/none.h"\n', "which is no file"),
        ("include/volt/word.h", "typedef", '#include "../../src/core/os/bits.h"\ntypedef',
         "a public header includes src/core/os/bits.h"),
        ("include/volt/task.h", None, "#include <volt/word.h>\n", None),
        ("src/core/os/bits.h", "struct", "int volt_task_run(void);\nstruct", "uses volt_task_run()"),
        (TASK_H, "#include", f"{OF_FOUR}#include", None),
        (TASK_H, "#include", f"{OF_FOUR}void volt_task_run(void);\n#include", "declares what 5 sources define"),
        (TASK_H, "#include", f"{OF_FOUR}static void task_f(void) {{\n  volt_task_run();\n}}\n#include", None),
        ("include/volt/base.h", "#endif", '#include "base.h"\n#endif', None),
        ("src/attic/word.c", None, "\n", "is in no room"),
        ("src/word.c", None, "\n", "is in no room"),
        ("src/core/os/bits.h", "struct bits", '#include "../wait/list.h"\nstruct bits', "core/os includes src/core/wait/list.h"),
        (WORD, "static", '#include "../hooks/tally.h"\nstatic', "core/wait includes src/core/hooks/tally.h"),
        (WORD, "static", '#include "../hooks/counters.h"\nstatic', None),
        ("src/core/word2.c", None, "int a;\n", "is in no sub-room"),
        ("src/core/attic/word2.c", None, "int a;\n", "is in no sub-room"),
        ("src/core/README.md", "`park/`", "parking", "does not say what `park/` is"),
        ("src/core/README.md", "`os/`", "\n" * 10 + "`os/`", "does not say what `inspect/` is, in its first 14 lines"),
        ("src/core/README.md", "`wait/`", "`word` is `wait/`, see `list.h`,", None),
        ("src/core/README.md", "`wait/`", "`wards` is `wait/`", "`wards` is no file"),
        ("src/core/README.md", "`wait/`", "`lists.h` is in `wait/`", "`lists.h` is no file"),
        ("src/core/README.md", "`wait/`", "`swap_` is how to begin `wait/`", "`swap_` is given to it, and no function"),
        ("src/core/README.md", "`park/`", "`word_` is how to begin `park/`", "`word_` is given to src/core/park, and to"),
        ("src/core/README.md", "`park/`", "`word_swap()` is in `park/`", f"{WORD}:4: word_swap() is in src/core/wait, but"),
        (TASK, "volt_task_run", "volt_run_task", f"{TASK}:3: volt_run_task(): no page says of src/rt/sched"),
        (TASK, "volt_task_run", "task_word_run", None),
        (GATE_MAIN, None, "static void word_look(void) {\n}\n", "word_look() is in apps/voltgate/main, but `word_`"),
        ("apps/voltgate/README.md", None, None, "is not there"),
        ("src/sync/README.md", None, None, "is not there"),
        (LONG, None, "/* } */\nint *f(char c,\n  int d) {\n" + "  if (c) {\n  }\n" * 29 + "}\n",
         "src/core/wait/long.c:2: f(): 61 lines"),
        (LONG, None, "struct { int a; } b = {\n" + "  '{',\n" * 60 + "};\n", None),
        (LONG, None, "#define F \\\n" + "  x; \\\n" * 60 + "  y\n", None),
        (ECHO, '"echo.h"', '"../voltgate/wire/bytes.h"', "apps/voltgate/wire/bytes.h of another program"),
        (ECHO, '"echo.h"', '"../../src/core/hooks/tally.h"', "which is no file of apps/"),
        ("apps/common/text.h", None, header("COMMON_TEXT_H", '#include "../../src/core/hooks/tally.h"\n'), None),
        (ECHO, '"echo.h"', '"wave.h"', "includes apps/echo/wave.h, which is no file"),
        (BYTES, "#endif", '#include "config/units.h"\n#endif',  # a circle
         "wire includes apps/voltgate/config/units.h of config"),
        (BYTES, "#endif", "static int f(void) {\n  return units();\n}\n#endif", "wire uses units() of"),
        (GATE_MAIN, None, '#include "config/units.h"\n', None),
        ("apps/voltgate/main.c", None, "\n", "is in no room: apps/voltgate/"),
        ("apps/voltgate/tests/parts/units_test.c", None, '#include "../../../echo/echo.h"\n', None),  # a test may
    ],
    "names": [
        (TASK_H, "#include", "struct bits {\n};\n#include", "type bits also at"),
        (TASK_H, "#include", "typedef enum { A } bits;\n#include", "type bits also at"),
        (RING, "static", "typedef int volt_word;\nstatic", "type volt_word also at"),
        ("src/rt/sched/word.h", None, header("VOLT_RT_SCHED_WORD_H"), "header word also at"),
        ("src/core/wait/word.h", None, header("VOLT_CORE_WAIT_WORD_H"), None),  # beside word.c
        ("bench/variants/lock.c", None, "int a;\n", "source lock also at"),
        (RING, None, "void volt_job_run(void) {\n}\n", "volt_job_run() also at"),
        (TASK, None, "static int word_swap(void) {\n}\n", "word_swap() also at"),
        (TASK, None, "int word_swap(void);\n", None),
        (GATE_MAIN, None, "static int units(void) {\n}\n", "units() also at"),
        (ECHO, None, "static int word_swap(void) {\n}\n", None),
        (TASK_H, "define VOLT_RT", "define VOLT", "guard is not VOLT_RT_SCHED_TASK_H"),
        ("include/volt/detail/word.h", "VOLT_DETAIL", "VOLT", "guard is not VOLT_DETAIL_WORD_H"),
        (RING, None, None, "no files of variants found"),
        (WORD, "word_swap", "word_look_again", f"{WORD}:4: word_look_again has an old word: describe"),
        (WORD, "word_swap", "VOLT_LOOKS", "VOLT_LOOKS has an old word"),
        (WORD, "word_swap", "overlooked_lookup", None),
        (WORD, "word_swap", "bypass_may_look", None),
        (WORD, "static", "/* look_at_it */\nstatic", None),
        ("src/core/wait/word_parts.h", None, header("VOLT_CORE_WAIT_WORD_PARTS_H"), "word_parts.h: is called by"),
        ("src/rt/sched/rt_internal.h", None, header("VOLT_RT_SCHED_RT_INTERNAL_H"), "rt_internal.h: is called by"),
        ("tests/unit/look_test.c", None, "int a;\n", "tests/unit/look_test.c: is called by an old word"),
        ("apps/echo/tests/look_test.c", None, "int a;\n", "apps/echo/tests/look_test.c: is called by an old word"),
    ],
    "labels": [
        (LOCK, "/* lock:U1", "/* U1", "no label that goes with its order (release)"),
        (LOCK, " lock:U1, word:A1", " word:A1", "lock:U1 -> lock:L1, which does not name it back"),
        (LOCK, "lock:U1, ", "lock:U2, ", "lock:L1 <- lock:U2, which is on no operation"),
        (LOCK, "lock:U1 ->", "lock:U1 <-", "no operation here has that order"),
        (LOCK, "lock:U1 ->", "look:U1 ->", "look:U1: labels begin with lock: in this file"),
        (LOCK, "the next holder sees what this one did", "next one", "lock:U1 gives no reason"),
        (LOCK, "L1: the next", "L1, the next", "lock:U1 gives no reason"),
        (LOCK, "return volt", "seen = 0;\n  return volt", "goes with its order (acquire)"),
        (LOCK, "volt_cas_acquire(w, &seen, 1)", "take(w)", "lock:L1, which is on no operation"),
        (LOCK, "uint32_t seen = 0;", "/* lock:L7 */", "lock:L7 is on no operation"),
        (LOCK, "uint32_t seen = 0;", "__sync_synchronize();", "does not go by atomic.h"),
        (LOCK, "/* R1 */", "/* R2 */", "lock defines no R2"),
        (LOCK, " *   R1  Two", " *   R1  One\n *   R1  Two", "R1 is defined twice in lock"),
        (WORD, "lock.c R1", "lock.c R3", "lock.c defines no R3"),
        (RING, None, "/* Labels: word */\nint f(int *w) {\n  return volt_exchange_acq_rel(w, 1);"
         " /* word:A1 <-> word:A1: it sees the last one */\n}\n", None),
        (RING, None, "int f(int *w) {\n  return volt_exchange_relaxed(w, 1);\n}\n", "no data, and why?"),
        (RING, None, "int f(int *w) {\n  /* relaxed, by ring:Z1: it has seen that */\n"
         "  return volt_exchange_relaxed(w, 1);\n}\n", "ring:Z1 is on no operation"),
        (RING, None, "int f(int *w) {\n  /* relaxed, no data: the number alone */\n"
         "  return volt_exchange_relaxed(w, 1);\n}\n", None),
        (ATOMIC, "(VOLT_AT_(p), V", "((p), V", "does not go by VOLT_AT_()"),
    ],
    "words": [
        (WORD, "each swap", "whoever swaps", 'src/core/wait/word.c:5: "whoever"'),
        ("README.md", "A waiter", "Who", 'README.md:1: "Who"'),
        ("docs/guide.md", None, "It is let\ngo.\n", 'docs/guide.md:1: "let go"'),
        ("examples/one.c", None, "int nobody; /* a */\n// nobody\n", 'examples/one.c:2: "nobody"'),
        ("examples/one.c", None, "/* It waits, for it\n * is closed. */\n", '", for it"'),
        (WORD, "word_swap", "tell_who", None),
        (WORD, "static", 'const char *c = "who"; int who;\nstatic', None),
    ],
}
IN_A_COPY = {
    "rooms": [("src/core/wait/broken.c", None, "#include <volt/runtime.h>\n",
               "core includes include/volt/runtime.h of rt")],
    "names": [("src/rt/sched/broken.c", None, "enum volt_waiter { BROKEN };\n", "(enum volt_waiter)")],
    "labels": [("src/rt/sched/broken.c", None, "int f(x *p) {\n  return volt_load_acquire(p);\n}\n",
                "src/rt/sched/broken.c:2: no label")],
    "words": [("docs/broken.md", None, "Who is it?\n", 'docs/broken.md:1: "Who"')],
}
IN_A_COPY["rooms"].append(("apps/voltgate/gate/broken.c", None, '#include "admin/admin.h"\n',
                           "gate includes apps/voltgate/admin/admin.h of admin"))


def run(check, root):
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        code = house.main([check, root])
    return code, out.getvalue()


def sees(root, check, path, old, new, named):
    file = root / path
    before = file.read_text() if file.exists() else None
    text = new if old is None else before.replace(old, new, 1)
    if text == before:
        sys.exit(f"{path}: nothing to break: {old!r}")
    if text is None:
        file.unlink()
    else:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    code, out = run(check, root)
    if named is None and code != 0:
        sys.exit(f"{check} refuses what is right in {path}: {new!r}: {out}")
    if named is not None and (code != 1 or named not in out):
        sys.exit(f"{check} misses what is broken in {path}: {named!r}: {out}")
    if before is None:
        file.unlink()
    else:
        file.write_text(before)


def main():
    with tempfile.TemporaryDirectory() as scratch:
        small, copy = Path(scratch) / "small", Path(scratch) / "copy"
        for path, text in IN_ORDER.items():
            (small / path).parent.mkdir(parents=True, exist_ok=True)
            (small / path).write_text(text)
        text = (HERE / ATOMIC).read_text()  # without its comments, which may not be in order yet
        (small / ATOMIC).write_text(house.TOKEN.sub(lambda m: "" if m[0][0] == "/" else m[0], text))
        for check in house.CHECKS:
            code, out = run(check, small)
            if code != 0:
                sys.exit(f"{check} refuses what is in order: {out}")
        cases = [(small, check, *case) for check in BROKEN for case in BROKEN[check]]
        cases += [(copy, check, *case) for check in IN_A_COPY for case in IN_A_COPY[check]]
        for place in ("include", "src", "docs", "apps"):
            shutil.copytree(HERE / place, copy / place)
        for case in cases:
            sees(*case)
    refused = sum(named is not None for *_, named in cases)
    print(f"{refused} broken trees refused, {len(cases) - refused} accepted that are in order")


if __name__ == "__main__":
    main()

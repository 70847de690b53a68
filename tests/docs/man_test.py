"""The manual pages: of this tree, as mandoc sees them; and of small trees that break the form.

Prints a line per check. Exit code 0 if none failed, 77 if there is no mandoc.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "docs/reference/reference.py"

BASE = """/* base.h: what a tree needs at least. */
#define VOLT_VERSION_MAJOR 0
#define VOLT_VERSION_MINOR 1
#define VOLT_VERSION_PATCH 2
#define VOLT_RESULTS(X)         \\
  X(VOLT_OK, 0, "success")      \\
  X(VOLT_ECLOSED, -2, "closed")

/* The codes. */
enum volt_result {
  VOLT_RESULTS(VOLT_RESULT_ENUM_)
};
"""
SAMPLE = """/* sample.h: a sample.
 *
 * Lifetime: it stays:
 *   - one
 *   - two
 *
 *   volt_sample_take(&s, 1, "\\\\"); */

/* Members are private. */
typedef struct volt_sample {
  int secret;
} volt_sample;

/* ---- the first part ---- */

/* Take n of them, e.g.
 * from volt_sample_drop(). Never waits.
 * n: 0..7; nothing
 *   else. drop(ctx): called last. Returns VOLT_OK (taken (all
 *   of them)), or VOLT_ECLOSED. Nothing is lost.
 * Threads: any. Order: acquires. */
VOLT_API VOLT_NODISCARD int volt_sample_take(volt_sample *s, unsigned n, void (*drop)(void *ctx));

/* Drop it, or another.
 * Returns true: dropped. Returns false: it was not. */
VOLT_INLINE bool volt_sample_drop(volt_sample *s) {
  return s->secret; /* } */
}
VOLT_API bool volt_sample_drop_other(volt_sample *s);

/* The same, later.
 * Cancel: volt_sample_drop(). */
VOLT_API void volt_sample_drop_later(volt_sample *s);

VOLT_API void volt_sample_hidden_(volt_sample *s);

VOLT_INLINE void volt_sample_drop_later(volt_sample *s) {
  volt_sample_hidden_(s);
}
"""
MAP = "VOLT_0.1 {\n  global:\n    volt_sample_take;\n    volt_sample_drop;\n  local:\n    *;\n};\n"
PAGE = [  # what must be in volt_sample_take.3, in this order
    ".Dd March 2, 2026", ".Nm volt_sample_take", ".Nd take n of them, e.g. from volt_sample_drop()",
    ".In volt/sample.h", '.Fa "void (*drop)(void *ctx)"', "Take n of them, e.g. from",
    ".Xr volt_sample_drop 3 .", "Never waits.",
    ".It Fa n", "0..7; nothing else.", ".It Fa drop(ctx)", "called last.", ".Sh RETURN VALUES",
    ".It Dv VOLT_OK", "taken (all of them).", ".It Dv VOLT_ECLOSED", "closed.",
    "Nothing is lost.", ".Sh THREADS", "Any.", ".Sh MEMORY ORDER", "Acquires.", ".Sh SEE ALSO",
    ".Xr volt 3 ,", ".Xr volt_sample 3 ,",
]
failures = 0


def check(name: str, holds: bool, seen: object = "") -> None:
    global failures
    print(f"ok: {name}" if holds else f"FAILED: {name}: {seen!s:.2000}")
    failures += not holds


def run(*argv: object, **environment: str) -> tuple[int, str, str]:
    ended = subprocess.run([str(a) for a in argv], capture_output=True, text=True, timeout=60,
                           env={**os.environ, **environment})
    return ended.returncode, ended.stdout, ended.stderr


# ---- small trees ----

def tree(scratch: Path, sample: str = SAMPLE, exported: str = MAP) -> tuple[Path, int, str]:
    """Write a tree and its pages. Returns where the pages are, and how that ended."""
    root = Path(tempfile.mkdtemp(dir=scratch))
    for path, text in (("include/volt/base.h", BASE), ("include/volt/sample.h", sample),
                       ("include/volt/volt.h", "/* volt.h: all. */\n"),
                       ("src/volt-sync.map", exported),
                       ("CHANGELOG.md", "## 0.1.2 - 2026-03-02\n")):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    code, _, said = run(sys.executable, "-B", TOOL, "--root", root, "--man", root / "man")
    return root / "man", code, said


def check_form(scratch: Path) -> None:
    man, code, said = tree(scratch)
    check("a tree of the form has its pages", code == 0 and said == "", said)
    page = (man / "man3/volt_sample_take.3").read_text()
    lines, at = page.split("\n"), 0
    for wanted in PAGE:
        found = wanted in lines[at:]
        check(f"the page has, in its place: {wanted}", found, "\n".join(lines[at:]))
        at += lines[at:].index(wanted) + 1 if found else 0
    names = {path.stem for path in (man / "man3").iterdir()}
    check("every name has a page, and nothing else has", names == {
        "volt", "volt_base", "volt_result", "VOLT_OK", "VOLT_ECLOSED", "volt_sample",
        "volt_sample_take", "volt_sample_drop", "volt_sample_drop_other", "volt_sample_drop_later"},
        names)
    check("the second name of a docstring is a link",
          (man / "man3/volt_sample_drop_other.3").readlink() == Path("volt_sample_drop.3"))
    later = (man / "man3/volt_sample_drop_later.3").read_text()
    check('"The same" says as what', "same as\n.Xr volt_sample_drop 3\nand" in later, later)
    header = (man / "man3/volt_sample.3").read_text()
    check("the header's page has its essay and no private member", "secret" not in header and all(
          part in header for part in (
              '.Sy "Lifetime" :', ".Bl -bullet\n.It\none\n.It\ntwo", '"\\e\\e"',
              ".Ss The first part", "struct volt_sample;")), header)


def check_refusals(scratch: Path) -> None:
    end = SAMPLE.count("\n") + 1
    broken = {
        "has no docstring directly above it": "VOLT_API void volt_sample_bare(void);",
        "volt_sample_far() has no docstring": "/* Far. */\n\nVOLT_API int volt_sample_far(void);",
        "'k:' is neither a parameter": "/* Do it.\n * k: no. */\nVOLT_API int volt_k(int n);",
        "'Return:' is neither": "/* Do it.\n * Return: 1. */\nVOLT_API int volt_sample_r(int n);",
        "begins without what it does": "/* Returns VOLT_OK. */\nVOLT_API int volt_sample_w(int n);",
        "volt_gone() is nowhere declared": "/* As volt_gone(). */\nVOLT_API int volt_g(int n);",
        "volt_lost() is nowhere declared": "/* ---- a part ----\n *\n * See volt_lost(). */",
        "two pages would be volt_base": "/* Do it. */\nVOLT_API int volt_base(int n);",
        "a comment that does not end": "/* Do it.",
        "a declaration that does not end": "/* Do it. */\nVOLT_API int volt_sample_e(",
    }
    for why, text in broken.items():
        _, code, said = tree(scratch, SAMPLE + "\n" + text + "\n")
        line = re.search(r"sample\.h:(\d+):", said)
        placed = (line and int(line[1]) in range(end, end + 6)
                  or why.startswith(("two pages", "volt_lost")))
        check(f"refused: {why}", code == 1 and why in said and bool(placed), (code, said))
    _, code, said = tree(scratch, SAMPLE.replace("sample.h:", "simple.h:"))
    check("refused: an essay of another name",
          code == 1 and "sample.h:1: the essay begins" in said, said)
    _, code, said = tree(scratch, exported=MAP.replace("_drop;", "_lost;"))
    check("refused: exported and not declared",
          code == 1 and "volt_sample_lost is exported" in said, said)


# ---- this tree ----

def check_tree(man: Path) -> None:
    code, _, said = run(sys.executable, "-B", TOOL, "--man", man)
    check("the headers keep to the form", code == 0 and said == "", said)
    exported = [name for path in (ROOT / "src").rglob("*.map")
                for name in re.findall(r"\b(volt_\w*[^\W_]);", path.read_text())]
    missing = [name for name in exported if not (man / f"man3/{name}.3").exists()]
    check(f"every one of {len(exported)} exported functions has a page",
          len(exported) > 200 and not missing, missing)


def lint(man: Path) -> str:
    pages = sorted(path for path in (man / "man3").iterdir() if not path.is_symlink())
    _, said, _ = run("mandoc", "-T", "lint", "-W", "style", *pages, MANPATH=str(man))
    return said


def check_pages(man: Path, scratch: Path) -> None:
    said = lint(man)
    check("mandoc has nothing to say of any page, not of style either", said == "", said)
    bad = scratch / "bad/man3"
    bad.mkdir(parents=True)
    page = (man / "man3/volt_sem_acquire_waiter.3").read_text()
    (bad / "volt_bad.3").write_text(page.replace(".Sh THREADS", ".Sh THREADS\n.Bl -tag\n.Sx", 1))
    check("and would say what is wrong", "WARNING" in lint(scratch / "bad"))
    for name, wanted in {
        "volt_sem_acquire_waiter": ("volt_sem_acquire_waiter(volt_sem *sem, volt_waiter *w, uint32_t n", "NAME",
                             "RETURN VALUES", "VOLT_PENDING", "WAKING", "CANCELLATION", "SEE ALSO"),
        "volt_chan_recv_until": ("volt_chan_send_until", "VOLT_ETIMEDOUT"),
        "volt_semaphore": ("volt_sem_release", "VOLT_SEM_INIT(permits)", "struct volt_sem;"),
        "volt_sem": ("volt_sem_release",), "VOLT_EAGAIN": ("enum volt_result",),
        "VOLT_AWAIT": ("volt_async",), "volt": ("volt_semaphore(3)", "volt_task(3)"),
    }.items():
        _, text, _ = run("mandoc", "-T", "ascii", "-O", "width=200", man / f"man3/{name}.3")
        text = re.sub(r".\x08", "", text)
        missing = [words for words in wanted if words not in text]
        check(f"{name}(3) can be read", not missing, (missing, text))


def main() -> int:
    with tempfile.TemporaryDirectory() as directory:
        scratch = Path(directory)
        check_form(scratch)
        check_refusals(scratch)
        check_tree(scratch / "man")
        if shutil.which("mandoc"):
            check_pages(scratch / "man", scratch)
        elif not failures:
            print("skipped: there is no mandoc to look at the pages")
            return 77
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

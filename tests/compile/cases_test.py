#!/usr/bin/env python3
"""cases.py reads each form of a test: in a small tree, every test is there by its name; then one is taken away, or
added, at a time, and the comparison names it. A file that only stands elsewhere makes no difference; a case that
is in another program is said to be. And in this tree each program of unit tests has a case."""
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/x"))
import cases  # noqa: E402

TREE = {
    "tests/unit/lock_test.c": """#define TEST(name) cmocka_unit_test_setup(name, set_up)
int main(void) {
  const struct CMUnitTest tests[] = {
      FAMILY_TEST(lock), TEST(it_locks), /* cmocka_unit_test(is_a_comment), */
#if VOLT_SIGHT
      cmocka_unit_test(it_is_seen),
#endif
  };
}
""",
    "tests/unit/ways_test.c": 'struct CMUnitTest *all;\nrows[] = {\n    {"one way", f},\n};\n',
    "tests/unit/scenes.h": "SCENE(volt_wait, begin, end)\n",
    "tests/unit/cpp_lock_test.cpp": "TEST(it_moves) {\n}\n",
    "tests/stress/lock_stress.c": "static void storm(void *arg) {\n}\nint main(void) {\n  stress_round(2, storm);\n}\n",
    "tests/apps/gate_tenants_test.py": "def are_shared():\n    pass\n\nrun_tests([], are_shared)\n",
    "tests/apps/tree_test.sh": "test_links() {\n  true\n}\n",
    "tests/fuzz/wire.corpus": "# hexadecimal\n00ff\n",
    "tests/model/lock_model.cpp": "// PROGRAM: locks BATCH 2\nMODEL(lock_hands_over, 2) {\n",
    "tests/model/mutants/lock.mutants": "mutant lost: nobody is woken\n  killed by lock_hands_over\n",
}
SEEN = """case app.gate.tenants are_shared
case app.tree test_links
case stress.lock storm
case unit.cpp_lock it_moves
case unit.lock it_is_seen
case unit.lock it_locks
case unit.lock lock
case unit.scenes volt_wait
case unit.ways one way
input wire 8909cde2f411
model locks lock_hands_over
mutant lock lost
program app.gate.tenants
program app.tree
program stress.lock
program unit.cpp_lock
program unit.lock
program unit.ways""".splitlines()
# The file, what is changed there, by what, and what has to be said.
CHANGES = [
    ("tests/unit/lock_test.c", " TEST(it_locks),", "", ["gone: case unit.lock it_locks"]),
    ("tests/unit/lock_test.c", "TEST(it_locks)", "TEST(it_locks), TEST(twice)", ["new: case unit.lock twice"]),
    ("tests/unit/ways_test.c", "one way", "no way", ["gone: case unit.ways one way", "new: case unit.ways no way"]),
    ("tests/unit/scenes.h", "SCENE", "// SCENE", ["gone: case unit.scenes volt_wait"]),
    ("tests/unit/cpp_lock_test.cpp", "TEST(it_moves)", "void it_moves()", ["gone: case unit.cpp_lock it_moves"]),
    ("tests/stress/lock_stress.c", "stress_round(2, storm);", "", ["gone: case stress.lock storm"]),
    ("tests/apps/gate_tenants_test.py", ", are_shared", "", ["gone: case app.gate.tenants are_shared"]),
    ("tests/apps/tree_test.sh", "test_links", "links", ["gone: case app.tree test_links"]),
    ("tests/fuzz/wire.corpus", "00ff\n", "", ["gone: input wire 8909cde2f411"]),
    ("tests/model/lock_model.cpp", "MODEL(", "// MODEL(", ["gone: model locks lock_hands_over"]),
    ("tests/model/lock_model.cpp", "locks", "all", ["gone: model locks lock_hands_over", "new: model all lock_hands_over"]),
    ("tests/model/mutants/lock.mutants", "lost:", "kept:", ["gone: mutant lock lost", "new: mutant lock kept"]),
]
ELSEWHERE = {
    "tests/unit/lock_test.c": "tests/unit/sync/lock_test.c",
    "tests/apps/gate_tenants_test.py": "apps/gate/tests/whole/tenants_test.py",
    "tests/apps/tree_test.sh": "apps/tree/tests/tree_test.sh",
    "tests/fuzz/wire.corpus": "apps/gate/tests/fuzz/wire.corpus",
    "tests/model/mutants/lock.mutants": "tests/model/sync/lock.mutants",
}


def lines(tree):
    with tempfile.TemporaryDirectory() as directory:
        for path, text in tree.items():
            (Path(directory) / path).parent.mkdir(parents=True, exist_ok=True)
            (Path(directory) / path).write_text(text)
        return cases.list_of(directory)


def equal(got, wanted, what):
    if got != wanted:
        sys.exit(f"{what}: {got}, not {wanted}")


def main():
    before = lines(TREE)
    equal(before, SEEN, "what is read")
    equal(cases.compare(before, before), ([], True), "nothing has changed")
    for path, old, new, said in CHANGES:
        assert TREE[path].count(old) == 1, (path, old)
        now = lines({**TREE, path: TREE[path].replace(old, new)})
        equal(cases.compare(before, now), (said, False), f"{path}: {old}")
    moved = {ELSEWHERE.get(path, path): text for path, text in TREE.items()}
    equal(cases.compare(before, lines(moved)), ([], True), "files stand elsewhere")
    merged = {**TREE, "tests/unit/lock_test.c": TREE["tests/unit/lock_test.c"].replace(" TEST(it_locks),", ""),
              "tests/unit/cpp_lock_test.cpp": "TEST(it_moves) {\n}\nTEST(it_locks) {\n}\n"}
    equal(cases.compare(before, lines(merged)), (["moved: case unit.lock it_locks, to unit.cpp_lock"], True), "moved")
    here = cases.list_of(ROOT)
    of = {line.split()[1] for line in here if line.startswith("case ")}
    without = [line for line in here if line.startswith("program unit.") and line.split()[1] not in of]
    equal(without, [], "programs of this tree without a case")
    print(f"{len(here)} lines here; {len(CHANGES)} changes are noticed")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""The reference has every class and function of C++ that the guide names, as an outline without
bodies and without what is private."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs" / "reference"))
sys.dont_write_bytecode = True

import cpp  # noqa: E402

SMALL = """/* small.hpp: a small one. */
namespace volt {
namespace detail {
/* Not shown. */
struct inner {
  int a;
};
} // namespace detail

/* Counts. */
class [[nodiscard]] counter {
 public:
  /* From n on. */
  explicit counter(int n) noexcept : n_(n) {
    if (n < 0) n_ = 0;
  }
  ~counter() {
  }
  int next() noexcept;
  counter(const counter &) = delete;

 private:
  void hidden_() {
  }
  int n_;
};

/* Adds. */
template <class T>
T add(T a, T b) {
  return a + b;
}
} // namespace volt
"""
OUTLINE = {
    "counter": ["class [[nodiscard]] counter {", "  /* From n on. */",
                "  explicit counter(int n) noexcept;", "  ~counter();", "  int next() noexcept;",
                "};"],
    "add": ["template <class T> T add(T a, T b);"],
}


def main() -> int:
    wrong = []
    small = {o.name: o.source for o in cpp.outlines(SMALL.split("\n")[1:])}
    if small != OUTLINE:
        wrong.append(f"the outline of a small header is {small}")
    headers = cpp.read_cpp(ROOT)
    names = {o.name for h in headers for o in h.outlines}
    guide = (ROOT / "docs" / "guide" / "8-cpp.md").read_text()
    named = set(re.findall(r"volt::(?!detail)(?:as_std::)?(\w+)", guide)) - {"as_std"}
    missing = {name for name in named - names if not name.endswith("_operation")}
    wrong += [f"the guide names volt::{name}, and the reference does not" for name in missing]
    for header in headers:
        for outline in header.outlines:
            text = re.sub(r"/\*.*?\*/", "", "\n".join(outline.source), flags=re.S)
            if text.count("{") != text.count("}"):
                wrong.append(f"{header.name}: {outline.name}: braces do not match")
            if re.search(r"\breturn\b|\bprivate\b", text):
                wrong.append(f"{header.name}: {outline.name}: a body, or what is private, is shown")
    if len(named) < 20 or len(names) < 40:
        wrong.append(f"the guide names {len(named)}, the reference {len(names)}")
    found = f"{len(names)} classes and functions, {len(named)} in the guide"
    print("\n".join(wrong) if wrong else found)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

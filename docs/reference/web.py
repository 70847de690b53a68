"""The reference as HTML: README first, a page for each header, for each other Markdown file and for each
source file that one of them leads to, and a search over all of it. The pages need no server and no
network.

The Markdown is what docs/ uses: headings, paragraphs, lists, tables, fences, quotes, links, images,
code, emphasis.
"""

import json
import os
import re
import shutil
from html import escape, unescape
from pathlib import Path

from cpp import CppHeader, read_cpp
from headers import Entry, Header, Library, results, undeclared
from man import sentence

HERE = Path(__file__).parent
WRITTEN = ("*.md", "docs/**/*.md", "examples/*.md", "apps/**/*.md", "bench/**/*.md")
PROMISED = ("README.md", "docs/", "examples/", "apps/")  # names of functions there are those of today
BEGIN = ("README.md", "docs/install.md", "docs/builds.md", "examples/README.md", "apps/README.md",
         "docs/README.md")
ROOMS = {"guide": "Guide", "recipes": "Recipes", "primitives": "Primitives", "voltgate": "voltgate",
         "cluster": "volt_cluster", "": "Design and more", "begin": "Begin"}
SOURCE = (".c", ".h", ".cpp", ".hpp", ".sql", ".py", ".sh", ".ini", ".bt")
NAMED = re.compile(r"(?P<file>(?:volt/)?\b\w+\.h\b)|(?P<name>\b(?:volt|VOLT)_\w*[A-Za-z0-9]\b)")
ITEM = re.compile(r"( *)([-*]|\d+\.) +")


class Site:
    def __init__(self, library: Library, root: Path) -> None:
        self.library, self.root = library, root
        self.problems: list[str] = []
        # name, kind, address, what is shown with it, what is searched besides
        self.index: list[tuple[str, str, str, str, str]] = []
        self.urls = {f"include/volt/{h.name}": f"{h.page}.html" for h in library.headers}
        self.cpp = read_cpp(root)
        self.urls |= {f"include/volt/{h.name}": f"{h.page}.html" for h in self.cpp}
        self.names = {n: f"{h.page}.html#{n}" for n, (h, _) in library.where().items()}
        self.sources = {path.relative_to(root).as_posix(): path for pattern in WRITTEN
                        for path in sorted(root.glob(pattern)) if not path.is_symlink()}
        for name in self.sources:
            place = name.removeprefix("docs/").removesuffix(".md").removesuffix("/README")
            flat = {"README.md": "index", "docs/README.md": "documents"}.get(name, place)
            self.urls[name] = f"{flat.replace('/', '-').lower()}.html"
            if name.endswith("/README.md"):
                self.urls[name.removesuffix("/README.md")] = self.urls[name]
        self.urls["include/volt"] = "documents.html#headers"
        self.code: dict[str, str] = {}  # source files that a page leads to, and their pages
        for name, path in self.sources.items():
            if not name.startswith(PROMISED):
                continue
            is_sql = False  # there a function is the page's own
            for n, line in enumerate(path.read_text().split("\n"), 1):
                if line.startswith("```"):
                    is_sql = line == "```sql"
                self.problems += [f"{name}:{n}: {function}() is nowhere declared"
                                  for function in undeclared(line, library.where()) if not is_sql]
        self.titles = {name: self.title(path) for name, path in self.sources.items()}
        self.images: dict[str, Path] = {}
        self.anchors: dict[str, list[str]] = {}  # of a page
        self.leads: list[tuple[str, str]] = []  # where a link stands, and where it leads

    def title(self, path: Path) -> str:
        return next((line.strip("# \n") for line in path.read_text().split("\n")
                     if line.startswith("# ")), path.stem)

    def write(self, into: Path) -> None:
        shutil.rmtree(into, ignore_errors=True)
        into.mkdir(parents=True)
        pages = {self.urls[name]: (self.titles[name], Markdown(self, name).html())
                 for name in self.sources}
        for name, url in self.code.items():
            pages[url] = (name, self.source(name))
        for header in self.library.headers:
            pages[f"{header.page}.html"] = (header.name, self.header(header))
        for cpp in self.cpp:
            pages[f"{cpp.page}.html"] = (cpp.name, self.cpp_header(cpp))
        title, body = pages.get("documents.html", ("Documentation", "<h1>Documentation</h1>"))
        pages["documents.html"] = (title, body + self.overview())
        for url, (title, body) in pages.items():
            self.anchors[url] = re.findall(r'\bid="([^"]+)"', body)
            (into / url).write_text(self.page(url, title, body))
        for where, url in self.leads:
            page, _, anchor = url.partition("#")
            if page not in pages or (anchor and anchor not in self.anchors[page]):
                self.problems.append(f"{where}: there is no {url}")
        for name, path in self.images.items():
            shutil.copyfile(path, into / name)
        for name in ("style.css", "search.js"):
            shutil.copyfile(HERE / name, into / name)
        entries = ",\n".join(json.dumps(entry) for entry in self.index)
        (into / "index.js").write_text(f"const INDEX = [\n{entries}\n];\n")

    # ---- the frame ----

    def page(self, url: str, title: str, body: str) -> str:
        return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)} · volt</title>
<link rel="stylesheet" href="style.css"></head>
<body>
<header><a class="home" href="index.html">volt {self.library.version}</a>
<input id="search" type="search" placeholder="Search: a function, a type, a result, a heading"
 aria-label="Search" autocomplete="off" autocapitalize="none" spellcheck="false">
<ol id="found" hidden></ol></header>
<main>
{body}
</main>
<nav>{self.navigation(url)}</nav>
<script src="index.js"></script><script src="search.js"></script>
</body></html>
"""

    def navigation(self, here: str) -> str:
        parts = []
        for room, title in ROOMS.items():
            names = BEGIN if room == "begin" else self.sources
            parts.append((title, [(self.urls[n], self.titles[n]) for n in names
                                  if n in self.sources and self.room(n) == room]))
        parts.insert(0, parts.pop())  # Begin
        parts.append(("Headers", [(f"{h.page}.html", h.name) for h in self.library.headers]))
        parts.append(("Headers of C++", [(f"{h.page}.html", h.name) for h in self.cpp]))
        return "".join(
            f"<h2>{title}</h2><ul>" + "".join(
                f'<li><a href="{url}"{" aria-current=page" * (url == here)}>{escape(text)}</a></li>'
                for url, text in links) + "</ul>" for title, links in parts if links)

    def room(self, name: str) -> str:
        if name in BEGIN:
            return "begin"
        folder = Path(name).parts[1:-1]
        return folder[0] if folder and folder[0] in ROOMS else ""

    def lead(self, path: str) -> str | None:
        """The page of a file or folder; a source file has one from now on. None: it has none."""
        if path not in self.urls and Path(path).suffix in SOURCE and (self.root / path).is_file():
            self.urls[path] = self.code[path] = f"{path.replace('/', '-')}.html"
            self.index.append((path, "file", self.code[path], self.first_comment(path), ""))
        return self.urls.get(path)

    def first_comment(self, path: str) -> str:
        found = re.match(r"\s*/\*(.*?)\*/", (self.root / path).read_text(), re.S)
        return " ".join(re.sub(r"^ ?\* ?", "", found[1], flags=re.M).split())[:200] if found else ""

    def source(self, path: str) -> str:
        return f"<h1>{escape(path)}</h1>" + pre((self.root / path).read_text().split("\n"))

    def overview(self) -> str:
        rows = [f'<tr><td><a href="{h.page}.html">{h.name}</a></td>'
                f"<td>{self.inline(h.title)}</td></tr>" for h in [*self.library.headers, *self.cpp]]
        return f'<h2 id="headers">Headers</h2><table>{"".join(rows)}</table>'

    # ---- a header ----

    def header(self, header: Header) -> str:
        self.index.append((header.name, "header", f"{header.page}.html", header.title, ""))
        parts = [f"<h1>{header.name}</h1><p>{self.inline(header.title)}</p>",
                 f"<p><code>#include &lt;volt/{header.name}&gt;</code>, "
                 f"<code>-l{header.library}</code></p>", self.blocks(header.essay)]
        for kind, title in (("type", "Types"), ("macro", "Macros"), ("function", "Functions")):
            entries = [e for e in header.entries if e.kind == kind]
            if entries:
                parts.append(f'<h2 id="{kind}s">{title}</h2>')
            part = ""
            for entry in entries:
                if kind == "function" and entry.part != part:
                    part = entry.part
                    parts.append(f"<h3>{escape(part)}</h3>" + self.blocks(header.parts[part]))
                parts.append(self.entry(header, entry))
        return "\n".join(parts)

    def cpp_header(self, header: CppHeader) -> str:
        """Its essay, and what its classes and functions declare."""
        address = f"{header.page}.html"
        self.index.append((header.name, "header", address, header.title, ""))
        parts = [f"<h1>{header.name}</h1><p>{self.inline(header.title)}</p>",
                 f"<p><code>#include &lt;volt/{header.name}&gt;</code></p>",
                 self.blocks(header.essay)]
        seen: set[str] = set()
        for outline in header.outlines:
            name = f"volt::{outline.name}"
            anchor = f'<a id="{outline.name}"></a>' * (outline.name not in seen)
            if anchor:
                text = next((t for kind, t in outline.doc if kind == "text"), "")
                self.index.append((name, "C++", f"{address}#{outline.name}", text, ""))
            seen.add(outline.name)
            parts.append(f'<section class="entry">{anchor}{pre(outline.source)}'
                         f"{self.blocks(outline.doc)}</section>")
        return "\n".join(parts)

    def entry(self, header: Header, entry: Entry) -> str:
        private = entry.kind == "type" and "Members are private" in " ".join(entry.lines)
        source = [f.source for f in entry.functions] or (
            [f"struct {entry.names[0]};"] if private else entry.source)
        for name in entry.names:
            kind = "result" if name in self.library.codes else entry.kind
            words = self.library.codes.get(name, entry.summary())
            self.index.append((name, kind, f"{header.page}.html#{name}", words, ""))
        ids = "".join(f'<a id="{name}"></a>' for name in entry.names)
        parts = [f'<section class="entry">{ids}', pre(source), self.blocks(entry.body)]
        known = {name for f in entry.functions for name in f.arguments()}
        for title, texts in entry.sections.items():
            parts.append(f"<h4>{title.capitalize()}</h4>")
            parts += [self.returned(text) if title == "RETURN VALUES" else
                      f"<p>{self.inline(sentence(text, known))}</p>" for text in texts]
        return "".join([*parts, "</section>"])

    def returned(self, text: str) -> str:
        lead, found, rest = results(text)
        rows = "".join(f"<dt>{self.inline(code)}</dt>"
                       f"<dd>{self.inline(why or self.library.codes.get(code, 'see above'))}</dd>"
                       for code, why in found)
        return (f"<p>{self.inline(lead)}</p>" * bool(lead) + f"<dl>{rows}</dl>" * bool(rows)
                + f"<p>{self.inline(rest)}</p>" * bool(rest))

    def blocks(self, blocks: list[tuple]) -> str:
        parts = []
        for kind, content in blocks:
            if kind == "text":
                parts.append(f"<p>{self.inline(content)}</p>")
            elif kind == "code":
                parts.append(pre([content]))
            elif kind == "list":
                items = "".join(f"<li>{self.inline(item)}</li>" for item in content)
                parts.append(f"<ul>{items}</ul>")
            else:
                parts.append(f"<dl><dt><code>{escape(content[0])}</code></dt>"
                             f"<dd>{self.inline(content[1])}</dd></dl>")
        return "".join(parts).replace("</dl><dl>", "")

    def inline(self, text: str) -> str:
        """The words of a comment: names lead to what they name."""
        text = re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text, quote=False))
        return NAMED.sub(lambda m: self.linked(m[0]) if self.address(m[0]) else m[0], text)

    def address(self, name: str) -> str | None:
        file = self.urls.get(f"include/volt/{name.removeprefix('volt/')}")
        return file if name.endswith(".h") else self.names.get(name)

    def linked(self, name: str) -> str:
        return f'<a href="{self.address(name)}"><code>{name}</code></a>'


def plain(html: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", html)).split())


def pre(lines: list[str]) -> str:
    return "<pre><code>" + escape("\n".join(lines)) + "</code></pre>"


class Markdown:
    def __init__(self, site: Site, name: str) -> None:
        self.site, self.name = site, name
        self.url = site.urls[name]
        self.slugs: dict[str, int] = {}

    def html(self) -> str:
        body = self.blocks(self.site.sources[self.name].read_text().split("\n"))
        self.index_sections(body)
        return body

    def index_sections(self, body: str) -> None:
        """Each heading is in the search, with all that is said under it."""
        title = self.site.titles[self.name]
        for level, slug, words, said in re.findall(
                r'<h(\d) id="([^"]*)">(.*?)</h\d>(.*?)(?=<h\d id=|\Z)', body, re.S):
            kind, about = ("page", "") if level == "1" else ("heading", title)
            self.site.index.append((plain(words), kind, f"{self.url}#{slug}", about, plain(said)))

    def blocks(self, lines: list[str]) -> str:
        out, at = [], 0
        while at < len(lines):
            line = lines[at]
            end = at + 1
            if not line.strip():
                pass
            elif fence := re.match(r"(```+|~~~+)", line):
                while end < len(lines) and not lines[end].startswith(fence[1]):
                    end += 1
                out.append(pre(lines[at + 1:end]))
                end += 1
            elif line.startswith("<!--"):
                while "-->" not in lines[end - 1]:
                    end += 1
            elif heading := re.match(r"(#+) +(.*?)[ #]*$", line):
                out.append(self.heading(len(heading[1]), heading[2]))
            elif re.fullmatch(r"(-{3,}|\*{3,})\s*", line):
                out.append("<hr>")
            elif "|" in line and re.fullmatch(r"[ |:-]*-[ |:-]*", "".join(lines[end:end + 1])):
                while end < len(lines) and "|" in lines[end]:
                    end += 1
                out.append(self.table(lines[at:end]))
            elif line.startswith(">"):
                while end < len(lines) and lines[end].startswith(">"):
                    end += 1
                inner = [re.sub("^> ?", "", one) for one in lines[at:end]]
                out.append(f"<blockquote>{self.blocks(inner)}</blockquote>")
            elif ITEM.match(line):
                end = self.list_end(lines, at)
                out.append(self.listed(lines[at:end]))
            else:
                while end < len(lines) and lines[end].strip() and not re.match(
                        r"```|~~~|#|>|<!--|\||[-*] |\d+\. ", lines[end]):
                    end += 1
                out.append(f"<p>{self.inline(' '.join(one.strip() for one in lines[at:end]))}</p>")
            at = end
        return "\n".join(out)

    def list_end(self, lines: list[str], at: int) -> int:
        end = at + 1
        while end < len(lines):
            line = lines[end]
            if line.strip() and not line.startswith(" ") and not ITEM.match(line) and (
                    not lines[end - 1].strip() or re.match(r"```|#|>|\|", line)):
                break
            if not line.strip() and not (end + 1 < len(lines) and re.match(
                    r" +\S|[-*] |\d+\. ", lines[end + 1])):
                break
            end += 1
        return end

    def listed(self, lines: list[str]) -> str:
        first = ITEM.match(lines[0])
        items: list[list[str]] = []
        for line in lines:
            mark = ITEM.match(line)
            if mark and len(mark[1]) <= len(first[1]):
                width = mark.end()
                items.append([line[width:]])
            else:
                items[-1].append(line[min(width, len(line) - len(line.lstrip())):])
        tag = "ol" if first[2][0].isdigit() else "ul"
        first_paragraph = re.compile(r"\A<p>(.*?)</p>", re.S)
        inner = [first_paragraph.sub(r"\1", self.blocks(item)) for item in items]
        return f"<{tag}>" + "".join(f"<li>{item}</li>" for item in inner) + f"</{tag}>"

    def table(self, lines: list[str]) -> str:
        def cells(line: str, tag: str) -> str:
            found = re.split(r"(?<!\\)\|", re.sub(r"^\s*\||(?<!\\)\|\s*$", "", line))
            return "".join(f"<{tag}>{self.inline(c.strip().replace(chr(92) + '|', '|'))}</{tag}>"
                           for c in found)
        head = f"<thead><tr>{cells(lines[0], 'th')}</tr></thead>"
        rows = "".join(f"<tr>{cells(line, 'td')}</tr>" for line in lines[2:])
        return f"<table>{head * bool(lines[0].strip(' |'))}<tbody>{rows}</tbody></table>"

    def heading(self, level: int, text: str) -> str:
        words = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", text)
        slug = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
        seen = self.slugs[slug] = self.slugs.get(slug, -1) + 1
        slug += f"-{seen}" * bool(seen)
        return f'<h{level} id="{slug}">{self.inline(text)}</h{level}>'

    def inline(self, text: str) -> str:
        kept: list[str] = []

        def keep(html: str) -> str:
            kept.append(html)
            return f"\0{len(kept) - 1}\0"

        text = re.sub(r"(`+)(.+?)\1(?!`)", lambda m: keep(self.code(m[2].strip())), text)
        text = re.sub(r"!\[([^\]]*)\]\(([^)\s]+)\)", lambda m: keep(self.image(m[1], m[2])), text)
        text = re.sub(r"<(https?://[^>\s]+)>", lambda m: keep(
            f'<a href="{escape(m[1])}">{escape(m[1])}</a>'), text)
        text = re.sub(r"\[([^\[\]]+)\]\(([^)\s]+)\)", lambda m: keep(self.link(m[1], m[2])), text)
        text = escape(text, quote=False)
        text = re.sub(r"\*\*(\S(?:.*?\S)?)\*\*", r"<strong>\1</strong>", text)
        text = re.sub(r"(?<![\w*])[*_](\S(?:[^*_]*\S)?)[*_](?![\w*])", r"<em>\1</em>", text)
        while "\0" in text:
            text = re.sub(r"\0(\d+)\0", lambda m: kept[int(m[1])], text)
        return text

    def code(self, text: str) -> str:
        name = re.sub(r"\(.*\)$", "", text)
        url = self.site.address(name) if NAMED.fullmatch(name) else None
        code = f"<code>{escape(text, quote=False)}</code>"
        return f'<a href="{url}">{code}</a>' if url else code

    def target(self, to: str) -> str:
        return os.path.normpath(os.path.join(os.path.dirname(self.name), to))

    def link(self, text: str, to: str) -> str:
        if re.match(r"https?://|mailto:", to):
            return f'<a href="{escape(to)}">{escape(text, quote=False)}</a>'
        file, _, anchor = to.partition("#")
        path = self.target(file) if file else self.name
        text = re.sub(r"</?a\b[^>]*>", "", self.inline(text) if "\0" not in text else text)
        page = self.site.lead(path)
        if not page:
            if not (self.site.root / path).exists():
                self.site.problems.append(f"{self.name}: there is no {to}")
            return f'<span title="{escape(path)}">{text}</span>'
        url = page + (f"#{anchor}" if anchor else "")
        self.site.leads.append((self.name, url))
        return f'<a href="{escape(url)}">{text}</a>'

    def image(self, text: str, to: str) -> str:
        path = self.target(to)
        if not (self.site.root / path).exists():
            self.site.problems.append(f"{self.name}: there is no {to}")
        else:
            self.site.images[path.replace("/", "-")] = self.site.root / path
        return f'<img src="{escape(path.replace("/", "-"))}" alt="{escape(text)}">'

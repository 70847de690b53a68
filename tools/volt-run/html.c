/* html.c: pieces of the page: escaped text, figures, places. */
#include "html.h"

#include <inttypes.h>
#include <string.h>

/* The bytes of the character that is encoded here; 0: it is none that XML may have. */
static int html_character(const unsigned char *at) {
  if (at[0] < 0x80) return at[0] == '\t' || at[0] == '\n' || (at[0] >= 0x20 && at[0] < 0x7f);
  int bytes = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
  if (at[0] < 0xc2 || at[0] > 0xf4) return 0;
  uint32_t code = at[0] & (0x7fu >> bytes);
  for (int i = 1; i < bytes; i++) {
    if ((at[i] & 0xc0) != 0x80) return 0; /* also at the end of the text */
    code = code << 6 | (at[i] & 0x3fu);
  }
  static const uint32_t least[] = {0, 0, 0xa0, 0x800,
                                   0x10000}; /* longer than it must be, or a control character */
  bool is_none = code < least[bytes] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ||
                 (code & 0xfffe) == 0xfffe;
  return is_none ? 0 : bytes;
}

void html_text(const char *text, FILE *to) {
  for (const unsigned char *at = (const unsigned char *)text; *at;) {
    int bytes = html_character(at);
    switch (*at) {
      case '<': fputs("&lt;", to); break;
      case '>': fputs("&gt;", to); break;
      case '&': fputs("&amp;", to); break;
      case '"': fputs("&quot;", to); break;
      case '\'': fputs("&#39;", to); break;
      default:
        if (bytes) {
          fwrite(at, 1, (size_t)bytes, to);
        } else {
          fputs("\xef\xbf\xbd", to); /* U+FFFD */
        }
    }
    at += bytes ? bytes : 1;
  }
}

void html_number(const char *name, uint64_t value, FILE *to) {
  fprintf(to, "<data data-name=\"%s\" value=\"%" PRIu64 "\">%" PRIu64 "</data>", name, value,
          value);
}

void html_time(const char *name, uint64_t ns, FILE *to) {
  char time[TEXT_TIME];
  fprintf(to, "<data data-name=\"%s\" value=\"%" PRIu64 "\">%s</data>", name, ns,
          text_time(ns, time));
}

void html_place(const struct report *r, uintptr_t at, FILE *to) {
  char place[512];
  symbols_text(r->symbols, at, place, sizeof place);
  html_text(place, to);
}

void html_stack(const struct report *r, const uintptr_t *stack, uint32_t depth, uintptr_t at,
                FILE *to) {
  fputs("<ol class=\"stack\">", to);
  if (depth == 0) {
    fputs("<li>", to);
    html_place(r, at, to);
    fputs("</li>", to);
  }
  for (uint32_t i = 0; i < depth && i < BOOKS_DEPTH; i++) {
    fputs("<li>", to);
    html_place(r, stack[i], to);
    fputs("</li>", to);
  }
  fputs("</ol>\n", to);
}

void html_thread(int32_t tid, const char *name, FILE *to) {
  fputs("<b class=\"thread\">", to);
  html_text(name, to);
  fprintf(to, "</b> <span class=\"soft\">%d%s</span>", (int)(tid < 0 ? -tid : tid),
          tid < 0 ? ", has ended" : "");
}

void html_lock(const struct report *r, uint32_t lock, FILE *to) {
  if (lock == 0 || lock > r->s->lock_count) {
    fputs(lock ? "an object that came just then" : "the end of the thread", to);
    return;
  }
  const struct books_lock *l = &r->lock[lock];
  fprintf(to, "%s <code>%#" PRIxPTR "</code> <span class=\"soft\">made or first used at</span> ",
          report_kind(l), atomic_load(&l->address));
  html_place(r, atomic_load(&l->made_at), to);
}

/* ---- the head ---- */

static const char style[] =
    ":root{--ground:#f7f7f5;--card:#fff;--line:#e4e4e0;--text:#1b1c1e;--soft:#5b6067;"
    "--accent:#0f766e;--second:#7b8088;--grid:#ecece8;--warn:#a14a06;--warn-soft:#fdf0dd;"
    "--bad:#b42318;--bad-soft:#fdeceb}\n"
    "@media(prefers-color-scheme:dark){:root{--ground:#0f1113;--card:#16181b;--line:#2a2d31;"
    "--text:#e9eaeb;--soft:#a0a6ad;--accent:#4cc9bc;--second:#858b93;--grid:#222529;"
    "--warn:#f0b252;--warn-soft:#35260f;--bad:#ff9488;--bad-soft:#3a1a17}}\n"
    "*{box-sizing:border-box}html{-webkit-text-size-adjust:100%}\n"
    "body{margin:0;background:var(--ground);color:var(--text);font:14px/1.45 system-ui,"
    "-apple-system,\"Segoe UI\",Roboto,\"Noto Sans\",\"Liberation Sans\",sans-serif;"
    "font-variant-numeric:tabular-nums}\n"
    "h1,h2,h3,p,table,dl,dd,ol,ul{margin:0;padding:0}\n"
    "h1{font-size:17px;font-weight:650}h2{font-size:20px;font-weight:650;margin:28px 0 10px}\n"
    "h3{font-size:15px;font-weight:600;overflow-wrap:anywhere;margin-bottom:8px}\n"
    ".page{max-width:1100px;margin:0 auto;padding:0 20px 60px}\n"
    ".top{display:flex;flex-wrap:wrap;align-items:baseline;gap:2px 16px;padding:16px 0 14px;"
    "border-bottom:1px solid var(--line)}\n"
    ".soft,.top p{color:var(--soft);font-weight:400}.top p{overflow-wrap:anywhere}\n"
    ".card{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:14px "
    "16px 16px;margin:0 0 14px}\n"
    ".banner{background:var(--bad-soft);color:var(--bad);border-radius:10px;padding:9px "
    "16px;margin:14px 0 0;font-weight:600;overflow-wrap:anywhere}\n"
    ".banner.warn{background:var(--warn-soft);color:var(--warn)}\n"
    ".figures{display:flex;flex-wrap:wrap;gap:12px 0;margin:18px 0}\n"
    ".figures>div{padding:0 20px;border-left:1px solid var(--line)}\n"
    ".figures>div:first-child{border-left:0;padding-left:0}\n"
    ".figures dt{font-size:13px;color:var(--soft)}\n"
    ".figures dd{font-size:24px;line-height:1.3;font-weight:600;white-space:nowrap}\n"
    ".scroll{overflow-x:auto}table{width:100%;border-collapse:collapse}\n"
    "th{font-size:13px;font-weight:400;color:var(--soft);text-align:right;padding:0 0 6px 14px;"
    "white-space:nowrap}\n"
    "td{text-align:right;padding:5px 0 5px 14px;border-top:1px solid var(--line);"
    "vertical-align:top}\n"
    "th:first-child,td:first-child,td.left,th.left{text-align:left}\n"
    "th:first-child,td:first-child{padding-left:0}td.left{overflow-wrap:anywhere}\n"
    "code,.stack{font-family:ui-monospace,\"Liberation Mono\",Menlo,Consolas,monospace;"
    "font-size:12.5px}\n"
    ".stack{list-style-position:inside;overflow-wrap:anywhere;margin:4px 0 8px}\n"
    "ul{padding-left:20px;margin-bottom:6px}.two>svg{max-width:480px}"
    ".two{display:grid;grid-template-columns:repeat(auto-fit,minmax(320px,1fr));gap:8px 24px}\n"
    "details{margin-top:8px}summary{cursor:pointer}.thread{font-weight:600}\n"
    "svg{display:block;width:100%;height:auto;max-width:100%}svg text{font:12px system-ui,"
    "sans-serif;fill:var(--soft)}svg text.name{fill:var(--text);font-weight:600}\n"
    "svg .bar{fill:var(--accent)}svg .hold{fill:var(--second)}svg .line{stroke:var(--line);"
    "stroke-width:1}\n"
    "svg .edge{fill:none;stroke:var(--second);stroke-width:1.5}svg .ended{stroke-dasharray:4 "
    "4}svg .circle{stroke:var(--bad);stroke-width:2.5}\n"
    "svg .head{fill:var(--second)}svg .head.bad{fill:var(--bad)}svg .node{fill:var(--card);"
    "stroke:var(--second);stroke-width:1.5}svg .node.bad{stroke:var(--bad)}\n"
    "svg text.bad{fill:var(--bad)}\n"
    "@media print{details>*{display:block}}\n";

/* No script runs, and nothing is fetched, also if the escaping had a hole. */
void html_head(const char *title, FILE *to) {
  fputs(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<meta name=\"color-scheme\" content=\"light dark\"/>\n<title>",
      to);
  html_text(title, to);
  fprintf(to, "</title>\n<style>\n%s</style>\n</head>\n<body>\n<div class=\"page\">\n", style);
}

// The search: every word of the query must be in a name or in what is said there. Names come first, then
// what is said of them, then sections whose text says it, those first that say it often; the words around
// it are shown. What tells of the past, or is a table of figures, comes last.
// "/" leads to the box, the arrows through what was found, Enter to the first of it.
'use strict';
(() => {
  const box = document.getElementById('search');
  const list = document.getElementById('found');
  const kinds = ['function', 'type', 'macro', 'result', 'header', 'C++', 'page', 'heading', 'file'];
  const SHOWN = 100; // so many characters of the text

  function rank([name, kind, address, about, text], query, wanted) {
    const title = name.toLowerCase();
    const said = title + ' ' + about.toLowerCase();
    if (!wanted.every(word => said.includes(word))) {
      const all = said + ' ' + text.toLowerCase();
      if (!wanted.every(word => all.includes(word))) return -1;
      const last = /^(changelog|bench-results)/.test(address) ? 1000 : 0;
      return 5000 + last - Math.min(all.split(query).length - 1, 40) * 20;
    }
    const place = title === query || title === 'volt_' + query ? 0
      : title.startsWith(query) || title.startsWith('volt_' + query) ? 1
      : title.includes(query) ? 2
      : wanted.every(word => title.includes(word)) ? 3 : 4;
    return place * 1000 + kinds.indexOf(kind) * 100 + Math.min(title.length, 99);
  }

  function around(text, wanted) {
    const at = Math.max(0, text.toLowerCase().indexOf(wanted[0]) - SHOWN / 2);
    return (at ? '… ' : '') + text.slice(at, at + SHOWN) + (at + SHOWN < text.length ? ' …' : '');
  }

  function find() {
    const query = box.value.trim().toLowerCase().replace(/\(\)$/, '');
    const wanted = query.split(/[\s,]+/);
    const found = !query ? [] : INDEX.map(entry => [rank(entry, query, wanted), entry])
      .filter(([place]) => place >= 0).sort((a, b) => a[0] - b[0]).slice(0, 40);
    list.replaceChildren(...found.map(([place, [name, kind, address, about, text]]) => {
      const words = place < 4001 ? about : (about && about + ': ') + around(text, wanted);
      const item = document.createElement('li');
      const link = document.createElement('a');
      const bold = document.createElement('b');
      const small = document.createElement('small');
      link.href = address;
      bold.textContent = name;
      small.textContent = kind + (words ? ': ' + words : '');
      link.append(bold, ' ', small);
      item.append(link);
      return item;
    }));
    if (query && !found.length) list.textContent = 'Nothing has all these words.';
    list.hidden = !query;
  }

  function step(by) {
    const links = [...list.querySelectorAll('a')];
    const at = links.indexOf(document.activeElement) + by;
    (links[at] || (by < 0 ? box : links[links.length - 1] || box)).focus();
  }

  box.addEventListener('input', find);
  document.addEventListener('keydown', event => {
    const inside = event.target === box || list.contains(event.target);
    if (event.key === '/' && event.target !== box) box.focus();
    else if (event.key === 'Escape' && inside) list.hidden = true;
    else if (event.key === 'ArrowDown' && inside) step(1);
    else if (event.key === 'ArrowUp' && inside) step(-1);
    else if (event.key === 'Enter' && event.target === box) list.querySelector('a')?.click();
    else return;
    event.preventDefault();
  });
  list.addEventListener('click', () => { list.hidden = true; });
  find(); // the browser may have kept what was in the box
})();


"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const { rows, columns, kinds, usual, texts } = data;
  const PAGE = 100;
  const WIDE = 15;
  const STEPS = [0.02, 0.08, 0.2, 0.4, 0.6];
  const MARKS = { o: "odd", f: "fine", u: "unsure", x: "" };
  // Characters that show nothing or turn the direction of writing.
  const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]/g;
  const $ = id => document.getElementById(id);
  const state = { key: "score", down: true, shown: PAGE };
  const marks = new Map();
  const open = new Set();
  let view = [];
  let current = 0;

  // Texts of the table enter the page here, as text.
  function put(node, text) {
    let last = 0;
    for (const found of text.matchAll(HIDDEN)) {
      node.append(text.slice(last, found.index));
      const code = found[0].codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
      node.append(make("span", "control", "U+" + code));
      last = found.index + found[0].length;
    }
    node.append(text.slice(last));
    return node;
  }
  function make(tag, style, text) {
    const node = document.createElement(tag);
    if (style) node.className = style;
    if (text !== undefined) node.textContent = text;
    return node;
  }
  const value = (tag, text, style) => put(make(tag, style), text === null ? "–" : text);
  // A sentence of ours reads from left to right, whatever is quoted in it.
  const sentence = text => {
    const node = value("bdi", text);
    node.dir = "ltr";
    return node;
  };
  function rectangle(style, width) {
    const node = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    node.setAttribute("class", style);
    node.setAttribute("width", width);
    node.setAttribute("height", 8);
    return node;
  }
  function bar(share, style) {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("viewBox", "0 0 100 8");
    svg.setAttribute("preserveAspectRatio", "none");
    svg.setAttribute("aria-hidden", "true");
    svg.append(rectangle("track", 100), rectangle(style, Math.max(0.5, 100 * Math.min(1, share))));
    return svg;
  }
  function percent(share) {
    const n = 100 * share;
    if (n === 0) return "0 %";
    if (n < 0.01) return "under 0.01 %";
    return (n >= 9.95 ? n.toFixed(0) : n >= 0.095 ? n.toFixed(1) : n.toFixed(2)) + " %";
  }
  // What the table never has may still occur.
  const probability = p => p < 0.0001 ? "under 0.01 %" : p > 0.9995 ? "over 99.9 %" : percent(p);
  const short = n => n === null ? "–" : Math.abs(n) >= 1e-4 || n === 0 ? String(Number(n.toPrecision(3))) : n.toExponential(1);
  const score = n => n === null ? "–" : n.toFixed(2);
  const count = n => n.toLocaleString("en-US");
  const step = share => STEPS.filter(limit => share >= limit).length;

  // Marks stay in this browser, where it lets a page keep something.
  try {
    for (const [row, mark] of Object.entries(JSON.parse(localStorage.getItem(data.key) || "{}"))) {
      if (Object.values(MARKS).includes(mark)) marks.set(Number(row), mark);
    }
  } catch { /* then they stay until the page is closed */ }
  function setMark(row, mark) {
    if (mark) marks.set(row.n, mark); else marks.delete(row.n);
    try {
      localStorage.setItem(data.key, JSON.stringify(Object.fromEntries(marks)));
    } catch { /* as above */ }
  }

  // How much each column has of all scores, for the order of columns.
  const weight = columns.map(() => 0);
  for (const row of rows) for (const reason of row.r) weight[reason.c] += reason.h * (row.s || 0);
  const inFile = columns.map((_, i) => i);
  const byWeight = inFile.slice().sort((a, b) => weight[b] - weight[a] || a - b);
  // In a wide table the odd cells would be out of sight.
  $("order").value = columns.length > WIDE ? "odd" : "file";
  let order = columns.length > WIDE ? byWeight : inFile;

  // A text that occurs more than once is the number of its place among the texts.
  const text = item => typeof item === "number" ? texts[item] : item;
  for (const row of usual) row.c = row.c.map(text);
  for (const row of rows) {
    row.c = row.c.map(text);
    for (const reason of row.r) {
      reason.w = text(reason.w);
      reason.x = text(reason.x);
      for (const other of reason.a) other[0] = text(other[0]);
    }
    row.parts = new Map(row.r.map(reason => [reason.c, reason]));
    row.texts = () => row.hay ??= row.c.map(c => c ?? "").concat(row.r.map(r => columns[r.c].name + " " + r.w)).join("\n").toLowerCase();
  }
  for (const i of byWeight.filter(i => weight[i] > 0)) {
    const option = make("option", "", columns[i].name);
    option.value = i;
    $("column").append(option);
  }

  const asNumber = text => {
    if (text === null) return NaN;
    const number = Number(text.replace(/[^0-9eE.+-]/g, ""));
    return /[0-9]/.test(text) ? number : NaN;
  };
  function compare(a, b) {
    switch (state.key) {
      case "score": return (a.s ?? -Infinity) - (b.s ?? -Infinity) || b.n - a.n;
      case "p": return a.p - b.p || b.s - a.s;
      case "row": return a.n - b.n;
      case "mark": return (marks.get(a.n) || "").localeCompare(marks.get(b.n) || "") || a.s - b.s;
      case "why": return (a.r[0] ? columns[a.r[0].c].name : "").localeCompare(b.r[0] ? columns[b.r[0].c].name : "") || a.s - b.s;
    }
    const [x, y] = [a.c[state.key], b.c[state.key]];
    if (columns[state.key].numeric) {
      const [m, n] = [asNumber(x), asNumber(y)];
      if (!isNaN(m) && !isNaN(n) && m !== n) return m - n;
      if (isNaN(m) !== isNaN(n)) return isNaN(m) ? -1 : 1;
    }
    return (x ?? "") < (y ?? "") ? -1 : (x ?? "") > (y ?? "") ? 1 : a.s - b.s;
  }
  function choose() {
    const words = $("search").value.trim().toLowerCase();
    const column = $("column").value === "" ? null : Number($("column").value);
    const kind = $("kind").value === "" ? null : kinds.indexOf($("kind").value);
    const mark = $("mark").value;
    const fits = reason => (column === null || reason.c === column) && (kind === null || reason.k === kind) && reason.h >= STEPS[0];
    view = rows.filter(row =>
      (!$("flagged").checked || row.f)
      && (mark === "" || (marks.get(row.n) || "none") === mark)
      && ((column === null && kind === null) || row.r.some(fits))
      && (words === "" || row.texts().includes(words)));
    view.sort((a, b) => state.down ? compare(b, a) : compare(a, b));
  }

  function head() {
    const line = make("tr");
    const add = (key, text, style) => {
      const th = make("th", style);
      th.scope = "col";
      const button = put(make("button"), text);
      button.type = "button";
      button.title = "Sort by " + text;
      if (state.key === key) th.setAttribute("aria-sort", state.down ? "descending" : "ascending");
      button.addEventListener("click", () => {
        state.down = state.key === key ? !state.down : ["score", "mark"].includes(key) || (columns[key] || {}).numeric === true;
        state.key = key;
        draw();
        $("odd").tHead.querySelector("[aria-sort] button").focus();
      });
      th.append(button);
      line.append(th);
    };
    add("row", "row");
    add("score", "score", "number");
    add("p", "p-value", "p number");
    add("mark", "mark");
    add("why", "why", "why");
    for (const i of order) add(i, columns[i].name, columns[i].numeric ? "cell number" : "cell");
    $("odd").tHead.replaceChildren(line);
  }

  function line(row, place) {
    const tr = make("tr", row.f ? "flagged" : "");
    tr.dataset.place = place;
    const button = make("button", "open", (open.has(row.n) ? "▾ " : "▸ ") + count(row.n));
    button.type = "button";
    button.setAttribute("aria-expanded", open.has(row.n));
    button.setAttribute("aria-label", "Row " + row.n + (row.f ? ", flagged" : "") + ", score " + score(row.s) + ": why");
    button.tabIndex = place === current ? 0 : -1;
    button.addEventListener("click", () => toggle(place));
    button.addEventListener("focus", () => move(place, false));
    const first = make("td");
    first.append(button);
    if (row.f) first.append(make("mark", "", "flagged"));
    const mark = make("select");
    mark.setAttribute("aria-label", "Mark of row " + row.n);
    for (const name of ["", "odd", "fine", "unsure"]) {
      const option = make("option", "", name || "–");
      option.value = name;
      mark.append(option);
    }
    mark.value = marks.get(row.n) || "";
    mark.addEventListener("change", () => { setMark(row, mark.value); status(); });
    const marked = make("td");
    marked.append(mark);
    const why = make("td", "why");
    if (row.r.length > 0) {
      why.append(value("b", columns[row.r[0].c].name, "value"), " ", sentence(row.r[0].w));
      if (row.r.length > 1 && row.r[1].h >= STEPS[1]) why.append("; ", value("b", columns[row.r[1].c].name, "value"), " ", sentence(row.r[1].w));
    } else {
      why.append(make("span", "faint", "no single cell"));
    }
    tr.append(first, make("td", "number", score(row.s)), make("td", "p number", short(row.p)), marked, why);
    for (const i of order) {
      const td = value("td", row.c[i], columns[i].numeric ? "cell value number" : "cell value");
      const reason = row.parts.get(i);
      if (reason && step(reason.h) > 0) {
        td.classList.add("h" + step(reason.h));
        td.title = percent(reason.h) + " of the score";
        if (reason.x !== null) td.append(put(make("span", "expected", "expected "), reason.x));
      }
      tr.append(td);
    }
    return tr;
  }

  // A reason in words, and how likely each value is as bars.
  function because(reason) {
    const item = make("li");
    item.append(value("b", columns[reason.c].name, "value"), " ", sentence(reason.w));
    item.append(make("span", "faint kind", percent(reason.h) + " of the score · " + kinds[reason.k]));
    if (reason.a.length === 0) return item;
    const table = make("table", "bars");
    const body = make("tbody");
    const add = (th, share, style) => {
      const tr = make("tr");
      th.scope = "row";
      const middle = make("td");
      middle.append(bar(share, style));
      tr.append(th, middle, make("td", "share", probability(share)));
      body.append(tr);
    };
    let rest = 1;
    for (const [name, p, seen] of reason.a) {
      add(value("th", (seen ? "here: " : "") + name, seen ? "name seen" : "name"), p, seen ? "seen" : "here");
      rest -= p;
    }
    if (rest > 0.0005) add(make("th", "name faint", "anything else"), rest, "here");
    table.append(make("caption", "hidden", "How likely each value of " + columns[reason.c].name + " is, given the rest of the row"), body);
    item.append(table);
    return item;
  }

  function details(row) {
    const box = make("div", "inside");
    const where = row.l > 0 ? ", line " + count(row.l) + " of the file" : "";
    box.append(make("h3", "", "Row " + count(row.n) + where + ": score " + score(row.s) + ", p-value " + short(row.p) + (row.f ? ", flagged" : "")));
    const list = make("ol", "reasons");
    for (const reason of row.r) list.append(because(reason));
    if (row.r.length === 0) box.append(make("p", "", "No single cell is odd by itself: the row as a whole is."));
    else if (row.o > 0.005) list.append(make("li", "faint", "everything else: " + percent(row.o) + " of the score"));
    if (row.r.some(reason => reason.a.length > 0)) {
      box.append(make("p", "small faint", "Bars show how likely each value is, given the rest of the row."));
    }
    box.append(list);
    const near = row.u === null ? null : usual[row.u];
    box.append(make("h4", "", near ? "Beside the usual row that is nearest" : "The whole row"));
    const table = make("table", "compare");
    const top = make("tr");
    const names = ["column", "this row"].concat(near ? ["nearest usual row (" + count(near.n) + ")"] : [], ["expected"]);
    for (const name of names) {
      const th = make("th", "", name);
      th.scope = "col";
      top.append(th);
    }
    const thead = make("thead");
    thead.append(top);
    const tbody = make("tbody");
    for (const i of order) {
      const tr = make("tr");
      const th = value("th", columns[i].name, "value");
      th.scope = "row";
      const reason = row.parts.get(i);
      const own = value("td", row.c[i], "value" + (reason && step(reason.h) > 0 ? " h" + step(reason.h) : ""));
      tr.append(th, own);
      if (near) tr.append(value("td", near.c[i], near.c[i] === row.c[i] ? "value faint" : "value other"));
      tr.append(value("td", reason ? reason.x ?? "" : "", "value"));
      tbody.append(tr);
    }
    table.append(thead, tbody);
    const scroll = make("div", "scroll");
    scroll.tabIndex = 0;
    scroll.setAttribute("role", "region");
    scroll.setAttribute("aria-label", "All cells of row " + row.n);
    scroll.append(table);
    box.append(scroll);
    const tr = make("tr", "details");
    const td = make("td");
    td.colSpan = 5 + order.length;
    td.append(box);
    tr.append(td);
    return tr;
  }

  const body = $("odd").tBodies[0];
  const lineAt = place => body.querySelector('tr[data-place="' + place + '"]');
  function status() {
    const marked = marks.size === 0 ? "" : ", " + count(marks.size) + " marked";
    const shown = Math.min(view.length, state.shown);
    const part = shown < view.length ? ", the first " + count(shown) + " of them below" : "";
    $("status").textContent = count(view.length) + " of " + count(rows.length) + " rows" + part + marked;
    $("more").hidden = shown >= view.length;
  }
  function lines(from, to) {
    const made = document.createDocumentFragment();
    view.slice(from, to).forEach((row, i) => {
      made.append(line(row, from + i));
      if (open.has(row.n)) made.append(details(row));
    });
    return made;
  }
  function draw() {
    choose();
    state.shown = PAGE;
    current = 0;
    head();
    body.replaceChildren(lines(0, state.shown));
    status();
  }
  function more() {
    body.append(lines(state.shown, state.shown + PAGE));
    state.shown += PAGE;
    status();
  }
  function toggle(place) {
    const row = view[place], tr = lineAt(place), button = tr.querySelector(".open");
    if (open.delete(row.n)) {
      tr.nextElementSibling.remove();
    } else {
      open.add(row.n);
      tr.after(details(row));
    }
    button.setAttribute("aria-expanded", open.has(row.n));
    button.textContent = (open.has(row.n) ? "▾ " : "▸ ") + count(row.n);
  }
  function move(place, focus) {
    if (place >= state.shown && place < view.length) more();
    const to = lineAt(place), from = lineAt(current);
    if (!to) return;
    if (from) {
      from.classList.remove("current");
      from.querySelector(".open").tabIndex = -1;
    }
    current = place;
    to.classList.add("current");
    const button = to.querySelector(".open");
    button.tabIndex = 0;
    if (focus) {
      button.focus({ preventScroll: true });
      to.scrollIntoView({ block: "nearest" });
    }
  }

  body.addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName !== "BUTTON") return;
    const row = view[current];
    if (event.key === "ArrowDown" || event.key === "j") move(Math.min(current + 1, view.length - 1), true);
    else if (event.key === "ArrowUp" || event.key === "k") move(Math.max(current - 1, 0), true);
    else if (event.key === "Home") move(0, true);
    else if (event.key === "Escape" && open.has(row.n)) toggle(current);
    else if (event.key in MARKS) {
      setMark(row, MARKS[event.key]);
      lineAt(current).querySelector("select").value = MARKS[event.key];
      status();
    } else return;
    event.preventDefault();
  });
  document.addEventListener("keydown", event => {
    if (event.key === "/" && !["INPUT", "SELECT", "TEXTAREA"].includes(event.target.tagName) && !event.ctrlKey) {
      $("search").focus();
      event.preventDefault();
    }
  });

  const cell = text => /[",\r\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
  function save(name, table) {
    const text = table.map(line => line.map(item => cell(String(item ?? ""))).join(",")).join("\r\n") + "\r\n";
    const link = make("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }
  $("save-marks").addEventListener("click", () => {
    const marked = rows.filter(row => marks.has(row.n));
    save("marks.csv", [["row", "mark", "score", "p_value"]].concat(marked.map(row => [row.n, marks.get(row.n), row.s, row.p])));
  });
  $("save-rows").addEventListener("click", () => {
    const names = columns.map(column => column.name);
    const top = ["row", "score", "p_value", "anomaly", "mark", "reason_1", "reason_2"].concat(names);
    const reason = r => r ? columns[r.c].name + " " + r.w : "";
    save("rows.csv", [top].concat(view.map(row =>
      [row.n, row.s, row.p, row.f ? 1 : 0, marks.get(row.n), reason(row.r[0]), reason(row.r[1])].concat(row.c))));
  });

  let waiting;
  $("search").addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(draw, 120); });
  for (const id of ["column", "kind", "mark", "flagged"]) $(id).addEventListener("change", draw);
  $("order").addEventListener("change", () => { order = $("order").value === "odd" ? byWeight : inFile; draw(); });
  $("tools").addEventListener("submit", event => event.preventDefault());
  $("more").addEventListener("click", () => { const place = state.shown; more(); move(place, true); });
  for (const button of document.querySelectorAll("button.show")) {
    button.addEventListener("click", () => {
      $("column").value = button.dataset.column;
      draw();
      $("rows").scrollIntoView();
      $("column").focus({ preventScroll: true });
    });
  }
  draw();
})();

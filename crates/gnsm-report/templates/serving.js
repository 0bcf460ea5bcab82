
"use strict";
(() => {
  const $ = id => document.getElementById(id);
  const make = (tag, style, text) => {
    const node = document.createElement(tag);
    if (style) node.className = style;
    if (text !== undefined) node.textContent = text;
    return node;
  };
  let token = "";
  let columns = [];
  let asked = 0;
  let shown = null;

  function complain(text) {
    $("problem").textContent = text;
    $("problem").hidden = text === "";
  }
  async function ask(path, options = {}) {
    const headers = { ...options.headers };
    if (token) headers.Authorization = "Bearer " + token;
    const response = await fetch(path, { ...options, headers });
    if (response.ok) return response;
    if (response.status === 401) {
      $("token-label").hidden = $("enter").hidden = false;
      $("token").focus();
    }
    let text = response.statusText;
    try {
      text = (await response.json()).error;
    } catch { /* then the status says what there is to say */ }
    throw new Error(text);
  }
  const at = path => "/v1/models/" + encodeURIComponent($("model").value) + path;

  async function start() {
    try {
      const { models } = await (await ask("/v1/models")).json();
      $("model").replaceChildren(...models.map(model => make("option", "", model.name)));
      complain("");
      await form();
    } catch (error) {
      complain(error.message);
    }
  }

  const short = number => String(Number(number.toPrecision(3)));

  // A form for one row, made from what the model knows of its columns. It begins with the most common values.
  async function form() {
    columns = (await (await ask(at(""))).json()).columns.filter(column => column.kind !== "ignored");
    const fields = columns.map((column, i) => {
      const label = make("label");
      const kind = make("span", "faint small", column.kind);
      label.append(make("bdi", "value", column.name), " ", kind);
      const list = column.categories;
      let field;
      if (list && list.length <= 50) {
        field = make("select");
        field.append(make("option", "", ""), ...list.map(name => make("option", "", name)));
        field.value = column.common ?? "";
      } else {
        field = make("input");
        field.autocomplete = "off";
        if (list) {
          const options = make("datalist");
          options.id = "list-" + i;
          options.append(...list.map(name => { const option = make("option"); option.value = name; return option; }));
          field.setAttribute("list", options.id);
          field.value = column.common ?? "";
          label.append(options);
        }
        if (column.usual) {
          const [low, middle, high] = column.usual.map(short);
          kind.textContent += ", mostly " + low + " to " + high;
          field.inputMode = "decimal";
          field.value = middle;
        }
        if (column.shape) field.value = column.shape;
      }
      field.dataset.column = i;
      field.addEventListener("input", later);
      label.append(field);
      return label;
    });
    $("row").replaceChildren(...fields);
    await judge();
  }

  let waiting;
  function later() {
    clearTimeout(waiting);
    waiting = setTimeout(judge, 150);
  }
  async function judge() {
    const row = {};
    for (const field of $("row").querySelectorAll("[data-column]")) {
      const column = columns[Number(field.dataset.column)];
      const number = Number(field.value);
      const isNumber = column.kind === "numeric" && field.value.trim() !== "" && Number.isFinite(number);
      row[column.name] = field.value === "" ? null : isNumber ? number : field.value;
    }
    const mine = ++asked;
    try {
      const response = await ask(at("/explain"), { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(row) });
      const { rows } = await response.json();
      // An answer to an earlier question may come later.
      if (mine !== asked) return;
      const { score, p_value, anomaly, reasons } = rows[0];
      $("score").textContent = score.toFixed(2);
      $("p").textContent = short(p_value);
      $("flag").textContent = anomaly ? "yes" : "no";
      $("reasons").replaceChildren(...reasons.map(reason => {
        const item = make("li");
        const part = Math.round(100 * reason.share) + " % of the score";
        item.append(make("b", "value", reason.column), " = ", make("bdi", "", reason.saw), reason.note ? ", " + reason.note : "");
        if (reason.expected !== null) item.append(", expected ", make("bdi", "", reason.expected));
        item.append(make("span", "faint", " · " + part));
        return item;
      }));
      complain("");
    } catch (error) {
      complain(error.message);
    }
  }

  const kind = (name, head) => {
    if (/\.(jsonl|ndjson)$/i.test(name)) return "application/x-ndjson";
    if (/\.json$/i.test(name)) return "application/json";
    if (/\.(arrow|arrows|feather)$/i.test(name)) return "application/vnd.apache.arrow.stream";
    if (name === "" && head.startsWith("[")) return "application/json";
    if (name === "" && head.startsWith("{")) return "application/x-ndjson";
    return "text/csv";
  };
  async function report(content, type) {
    $("table-status").textContent = "working …";
    try {
      const response = await ask(at("/report"), { method: "POST", headers: { "Content-Type": type }, body: content });
      if (shown) URL.revokeObjectURL(shown);
      shown = URL.createObjectURL(new Blob([await response.text()], { type: "text/html" }));
      $("report").src = $("open").href = shown;
      $("report").hidden = $("link").hidden = false;
      complain("");
    } catch (error) {
      complain(error.message);
    }
    $("table-status").textContent = "";
  }
  $("table").addEventListener("submit", event => {
    event.preventDefault();
    const file = $("file").files[0];
    const text = $("rows").value.trim();
    if (text) report(text + "\n", kind("", text));
    else if (file) report(file, kind(file.name, ""));
    else complain("Choose a file, or paste rows.");
  });
  $("drop").addEventListener("dragover", event => event.preventDefault());
  $("drop").addEventListener("drop", event => {
    event.preventDefault();
    const file = event.dataTransfer.files[0];
    if (file) report(file, kind(file.name, ""));
  });
  $("who").addEventListener("submit", event => {
    event.preventDefault();
    token = $("token").value;
    start();
  });
  $("model").addEventListener("change", () => form().catch(error => complain(error.message)));
  start();
})();

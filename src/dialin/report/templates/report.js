(() => {
  "use strict";

  const narrowBelow = 560;
  const coarse = matchMedia("(pointer: coarse)").matches;
  const root = document.documentElement;

  // What the reader did to the page, so that it stays when its inside is replaced.
  const off = new Set();
  const open = new Map();
  const sorted = new Map();
  const scrolled = new Map();
  let measure = "tps";
  let top = 0;
  let focused = null;

  let data = { trials: {}, charts: {} };
  let drawn = [];
  let drawing = 0;
  let loading = null;

  // The charts' library, which a report holds compressed and a live page loads before this script.
  async function load() {
    if (window.Plotly) return;
    const packed = document.getElementById("dialin-library");
    const text = atob(packed.textContent);
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i += 1) bytes[i] = text.charCodeAt(i);  // as `Uint8Array.from`, and fifty times as fast
    const unpacked = new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")));
    const script = document.createElement("script");
    script.textContent = await unpacked.text();
    document.head.append(script);
    packed.remove();
  }

  // Replaces every "var(--name)" in a figure by what the page's style says of it now.
  function themed(value, style) {
    if (typeof value === "string") {
      return value.replace(/var\((--[\w-]+)\)/g, (_, name) => style.getPropertyValue(name).trim());
    }
    if (Array.isArray(value)) {
      return typeof value[0] === "number" ? value : value.map((one) => themed(one, style));
    }
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, themed(one, style)]));
    }
    return value;
  }

  // The last point of a trial's course: where it ended, or where it would have begun.
  function lastOf(course) {
    for (const part of [course.m, course.w]) {
      if (part && part[0].length) return [part[0].at(-1), part[1].at(-1)];
    }
    return null;
  }

  // Fills a trace with the trials that its `meta` names, as far as they are shown; a gap parts one from the next.
  function filled(trace, hidden) {
    const wanted = trace.meta;
    if (!wanted || !wanted.trials) return trace;
    const x = [], y = [], text = [];
    const add = (at, value, words) => { x.push(at); y.push(value); text.push(words); };
    for (const id of wanted.trials) {
      const trial = data.trials[id];
      if (!trial || hidden.has(String(id))) continue;
      const place = (second) => wanted.axis === "study" ? (trial.b + second) / 60 : second - trial.z;
      const words = `trial ${id}, block ${trial.n}${trial.k ? `, ${trial.k}` : ""}`;
      const course = trial[measure] || {};
      if (wanted.part === "lost") {
        for (const [second, tps, latency] of trial.l || []) add(place(second), measure === "tps" ? tps : latency, `${words}, second ${second}`);
      } else if (wanted.part === "end") {
        const last = lastOf(course) || (measure === "tps" ? [trial.z, 0] : null);
        if (last) add(place(last[0]), last[1], words);
      } else if (course[wanted.part]) {
        const [seconds, values] = course[wanted.part];
        seconds.forEach((second, index) => {
          if (second === null) add(null, null, "");
          else add(place(second), values[index], `${words}, second ${second}`);
        });
        add(null, null, "");
      }
    }
    return { ...trace, x, y, text };
  }

  function merged(base, over) {
    const out = { ...base };
    for (const [key, value] of Object.entries(over)) {
      out[key] = value && typeof value === "object" && !Array.isArray(value) ? merged(out[key] || {}, value) : value;
    }
    return out;
  }

  // What the reader took out of a chart: trials, and the keys of whole traces.
  function hiddenIn(id) {
    const taken = [...document.querySelectorAll(`main [data-chart="${CSS.escape(id)}"]`)].filter((one) => off.has(one.dataset.key));
    const keys = new Set(taken.map((one) => one.dataset.switch));
    return [new Set(taken.flatMap((one) => one.dataset.trials.split(" ").filter(Boolean))), keys];
  }

  function draw(id, width) {
    const element = document.getElementById(id);
    const style = getComputedStyle(root);
    const figure = themed(data.charts[id], style);
    const room = width || element.clientWidth;
    const own = figure.layout.meta || {};
    let layout = figure.layout;
    if (own[measure]) layout = merged(layout, own[measure]);
    if (room < narrowBelow && own.narrow) layout = merged(layout, own.narrow);
    layout = merged(layout, {
      width: room,
      height: parseFloat(element.style.height),
      dragmode: coarse ? false : "zoom",
      font: { family: getComputedStyle(document.body).fontFamily },
    });
    const [trials, keys] = hiddenIn(id);
    const traces = figure.data
      .filter((trace) => !trace.meta || !trace.meta.of || trace.meta.of === measure)
      .map((trace) => ({ ...filled(trace, trials), visible: !(trace.meta && keys.has(trace.meta.key)) }));
    return Plotly.react(element, traces, layout, {
      displayModeBar: false,
      doubleClick: "reset",
    });
  }

  // One chart at a time, so that the page answers while they are drawn; a later call ends an earlier one.
  async function drawAll() {
    const turn = ++drawing;
    root.dataset.charts = "drawing";
    try {
      await (loading ??= load());
    } catch {
      root.dataset.charts = "none";
      return;
    }
    for (const id of Object.keys(data.charts)) {
      if (turn !== drawing) return;
      await draw(id);
      if (turn === 1) performance.mark(id);
      await new Promise((resolve) => setTimeout(resolve));
    }
    if (turn !== drawing) return;
    root.dataset.charts = "drawn";
  }

  function onPaper() {
    if (!window.Plotly) return;
    root.classList.add("paper");
    for (const id of Object.keys(data.charts)) draw(id, document.getElementById(id).closest(".multiples") ? 330 : 680);
  }

  function onScreen() {
    root.classList.remove("paper");
    drawAll();
  }

  function sort(table, column, direction) {
    const sign = direction === "ascending" ? 1 : -1;
    const heads = [...table.tHead.rows[0].cells];
    const body = table.tBodies[0];
    if (!heads[column]) return;
    const key = (row) => {
      const cell = row.cells[column];
      if (cell.dataset.order === undefined) return cell.textContent.trim();
      return cell.dataset.order === "" ? null : Number(cell.dataset.order);
    };
    const rows = [...body.rows].sort((a, b) => {
      const [left, right] = [key(a), key(b)];
      if (left === null || right === null) return (left === null) - (right === null);
      if (typeof left === "string") return sign * left.localeCompare(right);
      return sign * (left - right);
    });
    heads.forEach((one, place) => one.setAttribute("aria-sort", place === column ? direction : "none"));
    body.append(...rows);
  }

  function sortable(table) {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      head.querySelector("button").addEventListener("click", () => {
        const direction = head.getAttribute("aria-sort") === "descending" ? "ascending" : "descending";
        sorted.set(table.id, [column, direction]);
        sort(table, column, direction);
      });
    });
    if (sorted.has(table.id)) sort(table, ...sorted.get(table.id));
  }

  async function copy(button, source) {
    let done = true;
    try {
      await navigator.clipboard.writeText(source.textContent);
    } catch {
      getSelection().selectAllChildren(source);
      done = document.execCommand("copy");
    }
    button.textContent = done ? "Copied" : "Select and copy by hand";
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  }

  function toggle(button) {
    const key = button.dataset.key;
    if (off.has(key)) off.delete(key); else off.add(key);
    button.setAttribute("aria-pressed", String(!off.has(key)));
    draw(button.dataset.chart);
  }

  // Marks which of the two sides is shown: the buttons that choose it, and the words below the charts.
  function sides() {
    for (const button of document.querySelectorAll("main [data-measure]")) {
      button.setAttribute("aria-pressed", String(button.dataset.measure === measure));
    }
    for (const words of document.querySelectorAll("main figcaption [data-of]")) words.hidden = words.dataset.of !== measure;
  }

  function bind() {
    const each = (selector, act) => document.querySelectorAll(`main ${selector}`).forEach(act);
    each("button[data-switch]", (button) => {
      button.setAttribute("aria-pressed", String(!off.has(button.dataset.key)));
      button.addEventListener("click", () => toggle(button));
    });
    each("button[data-measure]", (button) => button.addEventListener("click", () => {
      measure = button.dataset.measure;
      sides();
      drawAll();
    }));
    each("table.sortable", sortable);
    each("button.copy", (button) => button.addEventListener("click", () => copy(button, document.getElementById(button.dataset.copies))));
    sides();
  }

  // What tells an element of the page's inside from all others, and is the same when that was replaced.
  function nameOf(element) {
    return element.dataset?.key || element.id || null;
  }

  function named(name) {
    return document.getElementById(name) || document.querySelector(`main [data-key="${CSS.escape(name)}"]`);
  }

  function restore() {
    for (const [key, wide] of open) {
      const details = document.querySelector(`main details[data-key="${CSS.escape(key)}"]`);
      if (details) details.open = wide;
    }
    for (const [name, [left, down]] of scrolled) named(name)?.scrollTo({ left, top: down, behavior: "instant" });
    if (focused && document.activeElement === document.body) named(focused)?.focus({ preventScroll: true });
    scrollTo({ top, behavior: "instant" });
  }

  // Shows the page's inside, which stands in <main>; given another one, that takes its place, and what the reader did stays.
  function show(given, inner) {
    const again = drawn.length > 0;
    if (inner !== undefined) {
      // The event that tells of it may be still to come.
      top = scrollY;
      document.querySelector("main").innerHTML = inner;
    }
    for (const element of drawn) if (window.Plotly && !element.isConnected) Plotly.purge(element);
    data = given;
    drawn = Object.keys(data.charts).map((id) => document.getElementById(id));
    bind();
    if (again) restore();
    return drawAll();
  }

  const inside = (event) => event.target instanceof Element && event.target.closest("main") !== null;
  addEventListener("toggle", (event) => {
    if (inside(event) && event.target.dataset.key) open.set(event.target.dataset.key, event.target.open);
  }, true);
  addEventListener("scroll", (event) => {
    if (event.target === document) top = scrollY;
    else if (inside(event) && nameOf(event.target)) {
      scrolled.set(nameOf(event.target), [event.target.scrollLeft, event.target.scrollTop]);
    }
  }, { capture: true, passive: true });
  addEventListener("focusin", (event) => { focused = inside(event) ? nameOf(event.target) : null; });
  // A focus that went because its element was replaced is given back, one that the reader took away is not.
  addEventListener("focusout", (event) => queueMicrotask(() => { if (event.target.isConnected) focused = null; }));

  let waiting = 0;
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    clearTimeout(waiting);
    waiting = setTimeout(drawAll, 150);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  addEventListener("beforeprint", onPaper);
  addEventListener("afterprint", onScreen);

  window.dialin = { show, copy };
  const element = document.getElementById("dialin-data");
  if (element) show(JSON.parse(element.textContent));
})();

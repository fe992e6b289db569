(() => {
  "use strict";

  const narrowBelow = 560;
  const narrowestPlot = 160;
  const coarse = matchMedia("(pointer: coarse)").matches;
  const root = document.documentElement;

  // What the reader did to the page, so that it stays when its inside is replaced.
  const off = new Set();
  const open = new Map();
  const sorted = new Map();
  const scrolled = new Map();
  const chosen = new Map();
  let measure = "tps";
  let top = 0;
  let focused = null;

  let data = { trials: {}, metrics: {}, charts: {} };
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
      return typeof value.at(-1) === "number" ? value : value.map((one) => themed(one, style));
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

  // Fills a line with the values of the trial that the reader chose for a chart, or of the baseline's trial beside it: one for
  // each step of time.
  function stepped(trace, trial) {
    const every = data.metrics || {};
    const course = trace.meta.beside ? every[(every[trial] || {}).b] : every[trial];
    const y = (course && course.l[trace.meta.metric]) || [];
    const middle = course && course.s === 1 ? 1 : 0.5;
    return { ...trace, x: y.map((_, place) => course.s * (place + middle)), y };
  }

  // Fills a trace with the trials that its `meta` names, as far as they are shown; a gap parts one from the next.
  function filled(trace, hidden, id) {
    const wanted = trace.meta;
    if (wanted && wanted.metric) return stepped(trace, choiceOf(id));
    if (!wanted || !wanted.trials) return trace;
    const x = [], y = [], text = [];
    const add = (at, value, words) => { x.push(at); y.push(value); text.push(words); };
    for (const id of wanted.trials) {
      const trial = data.trials[id];
      if (!trial || hidden.has(String(id))) continue;
      const place = (second) => wanted.axis === "study" ? (trial.b + second) / 60 : second - trial.z;
      // The time in the axis's own words: the driver's second 16 is second 9 of measuring after a warm-up of 7 s.
      const when = (second) => wanted.axis === "study" ? `minute ${place(second).toFixed(1)}` : `second ${place(second)}`;
      const words = `trial ${id}, block ${trial.n}${trial.k ? `, ${trial.k}` : ""}`;
      const course = trial[measure] || {};
      if (wanted.part === "lost") {
        for (const [second, tps, latency] of trial.l || []) add(place(second), measure === "tps" ? tps : latency, `${words}, ${when(second)}`);
      } else if (wanted.part === "end") {
        const last = lastOf(course) || (measure === "tps" ? [trial.z, 0] : null);
        if (last) add(place(last[0]), last[1], words);
      } else if (course[wanted.part]) {
        const [seconds, values] = course[wanted.part];
        seconds.forEach((second, index) => {
          if (second === null) add(null, null, "");
          else add(place(second), values[index], `${words}, ${when(second)}`);
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

  // The trial that the reader chose for a chart which shows one at a time; at first, the first one.
  function choiceOf(id) {
    const menu = document.querySelector(`main [data-choice="${CSS.escape(id)}"]`);
    return chosen.get(id) || (menu && menu.value);
  }

  // A figure as it is drawn now: in the page's colours, at this width, with what the reader switched on.
  function figureOf(id, room) {
    const element = document.getElementById(id);
    const figure = themed(data.charts[id], getComputedStyle(root));
    const own = figure.layout.meta || {};
    let layout = figure.layout;
    if (own[measure]) layout = merged(layout, own[measure]);
    const { l = 0, r = 0 } = layout.margin || {};
    if ((room < narrowBelow || room - l - r < narrowestPlot) && own.narrow) layout = merged(layout, own.narrow);
    layout = merged(layout, {
      width: room,
      height: parseFloat(element.style.height),
      dragmode: coarse ? false : "zoom",
      font: { family: getComputedStyle(document.body).fontFamily },
    });
    const [trials, keys] = hiddenIn(id);
    const traces = figure.data
      .filter((trace) => !trace.meta || !trace.meta.of || trace.meta.of === measure)
      .map((trace) => ({ ...filled(trace, trials, id), visible: !(trace.meta && keys.has(trace.meta.key)) }));
    return { traces, layout };
  }

  async function draw(id, width) {
    const element = document.getElementById(id);
    const { traces, layout } = figureOf(id, width || element.clientWidth);
    await Plotly.react(element, traces, layout, { displayModeBar: false, doubleClick: "reset" });
    const whole = rangesOf(element);
    zoomed(id, false);
    element.removeAllListeners("plotly_relayout");
    element.removeAllListeners("plotly_click");
    element.on("plotly_relayout", () => zoomed(id, rangesOf(element) !== whole));
    element.on("plotly_click", ({ points }) => {
      const named = points.map((point) => /^trial (\d+)/.exec(point.text || "")).find(Boolean);
      if (named) reveal(`trial-${named[1]}`);
    });
  }

  // What the axes of a chart show now.
  function rangesOf(element) {
    const axes = Object.entries(element._fullLayout).filter(([name]) => /^[xy]axis\d*$/.test(name));
    return axes.map(([name, axis]) => `${name} ${axis.range}`).join();
  }

  function zoomed(id, is) {
    const button = document.querySelector(`main [data-reset="${CSS.escape(id)}"]`);
    if (button) button.hidden = !is;
  }

  // Brings an element into view, with all that is folded around it opened, and puts the focus there.
  function reveal(id) {
    const target = document.getElementById(id);
    if (!target) return;
    for (let fold = target.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
    for (const old of document.querySelectorAll("main .shown")) old.classList.remove("shown");
    target.classList.add("shown");
    if (target.tabIndex < 0) target.tabIndex = -1;
    target.scrollIntoView({ block: "center" });
    target.focus({ preventScroll: true });
  }

  function choose(id, trial) {
    const menu = document.querySelector(`main [data-choice="${CSS.escape(id)}"]`);
    if (!menu) return;
    menu.value = trial;
    chosen.set(id, trial);
    if (window.Plotly) draw(id);
  }

  // A link within the page: where it names a trial, the chart that it leads to shows that trial.
  function follow(event) {
    const link = event.target.closest('a[href^="#"]');
    if (!link) return;
    event.preventDefault();
    const target = link.getAttribute("href").slice(1);
    if (link.dataset.trial) choose(target.replace(/-title$/, ""), link.dataset.trial);
    reveal(target);
  }

  function save(name, content, kind) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([content], { type: kind }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  // A chart as a file that can stand alone: on white, in the colours of paper, with its title above.
  async function saveImage(id, format) {
    const element = document.getElementById(id);
    const wasOnPaper = root.classList.contains("paper");
    root.classList.add("paper");
    const { traces, layout } = figureOf(id, Math.max(element.clientWidth, 720));
    const ink = getComputedStyle(root).getPropertyValue("--ink").trim();
    root.classList.toggle("paper", wasOnPaper);
    const trial = document.querySelector(`main [data-choice="${CSS.escape(id)}"]`)?.selectedOptions[0]?.textContent;
    const words = [document.getElementById(`${id}-title`).textContent.trim(), trial].filter(Boolean).join(": ");
    const text = words.replace(/&/g, "&amp;").replace(/</g, "&lt;");
    const room = 34;
    const figure = {
      data: traces,
      layout: {
        ...layout,
        title: { text, x: 0.01, y: 0.99, yanchor: "top", font: { size: 15, color: ink } },
        margin: { ...layout.margin, t: (layout.margin.t || 0) + room },
        height: layout.height + room,
        paper_bgcolor: "#ffffff",
      },
    };
    const size = { width: layout.width, height: layout.height + room };
    const address = await Plotly.toImage(figure, { format, ...size, scale: format === "png" ? 2 : 1 });
    save(`${id}.${format}`, contentOf(address), format === "png" ? "image/png" : "image/svg+xml");
  }

  // What a data URL holds; the page's policy lets no request out, not even one for that.
  function contentOf(address) {
    const comma = address.indexOf(",");
    const body = address.slice(comma + 1);
    if (!address.slice(0, comma).endsWith(";base64")) return decodeURIComponent(body);
    return Uint8Array.from(atob(body), (character) => character.charCodeAt(0));
  }

  // The meaning of a word, beside it while it has the pointer or the focus; Escape takes it away.
  let tip = null;
  let explained = null;
  function explain(word) {
    explained = word;
    const meaning = word && document.getElementById(`term-${word.dataset.term}`);
    if (!meaning) {
      if (tip) tip.hidden = true;
      return;
    }
    if (!tip) {
      tip = document.createElement("div");
      tip.className = "tip";
      tip.setAttribute("aria-hidden", "true");
      document.body.append(tip);
    }
    tip.textContent = meaning.textContent;
    tip.hidden = false;
    const place = word.getBoundingClientRect();
    const below = place.bottom + 4;
    const isLow = below + tip.offsetHeight > innerHeight;
    tip.style.left = `${Math.max(8, Math.min(place.left, innerWidth - tip.offsetWidth - 8))}px`;
    tip.style.top = `${isLow ? Math.max(8, place.top - tip.offsetHeight - 4) : below}px`;
  }

  const termAt = (target) => target instanceof Element ? target.closest("main [data-term]") : null;
  const focusedTerm = () => document.activeElement.matches(":focus-visible") ? termAt(document.activeElement) : null;
  addEventListener("focusin", () => explain(focusedTerm()));
  addEventListener("focusout", () => explain(null));
  addEventListener("keydown", (event) => { if (event.key === "Escape") explain(null); });
  addEventListener("scroll", () => { if (explained) explain(explained); }, { capture: true, passive: true });
  addEventListener("pointerover", (event) => {
    if (tip && tip.contains(event.target)) return;
    explain(termAt(event.target) || focusedTerm());
  });

  // What the reader chose of each flame graph.
  const flames = new Map();

  function flame(id) {
    if (!flames.has(id)) flames.set(id, { view: "difference", search: "", zoom: null });
    drawFlameGraph(document.getElementById(id), data.flames[id], flames.get(id));
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
      const element = document.getElementById(id);
      try {
        await draw(id);
        delete element.dataset.failed;
      } catch {
        element.dataset.failed = "yes";  // its words and its table stay, and the other charts
      }
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

  // Copies the text of an element, or a text that no element shows.
  async function copy(button, source) {
    const label = button.dataset.label ??= button.textContent;
    let done = true;
    try {
      await navigator.clipboard.writeText(source.textContent ?? source);
    } catch {
      done = source instanceof Element;
      if (done) getSelection().selectAllChildren(source);
      done &&= document.execCommand("copy");
    }
    button.textContent = done ? "Copied" : "Select and copy by hand";
    setTimeout(() => { button.textContent = label; }, 2000);
  }

  function toggle(button) {
    const key = button.dataset.key;
    if (off.has(key)) off.delete(key); else off.add(key);
    button.setAttribute("aria-pressed", String(!off.has(key)));
    draw(button.dataset.chart);
  }

  // Marks which of the two sides is shown.
  function sides() {
    for (const button of document.querySelectorAll("main [data-measure]")) {
      button.setAttribute("aria-pressed", String(button.dataset.measure === measure));
    }
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
    each("[data-choice]", (menu) => {
      if (chosen.has(menu.dataset.choice)) menu.value = chosen.get(menu.dataset.choice);
      menu.addEventListener("change", () => choose(menu.dataset.choice, menu.value));
    });
    each("[data-reset]", (button) => button.addEventListener("click", () => draw(button.dataset.reset)));
    each("[data-image]", (button) => button.addEventListener("click", () => saveImage(button.dataset.image, button.dataset.format)));
    each("[data-csv]", (button) => button.addEventListener("click", () => save(`${button.dataset.csv}.csv`, tableAsCsv(button.dataset.csv), "text/csv")));
    each("[data-markdown]", (button) => button.addEventListener("click", () => copy(button, tableAsMarkdown(button.dataset.markdown))));
    each("button.copy", (button) => button.addEventListener("click", () => copy(button, document.getElementById(button.dataset.copies) ?? data[button.dataset.copies])));
    Object.keys(data.flames || {}).forEach(flame);
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

  // A menu closes when the reader clicks beside it or presses Escape, which gives the focus back to its title.
  function closeMenus(but) {
    for (const menu of document.querySelectorAll("main .menu[open]")) if (menu !== but) menu.open = false;
  }
  addEventListener("click", (event) => closeMenus(event.target.closest?.(".menu")));
  addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    document.activeElement.closest(".menu[open]")?.querySelector("summary").focus();
    closeMenus();
  });

  const inside = (event) => event.target instanceof Element && event.target.closest("main") !== null;
  addEventListener("click", (event) => { if (inside(event)) follow(event); });
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

(() => {
  "use strict";

  const data = JSON.parse(document.getElementById("dialin-data").textContent);
  const narrowBelow = 560;
  const hidden = new Set();
  const coarse = matchMedia("(pointer: coarse)").matches;

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

  // Fills a trace with the samples of the trials that its `meta` names; a gap parts one trial from the next.
  function filled(trace) {
    const wanted = trace.meta;
    if (!wanted || !wanted.trials) return trace;
    const x = [], y = [], text = [];
    for (const id of wanted.trials) {
      const trial = data.trials[id];
      const place = (second) => wanted.axis === "study" ? (trial.b + second) / 60 : second - trial.z;
      const words = `trial ${id}, block ${trial.n}${trial.k ? `, ${trial.k}` : ""}, second `;
      if (wanted.part === "lost") {
        for (const [second, value] of trial.l || []) {
          x.push(place(second));
          y.push(value);
          text.push(words + second);
        }
        continue;
      }
      const from = wanted.part === "warm_up" ? 0 : trial.w;
      const gaps = new Set(trial.g || []);
      const joined = gaps.size ? trial.w : trial.w + 1;
      const to = wanted.part === "warm_up" ? Math.min(joined, trial.s.length) : trial.s.length;
      for (let i = from; i < to; i += 1) {
        if (gaps.has(i) && i > from) {
          x.push(null);
          y.push(null);
          text.push("");
        }
        x.push(place(trial.s[i]));
        y.push(trial.v[i]);
        text.push(words + trial.s[i]);
      }
      x.push(null);
      y.push(null);
      text.push("");
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

  function draw(id, width) {
    const element = document.getElementById(id);
    const style = getComputedStyle(document.documentElement);
    const figure = themed(data.charts[id], style);
    const room = width || element.clientWidth;
    let layout = figure.layout;
    if (room < narrowBelow && layout.meta && layout.meta.narrow) layout = merged(layout, layout.meta.narrow);
    layout = merged(layout, {
      width: room,
      height: parseFloat(element.style.height),
      dragmode: coarse ? false : "zoom",
      font: { family: getComputedStyle(document.body).fontFamily },
    });
    const traces = figure.data.map((trace, index) => ({ ...filled(trace), visible: !hidden.has(`${id} ${index}`) }));
    return Plotly.react(element, traces, layout, {
      displayModeBar: false,
      doubleClick: "reset",
    });
  }

  const ids = Object.keys(data.charts);

  // One chart at a time, so that the page answers while they are drawn.
  async function drawAll() {
    document.documentElement.dataset.charts = "drawing";
    for (const id of ids) {
      await draw(id);
      await new Promise((resolve) => setTimeout(resolve));
    }
    document.documentElement.dataset.charts = "drawn";
  }

  function onPaper() {
    document.documentElement.classList.add("paper");
    for (const id of ids) draw(id, document.getElementById(id).closest(".multiples") ? 330 : 680);
  }

  function onScreen() {
    document.documentElement.classList.remove("paper");
    drawAll();
  }

  function sortable(table) {
    const heads = [...table.tHead.rows[0].cells];
    const body = table.tBodies[0];
    heads.forEach((head, column) => {
      head.querySelector("button").addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "descending";
        const sign = down ? 1 : -1;
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
        heads.forEach((one) => one.setAttribute("aria-sort", "none"));
        head.setAttribute("aria-sort", down ? "ascending" : "descending");
        body.append(...rows);
      });
    });
  }

  async function copy(button) {
    const source = document.getElementById(button.dataset.copies);
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
    const shown = button.getAttribute("aria-pressed") === "true";
    const key = `${button.dataset.chart} ${button.dataset.trace}`;
    if (shown) hidden.add(key); else hidden.delete(key);
    button.setAttribute("aria-pressed", String(!shown));
    draw(button.dataset.chart);
  }

  document.querySelectorAll(".legend button").forEach((button) => button.addEventListener("click", () => toggle(button)));
  document.querySelectorAll("table.sortable").forEach(sortable);
  document.querySelectorAll("button.copy").forEach((button) => button.addEventListener("click", () => copy(button)));

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
  drawAll();
})();

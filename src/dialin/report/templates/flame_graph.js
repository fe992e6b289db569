// Draws a flame graph into its figure: a button for each bar, of which one has the tab stop; arrow keys move it. `state` is what
// the reader chose of it (view, search, the bar that is magnified), which outlives the figure.
function drawFlameGraph(figure, given, state) {
  "use strict";

  const { names, rows, unit } = given;
  const rowHeight = 20;
  const view = figure.querySelector("[data-flame-view]");
  const search = figure.querySelector("[data-flame-search]");
  const graph = figure.querySelector(".flame-graph");
  const says = figure.querySelector(".flame-says");
  view.value = state.view;
  search.value = state.search;

  const bars = rows.map(([name, parent, first, second, interval, certain], place) => {
    const bar = document.createElement("button");
    bar.type = "button";
    bar.tabIndex = -1;
    return { place, name: names[name], parent, first, second, interval, certain, bar, inner: [], depth: 0 };
  });
  const roots = [];
  for (const one of bars) {
    const outer = one.parent === null ? null : bars[one.parent];
    one.depth = outer ? outer.depth + 1 : 0;
    (outer ? outer.inner : roots).push(one);
  }
  // In the difference a bar is as wide as the larger of its two times, so that a function that is gone still has one.
  for (const one of [...bars].reverse()) {
    const own = (side) => one[side] - one.inner.reduce((sum, inner) => sum + inner[side], 0);
    one.difference = Math.max(0, own("first"), own("second")) + one.inner.reduce((sum, inner) => sum + inner.difference, 0);
  }
  graph.replaceChildren(...bars.map((one) => one.bar));
  const most = Math.max(...bars.map((one) => Math.abs(one.certain || 0)), 1e-9);
  const size = (one) => one[state.view];
  const whole = () => roots.reduce((sum, one) => sum + size(one), 0);
  const figureOf = (value) => value.toLocaleString("en", { maximumSignificantDigits: 3 });

  function words(one) {
    const side = state.view === "first" ? "first" : "second";
    const share = `${(100 * one[side] / (roots.reduce((sum, root) => sum + root[side], 0) || 1)).toFixed(1)} %`;
    const change = one.certain === null ? "no certain change" : `change ${one.certain > 0 ? "+" : "−"}${figureOf(Math.abs(one.certain))}`;
    const fate = one.second === 0 ? ` (gone with ${given.second})` : one.first === 0 ? ` (only with ${given.second})` : "";
    return `${one.name}${fate}: ${figureOf(one.first)} → ${figureOf(one.second)} µs per ${unit}, ${change} (${one.interval}); ${share} of ${side === "first" ? given.first : given.second}`;
  }

  // Sets the left edge and the width of bars in percent; what is magnified is as wide as the graph, with all that called it.
  function place(some, left, scale) {
    for (const one of some) {
      const wide = size(one) * scale;
      const isAround = state.zoom !== null && around(bars[state.zoom]).includes(one);
      one.left = isAround ? 0 : left;
      one.wide = isAround ? 100 : wide;
      one.bar.hidden = one.wide < 0.05;
      one.bar.classList.toggle("thin", one.wide < 2.5);
      Object.assign(one.bar.style, { left: `${one.left}%`, width: `${one.wide}%`, top: `${rowHeight * one.depth}px` });
      one.bar.classList.toggle("around", isAround && one.place !== state.zoom);
      place(one.inner, one.left, scale);
      if (!isAround && state.zoom !== null && !within(one)) one.bar.hidden = true;
      left += wide;
    }
  }
  function around(one) {
    const line = [one];
    while (line[0].parent !== null) line.unshift(bars[line[0].parent]);
    return line;
  }
  const within = (one) => around(one).includes(bars[state.zoom]);

  function paint() {
    const magnified = state.zoom === null ? whole() : size(bars[state.zoom]);
    place(roots, 0, magnified > 0 ? 100 / magnified : 0);
    const wanted = state.search.trim().toLowerCase();
    const found = { first: 0, second: 0 };
    let deepest = 0;
    for (const one of bars) {
      const is = wanted !== "" && one.name.toLowerCase().includes(wanted);
      one.bar.classList.toggle("found", is);
      if (is && !around(one).slice(0, -1).some((outer) => outer.name.toLowerCase().includes(wanted))) {
        found.first += one.first;
        found.second += one.second;
      }
      if (!one.bar.hidden) deepest = Math.max(deepest, one.depth);
      const heat = state.view === "difference" && one.certain !== null ? Math.max(0.25, Math.abs(one.certain) / most) : 0;
      one.bar.style.setProperty("--heat", `${Math.round(100 * heat)}%`);
      one.bar.style.setProperty("--left", `${Math.round(100 * one.second / (one.difference || 1))}%`);
      one.bar.dataset.change = heat ? (one.certain > 0 ? "more" : "less") : "";
      one.bar.textContent = `${heat ? (one.certain > 0 ? "+ " : "− ") : ""}${one.name}`;
      one.bar.setAttribute("aria-label", words(one));
      one.bar.title = words(one);
    }
    graph.classList.toggle("searched", wanted !== "");
    graph.classList.toggle("plain", state.view !== "difference");
    graph.style.height = `${rowHeight * (deepest + 1)}px`;
    if (wanted) says.textContent = `${state.search}: ${figureOf(found.first)} → ${figureOf(found.second)} µs per ${unit}`;
    if (!graph.querySelector('[tabindex="0"]:not([hidden])')) stop(bars.find((one) => !one.bar.hidden));
  }
  function stop(one, focus) {
    for (const other of graph.querySelectorAll('[tabindex="0"]')) other.tabIndex = -1;
    if (!one) return;
    one.bar.tabIndex = 0;
    if (focus) one.bar.focus();
  }
  function magnify(one) {
    state.zoom = one === null || (one.parent === null && roots.length === 1) ? null : one.place;
    paint();
  }

  const of = (target) => bars.find((one) => one.bar === target.closest?.(".flame-graph button"));
  graph.onclick = (event) => { const one = of(event.target); if (one) { stop(one); magnify(state.zoom === one.place ? null : one); } };
  const say = (event) => { const one = of(event.target); if (one) says.textContent = words(one); };
  graph.onpointerover = say;
  for (const one of bars) one.bar.addEventListener("focusin", say);  // there is no onfocusin, and bars are made anew
  graph.onkeydown = (event) => {
    const one = of(event.target);
    if (!one) return;
    const shown = (some) => some.filter((other) => !other.bar.hidden);
    const beside = shown(one.parent === null ? roots : bars[one.parent].inner);
    const at = beside.indexOf(one);
    const next = {
      ArrowLeft: beside[at - 1],
      ArrowRight: beside[at + 1],
      ArrowUp: one.parent === null ? undefined : bars[one.parent],
      ArrowDown: shown(one.inner).sort((a, b) => size(b) - size(a))[0],
    };
    if (event.key === "Escape") magnify(null);
    else if (!(event.key in next)) return;
    else if (next[event.key]) stop(next[event.key], true);
    event.preventDefault();
  };
  view.onchange = () => { state.view = view.value; paint(); };
  search.oninput = () => { state.search = search.value; says.textContent = ""; paint(); };
  paint();
}

(() => {
  "use strict";

  const root = document.documentElement;
  const at = (id) => document.getElementById(id);
  let latest = null;
  let shown = 0;
  let fetching = false;
  let lost = 0;

  function put(id, text) {
    if (at(id).textContent !== text) at(id).textContent = text;
  }

  function show(id, wanted) {
    if (at(id).hidden === wanted) at(id).hidden = !wanted;
  }

  function element(kind, text, name) {
    const made = document.createElement(kind);
    if (text !== undefined) made.textContent = text;
    if (name) made.className = name;
    return made;
  }

  // The state as a whole: what a screen reader says, and what colours the lamp.
  function stand(state, name, sentence) {
    if (root.dataset.state === state && at("state-name").textContent === name) return;
    root.dataset.state = state;
    put("state-name", name);
    put("announced", `${name}. ${sentence}`);
  }

  function rows(live) {
    const made = live.rows.map((row) => {
      const line = element("tr", undefined, [row.runs ? "runs" : "", row.out ? "dimmed" : ""].join(" ").trim());
      const head = element("th");
      head.scope = "row";
      const swatch = element("i", undefined, `swatch ${row.symbol}`);
      swatch.style.background = row.colour;
      head.append(swatch, row.label);
      if (row.out) head.append(element("small", " no further trials"));
      const trials = element("td", row.trials, "figure");
      if (row.failed) trials.append(element("small", row.failed));
      line.append(head, trials, element("td", row.rate, "figure"), element("td", row.change, "figure"));
      return line;
    });
    at("rows").replaceChildren(...made);
  }

  function log(live) {
    const list = at("log");
    const atEnd = list.scrollTop + list.clientHeight >= list.scrollHeight - 4;
    list.replaceChildren(...live.log.map(([time, text]) => {
      const line = element("li");
      line.append(element("time", time), ` ${text}`);
      return line;
    }));
    if (atEnd) list.scrollTop = list.scrollHeight;
  }

  function draw() {
    const chart = latest && latest.chart;
    if (!chart || !chart.x.length || document.hidden || at("running").hidden) return;
    const style = getComputedStyle(root);
    const colour = (name) => style.getPropertyValue(name).trim();
    const runs = latest.rows.find((row) => row.runs);
    const own = colour(/var\((.*)\)/.exec(runs ? runs.colour : "var(--base)")[1]);
    const part = (values, axis, from, to, line) => ({
      x: chart.x.slice(from, to), y: values.slice(from, to), yaxis: axis, mode: "lines", line,
    });
    const warm = chart.warm;
    const joined = Math.min(warm + 1, chart.x.length);
    const traces = [];
    for (const [values, axis] of [[chart.rate, "y"], [chart.latency, "y2"]]) {
      if (warm) traces.push(part(values, axis, 0, joined, { color: colour("--muted"), width: 1.4 }));
      traces.push(part(values, axis, warm, chart.x.length, { color: own, width: 1.6 }));
    }
    if (chart.lost.length) {
      traces.push({
        x: chart.lost.map((place) => chart.x[place]), y: chart.lost.map((place) => chart.rate[place]), mode: "markers",
        marker: { symbol: "triangle-down-open", size: 8, color: colour("--care"), line: { width: 1.5 } },
      });
    }
    const title = (text, y) => ({
      text, x: 0, y, xref: "paper", yref: "paper", xanchor: "left", yanchor: "bottom", showarrow: false,
      font: { size: 12, color: colour("--ink-2") },
    });
    const axis = { gridcolor: colour("--grid"), zeroline: false, tickfont: { size: 12, color: colour("--ink-2") }, rangemode: "tozero", separatethousands: true };
    const box = at("live-drawing");
    Plotly.react(box, traces, {
      width: box.clientWidth, height: box.clientHeight, showlegend: false,
      margin: { l: 48, r: 6, t: 20, b: 38 },
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: getComputedStyle(document.body).fontFamily },
      xaxis: { ...axis, rangemode: "normal", showgrid: false, anchor: "y2", title: { text: chart.titles[2], font: { size: 12, color: colour("--ink-2") }, standoff: 6 } },
      yaxis: { ...axis, domain: [0.45, 1], nticks: 4 },
      yaxis2: { ...axis, domain: [0, 0.32], nticks: 3 },
      annotations: [title(chart.titles[0], 1), title(chart.titles[1], 0.32)],
    }, { displayModeBar: false, staticPlot: true });
    root.dataset.live = "drawn";
  }

  function tell(live) {
    const before = latest;
    latest = live;
    root.toggleAttribute("data-runs", ["running", "readying"].includes(live.state));
    const place = live.block ? `${live.block}` : "";
    const also = live.stops ? "The study stops after this block." : "";
    stand(live.state, live.name, live.sentence);
    const sentence = [live.sentence, also].filter(Boolean).join(" ");
    put("sentence", sentence);
    show("sentence", Boolean(sentence));
    put("trouble", live.trouble);
    show("trouble", Boolean(live.trouble));
    put("command-text", live.command);
    show("command-box", Boolean(live.command));
    put("stop-command", live.resume);
    show("stop-now", live.may_stop);
    show("after-block", live.may_end_block);
    put("after-block", live.stops ? "Do not stop after this block" : "Stop after this block");
    put("what", live.what || "");
    put("load", live.load || "");
    document.title = [live.name, place, live.what].filter(Boolean).join(" · ") + " · dialin";
    show("course", Boolean(live.block));
    if (live.block) {
      put("block", live.block);
      put("left", live.left || "");
      put("spent", live.spent || "");
      show("bar-box", live.share !== undefined);
      at("bar").style.width = `${100 * (live.share || 0)}%`;
      const hosts = live.hosts || [];
      show("hosts", hosts.length > 0);
      at("hosts").replaceChildren(...hosts.map((text) => element("li", text)));
    }
    const chart = live.chart;
    show("running", Boolean(chart && (chart.x.length || live.trial[0])));
    if (chart) {
      const [which, name, does] = live.trial;
      if (which) at("trial").replaceChildren(`${which}: `, element("strong", name), does ? `, ${does}` : "");
      else put("trial", "Between trials");
      put("chart-words", chart.words);
      put("chart-about", chart.about);
      at("live-drawing").hidden = !chart.x.length;
      draw();
    }
    if (live.rows) {
      show("standings", live.state !== "finished");
      put("standings-about", live.rows_about);
      put("subject", live.subject);
      put("unit", live.unit);
      if (!before || JSON.stringify(before.rows) !== JSON.stringify(live.rows)) rows(live);
    }
    show("log-box", live.log.length > 0);
    if (!before || JSON.stringify(before.log) !== JSON.stringify(live.log)) log(live);
    if (live.report > shown) report();
  }

  // The report, made anew: its inside takes the place of the old one, and what the reader did to that stays.
  async function report() {
    if (fetching) return;
    fetching = true;
    try {
      const answer = await fetch("report");
      if (answer.status === 200) {
        const made = await answer.json();
        document.getElementById("sections").innerHTML = made.menu;
        const shows = window.dialin.show(made.data, made.main);
        shown = made.number;
        root.dataset.report = made.number;
        await shows;
      }
    } catch {
      // The stream tells of a server that is gone.
    } finally {
      fetching = false;
      if (latest && latest.report > shown && !lost) setTimeout(() => { if (latest.report > shown) report(); }, 1000);
    }
  }

  async function ask(path, said) {
    try {
      const answer = await fetch(path, { method: "POST", body: JSON.stringify(said) });
      const back = await answer.json();
      put("trouble", answer.ok ? "" : back.words);
      show("trouble", !answer.ok);
      return answer.ok ? back : null;
    } catch {
      return null;
    }
  }

  document.querySelectorAll("[data-live-copies]").forEach((button) => {
    button.addEventListener("click", () => window.dialin.copy(button, at(button.dataset.liveCopies)));
  });
  at("after-block").addEventListener("click", () => ask("stop", { when: latest.stops ? "never" : "after_block" }));
  at("stop-now").addEventListener("click", () => { at("stop-dialog").returnValue = ""; at("stop-dialog").showModal(); });
  at("stop-dialog").addEventListener("close", () => {
    if (at("stop-dialog").returnValue === "stop") ask("stop", { when: "now" });
  });
  at("share").addEventListener("click", async () => {
    const made = await ask("link", {});
    if (!made) return;
    put("share-link", location.origin + made.path);
    at("share-dialog").showModal();
  });

  function gone(words, command) {
    stand("lost", "Not connected", words);
    put("sentence", words);
    show("sentence", true);
    put("command-text", command);
    show("command-box", Boolean(command));
    for (const id of ["after-block", "stop-now", "share"]) show(id, false);
    root.removeAttribute("data-runs");
  }

  const over = () => gone("This page is no longer served and shows its last state. Serve it again with:", latest ? latest.watch : "dialin watch DIR");
  const stream = new EventSource("events");
  stream.addEventListener("message", (event) => {
    clearTimeout(lost);
    lost = 0;
    show("share", true);
    tell(JSON.parse(event.data));
  });
  stream.addEventListener("over", () => {
    stream.close();
    over();
  });
  stream.addEventListener("error", () => {
    if (stream.readyState === EventSource.CLOSED) over();
    else if (!lost) lost = setTimeout(() => gone("The connection is lost; trying again.", ""), 3000);
  });

  addEventListener("resize", draw);
  addEventListener("visibilitychange", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
})();

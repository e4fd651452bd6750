// Charts as figures with their sentence, drawn by plotly.js when they come into view.
import { asCsv, download, h } from "./dom.js";

let loading;
// plotly.js is large: it is loaded when the first chart is to be drawn.
function plotly() {
  loading ??= new Promise((done, fail) => {
    const script = h("script", { src: "/static/plotly.min.js" });
    script.addEventListener("load", () => done(globalThis.Plotly));
    script.addEventListener("error", () => fail(new Error("plotly.js cannot be loaded")));
    document.head.append(script);
  });
  return loading;
}
export const ready = plotly;

let before = Promise.resolve();
// Charts are drawn one after the other, so that the first can be seen before the next is begun.
function inTurn(draw) {
  before = before.catch(() => {}).then(() => new Promise((done) => setTimeout(done))).then(draw);
  return before;
}

export class Chart {
  // `found` is a chart as the server sends it; `zoom(first, last)` asks for one with more detail.
  constructor(found, zoom = null) {
    this.zoom = zoom;
    this.plot = h("div", { class: "plot", role: "img", "aria-label": found.title, "data-chart": found.name });
    this.title = h("h3", {}, found.title);
    this.caption = h("figcaption", {}, found.caption);
    const bar = h("div", { class: "tools" },
      h("button", { type: "button", click: () => this.svg() }, "SVG"),
      h("button", { type: "button", click: () => this.csv() }, "CSV"));
    this.element = h("figure", {}, h("div", { class: "head" }, this.title, bar), this.plot, this.caption);
    this.visible = this.drawn = this.stale = this.anew = false;
    this.range = null;
    this.cost = 0;
    this.set(found);
    new IntersectionObserver((entries) => {
      this.visible = entries.at(-1).isIntersecting;
      if (this.visible && this.stale) this.draw();
    }, { rootMargin: "200px" }).observe(this.element);
    OstinatoLook.dark.addEventListener("change", () => this.redraw());
    OstinatoLook.narrow.addEventListener("change", () => {
      this.anew = this.drawn; // plotly.js leaves parts of a scale behind that lies elsewhere now
      this.redraw();
    });
  }

  set(found) {
    this.found = found;
    this.title.textContent = found.title;
    this.caption.textContent = found.caption;
    this.plot.style.minHeight = `${found.figure.layout.height ?? 360}px`; // so that nothing moves when it is drawn
    this.redraw();
  }

  redraw() {
    this.stale = true;
    if (this.visible) this.draw();
  }

  async draw() {
    this.stale = false;
    const Plotly = await plotly();
    await inTurn(() => this.drawNow(Plotly));
  }

  async drawNow(Plotly) {
    const started = performance.now();
    if (this.anew) {
      Plotly.purge(this.plot);
      this.anew = this.drawn = false;
    }
    const { data, layout } = this.found.figure;
    const own = { ...layout, uirevision: "kept", xaxis: { ...layout.xaxis }, yaxis: { ...layout.yaxis } };
    if (this.range) own.xaxis.range = this.range;
    const { traces, layout: look, options } = OstinatoLook;
    await Plotly.react(this.plot, traces(data, false), look(own, false, data.length), options);
    if (!this.drawn) {
      this.drawn = true;
      this.plot.on("plotly_relayout", (change) => this.moved(change));
    }
    this.cost = performance.now() - started;
  }

  // After a zoom, ask for the events in between; after a double click, for all again.
  async moved(change) {
    if (!this.zoom || !this.found.zooms) return;
    const ends = [change["xaxis.range[0]"], change["xaxis.range[1]"]];
    if (change["xaxis.autorange"] && this.whole) {
      this.range = null;
      const whole = this.whole;
      this.whole = null;
      return this.set(whole);
    }
    if (!ends.every(Number.isFinite)) return;
    this.range = ends;
    this.whole ??= this.found;
    const found = await this.zoom(this.found.name, Math.max(0, Math.floor(ends[0])), Math.ceil(ends[1]));
    if (found && this.range === ends) {
      this.found = found;
      this.draw();
    }
  }

  // New numbers while it is zoomed are kept for later.
  update(found) {
    if (this.range) this.whole = found;
    else this.set(found);
  }

  // Add points to the lines of these names; levels go as far. Whether there was anything to add.
  extend(points) {
    const { data } = (this.range ? this.whole : this.found).figure;
    let last = null;
    for (const trace of data) {
      const fresh = (points[trace.name] ?? []).filter(([x]) => !(x <= trace.x.at(-1)));
      if (!fresh.length) continue;
      trace.x = [...trace.x, ...fresh.map(([x]) => x)]; // new arrays: plotly.js takes the same ones for unchanged
      trace.y = [...trace.y, ...fresh.map(([, y]) => y)];
      last = Math.max(last, trace.x.at(-1));
    }
    if (last === null) return false;
    for (const trace of data)
      if (trace.hoverinfo === "skip" && trace.fill === undefined && trace.x.at(-1) < last) trace.x = [...trace.x.slice(0, -1), last];
    if (!this.range) this.redraw();
    return true;
  }

  async svg() {
    const Plotly = await plotly();
    const url = await Plotly.toImage(this.plot, { format: "svg", width: 900, height: 480 });
    download(`${this.found.name}.svg`, decodeURIComponent(url.slice(url.indexOf(",") + 1)), "image/svg+xml");
  }

  csv() {
    download(`${this.found.name}.csv`, asCsv(rowsOf(this.found.figure)), "text/csv");
  }
}

// Charts by their names.
export class Charts extends Map {
  constructor(zoom = null) {
    super();
    this.zoom = zoom;
  }

  // Give these charts their new numbers, or make each in its place; all others are hidden.
  show(placed) {
    for (const [found, place] of placed) {
      if (this.has(found.name)) this.get(found.name).update(found);
      else {
        this.set(found.name, new Chart(found, this.zoom));
        place.append(this.get(found.name).element);
      }
    }
    const shown = new Set(placed.map(([found]) => found.name));
    for (const [name, chart] of this) chart.element.hidden = !shown.has(name);
  }
}

// Charts side by side.
export const grid = (charts) => h("div", { class: "grid" }, ...charts.map((found) => new Chart(found).element));

// The numbers of a figure: one row per position, or per cell of a map.
export function rowsOf({ data, layout }) {
  const x = layout.xaxis?.title?.text ?? "x", y = layout.yaxis?.title?.text ?? "y";
  if (data[0]?.type === "heatmap") {
    const rows = data[0].customdata ?? data[0].z;
    const name = (axis, i) => layout[axis]?.ticktext?.[layout[axis].tickvals.indexOf(i)] ?? i;
    return [[y, x, "value"], ...rows.flatMap((row, i) => row.map((z, j) => [name("yaxis", i), name("xaxis", j), z]))];
  }
  const lines = data.filter((trace) => trace.hoverinfo !== "skip");
  return [["series", x, y], ...lines.flatMap((trace) => trace.x.map((at, i) => [trace.name, at, trace.y[i]]))];
}

export function tableDownload(name, rows) {
  return h("button", { type: "button", class: "quiet", click: () => download(`${name}.csv`, asCsv(rows()), "text/csv") }, "CSV");
}

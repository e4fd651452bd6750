"use strict";
(() => {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const plots = [...document.querySelectorAll(".plot")];
  const { dark, narrow, traces, layout: layoutOf, tint, options } = OstinatoLook;
  const PRINTED = 660; // pixels: the width of a page without its margins

  const charts = read("charts");
  for (const plot of plots) {
    const { data, layout } = charts[plot.dataset.chart];
    Plotly.newPlot(plot, traces(data, false), layoutOf(layout, false, data.length), options);
  }

  // Where the scale of a map moves, plotly.js leaves parts of it behind, unless it draws anew.
  function redraw(onPaper) {
    for (const plot of plots) {
      const { data, layout } = charts[plot.dataset.chart];
      const size = onPaper ? { width: PRINTED, autosize: false } : { autosize: true };
      const look = { ...layoutOf(layout, onPaper, data.length), ...size };
      const draw = data.some((trace) => trace.type === "heatmap") ? Plotly.newPlot : Plotly.react;
      draw(plot, traces(data, onPaper), look, options);
    }
  }
  for (const screen of [dark, narrow]) screen.addEventListener("change", () => redraw(false));
  window.addEventListener("beforeprint", () => redraw(true));
  window.addEventListener("afterprint", () => redraw(false));

  // The text, coloured by one unit.
  const activity = read("activity");
  if (activity === null) return;
  const { pieces, units } = activity;
  const text = document.getElementById("text");
  const number = document.getElementById("unit");
  const slide = document.getElementById("slide");
  const spans = pieces.map((piece) => {
    const span = document.createElement("span");
    span.textContent = piece;
    if (piece === "\n") {
      span.textContent = "↵";
      span.className = "end";
    }
    text.append(span);
    if (piece === "\n") text.append("\n");
    return span;
  });

  function show(unit) {
    const values = units[unit];
    const most = Math.max(...values.map(Math.abs)) || 1;
    spans.forEach((span, t) => {
      span.style.backgroundColor = tint(values[t] / most);
      span.title = "unit " + unit + ": " + values[t];
    });
    document.getElementById("low").textContent = (-most).toPrecision(3);
    document.getElementById("high").textContent = "+" + most.toPrecision(3);
    number.value = slide.value = unit;
  }

  for (const input of [number, slide]) {
    input.addEventListener("input", () => {
      const unit = Math.round(Number(input.value));
      if (input.value !== "" && unit >= 0 && unit < units.length) show(unit);
    });
  }
  show(Number(slide.value));
})();

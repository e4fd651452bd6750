"use strict";
(() => {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const plots = [...document.querySelectorAll(".plot")];
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const narrow = window.matchMedia("(max-width: 40rem)");
  const PRINTED = 660; // pixels: the width of a page without its margins

  // The look that all charts share, in the colours of the screen or of paper.
  function look(onPaper) {
    const night = dark.matches && !onPaper;
    const ink = night ? "#e4e7ea" : "#1c2126";
    const line = night ? "#343b43" : "#d9dee3";
    const axis = { gridcolor: line, linecolor: line, zerolinecolor: line };
    return { ink, axis };
  }

  // On a narrow screen the scale of a map lies above it, so that the map has the width.
  function tracesOf(data, onPaper) {
    if (!narrow.matches || onPaper) return data;
    const above = { orientation: "h", x: 0.5, y: 1.02, yanchor: "bottom", len: 1, tickangle: 0 };
    return data.map((trace) => {
      if (trace.type !== "heatmap") return trace;
      const title = { ...trace.colorbar.title, side: "top" };
      return { ...trace, colorbar: { ...trace.colorbar, ...above, title } };
    });
  }

  // On a narrow screen the legend has more rows, for which the chart grows.
  function layoutOf(own, onPaper, names) {
    const { ink, axis } = look(onPaper);
    const tight = narrow.matches && !onPaper;
    const height = (own.height || 360) + (tight ? 20 * Math.floor((names - 1) / 2) : 0);
    return {
      ...own,
      height: onPaper ? 0.8 * height : height,
      margin: { l: tight ? 45 : 60, r: tight ? 8 : 20, t: own.showlegend ? 40 : 12, b: 45 },
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: getComputedStyle(document.body).fontFamily, size: 13, color: ink },
      legend: { orientation: "h", traceorder: "normal", x: 0, xanchor: "left", y: 1.02, yanchor: "bottom" },
      xaxis: { ...axis, ...own.xaxis },
      yaxis: { ...axis, ...own.yaxis },
    };
  }

  const charts = read("charts");
  const options = { responsive: true, displayModeBar: false };
  for (const plot of plots) {
    const { data, layout } = charts[plot.dataset.chart];
    Plotly.newPlot(plot, tracesOf(data, false), layoutOf(layout, false, data.length), options);
  }

  function redraw(onPaper) {
    for (const plot of plots) {
      const { data, layout } = charts[plot.dataset.chart];
      const size = onPaper ? { width: PRINTED, autosize: false } : { autosize: true };
      const look = { ...layoutOf(layout, onPaper, data.length), ...size };
      Plotly.react(plot, tracesOf(data, onPaper), look, options);
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
      const share = values[t] / most;
      const colour = share < 0 ? "40,110,200" : "215,60,45";
      span.style.backgroundColor = "rgba(" + colour + "," + (0.7 * Math.abs(share)).toFixed(3) + ")";
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

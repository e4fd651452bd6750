"use strict";
// The look that the charts of a report and of the studio share.
const OstinatoLook = (() => {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const narrow = window.matchMedia("(max-width: 40rem)");

  // On a narrow screen the scale of a map lies above it, so that the map has the width.
  function traces(data, onPaper) {
    if (!narrow.matches || onPaper) return data;
    const above = { orientation: "h", x: 0.5, y: 1.02, yanchor: "bottom", len: 1, tickangle: 0 };
    return data.map((trace) => {
      if (trace.type !== "heatmap" || !trace.colorbar) return trace;
      const title = { ...trace.colorbar.title, side: "top" };
      return { ...trace, colorbar: { ...trace.colorbar, ...above, title } };
    });
  }

  // On a narrow screen the legend has more rows, for which the chart grows, and a picture whose
  // pixels are square is less wide, so it is less high.
  function layout(own, onPaper, names) {
    const night = dark.matches && !onPaper;
    const ink = night ? "#e4e7ea" : "#1c2126";
    const line = night ? "#343b43" : "#d9dee3";
    const axis = { gridcolor: line, linecolor: line, zerolinecolor: line };
    const tight = narrow.matches && !onPaper;
    const square = own.xaxis?.constrain === "domain";
    const usual = tight && square ? 80 + 0.62 * (own.height - 110) : own.height || 360;
    const height = usual + (tight ? 20 * Math.floor((names - 1) / 2) : 0);
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

  // The colour of a piece of text, for a number from -1 to 1: blue, none, red.
  function tint(share) {
    const colour = share < 0 ? "40,110,200" : "215,60,45";
    return `rgba(${colour},${(0.7 * Math.abs(share)).toFixed(3)})`;
  }

  return { dark, narrow, traces, layout, tint, options: { responsive: true, displayModeBar: false } };
})();

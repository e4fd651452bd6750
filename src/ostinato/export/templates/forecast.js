const net = make();
const find = (id) => document.getElementById(id);
const SHOWN = 120, HEIGHT = 280;
find("needs").textContent = `Columns: ${about.columns.join(", ")}. Other columns are left out.`;
find("table").placeholder = [about.columns.join(","), about.columns.map((_, n) => about.mean[n].toPrecision(4)).join(",")].join("\n");

// The forecasts by step ahead and target: one number for each level, in the units of the data.
function forecasts(y) {
  const made = about.levels.includes(null) ? 1 : about.levels.length, count = about.targets.length;
  return Array.from({ length: about.horizon }, (_, ahead) => about.targets.map((_, target) => {
    const at = ahead * count + target;
    const own = Array.from(y.subarray(at * made, (at + 1) * made), (one) => one * about.target_factor[at] + about.target_shift[at]).sort((a, b) => a - b);
    return about.moved === null ? own : calibrated(about.levels.includes(null) ? own.concat(own, own) : own, about.moved[ahead][target]);
  }));
}

// Each pair of bounds moved outwards, an outer one never inside an inner one.
function calibrated(levels, moved) {
  const pairs = moved.length, last = levels.length - 1;
  let low = levels[pairs], high = levels[last - pairs];
  if (levels.length === 2 * pairs) low = high = (levels[pairs - 1] + levels[pairs]) / 2;
  for (let n = pairs - 1; n >= 0; n--) {
    low = levels[n] = Math.min(levels[n] - moved[n], low);
    high = levels[last - n] = Math.max(levels[last - n] + moved[n], high);
  }
  return levels;
}

function drawing(name, past, ahead) {
  const values = [...past, ...ahead.flat()].filter(Number.isFinite);
  const least = Math.min(...values), most = Math.max(...values), all = past.length + ahead.length;
  const marks = [most, (most + least) / 2, least], words = marks.map((value) => `${+value.toPrecision(4)}`);
  const width = find("form").clientWidth || 760, left = 20 + 7.5 * Math.max(...words.map((one) => one.length));
  const x = (n) => left + (n * (width - left - 10)) / Math.max(1, all - 1);
  const y = (value) => 10 + ((most - value) * (HEIGHT - 40)) / (most - least || 1);
  const line = (points) => points.map(([n, value], k) => `${k ? "L" : "M"}${x(n).toFixed(1)} ${y(value).toFixed(1)}`).join("");
  const later = (level) => ahead.map((levels, n) => [past.length + n, levels[level]]);
  const middle = Math.floor(ahead[0].length / 2), last = ahead[0].length - 1;
  const parts = marks.map((value, n) => h("text", { x: left - 10, y: y(value) + 4, "text-anchor": "end", "font-size": 12, fill: "var(--soft)" }, words[n]));
  if (last > 0) parts.push(h("path", { d: `${line(later(0))}${line(later(last).reverse()).replace("M", "L")}Z`, fill: "var(--band)" }));
  const known = past.map((value, n) => [n, value]).filter(([, value]) => Number.isFinite(value));
  parts.push(h("path", { d: line(known), fill: "none", stroke: "var(--ink)", "stroke-width": 1.5 }));
  parts.push(h("path", { d: line([...known.slice(-1), ...later(middle)]), fill: "none", stroke: "var(--accent)", "stroke-width": 2 }));
  return h("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": `${name} and its forecast` }, ...parts);
}

function show() {
  const out = find("out");
  find("wrong").textContent = "";
  out.hidden = true;
  try {
    const table = rows(find("table").value).filter((row) => row !== null), state = net.start();
    let y = null;
    for (const row of table) y = net.step(state, encoded(row));
    const ahead = forecasts(y);
    const names = about.levels.map((level) => (level === null ? "" : ` ${+(100 * level).toFixed(4)} %`));
    const heads = ["step", ...about.targets.flatMap((target) => names.map((name) => target + name))];
    out.replaceChildren(
      ...about.targets.map((target, n) => drawing(target, table.slice(-SHOWN).map((row) => row[about.columns.indexOf(target)]), ahead.map((step) => step[n]))),
      drawn(heads, ahead.map((step, n) => [`${n + 1}`, ...step.flat().map((one) => one.toPrecision(6))])));
    out.hidden = false;
  } catch (error) {
    find("wrong").textContent = error.message;
  }
}
find("form").addEventListener("submit", (event) => {
  event.preventDefault();
  show();
});

// Small helpers. Text only ever goes into a page as text: nothing is parsed as HTML.

// An element: h("p", { class: "hint" }, "words", child). Functions become listeners.
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else element.setAttribute(name, String(value));
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

// The whole page, where there is nothing to show: a heading, a sentence and where to go from there.
export function nothing(heading, words, ...more) {
  document.title = `${heading} – Ostinato`;
  document.getElementById("main").replaceChildren(
    h("div", { class: "title" }, h("h1", {}, heading)), h("p", { class: "subtitle", id: "nothing" }, words.charAt(0).toUpperCase() + words.slice(1)),
    ...(more.length ? more : [h("p", {}, h("a", { href: "/" }, "All runs"))]));
}

// A name and its value in a list of definitions.
export const pair = (name, value) => h("div", {}, h("dt", {}, name), h("dd", {}, value));

// A table of words or elements, which scrolls where it is too wide.
export const table = (head, rows, style = null) => h("div", { class: "wide" }, h("table", { class: style },
  h("thead", {}, h("tr", {}, ...head.map((cell) => h("th", { scope: "col" }, cell)))),
  h("tbody", {}, ...rows.map((row) => h("tr", {}, ...row.map((cell) => h("td", {}, cell)))))));

// The address of a page of a run.
export const runPage = (name, page = "run") => `/${page}?name=${encodeURIComponent(name)}`;

// An output that a network found probable, with its probability.
export const guess = ([piece, p]) => h("div", { class: "guess" }, h("code", {}, JSON.stringify(piece)), h("meter", { min: 0, max: 1, value: p.toFixed(4) }), h("span", {}, `${(100 * p).toFixed(1)}%`));

// An element of a drawing.
export function drawn(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// A line without axes.
export function sparkline(values, width = 96, height = 24) {
  const svg = drawn("svg", { class: "spark", viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" });
  if (values.length < 2) return svg;
  const low = Math.min(...values), span = Math.max(...values) - low || 1;
  const points = values.map((y, i) => {
    const x = 2 + (i * (width - 6)) / (values.length - 1);
    return [x.toFixed(1), (height - 3 - ((y - low) / span) * (height - 6)).toFixed(1)];
  });
  const [x, y] = points.at(-1);
  svg.append(drawn("polyline", { points: points.map((pair) => pair.join(",")).join(" ") }), drawn("circle", { cx: x, cy: y, r: 2 }));
  return svg;
}

export function asNumber(x, digits = 4) {
  if (x === null || x === undefined) return "–";
  const size = Math.abs(x);
  if (size && (size < 1e-4 || size >= 1e9)) return x.toExponential(digits - 2);
  return Number(x.toPrecision(digits)).toLocaleString("en", { maximumSignificantDigits: digits });
}
export const asCount = (x) => (x === null || x === undefined ? "–" : Math.round(x).toLocaleString("en"));

// A duration in its two largest units.
export function asTime(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  const minutes = Math.floor(Math.round(seconds) / 60);
  if (minutes < 60) return `${minutes} min ${Math.round(seconds) % 60} s`;
  if (minutes < 48 * 60) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  return `${Math.floor(minutes / 1440)} d ${Math.floor(minutes / 60) % 24} h`;
}

export function asAge(then) {
  if (!then) return "";
  const seconds = Date.now() / 1000 - then;
  if (seconds < 60) return "now";
  for (const [unit, size] of [["d", 86400], ["h", 3600], ["min", 60]])
    if (seconds >= size) return `${Math.floor(seconds / size)} ${unit}`;
  return "";
}

// Ends all questions to the server that are not answered yet; for a page whose run goes away.
let asking = new AbortController();
export function stopAsking() {
  asking.abort();
  asking = new AbortController();
}

// Ask the server. A failure is an error with the server's one line.
export async function ask(what, parameters = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters))
    for (const one of [value].flat()) query.append(name, one);
  return answerOf(await fetch(`/api/${what}?${query}`, { signal: asking.signal }));
}

// A request that changes something; the server takes it only with a header that other sites cannot send.
export function post(what, body, more = {}) {
  const headers = { "Content-Type": "application/json", "X-Studio": "1" };
  return fetch(`/api/${what}`, { method: "POST", headers, body: JSON.stringify(body), ...more });
}

export const send = async (what, body) => answerOf(await post(what, body));

export async function answerOf(response) {
  const words = await response.text();
  let answer;
  try {
    answer = JSON.parse(words);
  } catch {
    throw new Error(words.trim() || `the server answered ${response.status}`);
  }
  if (!response.ok) throw new Error(answer.error ?? `the server answered ${response.status}`);
  return answer;
}

let fading;
// A line at the bottom of the page.
export function say(words, bad = false) {
  const line = document.getElementById("status");
  line.textContent = words;
  line.className = words ? (bad ? "shown bad" : "shown") : "";
  clearTimeout(fading);
  if (words) fading = setTimeout(() => (line.className = ""), bad ? 9000 : 4000);
}

export function download(name, words, type) {
  const link = h("a", { href: URL.createObjectURL(new Blob([words], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// Rows of cells as CSV.
export const asCsv = (rows) =>
  rows.map((row) => row.map((cell) => {
    let words = cell === null || cell === undefined ? "" : String(cell);
    if (/^[=+@\t\r]/.test(words)) words = `'${words}`; // a spreadsheet would compute it
    return /[",\n\r]/.test(words) ? `"${words.replaceAll('"', '""')}"` : words;
  }).join(",")).join("\r\n");

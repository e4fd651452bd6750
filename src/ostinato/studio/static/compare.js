// Chosen runs on one chart, and what differs between them.
import { asCount, asNumber, ask, h, nothing, runPage, say } from "./dom.js";
import { grid, tableDownload } from "./charts.js";
import { keys } from "./frame.js";

const main = document.getElementById("main");
const query = new URLSearchParams(location.search);
const names = query.getAll("run");
const ACROSS = [["steps", "Steps"], ["gradients", "Gradient-equivalents"], ["seconds", "Seconds"]];
let across = query.get("across") ?? "steps", seeds = query.get("seeds") !== "0", view;

const choice = h("div", { class: "choice", role: "group", "aria-label": "Against" }, ...ACROSS.map(([key, words]) =>
  h("button", { type: "button", "data-across": key, click: () => against(key) }, words)));
const bands = h("label", { class: "check" }, h("input", { type: "checkbox", id: "seeds", change: (event) => { seeds = event.target.checked; load(); } }), "Mean over seeds");
bands.firstChild.checked = seeds;
const place = h("div", { id: "curves" }), memory = h("section", { hidden: true }), tables = h("div");
const count = h("p", { class: "subtitle" });
main.append(h("div", { class: "title" }, h("h1", {}, "Compare")), count, h("div", { class: "bar" }, choice, bands), place, memory, tables);

function against(key) {
  across = key;
  show();
}

function show() {
  for (const button of choice.children) button.setAttribute("aria-pressed", String(button.dataset.across === across));
  const curves = view.charts.filter((chart) => chart.name.endsWith(`-${across}`) || chart.name === across);
  place.replaceChildren(grid(curves));
  query.set("across", across);
  query.set("seeds", seeds ? "1" : "0");
  history.replaceState(null, "", `?${query}`);
}

function showRest() {
  const profiles = view.charts.filter((chart) => chart.name.includes("gradient-by-lag"));
  memory.hidden = !profiles.length;
  memory.replaceChildren(h("h2", {}, "How far back the gradient reaches"), grid(profiles));
  const rows = view.rows;
  const titles = Object.fromEntries(rows.map((row) => [row.name, row.labels.title || row.name]));
  const results = [["Run", "Parameters", "Steps", "Best", "Metric", "State"], ...rows.map((row) => [row.name, asCount(row.parameters), asCount(row.step), asNumber(row.best), row.metric ?? "", row.state])];
  const names = Object.keys(view.differing);
  const settings = names.length > rows.length
    ? [["Setting", ...rows.map((row) => row.name)], ...names.map((key) => [key, ...view.differing[key]])]
    : [["Run", ...names], ...rows.map((row, i) => [row.name, ...names.map((key) => view.differing[key][i])])];
  tables.replaceChildren(
    block("Results", "results", results, "", titles),
    names.length ? block("What differs", "settings", settings, "The settings in which these runs differ; all others are the same.", titles) : h("section", {}, h("h2", {}, "What differs"), h("p", { class: "hint" }, "All settings are the same.")));
}

function block(heading, file, [head, ...rows], words = "", titles = {}) {
  const link = (name) => h("a", { href: runPage(name), title: name }, titles[name] ?? name);
  return h("section", {}, h("div", { class: "head" }, h("h2", {}, heading), tableDownload(file, () => [head, ...rows])),
    words ? h("p", { class: "hint" }, words) : null,
    h("div", { class: "wide" }, h("table", { class: "stacks" }, h("thead", {}, h("tr", {}, ...head.map((cell) => h("th", { scope: "col" }, titles[cell] ?? cell)))),
      h("tbody", {}, ...rows.map((row) => h("tr", {}, ...row.map((cell, i) => h(i ? "td" : "th", { scope: i ? null : "row", "data-head": titles[head[i]] ?? head[i] }, i || head[0] !== "Run" ? String(cell ?? "–") : link(cell)))))))));
}

async function load() {
  try {
    view = await ask("compare", { run: names, seeds: seeds ? 1 : 0 });
    const lines = Object.keys(view.lines).length;
    count.textContent = lines < names.length ? `${names.length} runs as ${lines} lines` : `${names.length} runs`;
    show();
    showRest();
  } catch (error) {
    if (view) say(error.message, true);
    else nothing("Compare", `${error.message}.`);
  }
}

keys([
  ["1", "against steps", () => against("steps")],
  ["2", "against gradient-equivalents", () => against("gradients")],
  ["3", "against seconds", () => against("seconds")],
  ["m", "mean over seeds", () => bands.firstChild.click()],
  ["u Backspace", "back to the runs", () => location.assign("/")],
]);
if (names.length) await load();
else {
  const chosen = JSON.parse(sessionStorage.getItem("chosen") ?? "[]");
  if (chosen.length > 1) location.replace(`/compare?${new URLSearchParams(chosen.map((name) => ["run", name]))}`);
  else nothing("Compare", "No runs are chosen.", h("p", { class: "hint" }, "Choose some in the ", h("a", { href: "/" }, "list of runs"), ": tick them, or press x on each, and then c."));
}

// The list of runs: filter, sort, choose several.
import { asAge, asCount, asNumber, ask, h, runPage, say, send, sparkline } from "./dom.js";
import { matches, parse } from "./filter.js";
import { keys } from "./frame.js";
import { tableDownload } from "./charts.js";
import { chips } from "./labels.js";

const main = document.getElementById("main");
const COLUMNS = [
  ["name", "Run", "left"],
  ["task", "Task", "left few"],
  ["cell", "Cell", "left few"],
  ["parameters", "Parameters", "few"],
  ["step", "Steps", "few"],
  ["line", "Course", "left"],
  ["best", "Best", ""],
  ["state", "State", "left"],
  ["changed", "Changed", "few"],
];
const SHOWN = 300;
let rows = [], shown = [], chosen = new Set(JSON.parse(sessionStorage.getItem("chosen") ?? "[]"));
const query = new URLSearchParams(location.search);
let sort = ["changed", -1], place = 0, mark = "", most = SHOWN, view = query.get("view") ?? "runs", trash = 0;

const filter = h("input", {
  type: "search", id: "filter", placeholder: "cell=lstm rate<0.01 …", autocomplete: "off",
  spellcheck: "false", value: query.get("filter") ?? "",
  input: () => { most = SHOWN; place = 0; show(); },
});
const count = h("p", { class: "hint", id: "count" });
const folder = h("span", { class: "path" });
const VIEWS = [["runs", "Runs"], ["archived", "Archived"], ["trash", "Trash"]];
const views = h("div", { class: "choice", id: "views", role: "group", "aria-label": "Which runs" }, ...VIEWS.map(([key, words]) =>
  h("button", { type: "button", "data-view": key, "data-words": words, click: () => turn(key) }, words)));
const deleted = h("p", { class: "notice", id: "deleted", hidden: true });
const bin = h("div", { id: "trash", hidden: true });
const compare = h("button", { type: "button", class: "main", id: "compare", click: open, hidden: true });
const none = h("button", { type: "button", class: "quiet", id: "none", hidden: true, click: () => { chosen.clear(); show(); } }, "Choose none");
const head = h("tr", {}, h("th", { class: "pick" }), ...COLUMNS.map(([key, words, style]) =>
  h("th", { class: style, scope: "col" }, key === "line" ? words : h("button", { type: "button", "data-sort": key, click: () => by(key) }, words))));
const body = h("tbody");
const table = h("table", { class: "runs" }, h("thead", {}, head), body);
const more = h("button", { type: "button", class: "quiet", hidden: true, click: () => { most += SHOWN; show(); } }, "Show more");
const empty = h("div", { class: "empty", hidden: true });
const csv = tableDownload("runs", () => {
  const columns = COLUMNS.map(([key]) => key).filter((key) => key !== "line");
  return [[...columns, "title", "tags", "note"], ...shown.map(({ labels, ...row }) => [...columns.map((key) => row[key]), labels.title, labels.tags.join(" "), labels.note])];
});
const bar = h("div", { class: "bar" }, h("label", { class: "filter" }, h("span", {}, "filter"), filter), count, h("span", { class: "room" }), none, compare, csv);
main.append(
  h("div", { class: "title" }, h("h1", {}, "Runs"), folder), deleted, views, bar,
  table, more, empty, bin);

function turn(key) {
  view = key;
  place = 0;
  show();
  if (view === "trash") showTrash();
}

async function showTrash() {
  try {
    const { trash: kept } = await ask("trash");
    bin.replaceChildren(h("p", { class: "hint" }, "Deleted runs stay in the folder ", h("code", {}, ".trash"), " until you remove them there yourself."),
      ...kept.map((one) => h("div", { class: "kept" },
        h("span", {}, h("b", {}, one.row.labels.title || one.name), " ", h("small", {}, [one.row.labels.title && one.name, one.row.task, one.row.cell, one.row.state].filter(Boolean).join(", "))),
        h("button", { type: "button", "data-restore": one.kept, click: () => restore(one.kept) }, "Restore"))));
  } catch (error) {
    say(error.message, true);
  }
}

async function restore(kept) {
  try {
    const { name } = await send("restore", { kept });
    deleted.hidden = true;
    say(`${name} is back.`);
    turn("runs");
    await refresh();
  } catch (error) {
    say(error.message, true);
  }
}

function by(key) {
  const down = ["changed", "parameters", "step"].includes(key) ? -1 : 1;
  sort = sort[0] === key ? [key, -sort[1]] : [key, down];
  show();
}

function ordered(found) {
  const [key, way] = sort;
  const value = (row) => (key === "name" && row.labels.title) || row[key];
  return [...found].sort((a, b) => {
    const x = value(a), y = value(b);
    if (x === null || y === null) return (x === null) - (y === null);
    return way * (typeof x === "number" ? x - y : String(x).localeCompare(String(y), "en", { numeric: true }));
  });
}

function show() {
  const terms = parse(filter.value);
  const here = rows.filter((row) => row.labels.archived === (view === "archived"));
  const archived = rows.filter((row) => row.labels.archived).length, counts = { runs: 1, archived, trash };
  for (const button of views.children) {
    const { view: key, words } = button.dataset;
    button.textContent = key === "runs" ? words : `${words} ${asCount(counts[key])}`;
    button.hidden = !counts[key] && key !== view;
    button.setAttribute("aria-pressed", String(key === view));
  }
  views.hidden = view === "runs" && !archived && !trash;
  bin.hidden = view !== "trash";
  bar.hidden = view === "trash";
  shown = view === "trash" ? [] : ordered(here.filter((row) => matches(row, terms)));
  place = Math.max(0, Math.min(place, shown.length - 1));
  const few = shown.slice(0, most);
  body.replaceChildren(...few.map(line));
  more.hidden = shown.length <= most;
  const running = here.filter((row) => row.state === "running").length;
  count.textContent = `${shown.length === here.length ? asCount(here.length) : `${asCount(shown.length)} of ${asCount(here.length)}`} runs${running ? `, ${running} training` : ""}`;
  table.hidden = !shown.length;
  empty.hidden = !!shown.length || view === "trash";
  empty.replaceChildren(...(here.length
    ? [h("p", {}, "No run matches."), h("p", { class: "hint" }, "A filter is a column or any setting, such as cell=lstm, rate<0.01 or state=running; other words are looked for in names, tags and notes.")]
    : view === "archived" ? [h("p", {}, "No run is archived.")]
    : archived ? [h("p", {}, "All runs are archived.")] : [h("p", {}, "There are no runs here yet."), h("p", { class: "hint" }, "Start one with ", h("a", { href: "/start" }, "the form"), " or with ", h("code", {}, "ostinato train"), ".")]));
  for (const cell of head.querySelectorAll("button"))
    cell.setAttribute("aria-pressed", cell.dataset.sort === sort[0] ? (sort[1] > 0 ? "up" : "down") : "false");
  count.classList.toggle("bad", false);
  picked();
}

function line(row, i) {
  const box = h("input", { type: "checkbox", "aria-label": `Choose ${row.name}`, change: () => toggle(row.name) });
  box.checked = chosen.has(row.name);
  const href = runPage(row.name), { title, tags } = row.labels;
  const share = row.total ? Math.min(1, (row.step ?? 0) / row.total) : 0;
  const state = row.state.split(":")[0];
  const cells = {
    name: [h("a", { href }, title || row.name), ...(title ? [h("small", { class: "under" }, row.name)] : []), ...chips(tags), h("small", { class: "also" }, [row.task, row.cell].filter(Boolean).join(", "))],
    task: row.task ?? "", cell: row.cell ?? "", parameters: asCount(row.parameters),
    step: [asCount(row.step), row.state === "running" ? h("progress", { max: 1, value: share.toFixed(3) }) : ""],
    line: sparkline(row.line),
    best: [asNumber(row.best), h("small", {}, row.best === null ? "" : row.metric ?? "")],
    state: [h("span", { class: `state ${state.replaceAll(" ", "-")}`, title: row.state }, state)],
    changed: asAge(row.changed),
  };
  const found = h("tr", { class: i === place ? "here" : null, "data-name": row.name, click: (event) => {
    if (!event.target.closest("a, input, button") && !String(getSelection())) location.assign(href);
  } }, h("td", { class: "pick" }, box), ...COLUMNS.map(([key, , style]) => h("td", { class: `${style} of-${key}` }, ...[cells[key]].flat())));
  return found;
}

function picked() {
  const there = [...chosen].filter((name) => rows.some((row) => row.name === name));
  compare.hidden = there.length < 2;
  none.hidden = !there.length;
  compare.textContent = `Compare ${there.length}`;
  sessionStorage.setItem("chosen", JSON.stringify([...chosen]));
  for (const row of body.children) row.classList.toggle("chosen", chosen.has(row.dataset.name));
}

function toggle(name) {
  if (!chosen.delete(name)) chosen.add(name);
  const row = [...body.children].find((one) => one.dataset.name === name);
  if (row) row.querySelector("input").checked = chosen.has(name);
  picked();
}

function open() {
  const query = new URLSearchParams();
  for (const name of chosen) if (rows.some((row) => row.name === name)) query.append("run", name);
  location.assign(`/compare?${query}`);
}

function move(by) {
  place = Math.max(0, Math.min(place + by, Math.min(shown.length, most) - 1));
  [...body.children].forEach((row, i) => row.classList.toggle("here", i === place));
  body.children[place]?.scrollIntoView({ block: "nearest" });
}

keys([
  ["/", "filter", () => filter.focus()],
  ["j ArrowDown", "next run", () => move(1)],
  ["k ArrowUp", "previous run", () => move(-1)],
  ["Enter o", "open it", () => shown[place] && location.assign(runPage(shown[place].name))],
  ["x", "choose it", () => shown[place] && toggle(shown[place].name)],
  ["c", "compare the chosen", () => chosen.size > 1 && open()],
]);

async function refresh() {
  try {
    const found = await ask("runs", { mark });
    if (!found.same) {
      ({ mark, runs: rows, trash } = found);
      folder.textContent = found.folder;
      show();
    }
  } catch (error) {
    say(error.message === "Failed to fetch" ? "The server does not answer; trying again." : error.message, true);
  }
}
if (query.get("deleted")) {
  const kept = query.get("deleted");
  deleted.replaceChildren(`${kept.slice(kept.indexOf("/") + 1)} is in the trash. `, h("button", { type: "button", id: "undo", click: () => restore(kept) }, "Undo"));
  deleted.hidden = false;
  history.replaceState(null, "", "/");
}
await refresh();
if (view === "trash") showTrash();
let next = 0;
setInterval(() => {
  if (document.hidden || Date.now() < next) return;
  next = Date.now() + (rows.some((row) => row.state === "running") ? 4500 : 14000);
  refresh();
}, 1000);
document.addEventListener("visibilitychange", () => document.hidden || refresh());

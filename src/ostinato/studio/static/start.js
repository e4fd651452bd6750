// A form with the settings of the command line: the data first, then what matters for the task.
import { ask, h, runPage, say, send } from "./dom.js";
import { browse } from "./browse.js";
import { columns, listed } from "./columns.js";
import { keys } from "./frame.js";

const main = document.getElementById("main");
const wait = h("p", { class: "hint wait" }, "Reading the settings of all tasks, cells and learners …");
main.append(h("div", { class: "title" }, h("h1", {}, "Start a run")),
  h("p", { class: "subtitle" }, "The same settings as ", h("code", {}, "ostinato train --help"), ". What is left empty has its usual value."), wait);
const WORDS = { task: "Task", cell: "Cell", learner: "Learner", network: "Network", training: "Training" };
const SECTIONS = ["task", "network", "cell", "learner", "training"];

let form;
try {
  form = await ask("form");
} catch (error) {
  wait.textContent = error.message;
  throw error;
}
wait.remove();

const given = new Map(), places = new Map(), sentences = new Map(), selects = new Map();
let table = null, chose = false; // the file that is shown, and whether the task was chosen by hand
const name = h("input", { type: "text", id: "name", placeholder: "chosen by itself", autocomplete: "off" });
const line = h("code", { id: "line" });
const go = h("button", { type: "submit", class: "main", id: "go" }, "Start");
const problem = h("p", { class: "notice", hidden: true });
const data = h("section", { id: "data" }), files = h("div", { class: "fields" }), rest = h("div", { class: "fields rest" });
const whole = h("form", { submit: start, novalidate: true });
whole.append(h("div", { class: "first" }, section("task", files), data, rest),
  h("div", { class: "columns" }, ...SECTIONS.slice(1).map((key) => section(key))),
  problem,
  h("div", { class: "foot" }, h("label", { class: "field" }, h("span", {}, "folder"), name), go),
  h("p", { class: "hint" }, line));
main.append(whole);

function roleOf(key) {
  return form.roles.find((one) => one.section === key);
}
const recipe = () => (given.has("cell") ? {} : roleOf("task").members[given.get("task") ?? roleOf("task").usual].recipe);
const memberOf = (key) => given.get(key) ?? (key === "task" ? null : recipe()[key]) ?? roleOf(key).usual;
const fields = (key) => (roleOf(key) ? roleOf(key).members[memberOf(key)].fields : form.shared[key]);

places.set("task", rest);
function section(key, body = h("div", { class: "fields" })) {
  const role = roleOf(key);
  if (!places.has(key)) places.set(key, body);
  if (!role) return h("fieldset", {}, h("legend", {}, WORDS[key]), body);
  const select = h("select", { id: key, "aria-label": WORDS[key], change: () => choose(key, select.value) });
  const words = h("p", { class: "hint sentence", id: `${key}-words` });
  selects.set(key, select);
  sentences.set(key, words);
  return h("fieldset", {}, h("legend", {}, WORDS[key]), select, words, body);
}

function choose(key, value) {
  chose ||= key === "task";
  if (value) given.set(key, value);
  else given.delete(key);
  fillAll();
}

function options(key) {
  const { members } = roleOf(key), now = memberOf(key), names = Object.keys(members);
  const option = (one, words = one) => h("option", { value: one, selected: one === now && (key !== "cell" || !recipe().cell) }, words);
  if (key !== "task") return [...(recipe()[key] ? [h("option", { value: "", selected: !given.has(key) }, `${now} (of the recipe)`)] : []), ...names.map((one) => option(one))];
  const reads = (one) => members[one].fields.some((field) => field.path);
  return [["On files of yours, or made ones", names.filter(reads)], ["Made or downloaded", names.filter((one) => !reads(one))]]
    .map(([label, some]) => h("optgroup", { label }, ...some.map((one) => option(one))));
}

// Text with `code` in it.
const marked = (words) => words.split("`").map((part, i) => (i % 2 ? h("code", {}, part) : part));

function fillAll() {
  for (const key of SECTIONS) {
    selects.get(key)?.replaceChildren(...options(key));
    const more = key === "task" && Object.keys(recipe()).length ? " It has a recipe, which is used as long as no cell is chosen." : "";
    sentences.get(key)?.replaceChildren(...marked(sentence(key) + more));
    fill(key);
  }
  fillData();
  show();
}

// What a member is in a sentence; nothing if several are described by the same one.
function sentence(key) {
  const { members } = roleOf(key), { words } = members[memberOf(key)];
  return Object.values(members).filter((one) => one.words === words).length > 1 ? "" : words;
}

const roles = () => (table?.columns.length ? fields("task").filter((one) => one.columns && one.often) : []);

function fill(key) {
  const body = places.get(key), ticked = new Set(key === "task" ? roles().map((one) => one.name) : []);
  const all = fields(key).filter((one) => !ticked.has(one.name));
  const often = (one) => one.often || one.name in recipe() || given.has(one.name);
  const first = all.filter(often), seldom = all.filter((one) => !often(one));
  if (key === "task") files.replaceChildren(...first.filter((one) => one.path).map(field));
  body.replaceChildren(...first.filter((one) => !one.path).map(field));
  if (seldom.length) body.append(h("details", {}, h("summary", {}, `${seldom.length} more`), ...seldom.map(field)));
}

function fillData() {
  data.hidden = !fields("task").some((one) => one.name === "file");
  if (data.hidden) return;
  if (!table) return data.replaceChildren(h("div", { class: "none" }, h("button", { type: "button", id: "choose", click: () => files.querySelector("[data-for=file]").click() }, "Choose a file"), h("p", { class: "hint" }, "Its columns or its first lines are shown here.")));
  const parts = [h("h2", {}, table.file), ...(table.words ? [h("p", { class: "hint" }, table.words)] : [])];
  const focused = document.activeElement?.dataset?.role && [document.activeElement.closest(".column").dataset.column, document.activeElement.dataset.role];
  if (table.columns.length) parts.push(columns(table, roles(), given, () => { fillData(); show(); }));
  if (table.text) parts.push(h("pre", { tabindex: "0" }, table.text));
  data.replaceChildren(...parts);
  if (focused) // the ticks are made anew
    [...data.querySelectorAll(".column")].find((one) => one.dataset.column === focused[0])?.querySelector(`[data-role="${focused[1]}"]`)?.focus();
}

async function look(file) {
  say("Reading the beginning of the file …");
  try {
    table = { file, ...(await ask("preview", { file })) };
    const has = roleOf("task").members[memberOf("task")].fields.some((one) => one.name === "file");
    if (!chose || !has) given.set("task", table.task);
    forget();
    say("");
  } catch (error) {
    table = null;
    say(error.message, true);
  }
  fillAll();
}

// Ticks of a file that was shown before, on columns that this one does not have.
function forget() {
  const names = new Set(table.columns.map((one) => one.name));
  const every = Object.values(roleOf("task").members).flatMap((one) => one.fields);
  for (const { name } of names.size ? every.filter((one) => one.columns && given.has(one.name)) : []) {
    const left = listed(given.get(name)).filter((one) => names.has(one));
    if (left.length) given.set(name, left.join(","));
    else given.delete(name);
  }
}

function field(one) {
  const value = recipe()[one.name] ?? one.default;
  const usual = value === null ? "" : Array.isArray(value) ? value.join(",") : String(value);
  const change = (event) => {
    const found = read(one, event.target);
    if (found === undefined) given.delete(one.name);
    else given.set(one.name, found);
    show();
  };
  let input;
  if (one.among || one.type === "bool") {
    const choices = one.among ?? ["true", "false"];
    input = h("select", { change }, h("option", { value: "" }, usual ? `${usual} (usual)` : "usual"), ...choices.map((word) => h("option", { value: word }, word)));
  } else {
    input = h("input", { type: "text", inputmode: one.type === "int" || one.type === "float" ? "decimal" : null, placeholder: usual || (one.path ? "none" : "usual"), autocomplete: "off", spellcheck: "false", input: change });
  }
  input.name = one.name;
  if (given.has(one.name)) input.value = String(given.get(one.name));
  const label = h("label", { class: "field", title: one.help }, h("span", {}, one.name.replaceAll("_", " ")), input, h("small", {}, one.help));
  if (!one.path) return label;
  const pick = h("button", { type: "button", class: "quiet pick-file", "data-for": one.name, click: () => browse(({ file, given: words }) => {
    given.set(one.name, words);
    if (one.name === "file") look(file);
    else fillAll();
  }) }, "Choose a file …");
  return h("div", { class: "with-file" }, label, pick);
}

function read(one, input) {
  const words = input.value.trim();
  if (!words) return undefined;
  if (one.type === "bool") return words === "true";
  if (one.type === "tuple") {
    const numbers = words.split(",").map((part) => (part.trim() ? Number(part) : NaN));
    return numbers.every(Number.isInteger) ? (numbers.length > 1 ? numbers : numbers[0]) : words;
  }
  if (one.type === "int" || one.type === "float") return Number.isFinite(Number(words)) ? Number(words) : words;
  return words;
}

function settings() {
  const known = new Set(SECTIONS.flatMap((key) => fields(key).map((one) => one.name)));
  return Object.fromEntries([...given].filter(([key]) => known.has(key) || selects.has(key)));
}

function show() {
  const quoted = (word) => (/^[\w.,:/+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);
  const words = ["ostinato train"];
  const found = settings();
  if (found.file !== undefined) words.push(quoted(String(found.file)));
  for (const [key, value] of Object.entries(found)) {
    if (key === "file") continue;
    const option = key.replaceAll("_", "-");
    words.push(value === true ? `--${option}` : value === false ? `--no-${option}` : `--${option} ${quoted(String(value))}`);
  }
  line.replaceChildren(...words.flatMap((word) => [h("span", {}, word), " "]));
}

async function start(event) {
  event.preventDefault();
  go.disabled = true;
  problem.hidden = true;
  say("Checking the settings …");
  try {
    const { name: run } = await send("start", { settings: settings(), name: name.value.trim() });
    say(`${run} is starting …`);
    for (let i = 0; i < 120; i++) {
      const { job, there } = await ask("job", { name: run });
      if (there) return location.assign(runPage(run));
      if (job?.ended) throw new Error(job.words || "it ended at once");
      await new Promise((done) => setTimeout(done, 500));
    }
    throw new Error("it has not started within a minute; look at the list of runs");
  } catch (error) {
    problem.textContent = error.message;
    problem.hidden = false;
    say("");
  } finally {
    go.disabled = false;
  }
}
fillAll();
keys([
  ["/", "choose a file", () => document.querySelector(".pick-file")?.click()],
  ["Enter", "start", () => whole.requestSubmit()],
]);

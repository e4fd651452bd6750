// A form with the settings of the command line.
import { ask, h, say, send } from "./dom.js";
import { keys } from "./frame.js";

const main = document.getElementById("main");
const wait = h("p", { class: "hint wait" }, "Reading the settings of all tasks, cells and learners …");
main.append(h("div", { class: "title" }, h("h1", {}, "Start a run")),
  h("p", { class: "subtitle" }, "The same settings as ", h("code", {}, "ostinato train --help"), ". What is left empty has its usual value."), wait);
const OFTEN = new Set(["file", "length", "units", "layers", "budget", "rate", "clip", "batch", "steps", "lens", "seed", "patience", "validate_every"]);
const WORDS = { task: "Task", cell: "Cell", learner: "Learner", first: "Takes turns with", network: "Network", training: "Training" };

let form;
try {
  form = await ask("form");
} catch (error) {
  wait.textContent = error.message;
  throw error;
}
wait.remove();

const given = new Map();
const name = h("input", { type: "text", id: "name", placeholder: "chosen by itself", autocomplete: "off" });
const places = new Map();
const line = h("code", { id: "line" });
const go = h("button", { type: "submit", class: "main", id: "go" }, "Start");
const problem = h("p", { class: "notice", hidden: true });
const whole = h("form", { submit: start, novalidate: true });
whole.append(h("div", { class: "columns" }, ...["task", "network", "cell", "learner", "training"].map(section)),
  problem,
  h("div", { class: "foot" }, h("label", { class: "field" }, h("span", {}, "folder"), name), go),
  h("p", { class: "hint" }, line));
main.append(whole);
show();

function section(key) {
  const role = form.roles.find((one) => one.section === key);
  const body = h("div", { class: "fields" });
  places.set(key, body);
  if (!role) return h("fieldset", {}, h("legend", {}, WORDS[key]), body);
  const select = h("select", { id: key, "aria-label": WORDS[key], change: () => { given.set(key, select.value); fill(key); show(); } },
    ...Object.keys(role.members).map((member) => h("option", { value: member, selected: member === role.usual }, member)));
  return h("fieldset", {}, h("legend", {}, WORDS[key]), select, body);
}

function fields(key) {
  const role = form.roles.find((one) => one.section === key);
  return role ? role.members[given.get(key) ?? role.usual] : form.shared[key];
}

function fill(key) {
  const body = places.get(key), all = fields(key);
  const often = all.filter((one) => OFTEN.has(one.name)), seldom = all.filter((one) => !OFTEN.has(one.name));
  body.replaceChildren(...often.map(field));
  if (seldom.length) body.append(h("details", { open: seldom.some((one) => given.has(one.name)) }, h("summary", {}, `${seldom.length} more`), ...seldom.map(field)));
}

function field(one) {
  const usual = one.default === null ? "" : Array.isArray(one.default) ? one.default.join(",") : String(one.default);
  const change = (event) => {
    const value = read(one, event.target);
    if (value === undefined) given.delete(one.name);
    else given.set(one.name, value);
    show();
  };
  let input;
  if (one.among || one.type === "bool") {
    const choices = one.among ?? ["true", "false"];
    input = h("select", { change }, h("option", { value: "" }, usual ? `${usual} (usual)` : "usual"), ...choices.map((word) => h("option", { value: word }, word)));
  } else {
    input = h("input", { type: "text", inputmode: one.type === "int" || one.type === "float" ? "decimal" : null, placeholder: usual || "usual", autocomplete: "off", spellcheck: "false", input: change });
  }
  input.name = one.name;
  if (given.has(one.name)) input.value = String(given.get(one.name));
  return h("label", { class: "field", title: one.help }, h("span", {}, one.name.replaceAll("_", " ")), input, h("small", {}, one.help));
}

function read(one, input) {
  const words = input.value.trim();
  if (!words) return undefined;
  if (one.type === "bool") return words === "true";
  if (one.type === "int" || one.type === "float") return Number.isFinite(Number(words)) ? Number(words) : words;
  return words;
}

function settings() {
  const known = new Set(["task", "network", "cell", "learner", "training"].flatMap((key) => fields(key).map((one) => one.name)));
  const found = Object.fromEntries([...given].filter(([key]) => known.has(key) || ["task", "cell", "learner"].includes(key)));
  // Without a cell, a task's own recipe would replace what the form shows.
  if (form.recipes.includes(found.task)) found.cell ??= form.roles.find((one) => one.section === "cell").usual;
  return found;
}

function show() {
  for (const [key, body] of places) if (!body.childNodes.length) fill(key);
  const quoted = (word) => (/^[\w.,:/+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);
  const words = ["ostinato train"];
  const found = settings();
  if (found.file !== undefined) words.push(quoted(String(found.file)));
  for (const [key, value] of Object.entries(found)) {
    if (key === "file") continue;
    const option = key.replaceAll("_", "-");
    words.push(value === true ? `--${option}` : value === false ? `--no-${option}` : `--${option} ${quoted(String(value))}`);
  }
  line.textContent = words.join(" ");
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
      if (there) return location.assign(`/run?name=${encodeURIComponent(run)}`);
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
keys([["Enter", "start", () => whole.requestSubmit()]]);

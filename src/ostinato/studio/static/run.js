// One run, live: numbers as they come, charts as often as they are cheap to draw.
import { asCount, asNumber, ask, asTime, h, nothing, pair, say, send } from "./dom.js";
import { Charts, ready } from "./charts.js";
import { keys } from "./frame.js";
import { Labels } from "./labels.js";
import { tabs } from "./tabs.js";

const main = document.getElementById("main");
const name = new URLSearchParams(location.search).get("name") ?? "";
const charts = new Charts(zoom);
let shown = null, view = null, heard = [], live = 0, source = null, dirty = false, next = 0, cost = 0, offset = 0, asked = false;

const state = h("span", { class: "state" });
const title = h("h1", {}, name);
const labels = new Labels(name, (kept) => { view.row.labels = kept; showState(); });
const pages = tabs(name, "run");
const subtitle = h("p", { class: "subtitle" });
const notice = h("p", { class: "notice", hidden: true });
const reading = h("p", { class: "hint wait", id: "reading", hidden: true }, "A sample of a long log; all of it is being read …");
const numbers = h("dl", { class: "numbers" });
const notes = h("ul", { class: "hint notes", id: "notes", hidden: true });
const progress = h("progress", { max: 1, value: 0, "aria-label": "Progress" });
const stop = h("button", { type: "button", id: "stop", hidden: true, click: () => act("stop", "It will stop after this step, and save a checkpoint.") }, "Stop");
const resume = h("button", { type: "button", id: "resume", hidden: true, click: () => goOn() }, "Resume");
const steps = h("input", { type: "number", id: "steps", min: 1, step: 1, });
const total = h("label", { class: "small beside-it", hidden: true }, h("span", {}, "steps in all"), steps);
const sections = h("div", { id: "sections" });
const findings = h("section", { id: "findings" });
const samples = h("section", { id: "samples", hidden: true });
const settings = h("section", { id: "settings" });
main.append(
  h("div", { class: "title" }, title, state, h("span", { class: "room" }), labels.edit, total, stop, resume),
  labels.element, pages, subtitle, notes, notice, progress, numbers, reading, sections, findings, samples, settings);

// Numbers: [key, what it is called, how it is written].
const NUMBERS = [
  ["step", "step", (n) => (n.total ? `${asCount(n.step)} of ${asCount(n.total)}` : asCount(n.step))],
  ["loss", "training loss", (n) => (n.loss === undefined ? "–" : asNumber(n.loss * (n.factor ?? 1)))],
  ["best", "best validation", (n) => (n.best ? `${asNumber(n.best.value)} at ${asCount(n.best.step)}` : "none yet")],
  ["left", "time left", (n) => (view.row.state === "running" ? asTime(n.left) : null)],
  ["seconds", "time", (n) => asTime(n.seconds)],
  ["speed", "speed", (n) => (n.speed ? `${asCount(n.speed)} symbols/s` : "–")],
  ["epochs", "epochs", (n) => (n.epochs === undefined ? null : asNumber(n.epochs, 3))],
  ["parameters", "parameters", (n) => asCount(n.parameters)],
  ["chance", "chance", (n) => (n.baselines?.chance === undefined ? null : asNumber(n.baselines.chance))],
];
const cells = new Map(NUMBERS.map(([key, words]) => {
  const value = h("dd", { id: `n-${key}` });
  const whole = h("div", {}, h("dt", {}, words), value);
  numbers.append(whole);
  return [key, { whole, value }];
}));

function showNumbers() {
  const found = view.numbers;
  for (const [key, , write] of NUMBERS) {
    const words = write(found), { whole, value } = cells.get(key);
    whole.hidden = words === null;
    if (words !== null && value.textContent !== words) value.textContent = words;
  }
  progress.value = found.total ? Math.min(1, found.step / found.total) : 0;
  progress.hidden = view.row.state !== "running";
}

function showState() {
  const row = view.row, short = row.state.split(":")[0];
  state.className = `state ${short.replaceAll(" ", "-")}`;
  state.textContent = row.state;
  title.textContent = row.labels.title || name;
  document.title = `${title.textContent} – Ostinato`;
  labels.set(row.labels);
  subtitle.textContent = [row.labels.title && name, row.task, row.cell && `${row.cell} cells`, row.learner && `trained with ${row.learner}`, view.numbers.device && `on ${view.numbers.device}`].filter(Boolean).join(", ");
  const broken = short === "broken";
  stop.hidden = row.state !== "running";
  resume.hidden = total.hidden = row.state === "running" || broken || short === "diverged";
  const planned = view.numbers.total ?? row.total ?? 1;
  steps.min = view.numbers.step || 1;
  if (document.activeElement !== steps) steps.value = row.state === "done" ? 2 * planned : planned;
  resume.textContent = row.state === "done" ? "Continue" : "Resume";
  const words = view.notice || (view.job?.ended && view.job.code > 0 && row.state !== "running" ? view.job.words : "");
  notes.replaceChildren(...view.notes.map((note) => h("li", {}, note)));
  notes.hidden = !view.notes.length;
  notice.textContent = words;
  notice.hidden = !words;
}

async function load() {
  const started = performance.now();
  view = await ask("run", { name, sample: view === null ? 1 : 0 });
  offset = view.offset;
  heard = [];
  showState();
  showNumbers();
  const placed = [];
  for (const { heading, charts: own } of view.sections) {
    let section = [...sections.children].find((one) => one.dataset.heading === heading);
    if (!section) {
      section = h("section", { "data-heading": heading }, h("h2", {}, heading), h("div", { class: "grid" }));
      sections.append(section);
    }
    for (const chart of own) placed.push([chart, section.lastChild]);
  }
  charts.show(placed);
  if (!view.sections.length) sections.replaceChildren(h("p", { class: "hint" }, "Its log has no events yet."));
  else sections.querySelector(":scope > p")?.remove();
  showSamples();
  showSettings();
  cost = performance.now() - started;
  reading.hidden = !view.sampled;
  if (view.sampled) setTimeout(() => load().catch(() => (dirty = true)), 1500); // after it was drawn
}

// A chart with all events between two steps, if it does not have them yet.
async function zoom(chart, from, to) {
  if (view.whole || view.sampled) return null;
  try {
    return await ask("chart", { name, chart, from, to });
  } catch (error) {
    say(error.message, true);
    return null;
  }
}

function showSamples() {
  samples.hidden = !view.samples.length;
  samples.replaceChildren(h("h2", {}, "Samples"), h("p", { class: "hint" }, "Made by the network at validations, the latest first."),
    h("div", { class: "samples" }, ...view.samples.map(article)));
}

// Text stays text, and a line of blocks is never broken.
function article({ step, value, text }) {
  return h("article", {},
    h("h3", {}, `Step ${asCount(step)}`, h("small", {}, value === null ? "" : ` ${asNumber(value)} ${view.numbers.metric ?? ""}`)),
    h("pre", { lang: "zxx", class: /[\u2580-\u259f]/.test(text) ? "unbroken" : null, tabindex: "0" }, text));
}

function showSettings() {
  const pairs = (values) => Object.entries(values).map(([key, value]) => pair(key, value === null ? "–" : String(value)));
  const used = Object.entries(view.used).filter(([key]) => String(view.row.settings[key] ?? "–") !== String(view.used[key]));
  settings.replaceChildren(h("h2", {}, "Settings"),
    h("p", { class: "hint" }, "Everything that the run was started with, from its config.json."),
    h("dl", { class: "settings" }, ...pairs(view.row.settings)),
    ...(used.length ? [h("h3", {}, "Worked out at the start"), h("dl", { class: "settings" }, ...pairs(Object.fromEntries(used)))] : []),
    h("h3", {}, "Versions"), h("dl", { class: "settings" }, ...pairs(view.versions)));
}

// The doctor needs the network and a few seconds: for a run that trains only when asked.
function showFindings() {
  const answer = h("div", {});
  const button = h("button", { type: "button", id: "examine", click: () => examine() }, "Examine");
  findings.replaceChildren(h("h2", {}, "Findings"), answer);
  async function examine() {
    answer.replaceChildren(h("p", { class: "hint wait" }, "The doctor is looking at the log, the data and the network …"));
    try {
      const { findings: found } = await ask("findings", { name });
      answer.replaceChildren(...(found.length ? found.map(finding) : [h("p", { class: "fine" }, "No finding: nothing looks wrong.")]));
    } catch (error) {
      answer.replaceChildren(h("p", { class: "hint" }, error.message), button);
    }
  }
  if (view.row.state === "running") answer.replaceChildren(h("p", { class: "hint" }, "The doctor measures the network of the last checkpoint, which takes some of the processor."), button);
  else if (!view.row.state.startsWith("broken") && view.checkpoint) examine(); // the doctor needs a network
  else findings.hidden = true;
}
const finding = (one) => h("article", { class: "finding" }, h("h3", {}, one.name), h("p", {}, one.words),
  h("p", { class: "evidence" }, one.evidence), h("p", { class: "advice" }, h("b", {}, "Try "), one.advice));

async function act(what, words, more = {}) {
  try {
    await send(what, { name, ...more });
    say(words);
    setTimeout(() => reload(), 1500);
  } catch (error) {
    say(error.message, true);
  }
}
function goOn() {
  const wanted = Math.round(Number(steps.value));
  const more = wanted && wanted !== view.numbers.total ? { steps: wanted } : {};
  act("resume", "It is starting, which takes a few seconds.", more);
  asked = true;
}

// Events as they come: numbers at once, charts when there is time.
function hear(event) {
  const found = view.numbers;
  if (event.kind === "train") {
    if (event.took > 0 && event.symbols) found.speed = 0.8 * (found.speed ?? event.symbols / event.took) + (0.2 * event.symbols) / event.took;
    const each = (event.took ?? 0) / Math.max(1, event.step - found.step);
    if (found.total && each > 0) found.left = 0.9 * (found.left ?? each * (found.total - event.step)) + 0.1 * each * (found.total - event.step);
    if (found.epochs !== undefined && found.step) found.epochs *= event.step / found.step;
    found.seconds += event.took ?? 0;
    Object.assign(found, { step: event.step, loss: event.loss ?? undefined });
    if (view.row.state !== "running") view.row.state = "running", showState();
  } else if (event.kind === "valid" && event.value !== null) {
    const better = !found.best || (found.higher ? event.value > found.best.value : event.value < found.best.value);
    if (better) found.best = { step: event.step, value: event.value };
    pages.refresh(); // the first checkpoint may be there
  } else if (["start", "resume", "end", "diverged"].includes(event.kind)) setTimeout(reload, 700);
  dirty = true;
  heard.push(event);
  shown ??= setTimeout(() => { shown = null; showNumbers(); }, 250); // once for all that come together
  main.dataset.heard = String(event.step);
}

function follow() {
  source?.close();
  source = new EventSource(`/api/events?${new URLSearchParams({ name, after: offset })}`);
  source.addEventListener("message", (message) => {
    offset = Number(message.lastEventId);
    hear(JSON.parse(message.data));
  });
  source.addEventListener("reset", () => { source.close(); setTimeout(reload, 1000); });
  source.addEventListener("error", () => {
    if (source.readyState === EventSource.CLOSED) setTimeout(() => document.hidden || follow(), 2000);
  });
}

async function reload() {
  try {
    const before = view?.row.state;
    await load();
    follow();
    if (before && before !== view.row.state) showFindings();
    if (asked && view.job?.ended && view.job.code > 0) say(view.job.words, true), asked = false;
    else if (asked && view.row.state !== "running") setTimeout(reload, 2000);
    else asked = false;
  } catch (error) {
    say(error.message === "Failed to fetch" ? "The server does not answer; trying again." : error.message, true);
    if (error.message === "Failed to fetch") setTimeout(reload, 2000);
  }
}

// The curves go as far as the numbers say: what was heard since they were made is added to them.
function extend() {
  const points = { training: [], validation: [] }, { factor } = view.numbers;
  for (const { kind, step, loss, value } of heard) {
    if (kind === "train") points.training.push([step, loss === null || loss === undefined ? null : loss * (factor ?? 1)]);
    if (kind === "valid") points.validation.push([step, value]);
  }
  heard = [];
  const drawn = ["loss", "validation"].map((key) => charts.get(key)).filter((chart) => chart?.extend(points));
  live = performance.now() + Math.max(1000, 50 * drawn.reduce((sum, chart) => sum + chart.cost, 0));
}

// Drawing all charts may take half a hundredth of the time, so that an open page costs a run next to
// nothing; the curves alone, which are quick to draw, a fiftieth.
setInterval(async () => {
  if (heard.length && view && !document.hidden && performance.now() > live) extend();
  if (!dirty || document.hidden || performance.now() < next) return;
  dirty = false;
  const started = performance.now();
  await load().catch(() => {});
  const drawn = [...charts.values()].reduce((sum, chart) => sum + (chart.visible ? chart.cost : 0), 0);
  next = performance.now() + Math.min(60000, Math.max(2000, 200 * (drawn + Math.min(cost, performance.now() - started))));
}, 500);
document.addEventListener("visibilitychange", () => {
  if (document.hidden) source?.close();
  else if (view) follow();
});

keys([
  ["u Backspace", "back to the runs", () => location.assign("/")],
  ["s", "stop or resume", () => (stop.hidden ? resume.hidden || goOn() : stop.click())],
  ["i", "inside", () => pages.querySelector("[data-page=inside]")?.click()],
  ["p", "play", () => pages.querySelector("[data-page=play]")?.click()],
  ["n", "name, tags, note", () => labels.toggle(true)],
  ["e", "examine", () => document.getElementById("examine")?.click()],
]);

try {
  ready(); // plotly.js comes while the log is read
  await load();
  follow();
  showFindings();
} catch (error) {
  nothing("No such run", `${error.message}.`);
}

// A text, coloured by what a network expects or by one of its units.
import { asNumber, ask, guess, h, nothing, runPage, say, send, table } from "./dom.js";
import { Chart, tableDownload } from "./charts.js";
import { keys } from "./frame.js";
import { tabs } from "./tabs.js";

const main = document.getElementById("main");
const name = new URLSearchParams(location.search).get("name") ?? "";
document.title = `Inside ${name} – Ostinato`;
let view, text = "", colour = "surprise", values = null, chosen = null, begin = 0, pieces = [], spans = [], moved = null;

const wait = h("p", { class: "hint wait" }, "The network is reading …");
const by = h("div", { class: "choice", role: "group", "aria-label": "Colour by" },
  ...[["surprise", "Surprise"], ["unit", "A unit"], ["none", "Nothing"]].map(([key, words]) => h("button", { type: "button", "data-by": key, click: () => paint(key) }, words)));
const group = h("select", { id: "group", change: () => { number.max = String(view.groups[group.value] - 1); showUnit(); } });
const number = h("input", { type: "number", id: "unit", min: 0, value: 0, input: () => showUnit() });
const labelled = (words, box) => h("label", { class: "small" }, h("span", {}, words), box);
const unit = h("span", { class: "unit" }, labelled("state, memory or gate", group), labelled("unit", number));
const pattern = h("select", { id: "pattern", change: () => { expression.parentNode.hidden = pattern.value !== "regex"; labels.hidden = pattern.value !== "labels"; } },
  ...[["brackets", "inside brackets"], ["quotes", "inside quotes"], ["line", "position in the line"], ["word", "position in the word"], ["regex", "a regular expression"], ["labels", "labels of your own"]].map(([key, words]) => h("option", { value: key }, words)));
const expression = h("input", { type: "text", id: "expression", placeholder: "def \\w+", spellcheck: "false" });
const regex = h("label", { class: "small wider", hidden: true }, h("span", {}, "regular expression"), expression);
const LONGEST = 60_000; // characters of a request
const file = h("input", { type: "text", id: "labels-file", placeholder: "labels.txt", spellcheck: "false", autocomplete: "off" });
const one = h("input", { type: "text", id: "label", placeholder: "only if there are several", spellcheck: "false", autocomplete: "off" });
const pasted = h("textarea", { id: "labels", rows: 4, placeholder: "One label per line and piece of the text: two different labels, or numbers", spellcheck: "false" });
const labels = h("div", { class: "play", id: "own-labels", hidden: true }, labelled("labels", pasted),
  h("div", { class: "fields" },
    h("label", { class: "small wider", title: "a file below the folder of the studio, with one label per line" }, h("span", {}, "or a file below the studio's folder"), file),
    h("label", { class: "small wider", title: "needed if there are several labels" }, h("span", {}, "this label against all others"), one)));
const found = h("div", { id: "found" });
const own = h("textarea", { id: "own", rows: 3, placeholder: "Type a text, or leave this empty for the validation part", "aria-labelledby": "own-heading", spellcheck: "false" });
const place = h("div", { id: "text", class: "text", lang: "zxx", tabindex: "0", click: (event) => event.target.dataset?.at && choose(Number(event.target.dataset.at)) });
const scale = h("p", { class: "hint", id: "scale" });
const more = h("div", { class: "bar" });
const detail = h("aside", { id: "detail" });
const body = h("div", { hidden: true },
  h("div", { class: "bar" }, by, unit, h("span", { class: "room" })),
  scale, h("div", { class: "beside" }, h("div", {}, place, more), detail),
  h("section", {}, h("h2", {}, "Find a unit"),
    h("p", { class: "hint" }, "Ranks all units by how well they follow a pattern. Unit, sign and threshold are chosen on the first half of the text and scored on the second; chance is the best of as many units with the pattern rotated."),
    h("div", { class: "bar low" }, labelled("pattern", pattern), regex, h("button", { type: "button", id: "find", class: "main", click: () => find() }, "Find")), labels, found),
  h("section", {}, h("h2", { id: "own-heading" }, "Your own text"), own, h("p", {}, h("button", { type: "button", id: "read", click: () => { text = own.value; begin = 0; load(); } }, "Read it"))));
main.append(h("div", { class: "title" }, h("h1", {}, name)), tabs(name, "inside"), wait, body);

const question = (what, more = {}) => send("inside", { name, what, ...(text ? { text } : {}), ...more });

async function load() {
  wait.hidden = false;
  wait.className = "hint wait";
  try {
    view = await question("read", { begin });
  } catch (error) {
    const known = await ask("pages", { name }).catch(() => null);
    if (!known) return nothing("No such run", `${error.message}.`);
    wait.className = "notice";
    wait.textContent = error.message;
    return;
  }
  wait.hidden = true;
  body.hidden = false;
  pieces = view.pieces;
  values = chosen = moved = null;
  detail.replaceChildren(h("p", { class: "hint" }, `Click a ${view.unit ?? "piece"} to see what was expected there, how far back its loss reaches, and where else the network was in a similar state.`));
  if (!group.options.length) {
    group.append(...Object.keys(view.groups).map((key) => h("option", { value: key }, key)));
    number.max = String(view.groups[group.value] - 1);
  }
  spans = pieces.map(({ at, piece }) => {
    const end = piece === "\n";
    return h("span", { "data-at": at, class: end ? "end" : null }, end ? "↵\n" : piece);
  });
  place.replaceChildren(...spans);
  const last = begin + pieces.length;
  more.replaceChildren(
    h("span", { class: "hint" }, `${view.where}, with the weights of step ${view.step.toLocaleString("en")}: ${(begin + 1).toLocaleString("en")} to ${last.toLocaleString("en")} of ${view.count.toLocaleString("en")}`),
    begin ? h("button", { type: "button", class: "quiet", click: () => turn(-1) }, "Back") : "",
    last < view.count ? h("button", { type: "button", class: "quiet", id: "on", click: () => turn(1) }, "Next page") : "");
  if (colour === "unit") await showUnit();
  else paint(colour);
}
const turn = (by) => { begin = Math.max(0, begin + by * 2000); load(); };

function paint(key) {
  if (key === "unit" && !values) return showUnit();
  colour = key;
  for (const button of by.children) button.setAttribute("aria-pressed", String(button.dataset.by === key));
  unit.hidden = key !== "unit";
  const numbers = key === "surprise" ? pieces.map((one) => one.surprise ?? 0) : key === "unit" ? values : pieces.map(() => 0);
  const most = Math.max(...numbers.map(Math.abs)) || 1;
  spans.forEach((span, i) => {
    const share = numbers[i] / most;
    span.style.backgroundColor = Math.abs(share) > 0.02 ? OstinatoLook.tint(share) : "";
    span.title = tip(i);
  });
  const mean = pieces.filter((one) => one.surprise !== null);
  scale.textContent = key === "surprise"
    ? `The redder, the less the network expected what came: at most ${asNumber(most, 3)} bits here, ${asNumber(mean.reduce((sum, one) => sum + one.surprise, 0) / Math.max(1, mean.length), 3)} on average.`
    : key === "unit" ? `${group.value}[${number.value}] after each piece: red is positive, blue is negative, at most ${asNumber(most, 3)}.` : "";
  if (moved) mark();
}

function tip(i) {
  const one = pieces[i];
  const words = one.expected.map(([piece, p]) => `${JSON.stringify(piece)} ${(100 * p).toFixed(1)}%`).join("  ");
  return `${one.surprise === null ? "" : `${one.surprise.toFixed(2)} bits; `}expected ${words || "nothing"}${values && colour === "unit" ? `; unit ${values[i]}` : ""}`;
}

async function showUnit() {
  const index = Math.round(Number(number.value));
  if (number.value === "" || !(index >= 0 && index < view.groups[group.value])) return;
  try {
    ({ values } = await question("unit", { unit: `${group.value}[${index}]`, begin }));
    paint("unit");
  } catch (error) {
    say(error.message, true);
  }
}

// What to look for. Labels are sent as they are, or as the name of a file that the server reads.
function wanted() {
  if (pattern.value === "regex") return { pattern: `regex:${expression.value}` };
  if (pattern.value !== "labels") return { pattern: pattern.value };
  const label = one.value.trim(), name = file.value.trim();
  if (!name && JSON.stringify(pasted.value).length > LONGEST) throw new Error("These are too many labels to paste; put them into a file below the studio's folder.");
  return { pattern: "labels", label, ...(name ? { file: name } : { labels: pasted.value }) };
}

async function find() {
  found.replaceChildren(h("p", { class: "hint wait" }, "Looking at all units, and at what chance would reach …"));
  try {
    const asked = wanted(), answer = await question("find", asked), before = h("span", { class: "hint" }, " The network before training is asked, too …");
    const chance = answer.chance;
    const rows = answer.units.map((one) => [one.unit, asNumber(one.chosen, 3), asNumber(one.score, 3), one.threshold === null ? (one.sign > 0 ? "+" : "−") : `${one.sign > 0 ? "above" : "below"} ${asNumber(one.threshold, 3)}`]);
    const head = ["Unit", "Where it was chosen", "Held out", "Rule"];
    found.replaceChildren(
      h("p", {}, `The best of ${answer.searched.toLocaleString("en")} units is ${answer.units[0].unit}: ${answer.measure} ${asNumber(answer.units[0].score, 3)} on held-out text. `,
        `The best by chance reaches ${asNumber(chance.mean, 3)} on average and ${asNumber(chance.highest, 3)} at most, in ${chance.draws} draws.`, before),
      table(head, rows.map(([name, ...cells]) => [h("button", { type: "button", class: "quiet", click: () => goTo(name) }, name), ...cells])),
      tableDownload("units", () => [head, ...rows]));
    await goTo(answer.units[0].unit, false);
    compare(asked, before);
  } catch (error) {
    found.replaceChildren(h("p", { class: "notice" }, error.message));
  }
}

// The network before training reads the text once more, so its score comes later.
async function compare(asked, words) {
  try {
    const best = await question("untrained", asked);
    words.replaceWith(best ? ` Before training the best reached ${asNumber(best.score, 3)}.` : "");
  } catch (error) {
    words.replaceWith(` ${error.message}`);
  }
}

async function goTo(which, scroll = true) {
  const parts = /^(.*)\[(\d+)\]$/.exec(which);
  if (!parts || !(parts[1] in view.groups)) return;
  group.value = parts[1];
  number.max = String(view.groups[parts[1]] - 1);
  number.value = parts[2];
  await showUnit();
  if (scroll) by.scrollIntoView({ block: "nearest" });
}

function mark() {
  for (const span of spans) span.classList.remove("moved", "chosen");
  spans[chosen - begin]?.classList.add("chosen");
  const most = Math.max(...moved.map((one) => one.norm)) || 1;
  for (const one of moved) {
    const span = spans[one.at - begin];
    if (span && one.norm > 0.05 * most) {
      span.classList.add("moved");
      span.style.setProperty("--share", (one.norm / most).toFixed(3));
    }
  }
}

async function choose(at) {
  chosen = at;
  moved = [];
  mark();
  detail.replaceChildren(h("p", { class: "hint wait" }, "Going back through time …"));
  try {
    const [one, alike] = [await question("reach", { at }), await question("similar", { at })];
    if (chosen !== at) return;
    moved = one.reach?.moved ?? [];
    mark();
    const bars = one.expected.map(guess);
    const near = alike.map((place) => h("p", { class: "near" }, h("small", {}, `${place.at.toLocaleString("en")}, cosine ${place.cosine.toFixed(3)}`), h("br"),
      h("code", {}, place.before.join("").replaceAll("\n", "↵"), h("b", {}, place.piece.replaceAll("\n", "↵")), place.after.join("").replaceAll("\n", "↵"))));
    detail.replaceChildren(
      h("h3", {}, `Piece ${at.toLocaleString("en")}: `, h("code", {}, JSON.stringify(one.piece)), h("small", {}, one.surprise === null ? "" : ` ${one.surprise.toFixed(2)} bits`)),
      h("p", { class: "hint" }, "What the network expected here:"), ...bars,
      ...(one.reach ? [h("p", { class: "hint" }, `Underlined: what moved the loss of ${JSON.stringify(one.reach.target)}, the thicker the more.`), new Chart(one.reach.chart).element] : [h("p", { class: "hint" }, "There is no loss here.")]),
      h("h3", {}, "Similar states"), ...near);
  } catch (error) {
    detail.replaceChildren(h("p", { class: "notice" }, error.message));
  }
}

const step = (by) => { if (chosen !== null) choose(Math.max(begin, Math.min(chosen + by, begin + pieces.length - 1))); };
keys([
  ["/", "find a unit", () => pattern.focus()],
  ["1", "colour by surprise", () => paint("surprise")],
  ["2", "colour by a unit", () => paint("unit")],
  ["j", "next unit", () => { number.stepUp(); showUnit(); }],
  ["k", "previous unit", () => { number.stepDown(); showUnit(); }],
  ["ArrowRight", "next piece", () => step(1)],
  ["ArrowLeft", "previous piece", () => step(-1)],
  ["u Backspace", "back to the run", () => location.assign(runPage(name))],
]);
await load();

// Claims from the literature, with their verdicts, each checked again at a click.
import { asNumber, asTime, ask, h, pair, say, send } from "./dom.js";
import { tableDownload } from "./charts.js";
import { keys } from "./frame.js";

const main = document.getElementById("main");
const wait = h("p", { class: "hint wait" }, "Reading the claims …");
const summary = h("p", { class: "subtitle" }, "Statements on recurrent networks from the literature, each decided by a computation.");
main.append(h("div", { class: "title" }, h("h1", {}, "Claims")), summary, wait);
let found;
try {
  found = await ask("claims");
} catch (error) {
  wait.textContent = error.message;
  throw error;
}
wait.remove();
const checked = new Map(Object.entries(found.checked).map(([key, value]) => [key.slice("claim:".length), value]));
const kind = (verdict) => (verdict === "holds" ? "holds" : verdict === "false" ? "false" : "when");
const filter = h("input", { type: "search", placeholder: "a word of it", input: () => show() });
const count = h("p", { class: "hint" });
const list = h("div", { class: "claims" });
main.append(h("div", { class: "bar" }, h("label", { class: "filter" }, h("span", {}, "filter"), filter), count, h("span", { class: "room" }),
  tableDownload("claims", () => [["claim", "text", "source", "verdict"], ...found.claims.map((one) => [one.name, one.text, one.source, one.known])])), list);
const items = new Map(found.claims.map((one) => [one.name, item(one)]));
list.append(...items.values());
show();

function item(one) {
  const answer = h("div", { class: "answer" });
  const button = h("button", { type: "button", class: "quiet", "data-claim": one.name, click: () => run() }, "Check");
  const verdict = h("p", { class: `verdict ${kind(one.known)}` }, one.known);
  const whole = h("article", { tabindex: "0" }, h("div", { class: "head" }, h("h3", {}, one.name), button), verdict, h("p", {}, one.text), h("p", { class: "hint" }, one.source), answer);
  const tell = (result) => {
    const numbers = h("dl", { class: "settings" }, ...Object.entries(result.numbers).map(([key, value]) => pair(key, asNumber(value))));
    const figure = result.figure ? h("img", { class: "figure", alt: `Figure of ${one.name}`, src: URL.createObjectURL(new Blob([result.figure], { type: "image/svg+xml" })) }) : null;
    answer.replaceChildren(h("p", { class: result.reproduces ? "fine" : "notice" }, `${result.reproduces ? "Checked now" : `Not as known: ${result.verdict}`}: ${result.evidence} (${asTime(result.seconds)})`), numbers, ...(figure ? [figure] : []));
  };
  async function run() {
    button.disabled = true;
    answer.replaceChildren(h("p", { class: "hint wait" }, "Computing …"));
    try {
      const result = await send("verify", { name: one.name });
      checked.set(one.name, result);
      tell(result);
    } catch (error) {
      answer.replaceChildren();
      say(error.message, true);
    }
    button.disabled = false;
    show();
  }
  if (checked.has(one.name)) tell(checked.get(one.name));
  return whole;
}

function show() {
  const words = filter.value.trim().toLowerCase();
  let shown = 0;
  for (const one of found.claims) {
    const hit = [one.name, one.text, one.source, one.known].some((text) => text.toLowerCase().includes(words));
    items.get(one.name).hidden = !hit;
    shown += hit;
  }
  const kinds = ["holds", "when", "false"].map((key) => found.claims.filter((one) => kind(one.known) === key).length);
  count.textContent = words ? `${shown} of ${found.claims.length}` : `${kinds[0]} hold, ${kinds[1]} under a condition, ${kinds[2]} are false; ${checked.size} checked in this session`;
}

let place = -1;
function move(by) {
  const there = [...list.children].filter((one) => !one.hidden);
  place = Math.max(0, Math.min(place + by, there.length - 1));
  there[place]?.focus();
}
keys([
  ["/", "filter", () => filter.focus()],
  ["j", "next claim", () => move(1)],
  ["k", "previous claim", () => move(-1)],
  ["Enter", "check it", () => document.activeElement.querySelector?.("button")?.click()],
]);

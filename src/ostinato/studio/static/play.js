// Let a network write, with what else could have come at every step; or look at how it works.
import { answerOf, ask, guess, h, nothing, post, say } from "./dom.js";
import { grid } from "./charts.js";
import { keys } from "./frame.js";
import { forecast } from "./forecast.js";
import { tabs } from "./tabs.js";

const main = document.getElementById("main");
const name = new URLSearchParams(location.search).get("name") ?? "";
document.title = `Play ${name} – Ostinato`;
const FIELDS = [
  ["temperature", "temperature", "1", "below 1 is more careful, 0 takes the most probable"],
  ["top_k", "top k", "", "only the k most probable"],
  ["top_p", "top p", "", "only the most probable that sum to p"],
  ["beam", "beam", "", "search for the most probable text instead"],
  ["length", "length", "400", "symbols"],
  ["seed", "seed", "0", "the same seed writes the same text"],
];
const prompt = h("textarea", { id: "prompt", rows: 2, placeholder: "A text to continue", spellcheck: "false" });
const inputs = Object.fromEntries(FIELDS.map(([key, , usual]) => [key, h("input", { type: "text", inputmode: "decimal", id: key, value: usual, placeholder: "off", autocomplete: "off" })]));
const go = h("button", { type: "submit", class: "main", id: "go" }, "Write");
const weights = h("p", { class: "hint", id: "weights" });
const out = h("div", { id: "text", class: "text", lang: "zxx" });
const others = h("aside", { id: "detail" }, h("p", { class: "hint" }, "Point at a character to see what else could have come there."));
const form = h("form", { class: "play", submit: write, novalidate: true }, h("label", { class: "small" }, h("span", {}, "prompt"), prompt),
  h("div", { class: "fields" }, ...FIELDS.map(([key, words, , help]) => h("label", { class: "small", title: help }, h("span", {}, words), inputs[key])), go));
const pictures = h("div", { id: "sections" });
const heading = h("h1", {}, name);
main.append(h("div", { class: "title" }, heading), tabs(name, "play"));
let stopping = null;

async function write(event) {
  event?.preventDefault();
  if (stopping) return stopping.abort();
  stopping = new AbortController();
  go.textContent = "Stop";
  out.replaceChildren(h("b", {}, prompt.value));
  const body = { name, prompt: prompt.value };
  for (const [key, input] of Object.entries(inputs)) {
    const value = Number(input.value);
    if (input.value.trim() !== "" && Number.isFinite(value)) body[key] = value;
  }
  try {
    const response = await post("play", body, { signal: stopping.signal });
    if (!response.ok) await answerOf(response);
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let kept = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      const lines = (kept + value).split("\n");
      kept = lines.pop();
      out.append(...lines.filter(Boolean).map((line) => shown(JSON.parse(line))));
    }
    if (kept) shown(JSON.parse(kept));
  } catch (error) {
    if (error.name !== "AbortError") say(error.message, true);
  }
  stopping = null;
  go.textContent = "Write";
  out.dataset.done = "1";
}

function shown(one) {
  if (one.error) {
    say(one.error, true);
    return "";
  }
  if (one.step !== undefined) weights.textContent = `Written with the weights of step ${one.step.toLocaleString("en")}.`;
  const span = h("span", {}, one.piece);
  span.made = one;
  if (one.probability !== undefined) span.style.setProperty("--doubt", (1 - one.probability).toFixed(3));
  return span;
}

out.addEventListener("pointerover", (event) => {
  const one = event.target.made;
  if (!one?.alternatives) return;
  out.querySelector(".chosen")?.classList.remove("chosen");
  event.target.classList.add("chosen");
  others.replaceChildren(h("h3", {}, h("code", {}, JSON.stringify(one.piece)), h("small", {}, ` with ${(100 * one.probability).toFixed(1)}%`)),
    ...one.alternatives.map(guess));
});

// A text is sampled; of other tasks there are pictures of how the network works on its data.
const { row } = await ask("run", { name, sample: 1 }).catch((error) => (nothing("No such run", `${error.message}.`), { row: null }));
heading.textContent = row?.labels.title || name;
if (row?.task === "text") {
  main.append(form, weights, h("div", { class: "beside" }, out, others));
  keys([["/", "prompt", () => prompt.focus()], ["Enter w", "write", () => write()]]);
} else if (row) {
  const wait = h("p", { class: "hint wait" }, "The network is running on a few sequences …");
  main.append(h("p", { class: "subtitle" }, "What the network does on sequences that it was not trained on. New input goes through ", h("code", {}, "ostinato apply"), "."), wait, pictures);
  try {
    const ahead = await forecast(name);
    if (ahead) {
      pictures.append(ahead);
      keys([["/", "from which step", () => document.getElementById("at-begin").select()]]);
    }
    for (const { heading, charts } of await ask("pictures", { name }))
      pictures.append(h("section", {}, h("h2", {}, heading), grid(charts)));
    if (!pictures.childNodes.length) pictures.append(h("p", { class: "hint" }, "There is nothing to draw of this network."));
    wait.remove();
  } catch (error) {
    wait.className = "notice";
    wait.textContent = error.message;
  }
}

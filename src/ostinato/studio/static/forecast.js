// A series drawn on by a network, from a place of one's choice, beside what really came.
import { asCount, asNumber, ask, h, say } from "./dom.js";
import { Charts } from "./charts.js";

const FIELDS = [
  ["series", "series, the worst first", "which of several series, with its error on the validation part"],
  ["begin", "from step", "the first step that is forecast; the network reads only what is before it"],
  ["steps", "steps", "how many steps to forecast"],
];

// The form and its charts; `null` if the run does not forecast.
export async function forecast(name) {
  let found = await ask("forecast", { name });
  if (!found.charts.length) return null;
  const inputs = Object.fromEntries(FIELDS.map(([key]) => [key, h("input", { type: "text", inputmode: "numeric", id: `at-${key}`, autocomplete: "off" })]));
  inputs.series = h("select", { id: "at-series", change: () => { inputs.begin.value = ""; draw(); } }, ...found.order.map((one) =>
    h("option", { value: one.number }, one.error === null ? one.name : `${one.name} (${one.measure} ${asNumber(one.error, 3)})`)));
  const several = found.order.length > 0;
  const go = h("button", { type: "submit", class: "main", id: "forecast" }, "Forecast");
  const fields = FIELDS.filter(([key]) => key !== "series" || several);
  const form = h("form", { class: "play", submit: draw, novalidate: true },
    h("div", { class: "fields" }, ...fields.map(([key, words, help]) => h("label", { class: "small", title: help }, h("span", {}, words), inputs[key])), go));
  const hint = h("p", { class: "hint" });
  const grid = h("div", { class: "grid" });
  const charts = new Charts();

  function show() {
    for (const [key, input] of Object.entries(inputs)) input.value = String(found.place[key]);
    hint.textContent = `The series has ${asCount(found.length)} steps, from 0` +
      (found.valid < found.length ? `; validation begins at step ${asCount(found.valid)}.` : ".") +
      ` From step ${asCount(found.length)} on nothing is known to compare with.`;
    charts.show(found.charts.map((chart) => [chart, grid]));
  }

  async function draw(event) {
    event?.preventDefault();
    go.disabled = true;
    try {
      const asked = fields.map(([key]) => [key, inputs[key].value.replaceAll(",", "").trim()]);
      if (!several) asked.push(["series", "0"]);
      found = await ask("forecast", { name, ...Object.fromEntries(asked) });
      show();
    } catch (error) {
      say(error.message, true);
    }
    go.disabled = false;
  }
  show();
  return h("section", { id: "ahead" }, h("h2", {}, "Forecast"), form, hint, grid);
}

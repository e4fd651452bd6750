// What a network wrote or forecast at validations.
import { asCount, asNumber, drawn, h } from "./dom.js";

const BARS = "▁▂▃▄▅▆▇█";
const LINE = new RegExp(`^(\\S.{0,30}?) {1,9}([${BARS} ]{4,})$`);

// The lines of a sample that is made of bars, as numbers from 0 to 1; `null` if it is a text.
export function bars(text) {
  const [head, ...rest] = text.split("\n");
  const lines = rest.map((line) => LINE.exec(line)).filter(Boolean)
    .map(([, name, row]) => ({ name, values: [...row].map((bar) => (bar === " " ? null : BARS.indexOf(bar) / (BARS.length - 1))) }));
  return lines.length && lines.length === rest.length ? { head, lines } : null;
}

// Lines over each other: what came, and the forecasts in their colours; two outer quantiles are a band.
function drawing({ head, lines }) {
  const width = 320, height = 84, count = Math.max(...lines.map(({ values }) => values.length));
  const at = (y, i) => [((i * width) / Math.max(1, count - 1)).toFixed(1), (height - 4 - y * (height - 8)).toFixed(1)];
  const parts = (values) => values.reduce((found, y, i) => {
    if (y === null) found.push([]);
    else found.at(-1).push(at(y, i).join(","));
    return found;
  }, [[]]).filter((part) => part.length);
  const label = `${head}: ${lines.map(({ name }) => name).join(", ")}`;
  const svg = drawn("svg", { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img", "aria-label": label });
  const add = (tag, points, style) => svg.append(drawn(tag, { points: points.join(" "), class: style }));
  const levels = lines.filter(({ name }) => name.endsWith("%"));
  if (levels.length > 1) {
    const [low, high] = [levels[0].values, levels.at(-1).values];
    add("polygon", [...high.map((y, i) => at(y ?? 0, i).join(",")), ...low.map((y, i) => at(y ?? 0, i).join(",")).reverse()], "band");
  }
  const middle = levels[Math.floor(levels.length / 2)]?.name;
  const shown = lines.filter(({ name }) => !name.endsWith("%") || name === middle);
  shown.forEach(({ values }, n) => parts(values).forEach((points) => add("polyline", points, `line-${n}`)));
  const names = shown.map(({ name }, n) => h("span", { class: `key line-${n}` }, name === middle && levels.length > 1 ? `${name}, and ${levels[0].name} to ${levels.at(-1).name}` : name));
  return h("div", { class: "drawing" }, h("small", {}, head), svg, h("p", {}, ...names));
}

// The articles of all samples; text stays text, and is never broken where it is a picture.
export function articles(samples, metric) {
  return samples.map(({ step, value, text }) => {
    const lines = bars(text);
    return h("article", {},
      h("h3", {}, `Step ${asCount(step)}`, h("small", {}, value === null ? "" : ` ${asNumber(value)} ${metric ?? ""}`)),
      lines ? drawing(lines) : h("pre", { lang: "zxx", class: /[\u2580-\u259f]/.test(text) ? "unbroken" : null, tabindex: "0" }, text));
  });
}

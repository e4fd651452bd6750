// The beginning of a data file: its columns, each with what it is for to tick, and its first rows.
import { h, pair, table } from "./dom.js";

export const listed = (words) => String(words ?? "").split(",").map((word) => word.trim()).filter(Boolean);

// `roles` are the settings that name columns, `given` the settings so far; `changed` is called after a tick.
export function columns(view, roles, given, changed) {
  const chosen = (role, name) => listed(given.get(role.name)).includes(name);
  for (const role of roles.filter((one) => one.columns === "column" && !given.has(one.name))) {
    const same = view.columns.find(({ name }) => name.toLowerCase() === role.name);
    if (same) given.set(role.name, same.name);
  }
  function tick(role, name, on) {
    const others = role.columns === "column" ? [] : listed(given.get(role.name)).filter((one) => one !== name);
    const names = on ? [...others, name] : others;
    if (names.length) given.set(role.name, names.join(","));
    else given.delete(role.name);
    changed();
  }
  const numbers = roles.some(({ name }) => name === "ignore"); // a task that reads numbers must be told about words
  const card = ({ name, kind, values }) => {
    const ticked = roles.filter((role) => chosen(role, name));
    const dated = roles.some((role) => role.name === "time"); // dates are found by themselves
    const open = numbers && (kind === "words" || (kind === "dates" && !dated)) && !ticked.length;
    return h("div", { class: `column ${ticked.some((role) => role.name === "ignore") ? "ignored" : ""}`, "data-column": name, role: "group", "aria-label": `Column ${name}` },
      h("p", { class: "what" }, h("b", {}, name), " ", h("small", {}, kind), " ", h("small", { class: "values" }, values.filter(Boolean).join(", "))),
      name.includes(",") ? h("p", { class: "hint" }, "Its name has a comma; rename it to choose it here.") : h("p", { class: "ticks" }, ...roles.map((role) => {
        const box = h("input", { type: "checkbox", "data-role": role.name, change: (event) => tick(role, name, event.target.checked) });
        box.checked = chosen(role, name);
        return h("label", { class: "check", title: role.help }, box, role.name);
      })),
      open ? h("p", { class: "hint open" }, `It has ${kind}, not numbers: say what it is for, or ignore it.`) : null);
  };
  const names = view.columns.map(({ name }) => name);
  return h("div", {},
    h("div", { class: "cards" }, ...view.columns.map(card)),
    h("dl", { class: "roles" }, ...roles.map((role) => pair(role.name, role.help))),
    h("details", {}, h("summary", {}, `First ${view.rows.length} rows`), table(names, view.rows, "rows")));
}

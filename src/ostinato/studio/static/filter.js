// Filters such as "cell=lstm rate<0.01 best<=2.5 wiki": all of them must hold.
const TERM = /^([\w.]+)(<=|>=|!=|=|<|>|~)(.+)$/;
const COLUMNS = { run: "name", steps: "step" };
const LABELS = { title: "title", tag: "tags", tags: "tags", note: "note", archived: "archived" };

export function parse(words) {
  return words.trim().split(/\s+/).filter(Boolean).map((word) => {
    const found = TERM.exec(word);
    return found ? { name: found[1].toLowerCase(), op: found[2], value: found[3] } : { text: word.toLowerCase() };
  });
}

function valueOf(row, name) {
  const column = COLUMNS[name] ?? name;
  if (name in LABELS) return row.labels[LABELS[name]];
  if (column in row && !["settings", "line", "labels"].includes(column)) return row[column];
  return row.settings[name] ?? row.settings[name.replaceAll("-", "_")];
}

function holds(found, op, value, name) {
  if (name === "tag") return found.some((tag) => holds(tag, op === "!=" ? "=" : op, value)) === (op !== "!=");
  if (Array.isArray(found)) found = found.join(",");
  const words = String(found ?? "none").toLowerCase(), wanted = value.toLowerCase();
  const a = typeof found === "number" ? found : Number.NaN, b = Number(value);
  const numbers = Number.isFinite(a) && Number.isFinite(b);
  const same = numbers ? Math.abs(a - b) <= 1e-9 * Math.max(Math.abs(a), Math.abs(b)) : words === wanted;
  if (op === "=") return same || (op === "=" && words.split(":")[0] === wanted);
  if (op === "!=") return !same;
  if (op === "~") return words.includes(wanted);
  if (!numbers) return false;
  return op === "<" ? a < b && !same : op === ">" ? a > b && !same : op === "<=" ? a <= b || same : a >= b || same;
}

export function matches(row, terms) {
  return terms.every((term) => {
    if (term.text !== undefined) {
      const all = [row.name, row.state, row.task, row.cell, row.learner, row.settings.file, row.labels.title, row.labels.note, ...row.labels.tags];
      return all.some((words) => String(words ?? "").toLowerCase().includes(term.text));
    }
    const found = valueOf(row, term.name);
    return found !== undefined && holds(found, term.op, term.value, term.name);
  });
}

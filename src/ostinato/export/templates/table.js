const MISSING = ["", "na", "n/a", "#n/a", "<na>", "nan", "null", "none", "?"];

// The lines of a table, each as its cells; what stands in quotes is one cell.
function divided(text, mark) {
  const lines = [[]];
  let cell = "", quoted = false;
  const close = () => (lines.at(-1).push(cell.trim()), (cell = ""));
  for (let n = 0; n < text.length; n++) {
    const one = text[n];
    if (quoted && one === '"' && text[n + 1] === '"') cell += text[n++];
    else if (one === '"' && (quoted || !cell.trim())) quoted = !quoted;
    else if (quoted || (one !== mark && one !== "\n")) cell += one;
    else if (one === mark) close();
    else close(), lines.push([]);
  }
  if (quoted) throw new Error("A quote is not closed.");
  close();
  return lines;
}

// The rows of a table, a number for each column that the network reads, NaN where one is missing;
// an empty line is null.
function rows(text) {
  const plain = text.replace(/^\ufeff/, "").replace(/\r\n?/g, "\n").replace(/^( *\n)+|(\n *)+$/g, ""), first = plain.split("\n", 1)[0];
  const mark = ["\t", ";", ","].find((one) => first.includes(one)) ?? ",";
  const lines = divided(plain, mark), names = about.columns === null ? null : lines.shift();
  if (!lines.length || !plain.trim()) throw new Error(`The table needs ${names ? "a line of names and " : ""}at least one row.`);
  const places = about.shift.map((_, n) => {
    const name = names && about.columns[n], count = names ? names.filter((one) => one === name).length : 1;
    if (count !== 1) throw new Error(count ? `The table has two columns called ${name}.` : `The table has no column ${name}.`);
    return names ? names.indexOf(name) : n;
  });
  const width = names ? names.length : places.length;
  let count = 0;
  return lines.map((line) => {
    if (line.length === 1 && !line[0]) return null;
    const row = `Row ${++count}`;
    if (line.length !== width) throw new Error(`${row}: a row has ${width} cells, got ${line.length}.`);
    return places.map((place, n) => number(line[place], mark, n, `${row}, ${names ? about.columns[n] : `number ${n + 1}`}`));
  });
}

// The number in a cell, whose point may be a comma where no comma divides cells.
function number(cell, mark, n, where) {
  if (MISSING.includes(cell.toLowerCase())) {
    if (!about.masked.includes(n)) throw new Error(`${where}: a value is missing.`);
    return NaN;
  }
  const plain = mark === "," ? cell : cell.replace(",", "."), value = /^[-+.\de]+$/i.test(plain) ? Number(plain) : NaN;
  if (!Number.isFinite(value)) throw new Error(`${where}: ${cell} is no number.`);
  if (Math.abs((value - about.shift[n]) / about.factor[n]) > 1e18) throw new Error(`${where}: ${cell} is too large.`);
  return value;
}

function encoded(row) {
  const x = row.map((value, n) => ((Number.isNaN(value) ? about.mean[n] : value) - about.shift[n]) / about.factor[n]);
  return Float32Array.from([...x, ...about.masked.map((n) => (Number.isNaN(row[n]) ? 1 : 0))]);
}

const h = (name, attributes = {}, ...inside) => {
  const space = ["svg", "path", "line", "text"].includes(name) ? "http://www.w3.org/2000/svg" : "http://www.w3.org/1999/xhtml";
  const made = document.createElementNS(space, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...inside);
  return made;
};

// A table of cells, the first line of which are its heads.
const drawn = (heads, lines) => h("div", { class: "scroll" }, h("table", {}, h("tr", {}, ...heads.map((one) => h("th", {}, one))),
  ...lines.map((line) => h("tr", {}, ...line.map((one) => h("td", {}, one))))));

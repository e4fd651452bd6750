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
  const width = names ? names.length : places.length, checked = inOrder(names, mark);
  let count = 0;
  return lines.map((line) => {
    if (line.length === 1 && !line[0]) return checked(null), null;
    const row = `Row ${++count}`;
    if (line.length !== width) throw new Error(`${row}: a row has ${width} cells, got ${line.length}.`);
    checked(line, row);
    return places.map((place, n) => number(line[place], mark, n, `${row}, ${names ? about.columns[n] : `number ${n + 1}`}`));
  });
}

const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

// A time as a number that increases with it, by the form of its cells; null if it has another one.
function time(cell, { expression, months }, mark) {
  const found = (expression ? new RegExp(`^(?:${expression})$`, "i") : /^(?<hour>\d\d?):(?<minute>\d\d)(?::(?<second>\d\d)(?:\.(?<fraction>\d+))?)?$/).exec(cell)?.groups;
  if (!expression && !found) {
    const plain = mark === "," ? cell : cell.replace(",", ".");
    return /^[-+.\de]+$/i.test(plain) && Number.isFinite(Number(plain)) ? Number(plain) : null;
  }
  if (!found) return null;
  let { year = "1970", hour = "0", half, zone } = found, [month, day] = [found.month ?? 1, found.day ?? 1].map(Number);
  if (year.length === 2) year = Number(year) + (year > 68 ? 1900 : 2000);
  if (found.one) [month, day] = (months ? [found.one, found.two] : [found.two, found.one]).map(Number);
  if (found.name) month = MONTHS.indexOf(found.name.slice(0, 3).toLowerCase()) + 1;
  if (found.quarter) month = 3 * found.quarter - 2;
  const date = new Date(Date.UTC(2000, month - 1, day));
  date.setUTCFullYear(year, month - 1, day);
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return null;
  if (found.week) {
    date.setUTCFullYear(year, 0, 4); // which is in the first week
    date.setUTCDate(4 - ((date.getUTCDay() + 6) % 7) + 7 * (found.week - 1) + (found.weekday ?? 1) - 1);
  }
  if (half) hour = (hour % 12) + (/p/i.test(half) ? 12 : 0);
  const [, sign, hours = 0, minutes = 0] = /^([-+])(\d\d):?(\d\d)?/.exec(zone ?? "") ?? [];
  const ahead = (sign === "-" ? -60 : 60) * (60 * hours + Number(minutes));
  return date.getTime() / 1000 + 3600 * hour + 60 * (found.minute ?? 0) + Number(`${found.second ?? 0}.${found.fraction ?? 0}`) - ahead;
}

// What refuses a row that belongs to another series than those before it, or comes before them.
function inOrder(names, mark) {
  const place = (name) => {
    if (names?.indexOf(name) !== names?.lastIndexOf(name)) throw new Error(`The table has two columns called ${name}.`);
    return names?.indexOf(name) ?? -1;
  };
  const which = about.sequence ? place(about.sequence) : -1, columns = about.order.map((one) => ({ ...one, at: place(one.name) }));
  const read = columns.length && columns[0].at >= 0 ? columns.filter((one) => one.at >= 0) : [];
  let series = null, last = null;
  return (line, row) => {
    if (line === null) {
      if ("answers" in about) series = last = null;
      return;
    }
    if (which >= 0) {
      const own = line[which], where = `${row}, ${about.sequence}`;
      if (MISSING.includes(own.toLowerCase())) throw new Error(`${where}: it does not say to which series the row belongs.`);
      if (series !== null && own !== series) throw new Error(`${where}: ${own} is another series than ${series}; give the rows of one series.`);
      series = own;
    }
    const now = read.map((one) => {
      const cell = line[one.at], where = `${row}, ${one.name}`;
      if (MISSING.includes(cell.toLowerCase())) throw new Error(`${where}: the time is missing.`);
      const value = time(cell, one, mark);
      if (value === null) throw new Error(`${where}: ${cell} is no time like ${one.like}.`);
      return value;
    });
    const n = last === null ? -1 : now.findIndex((value, k) => value !== last[k]), wrong = n < 0 ? now.length - 1 : n;
    if (last !== null && now.length && (n < 0 ? about.strict : now[n] < last[n])) {
      throw new Error(`${row}, ${read[wrong].name}: ${line[read[wrong].at]} does not come after that of the row before; sort the rows by time.`);
    }
    last = now;
  };
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

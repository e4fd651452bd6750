const net = make();
const find = (id) => document.getElementById(id);
const { classes, several, scaler } = about.answers, MOST = 2000;
const numbers = "words" in about ? new Map(about.words.map((one, n) => [one, n + 1])) : null;
const table = "columns" in about;
find("needs").textContent = table
  ? `Rows, ${about.columns === null ? `of ${about.shift.length} numbers` : `below a line of names: ${about.columns.join(", ")}`}. An empty line begins another sequence.`
  : `A line is a sequence of ${numbers === null ? `symbols from 0 to ${about.symbols - 1}` : about.level}, which gets an answer.`;

// The symbols of a line, as many as the network reads.
function symbols(line, number) {
  const parts = about.level === "characters" ? [...line] : line.split(/\s+/).filter((one) => one);
  return parts.slice(0, about.length || parts.length).map((one) => {
    if (numbers !== null) return numbers.get(one) ?? 0;
    if (!/^\d+$/.test(one) || Number(one) >= about.symbols) throw new Error(`Line ${number}: ${one} is no symbol from 0 to ${about.symbols - 1}.`);
    return Number(one);
  });
}

// The outputs of the network, each with what it has read: of a table after each row, else of a line.
function outputs(text) {
  let state = net.start();
  if (table) {
    return rows(text).map((row, n) => {
      if (row === null) state = net.start();
      return row && [`row ${n + 1}`, net.step(state, encoded(row))];
    }).filter((one) => one);
  }
  return text.replace(/^\ufeff/, "").split(/\r?\n/).flatMap((line, n) => {
    state = net.start();
    let y = null;
    for (const symbol of symbols(line, n + 1)) y = net.step(state, symbol);
    return y ? [[line, y]] : [];
  });
}

// What outputs say: numbers in the units of the data, or a label and the probability of each.
function answered(y) {
  if (!classes) return Array.from(y, (one, n) => (one * scaler.factor[n] + scaler.shift[n]).toPrecision(6));
  const top = y.indexOf(y.reduce((a, b) => Math.max(a, b)));
  const shares = Array.from(y, (one) => (several ? 1 / (1 + Math.exp(-one)) : Math.exp(one - y[top])));
  const sum = several ? 1 : shares.reduce((a, b) => a + b);
  const label = several ? classes.filter((_, n) => y[n] > 0).join(",") : `${classes[top]}`;
  return [label, ...shares.map((one) => (one / sum).toFixed(4))];
}

function show() {
  const out = find("out");
  find("wrong").textContent = "";
  out.hidden = true;
  try {
    const all = outputs(find("table").value);
    if (!all.length) throw new Error("There is nothing to read.");
    const heads = ["", ...(classes ? ["answer", ...classes.map(String)] : Array.from(all[0][1], (_, n) => `number ${n + 1}`))];
    out.replaceChildren(drawn(heads, all.slice(-MOST).map(([read, y]) => [read.slice(0, 60), ...answered(y)])));
    out.hidden = false;
  } catch (error) {
    find("wrong").textContent = error.message;
  }
}
find("form").addEventListener("submit", (event) => {
  event.preventDefault();
  show();
});

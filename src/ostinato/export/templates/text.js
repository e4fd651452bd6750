const net = make();
const find = (id) => document.getElementById(id);
const encoder = new TextEncoder();
const numbers = about.characters === null ? null : new Map(about.characters.map((one, n) => [one, n]));

function symbols(text) {
  if (numbers === null) return [...encoder.encode(text)];
  return [...text].map((one) => {
    if (!numbers.has(one)) throw new Error(`The network does not know the character ${one}.`);
    return numbers.get(one);
  });
}

// A number from 0 up to 1: xorshift (Marsaglia, 2003).
function random(seed) {
  let state = (Number(seed) * 2654435761 + 88172645) >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 4294967296;
  };
}

// Draws from softmax(y / temperature); with a temperature of 0, the largest.
function drawn(y, temperature, next) {
  const top = y.reduce((best, one, n) => (one > y[best] ? n : best), 0);
  if (!(temperature > 0)) return top;
  const weights = Array.from(y, (one) => Math.exp((one - y[top]) / temperature));
  let at = next() * weights.reduce((a, b) => a + b, 0);
  for (let n = 0; n < weights.length; n++) {
    at -= weights[n];
    if (at < 0) return n;
  }
  return top;
}

let writing = 0;
function write() {
  const own = ++writing, out = find("out"), prompt = find("prompt").value;
  find("wrong").textContent = "";
  try {
    const state = net.start(), next = random(find("seed").value), decoder = new TextDecoder();
    let y = null;
    for (const symbol of prompt ? symbols(prompt) : [about.opening]) y = net.step(state, symbol);
    const begin = document.createElement("b"), rest = document.createTextNode("");
    begin.textContent = prompt;
    out.replaceChildren(begin, rest);
    let left = Math.min(100000, Math.max(1, Number(find("length").value) || 1));
    const temperature = Number(find("temperature").value);
    (function some() {
      if (own !== writing) return;
      const until = performance.now() + 12;
      let text = "";
      while (left > 0 && performance.now() < until) {
        const symbol = drawn(y, temperature, next);
        text += numbers === null ? decoder.decode(Uint8Array.of(symbol), { stream: true }) : about.characters[symbol];
        y = net.step(state, symbol);
        left--;
      }
      rest.appendData(text);
      if (left > 0) setTimeout(some);
      else out.dataset.done = "true";
    })();
  } catch (error) {
    find("wrong").textContent = error.message;
  }
}
find("form").addEventListener("submit", (event) => {
  event.preventDefault();
  write();
});
write();

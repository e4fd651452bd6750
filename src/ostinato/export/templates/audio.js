const net = make();
const find = (id) => document.getElementById(id);
const PIECE = 1 << 15, WIDTH = 760, HEIGHT = 90;

// A channel through the effect, sample by sample; `told` hears how much is done.
async function rendered(samples, told) {
  const out = new Float32Array(samples.length), state = net.start(), x = new Float32Array(1);
  for (let t = 0; t < samples.length; t++) {
    x[0] = samples[t];
    out[t] = net.step(state, x)[0] + (about.residual ? samples[t] : 0);
    if (t % PIECE === PIECE - 1) {
      told(t / samples.length);
      await new Promise((go) => setTimeout(go));
    }
  }
  return out;
}

// Channels as a WAV file of 32-bit floats.
function wav(channels) {
  const count = channels.length, bytes = 4 * count * channels[0].length;
  const view = new DataView(new ArrayBuffer(44 + bytes));
  const words = (at, text) => [...text].forEach((one, n) => view.setUint8(at + n, one.charCodeAt(0)));
  words(0, "RIFF"), view.setUint32(4, 36 + bytes, true), words(8, "WAVEfmt ");
  view.setUint32(16, 16, true), view.setUint16(20, 3, true), view.setUint16(22, count, true);
  view.setUint32(24, about.rate, true), view.setUint32(28, 4 * count * about.rate, true);
  view.setUint16(32, 4 * count, true), view.setUint16(34, 32, true);
  words(36, "data"), view.setUint32(40, bytes, true);
  channels.forEach((one, n) => one.forEach((x, t) => view.setFloat32(44 + 4 * (t * count + n), x, true)));
  return new Blob([view], { type: "audio/wav" });
}

// The largest and smallest sample of each column of a drawing.
function drawing(samples, colour) {
  const canvas = Object.assign(document.createElement("canvas"), { width: WIDTH, height: HEIGHT });
  const pen = canvas.getContext("2d"), step = samples.length / WIDTH;
  pen.fillStyle = getComputedStyle(document.body).getPropertyValue(colour);
  for (let n = 0; n < WIDTH; n++) {
    let low = 0, high = 0;
    for (let t = Math.floor(n * step); t < (n + 1) * step && t < samples.length; t++) {
      low = Math.min(low, samples[t]);
      high = Math.max(high, samples[t]);
    }
    const top = (HEIGHT / 2) * (1 - Math.min(high, 1));
    pen.fillRect(n, top, 1, Math.max(1, (HEIGHT / 2) * (1 + Math.min(-low, 1)) - top));
  }
  canvas.style.width = "100%";
  return canvas;
}

function shown(title, blob, samples, colour, name) {
  const part = document.createElement("section"), player = document.createElement("audio");
  const link = document.createElement("a"), address = URL.createObjectURL(blob);
  Object.assign(player, { controls: true, src: address }), (player.style.width = "100%");
  Object.assign(link, { href: address, download: name, textContent: `save ${name}` });
  const heading = Object.assign(document.createElement("p"), { textContent: title });
  part.append(heading, drawing(samples, colour), player, ...(name ? [link] : []));
  return part;
}

// The sound of a file at the rate that the network has learned, whatever its own.
async function decoded(file) {
  const context = new OfflineAudioContext(1, 1, about.rate);
  try {
    const sound = await context.decodeAudioData(await file.arrayBuffer());
    return Array.from({ length: sound.numberOfChannels }, (_, n) => sound.getChannelData(n));
  } catch {
    throw new Error(`${file.name} is no sound that this browser can read.`);
  }
}

async function apply(file) {
  const out = find("out"), told = (share) => (find("done").textContent = `${Math.round(100 * share)} %`);
  find("wrong").textContent = "";
  out.hidden = true;
  try {
    const dry = await decoded(file), wet = [];
    for (const channel of dry) wet.push(await rendered(channel, told));
    find("done").textContent = `${(dry[0].length / about.rate).toFixed(2)} s at ${about.rate} Hz`;
    const name = `${file.name.replace(/\.[^.]*$/, "")}-wet.wav`;
    out.replaceChildren(shown("Before", file, dry[0], "--soft"), shown("After", wav(wet), wet[0], "--accent", name));
    out.hidden = false;
  } catch (error) {
    find("wrong").textContent = error.message;
  }
}
find("form").addEventListener("submit", (event) => {
  event.preventDefault();
  if (find("file").files.length) apply(find("file").files[0]);
});

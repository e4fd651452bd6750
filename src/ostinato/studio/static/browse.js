// Choose a file below the folder that the studio was given.
import { asAge, asNumber, ask, h } from "./dom.js";

const path = h("p", { class: "path" });
const match = h("input", { type: "search", id: "match", autocomplete: "off", spellcheck: "false", input: () => open(folder) });
const list = h("ul", { class: "files", id: "files" });
const hint = h("p", { class: "hint", hidden: true });
const dialog = h("dialog", { class: "browse", "aria-label": "Choose a file", click: (event) => event.target === dialog && dialog.close() },
  h("div", { class: "head" }, h("h2", {}, "Choose a file"), h("button", { type: "button", class: "quiet", click: () => dialog.close() }, "Close")),
  path, h("label", { class: "filter" }, h("span", {}, "find"), match), hint, list);
document.body.append(dialog);
let folder = "", pick = null, asked = 0;

const size = (bytes) => {
  for (const [unit, many] of [["GB", 1e9], ["MB", 1e6], ["kB", 1e3]]) if (bytes >= many) return `${asNumber(bytes / many, bytes / many < 100 ? 2 : 3)} ${unit}`;
  return `${bytes} B`;
};
const below = (name) => (folder ? `${folder}/${name}` : name);

async function open(name) {
  const mine = ++asked;
  let found;
  try {
    found = await ask("files", { folder: name, match: match.value.trim() });
  } catch (error) {
    if (mine !== asked) return;
    if (name) return open("");
    hint.textContent = error.message;
    hint.hidden = false;
    return list.replaceChildren();
  }
  if (mine !== asked) return;
  folder = found.folder;
  sessionStorage.setItem("browsed", folder);
  const parts = folder ? folder.split("/") : [];
  const step = (words, to) => h("button", { type: "button", class: "crumb", click: () => enter(to) }, words);
  path.replaceChildren(step(found.root, ""), ...parts.flatMap((part, i) => [" / ", step(part, parts.slice(0, i + 1).join("/"))]));
  list.replaceChildren(
    ...found.folders.map((one) => h("li", {}, h("button", { type: "button", "data-folder": one, click: () => enter(below(one)) }, `${one}/`))),
    ...found.files.map((one) => h("li", {}, h("button", { type: "button", "data-file": one.name, click: () => take(one) }, one.name), h("small", {}, `${size(one.bytes)}, ${asAge(one.changed)}`))));
  hint.textContent = found.left_out || found.more ? `${found.left_out ? found.left_out.toLocaleString("en") : "Some"} more are not shown; type a part of the name.` : "Nothing here.";
  hint.hidden = !(found.left_out || found.more) && !!list.childNodes.length;
}

function enter(name) {
  match.value = "";
  open(name);
}

function take(one) {
  dialog.close();
  pick({ file: below(one.name), given: one.given });
}

// Ask for a file: `chosen` is called with its name below the folder, and as a command line names it.
export function browse(chosen) {
  pick = chosen;
  match.value = "";
  dialog.showModal();
  open(sessionStorage.getItem("browsed") ?? "");
}

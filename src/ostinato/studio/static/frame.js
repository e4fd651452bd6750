// What all pages share: the current page in the navigation, and keys.
import { h, pair } from "./dom.js";

const page = document.body.dataset.page;
for (const link of document.querySelectorAll("nav a"))
  if (link.dataset.for.split(" ").includes(page)) link.setAttribute("aria-current", "page");

const EVERYWHERE = [["g r", "runs"], ["g c", "compare"], ["g s", "start a run"], ["g v", "claims"], ["?", "these keys"]];
let before = "";
let own = [];

const dialog = h("dialog", { "aria-label": "Keys" });
document.body.append(dialog);
dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());

function help() {
  const list = h("dl", { class: "keys" });
  for (const [key, words] of [...own, ...EVERYWHERE])
    list.append(pair(key.split(" ").map((k) => h("kbd", {}, k)), words));
  dialog.replaceChildren(h("h2", {}, "Keys"), list);
  dialog.showModal();
}
document.getElementById("help").addEventListener("click", help);

// The keys of a page: [[key, words, what it does], ...].
export function keys(list) {
  own = list;
}

const GO = { r: "/", c: "/compare", s: "/start", v: "/claims" };
document.addEventListener("keydown", (event) => {
  const typing = event.target.closest?.("input, textarea, select");
  if (event.key === "Escape" && typing) return typing.blur();
  if (typing || event.ctrlKey || event.metaKey || event.altKey || dialog.open) return;
  if (before === "g" && GO[event.key]) return location.assign(GO[event.key]);
  before = event.key;
  if (event.key === "?") return help();
  const pressed = own.find(([key]) => key.split(" ").includes(event.key));
  if (pressed) {
    // Enter on a link or button is its own.
    if (event.key === "Enter" && event.target.closest("a, button")) return;
    event.preventDefault();
    pressed[2](event.key);
  }
});

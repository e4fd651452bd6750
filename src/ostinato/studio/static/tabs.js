// The pages of one run that have something to show.
import { ask, h, runPage } from "./dom.js";

const WORDS = { run: "Course", inside: "Inside", play: "Play" };

// The page itself is there at once, and the others as soon as the server says that they lead somewhere.
export function tabs(name, here) {
  const link = (page) => h("a", { href: runPage(name, page), "data-page": page, "aria-current": page === here ? "page" : null }, WORDS[page]);
  const bar = h("div", { class: "tabs", role: "navigation", "aria-label": "Pages of this run" });
  const show = (pages) => bar.replaceChildren(...Object.keys(WORDS).filter((page) => page === here || pages.includes(page)).map(link));
  bar.refresh = () => ask("pages", { name }).then(({ pages }) => show(pages)).catch(() => {});
  show(["run"]);
  bar.refresh();
  return bar;
}

// The pages of one run.
import { h } from "./dom.js";

const PAGES = [["run", "Course"], ["inside", "Inside"], ["play", "Play"]];
export const tabs = (name, here) => h("div", { class: "tabs", role: "navigation", "aria-label": "Pages of this run" },
  ...PAGES.map(([page, words]) => h("a", { href: `/${page}?name=${encodeURIComponent(name)}`, "aria-current": page === here ? "page" : null }, words)));

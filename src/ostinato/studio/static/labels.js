// What people call a run: a name, tags and a note; and where it goes: another folder, archive, trash.
import { h, runPage, say, send, stopAsking } from "./dom.js";

export const chips = (tags) => tags.flatMap((tag) => [h("a", { class: "tag", href: `/?filter=${encodeURIComponent(`tag=${tag}`)}` }, `#${tag}`), " "]);

// The labels of a run with a form to change them; `changed` is called with the new ones.
export class Labels {
  constructor(name, changed) {
    this.name = name;
    this.changed = changed;
    this.words = h("p", { class: "tags", hidden: true });
    this.note = h("p", { class: "note", hidden: true });
    const box = (id, more = {}) => h("input", { type: "text", id, autocomplete: "off", spellcheck: "false", ...more });
    this.inputs = {
      title: box("label-title", { maxlength: 120, placeholder: "as the folder" }),
      tags: box("label-tags", { placeholder: "baseline, paper" }),
      note: h("textarea", { id: "label-note", rows: 3, maxlength: 4000 }),
    };
    this.folder = box("label-folder", { value: name, maxlength: 200 });
    const field = (words, input) => h("label", { class: "field" }, h("span", {}, words), input);
    this.archive = h("button", { type: "button", id: "archive", click: () => this.keep({ archived: !this.labels.archived }) });
    this.remove = h("button", { type: "button", id: "delete", click: () => this.delete() }, "Delete");
    this.form = h("form", { class: "labels", hidden: true, novalidate: true, submit: (event) => this.save(event) },
      field("name", this.inputs.title), field("tags", this.inputs.tags), field("note", this.inputs.note), field("folder", this.folder),
      h("div", { class: "foot" }, h("button", { type: "submit", class: "main", id: "save" }, "Save"), this.archive, this.remove));
    this.edit = h("button", { type: "button", class: "quiet", id: "edit", "aria-expanded": "false", click: () => this.toggle() }, "Edit");
    this.element = h("div", {}, this.words, this.note, this.form);
  }

  toggle(open = this.form.hidden) {
    this.form.hidden = !open;
    this.edit.setAttribute("aria-expanded", String(open));
    if (open) this.inputs.title.focus();
  }

  set(labels) {
    this.labels = labels;
    this.words.replaceChildren(...(labels.archived ? [h("span", { class: "tag" }, "archived")] : []), ...chips(labels.tags));
    this.words.hidden = !this.words.childNodes.length;
    this.note.textContent = labels.note;
    this.note.hidden = !labels.note;
    this.archive.textContent = labels.archived ? "Take out of the archive" : "Archive";
    if (!this.form.hidden) return; // somebody types
    this.inputs.title.value = labels.title;
    this.inputs.tags.value = labels.tags.join(", ");
    this.inputs.note.value = labels.note;
  }

  async keep(labels) {
    try {
      const kept = await send("label", { name: this.name, labels });
      this.toggle(false);
      this.set(kept);
      this.changed(kept);
      return true;
    } catch (error) {
      say(error.message, true);
      return false;
    }
  }

  async save(event) {
    event.preventDefault();
    const { title, tags, note } = this.inputs, to = this.folder.value.trim();
    const words = tags.value.split(/[\s,#]+/).filter(Boolean);
    if (!(await this.keep({ title: title.value, tags: words, note: note.value })) || to === this.name) return;
    try {
      await send("move", { name: this.name, to });
      location.assign(runPage(to));
    } catch (error) {
      this.toggle(true);
      say(error.message, true);
    }
  }

  async delete() {
    stopAsking();
    try {
      const { kept } = await send("delete", { name: this.name });
      location.assign(`/?deleted=${encodeURIComponent(kept)}`);
    } catch (error) {
      say(error.message, true);
    }
  }
}

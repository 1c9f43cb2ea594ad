// A situation and what can be done in it: its picture, and buttons of which one can be marked.

import { make } from "./elements.js";

// The picture of a situation with its legend, and how actions go astray; what there is of it.
export function situation(told) {
  const parts = told.rules ? [make("p", {}, make("b", {}, told.rules))] : [];
  if (told.picture) {
    const world = make("div", { className: "asked-world" });
    world.innerHTML = told.picture + told.legend;
    parts.push(world);
  }
  return parts;
}

// A button for each of the words; the one that was pressed last is marked.
export function choices(words, choose, numbered = true) {
  const buttons = words.map((text, i) => make("button", {
    type: "button", "aria-pressed": "false", "data-action": numbered ? String(i) : null,
    onclick: () => {
      buttons.forEach((each, k) => each.setAttribute("aria-pressed", String(k === i)));
      choose(i, buttons);
    },
  }, text));
  return buttons;
}

// A question about a situation; chosen(action, buttons) gives what stands below once one is marked.
export function asking(told, title, words, chosen) {
  const below = make("div", { className: "buttons" });
  const choose = (action, buttons) => {
    below.replaceChildren(...chosen(action, buttons));
    below.querySelector("button")?.focus();
  };
  return [make("h2", { tabindex: "-1" }, title), make("p", {}, words), ...situation(told),
    make("p", { className: "buttons asking" }, ...choices(told.options ?? told.actions, choose)), below];
}

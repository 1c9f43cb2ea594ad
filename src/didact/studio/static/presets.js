// Worlds to begin with, each a button with a small picture of its ground.

import { byId, make } from "./elements.js";

function thumb(subject) {
  const rows = subject.painting?.rows ?? ["ab", "ba"], box = make("span", { className: "thumb", "aria-hidden": "true" });
  box.style.gridTemplateColumns = `repeat(${rows[0].length}, 1fr)`;
  for (const sign of rows.join("")) {
    const cell = make("span"), ground = "abcdefghijklmnopqrstuvwxyz".indexOf(sign);
    cell.style.background = ground < 0 ? "var(--wall)" : `var(--paint${subject.painting?.features[ground][2] ?? [4, 5][ground]})`;
    box.append(cell);
  }
  return box;
}

// Fills the list of presets; show(subject): shows one.
export function presets(show) {
  byId("presets").replaceChildren(...JSON.parse(document.body.dataset.presets).map(([words, subject]) =>
    make("li", {}, make("button", { type: "button", onclick: () => show(subject) }, thumb(subject), words))));
}

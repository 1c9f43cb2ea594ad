// Worlds to begin with, each a button with a small picture of its ground.

import { byId, make } from "./elements.js";

const painting = (name, rows, features, ends, more = {}) => ({ painting: { name, rows, features, ends, starts: [], slip: "0", discount: "0.95", ...more } });

const PRESETS = [
  ["Shortcut", painting("shortcut", ["aaaaa", "abbba", "abbba", "aaaac"], [["path", "-1", 0], ["mud", "-3", 9], ["home", "10", 3]], [19])],
  ["Cliff", painting("cliff", ["aaaaaa", "aaaaaa", "abbbbc"], [["path", "-1", 0], ["cliff", "-20", 2], ["goal", "10", 3]], [13, 14, 15, 16, 17], { starts: [12] })],
  ["Two ends", painting("harbour", ["aaaab", "a##aa", "aaaac"], [["water", "-1", 4], ["snack", "4", 5], ["dock", "10", 3]], [4, 14])],
  ["Ice", painting("ice", ["aaaa", "abab", "aaab", "baac"], [["ice", "-1", 4], ["hole", "-10", 1], ["goal", "10", 3]], [5, 7, 11, 12, 15], { slip: "0.2", starts: [0] })],
  ["Frozen lake", { world: "FrozenLake-v1", parameters: {} }],
  ["Taxi", { world: "Taxi-v4", parameters: {} }],
];

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
  byId("presets").replaceChildren(...PRESETS.map(([words, subject]) =>
    make("li", {}, make("button", { type: "button", onclick: () => show(structuredClone(subject)) }, thumb(subject), words))));
}

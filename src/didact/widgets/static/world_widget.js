// A world to paint in a notebook: strokes go to Python, pictures come back.

import { board } from "./board.js";
import { make } from "./elements.js";
import { corner } from "./frame.js";
import { cellWords, columnsOf, groundAt, painted, signAt, wouldAdd } from "./painting.js";

export function render({ model, el }) {
  const page = corner(model, el);
  const place = make("div", { className: "board" }), brushes = make("div", { className: "brushes" });
  const key = make("p", { className: "key" });
  page.append(place, key, brushes);
  let painting = model.get("painting"), brush = 0, adds = true;
  const world = board(place, { touch, done });

  function touch(cell, isFirst) {
    if (isFirst) adds = wouldAdd(painting, cell, brush);
    painting = painted(painting, cell, brush, adds);
    const sign = signAt(painting, cell);
    world.cell(cell).style.background = sign === "#" ? "var(--wall)" : `var(--f${groundAt(painting, cell)})`;
  }
  function done() {
    model.set("painting", painting);
    model.save_changes();
  }
  function choice(value, words) {
    const input = make("input", { type: "radio", name: "brush", value: String(value), onchange: () => { brush = value; } });
    input.checked = value === brush;
    return make("label", { className: "brush" }, input, words);
  }
  function show() {
    painting = model.get("painting");
    painting.features.forEach(([, , colour], i) => page.style.setProperty(`--f${i}`, `var(--paint${colour})`));
    world.size(painting.rows.length, columnsOf(painting));
    brushes.replaceChildren(...painting.features.map(([name], i) => choice(i, name)), choice("wall", "Wall"), choice("end", "End"), choice("start", "Start"));
    draw();
  }
  function draw() {
    const seen = model.get("seen");
    world.picture(seen.picture ?? "");
    key.textContent = seen.problem ?? seen.key ?? "";
    world.cells().forEach((cell) => { cell.style.background = ""; });
    world.describe(painting.name, world.cells().map((_, i) => cellWords(painting, i, seen.optimal?.[i])));
  }
  model.on("change:painting", show);
  model.on("change:seen", draw);
  show();
  return () => { model.off("change:painting", show); model.off("change:seen", draw); };
}

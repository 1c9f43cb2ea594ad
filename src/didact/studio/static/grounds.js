// Kinds of ground: brushes to paint with, and their names, weights and colours.

import { byId, make } from "./elements.js";
import { MAX_GROUNDS, addGround, withGround, withoutGround } from "./painting.js";

const SIGNS = { wall: "Wall", end: "End", start: "Start" };
const COLOURS = ["pale", "slate", "rose", "green", "blue", "yellow", "violet", "orange", "teal",
  "brown", "olive", "indigo"];

// The panel; change(painting, isDone): what it calls when something was changed.
export function grounds(change) {
  let painting = null, brush = 0;
  const brushes = byId("brushes"), list = byId("grounds");

  function choose(wanted) {
    brush = wanted;
    for (const input of brushes.querySelectorAll("input")) input.checked = input.value === String(brush);
  }

  function brushButton(value, words, ground) {
    const input = make("input", { type: "radio", name: "brush", value: String(value), onchange: () => choose(value) });
    input.checked = value === brush;
    const swatch = make("span", { className: `swatch ${ground === undefined ? value : ""}` });
    if (ground !== undefined) swatch.style.background = `var(--f${ground})`;
    return make("label", { className: "brush" }, input, swatch, words);
  }

  function row(feature, i) {
    const [name, weight, colour] = feature;
    const edit = (change_, isDone) => change(withGround(painting, i, change_), isDone);
    const number = make("input", {
      type: "text", inputmode: "decimal", maxlength: "40", value: weight, title: weight, "aria-label": `Weight of ${name}`, className: "weight",
      onchange: (event) => edit(([n, , c]) => [n, event.target.value.trim(), c], true),
    });
    const slider = make("input", {
      type: "range", min: "-10", max: "10", step: "0.1", "aria-label": `Weight of ${name}, slider`,
      oninput: (event) => { number.value = event.target.value; edit(([n, , c]) => [n, event.target.value, c], false); },
      onchange: (event) => edit(([n, , c]) => [n, event.target.value, c], true),
    });
    slider.value = String(Number(weight));
    const called = make("input", {
      type: "text", maxlength: "60", value: name, "aria-label": `Name of kind ${i + 1}`, className: "called",
      onchange: (event) => edit(([, w, c]) => [event.target.value, w, c], true),
    });
    const picks = make("select", {
      "aria-label": `Colour of ${name}`,
      onchange: (event) => edit(([n, w]) => [n, w, Number(event.target.value)], true),
    }, ...COLOURS.map((words, c) => make("option", { value: String(c) }, words)));
    picks.value = String(colour);
    const remove = make("button", {
      type: "button", "aria-label": `Remove ${name}`, title: `Remove ${name}`,
      onclick: () => change(withoutGround(painting, i), true),
    }, "✕");
    remove.disabled = painting.features.length < 2;
    const swatch = make("span", { className: "swatch" });
    swatch.style.background = `var(--f${i})`;
    return make("li", {}, swatch, called, slider, number, picks, remove);
  }

  byId("add-ground").addEventListener("click", () => {
    change(addGround(painting), true);
    list.lastElementChild?.querySelector(".called").focus();
  });

  // Shows a painting; the fields stay as they are while a slider moves.
  function show(next, isSliding) {
    painting = next;
    painting.features.forEach(([, , colour], i) => {
      document.body.style.setProperty(`--f${i}`, `var(--paint${colour})`);
    });
    if (isSliding) return;
    if (typeof brush === "number" && brush >= painting.features.length) brush = 0;
    const kinds = painting.features.map(([name], i) => brushButton(i, name, i));
    brushes.replaceChildren(...kinds, ...Object.entries(SIGNS).map(([value, words]) => brushButton(value, words)));
    const focused = document.activeElement?.getAttribute("aria-label");
    list.replaceChildren(...painting.features.map(row));
    if (focused) list.querySelector(`[aria-label="${CSS.escape(focused)}"]`)?.focus();
    byId("add-ground").disabled = painting.features.length >= MAX_GROUNDS;
  }

  return { show, brush: () => brush };
}

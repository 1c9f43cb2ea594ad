// Work that may take long: a line says at which stage it is and how long it takes, a button ends it.

import { ask, stage } from "./ask.js";
import { make } from "./elements.js";

const PATIENCE = 600, GLANCE = 300, DROPPED = "dropped";
const running = new Set();

// Ends all work without a word: the world that it is about is no longer the one shown.
export function drop() { [...running].forEach((control) => control.abort(DROPPED)); }

// The answer to a question, or null when something newer was asked or somebody cancelled it.
// place: where the line stands; words: what is done; again(): asks once more after a cancel.
export async function work(place, words, again, kind, question) {
  const control = new AbortController(), began = performance.now();
  const told = make("span"), clock = make("span", { "aria-hidden": "true" });
  const cancel = make("button", { type: "button", className: "cancel", onclick: () => control.abort() }, "Cancel");
  const line = make("span", { className: "work" }, told, clock, cancel);
  let asking = false;
  running.add(control);

  async function look() {
    const passed = performance.now() - began;
    if (passed < PATIENCE) return;
    if (!line.isConnected) { told.textContent = words; place.replaceChildren(line); }
    clock.textContent = ` … ${(passed / 1000).toFixed(0)} s `;
    if (asking) return;
    asking = true;
    const at = await stage(kind).catch(() => null);
    if (at) told.textContent = `${words}: ${at}`;
    asking = false;
  }

  const timer = setInterval(look, GLANCE);
  try {
    const told = await ask(kind, question, control.signal);
    return control.signal.aborted ? null : told;
  } finally {
    clearInterval(timer);
    running.delete(control);
    if (control.signal.aborted && control.signal.reason !== DROPPED) cancelled(place, again, line.contains(document.activeElement));
    else if (line.isConnected) place.replaceChildren();
  }
}

function cancelled(place, again, focus) {
  const button = make("button", { type: "button", className: "again", onclick: again }, "Begin again");
  place.replaceChildren("Cancelled; what stands here is from before. ", button);
  if (focus) button.focus();
}

// One question at a time, the newest next: wanted() is called as often as one likes.
export function latest(answer) {
  let running = false, again = false;
  return async function wanted() {
    if (running) { again = true; return; }
    running = true;
    do {
      again = false;
      await answer();
    } while (again);
    running = false;
  };
}

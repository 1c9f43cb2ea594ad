// Good enough: a slider over the cheapest lessons after which nobody loses more than so much.

import { make, place } from "./elements.js";
import { frontier } from "./frontier.js";
import { work } from "./work.js";

export function goodEnough(panel, desk) {
  const status = make("p", { className: "status", role: "status" });
  const begin = make("button", { type: "button", className: "main", onclick: start }, "Find the lessons");
  const parts = make("div");
  panel.append(make("p", { className: "lead" }, "How much is a demonstration worth? The cheapest lessons found after which no learner loses more than a bound, and the worst learner that still fits. This takes up to 20 seconds."),
    begin, status, parts);

  async function start() {
    try {
      const told = await work(status, "Looking for good-enough lessons", start, "frontier", { ...desk.subject(), settings: desk.settings() });
      if (!told) return;
      status.textContent = "";
      place(parts, told.html, "frontier");
      frontier(parts);
    } catch (error) {
      status.textContent = error.message;
    }
    panel.dataset.answered = "yes";
  }

  return { forget() { parts.replaceChildren(); delete panel.dataset.answered; } };
}

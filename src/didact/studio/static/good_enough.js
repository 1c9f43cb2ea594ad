// Good enough: a slider over the cheapest lessons after which nobody loses more than so much.

import { ask } from "./ask.js";
import { make, place, waiting } from "./elements.js";
import { frontier } from "./frontier.js";

export function goodEnough(panel, desk) {
  const status = make("p", { className: "status", role: "status" });
  const begin = make("button", { type: "button", className: "main", onclick: start }, "Find the lessons");
  const parts = make("div");
  panel.append(make("p", { className: "lead" }, "How much is a demonstration worth? The cheapest lessons found after which no learner loses more than a bound, and the worst learner that still fits. This takes up to 20 seconds."),
    begin, status, parts);

  async function start() {
    const stop = waiting(status, "looking for good-enough lessons");
    try {
      const told = await ask("frontier", { ...desk.subject(), settings: desk.settings() });
      if (!told) return;
      status.textContent = "";
      place(parts, told.html, "frontier");
      frontier(parts);
    } catch (error) {
      status.textContent = error.message;
    } finally {
      stop();
    }
    panel.dataset.answered = "yes";
  }

  return { forget() { parts.replaceChildren(); delete panel.dataset.answered; } };
}

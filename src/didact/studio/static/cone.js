// The cone: demonstrations are added one by one, and what still fits shrinks.

import { IS_STATIC } from "./ask.js";
import { make } from "./elements.js";
import { believer, rewards } from "./rewards.js";
import { latest, work } from "./work.js";

export function cone(panel, desk) {
  const slider = make("input", { type: "range", min: "0", value: "0", "aria-label": "Demonstrations shown", oninput: () => update() });
  const told = make("p", { className: "verdict", role: "status" });
  const problem = make("p", { className: "status problem" });
  const view = make("div"), mistaken = make("div");
  panel.append(told, make("p", { className: "slide" }, "Demonstrations ", slider), problem, view,
    make("h3", {}, "Who still fits"), mistaken);
  const shown = rewards(view, () => update());

  const update = latest(async () => {
    const lesson = desk.lesson();
    if (!lesson) return;
    const n = Number(slider.value);
    try {
      const answer = await work(problem, "Looking for what still fits", update, "fit", {
        ...desk.subject(), demonstrations: lesson.demonstrations.slice(0, n), settings: desk.settings(), ...shown.wish(),
      });
      if (!answer) return;
      problem.textContent = "";
      told.textContent = `After ${n} of ${lesson.demonstrations.length}: ${answer.n_open} of ${answer.n_said} constraints are open.`;
      shown.show(answer);
      if (IS_STATIC) view.querySelectorAll("select").forEach((select) => { select.disabled = true; });
      believer(mistaken, answer);
    } catch (error) {
      problem.textContent = error.message;
    }
    panel.dataset.answered = n;
  });

  return {
    opened() {
      const n = desk.lesson()?.demonstrations.length ?? 0;
      slider.max = String(n);
      slider.value = String(n);
      update();
    },
    forget(isOther) {
      shown.forget(isOther);
      if (isOther) { told.textContent = ""; mistaken.replaceChildren(); delete panel.dataset.answered; }
    },
  };
}

// The cone in a notebook: a slider adds demonstrations, Python says what still fits.

import { make } from "./elements.js";
import { corner } from "./frame.js";
import { believer, rewards } from "./rewards.js";

export function render({ model, el }) {
  const page = corner(model, el);
  const slider = make("input", { type: "range", min: "0", max: String(model.get("most")), "aria-label": "Demonstrations shown", oninput: ask });
  const told = make("p", { className: "verdict", role: "status" }), view = make("div"), mistaken = make("div");
  slider.value = String(model.get("n"));
  page.append(told, make("p", { className: "slide" }, "Demonstrations ", slider), view, mistaken);
  const shown = rewards(view, ask);

  function ask() {
    model.set("n", Number(slider.value));
    model.set("wish", shown.wish());
    model.save_changes();
  }
  function show() {
    const answer = model.get("told");
    slider.value = String(model.get("n"));
    told.textContent = `After ${model.get("n")} of ${model.get("most")}: ${answer.n_open} of ${answer.n_said} constraints are open.`;
    shown.show(answer);
    believer(mistaken, answer);
  }
  model.on("change:told", show);
  show();
  return () => model.off("change:told", show);
}

// Play the teacher: choose what to show, watch what stays open, compare with the fewest.

import { ask } from "./ask.js";
import { counted, make } from "./elements.js";
import { believer, rewards } from "./rewards.js";
import { latest, work } from "./work.js";

export function teacher(panel, desk) {
  let chosen = [], places = [];
  const told = make("p", { className: "verdict", role: "status" });
  const meter = make("meter", { min: "0", max: "1", "aria-label": "Share of constraints shown" });
  const length = make("input", { type: "number", min: "1", max: "200", value: "20", "aria-label": "Steps of a demonstration" });
  const state = make("input", { type: "number", min: "0", value: "0", "aria-label": "State to start in" });
  const add = make("button", { type: "button", onclick: () => pick(Number(state.value)) }, "Show from this state");
  const byNumber = make("span", { className: "fields" }, make("label", { className: "field" }, "State number", state), add);
  const again = make("button", { type: "button", onclick: () => { chosen = []; places = []; update(); } }, "Begin again");
  const list = make("ol", { className: "chosen" });
  const problem = make("p", { className: "status problem", role: "status" });
  const beside = make("p"), mistaken = make("div"), view = make("div");
  panel.append(
    told, meter,
    make("p", { className: "lead" }, "Choose a cell of the world: the teacher walks on from there, and the learner watches. Show as little as you can."),
    make("p", { className: "fields" }, make("label", { className: "field" }, "Steps", length),
      byNumber, again),
    problem, list, beside, make("h3", {}, "The most mistaken learner found that still fits"), mistaken, view,
  );
  const shown = rewards(view, () => update());

  async function pick(from) {
    problem.textContent = "";
    state.value = String(from);
    try {
      const about = desk.subject();
      const rolled = await ask("roll", { ...about, state: from, length: Number(length.value) });
      if (!rolled || about !== desk.subject()) return;
      chosen.push(rolled.demonstration);
      places.push(rolled.words);
      update();
    } catch (error) {
      problem.textContent = error.message;
    }
  }

  const update = latest(async () => {
    list.replaceChildren(...chosen.map((_, i) => make("li", {},
      `${places[i]} `,
      make("button", { type: "button", "aria-label": `Take demonstration ${i + 1} away`, onclick: () => { chosen.splice(i, 1); places.splice(i, 1); update(); } }, "✕"))));
    byNumber.hidden = desk.hasBoard(); // without one its states have numbers only
    desk.mark(chosen.flat().map(([s]) => s));
    try {
      const answer = await work(problem, "Looking for what stays open", update, "fit", { ...desk.subject(), demonstrations: chosen, settings: desk.settings(), ...shown.wish() });
      if (!answer) return;
      meter.value = answer.n_said ? (answer.n_said - answer.n_open) / answer.n_said : 1;
      told.textContent = answer.teaches ? "Taught. Nothing stays open."
        : `${answer.n_open} of ${answer.n_said} constraints stay open.`;
      const best = desk.lesson();
      beside.textContent = answer.teaches && best
        ? `Your lesson: ${count(chosen)}. ${best.is_fewest ? "The fewest" : "didact's lesson"}: ${count(best.demonstrations)}${best.is_complete ? "" : ", which leave something open"}.`
        : answer.missing ? `Still open, for example: ${answer.missing}.` : "";
      shown.show(answer);
      believer(mistaken, answer);
    } catch (error) {
      problem.textContent = error.message;
    }
    panel.dataset.answered = chosen.length;
  });

  const count = (them) => `${counted(them.length, "demonstration")}, ${counted(them.flat().length, "step")}`;

  return { pick, opened: () => update(), forget(isOther) {
    chosen = [];
    places = [];
    shown.forget(isOther);
    if (!isOther) return;
    for (const each of [told, list, beside, mistaken]) each.replaceChildren();
    meter.value = 0;
    delete panel.dataset.answered;
  } };
}

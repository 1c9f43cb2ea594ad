// Play the learner: watch a lesson, say what is best in cells that it does not show.

import { make, place } from "./elements.js";
import { lesson } from "./lesson.js";
import { work } from "./work.js";

export function learner(panel, desk) {
  const told = make("p", { className: "verdict", role: "status" });
  const status = make("p", { className: "status", role: "status" });
  const begin = make("button", { type: "button", className: "main", onclick: start }, "Watch a lesson");
  const parts = make("div"), asking = make("div", { className: "asking" });
  panel.append(told, make("p", { className: "lead" }, "You see demonstrations, but no arrows. Then you say what is best where nothing was shown."),
    begin, status, asking, parts);
  let seed = 0, quiz = null, answers = [];

  async function start() {
    seed++;
    answers = [];
    try {
      const made = await work(status, "Preparing a lesson", start, "quiz", { ...desk.subject(), seed, n: 8, settings: desk.settings() });
      if (!made) return;
      quiz = made;
      status.textContent = quiz.states.length ? "" : "This lesson shows every state where something can be wrong: there is nothing to ask.";
      told.textContent = "Watch, then answer.";
      place(parts, quiz.html, "quiz");
      lesson(parts);
      next();
    } catch (error) {
      status.textContent = error.message;
    }
    panel.dataset.lessons = seed;
  }

  function next() {
    const at = answers.length;
    if (at >= quiz.states.length) return finish();
    if (!panel.hidden) desk.mark([quiz.states[at]]);
    asking.replaceChildren(
      make("h3", {}, `Question ${at + 1} of ${quiz.states.length}: what is best in ${quiz.places[at]}?`),
      make("p", { className: "buttons" }, ...quiz.actions.map((words, action) =>
        make("button", { type: "button", onclick: () => { answers.push([quiz.states[at], action]); next(); } }, words))),
    );
    asking.querySelector("button").focus();
  }

  async function finish() {
    desk.mark([]);
    if (!answers.length) return;
    asking.replaceChildren();
    try {
      const answer = await work(status, "Two learners take the same test", finish, "score", { ...desk.subject(), demonstrations: quiz.demonstrations, answers, seed });
      if (!answer) return;
      const n = answers.length, right = answer.right.filter(Boolean).length;
      told.textContent = `You: ${right} of ${n}.`;
      status.textContent = "";
      asking.replaceChildren(
        make("p", {}, `A Bayesian learner after the same lesson: ${round(answer.birl)} of ${n}. After a random lesson of the same size: ${round(answer.random)} of ${n}.`),
        make("ol", { className: "answers" }, ...answers.map(([, action], i) => make("li", {},
          `${quiz.places[i]}: you said ${quiz.actions[action]}, ${answer.right[i] ? "which is correct" : `best is ${answer.best[i].map((a) => quiz.actions[a]).join(" or ")}`}`))),
      );
      begin.textContent = "Once more";
    } catch (error) {
      status.textContent = error.message;
    }
    panel.dataset.scored = seed;
  }

  const round = (number) => Number(number.toFixed(1));

  return {
    opened() { desk.secret(true); },
    closed() { desk.secret(false); desk.mark([]); },
    forget() { quiz = null; told.textContent = ""; parts.replaceChildren(); asking.replaceChildren(); begin.textContent = "Watch a lesson"; },
  };
}

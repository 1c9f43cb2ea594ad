// Be asked: a strategy chooses the state, you say what to do, and the learner's belief follows.

import { counted, make } from "./elements.js";
import { work } from "./work.js";

const STRATEGIES = { "max-var": "where it could lose most", "max-infogain": "where it learns most", "max-entropy": "where it doubts most", random: "anywhere" };

export function asked(panel, desk) {
  let answers = [];
  const told = make("p", { className: "verdict", role: "status" });
  const status = make("p", { className: "status", role: "status" });
  const strategy = make("select", { onchange: () => next() }, ...Object.entries(STRATEGIES).map(([value, words]) => make("option", { value }, words)));
  const begin = make("button", { type: "button", className: "main", onclick: () => { answers = []; next(); } }, "Begin");
  const asking = make("div", { className: "asking" }), belief = make("p");
  panel.append(told, make("p", { className: "lead" }, "A Bayesian learner does not know the weights. It asks you what to do, one state after the other."),
    make("p", { className: "fields" }, make("label", { className: "field" }, "It asks", strategy), begin), status, asking, belief);

  async function next() {
    try {
      const answer = await work(status, "The learner thinks", next, "next", { ...desk.subject(), answers, strategy: strategy.value });
      if (!answer) return;
      status.textContent = "";
      belief.textContent = `After ${counted(answers.length, "answer")} it holds ${answer.believed} most likely, is ${(100 * answer.sure).toFixed(0)}% sure of what it would do, is wrong in ${(100 * answer.wrong).toFixed(0)}% of states and would lose ${answer.loss.toPrecision(3)}.`;
      if (answer.state === null) {
        told.textContent = "It has no question left.";
        asking.replaceChildren();
        desk.mark([]);
      } else {
        told.textContent = `What would you do in ${answer.place}?`;
        if (!panel.hidden) desk.mark([answer.state]);
        asking.replaceChildren(make("p", { className: "buttons" }, ...answer.actions.map((words, action) =>
          make("button", { type: "button", onclick: () => { answers.push([answer.state, action]); next(); } }, words))));
        asking.querySelector("button").focus();
      }
    } catch (error) {
      status.textContent = error.message;
    }
    panel.dataset.answered = answers.length;
  }

  return { opened: () => desk.secret(true), closed() { desk.secret(false); desk.mark([]); }, forget() { answers = []; told.textContent = ""; belief.textContent = ""; asking.replaceChildren(); } };
}

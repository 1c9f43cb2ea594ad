// A whole path, action by action: the picture goes along, and every step can be taken back.

import { counted, make } from "./elements.js";
import { choices, situation } from "./question.js";

// look(member, state): what is known of a state; done(path): called with [state, action] pairs.
export function pathStep(told, look, done) {
  const path = [], passed = [told];
  const words = make("p", {}), world = make("div"), list = make("ol", { className: "path" });
  const buttons = make("p", { className: "buttons asking" });
  const back = make("button", { type: "button", onclick: () => { path.pop(); passed.pop(); draw(); } }, "Take back");
  const finish = make("button", { type: "button", className: "main", onclick: () => done(path) }, "This is my path");

  function draw() {
    const at = passed[passed.length - 1], left = told.steps - path.length;
    const isOver = at.ends || !left;
    words.textContent = at.ends ? "The episode ends here." : left
      ? `You are in ${at.place}. What would you do next? (${counted(left, "step")} left at most)` : "These are all the steps.";
    world.replaceChildren(...situation(at));
    list.replaceChildren(...path.map(([, action], i) => make("li", {}, `${told.actions[action]} in ${passed[i].place}`)));
    buttons.replaceChildren(...(isOver ? [] : choices(told.actions, go)));
    back.disabled = !path.length;
    finish.disabled = !isOver;
    (isOver ? finish : null)?.focus();
  }
  async function go(action, pressed) {
    pressed.forEach((each) => { each.disabled = true; });
    const at = passed[passed.length - 1];
    const following = await look(told.member, at.next[action]);
    path.push([at.state, action]);
    passed.push(following);
    draw();
    if (buttons.children.length) buttons.children[action].focus();
  }
  draw();
  const meant = told.rules ? " On this page every action goes as it is meant." : "";
  return [make("p", {}, `Go on, action by action, as it is best from here.${meant}`), words, world, buttons, list,
    make("p", { className: "buttons" }, back, finish)];
}

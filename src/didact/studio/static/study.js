// A participant's page: one step after the other, each kept by the server before the next comes.

import { make, byId, place } from "./elements.js";
import { lesson } from "./lesson.js";

const step = byId("step"), problem = byId("problem");

async function send(address, body) {
  for (let tries = 0; ; tries++) {
    try {
      const answer = await fetch(address, body === undefined ? {} : {
        method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
      });
      const told = await answer.json();
      if (answer.ok) { problem.textContent = ""; return told; }
      if (answer.status < 500) throw new Error(told.error);
    } catch (error) {
      if (!(error instanceof TypeError) && !(error instanceof SyntaxError)) { problem.textContent = error.message; throw error; }
    }
    problem.textContent = "The server does not answer; your answer will be sent again.";
    await new Promise((done) => setTimeout(done, Math.min(5000, 300 * 2 ** tries)));
  }
}

const here = () => location.pathname;

async function answer(told, given = {}) {
  step.querySelectorAll("button, input, textarea").forEach((each) => { each.disabled = true; });
  show(await send(`${here()}/answer`, { step: told.step, ...given }));
}

function heading(words) { return make("h2", { tabindex: "-1" }, words); }

const VIEWS = {
  consent: (told) => [
    heading("Before you begin"), make("p", { className: "consent" }, told.words),
    make("button", { type: "button", className: "main", onclick: () => told.token ? agree(told.token) : answer(told) }, "I agree"),
  ],
  practice: (told) => asking(told, "To try it out"),
  test: (told) => asking(told, "What would you do?"),
  lesson(told) {
    const parts = told.parts.flatMap(([world, html], i) => {
      const part = make("div");
      place(part, html, `part-${i}`);
      return world ? [make("h3", {}, `In ${world}`), part] : [part];
    });
    const none = !parts.length;
    return [heading(none ? "Nothing to watch" : "Watch"), make("p", {}, none ? "Go on to the questions." : "Somebody who knows this world moves in it. Watch as often as you like; then go on."),
      ...parts, make("button", { type: "button", className: "main", onclick: () => answer(told) }, "Go on")];
  },
  comments(told) {
    const text = make("textarea", { rows: "5", maxlength: "4000", "aria-label": "What you noticed" });
    return [heading("Anything you noticed?"), text,
      make("p", {}, make("button", { type: "button", className: "main", onclick: () => answer(told, { comment: text.value }) }, "Finish"))];
  },
  done: (told) => [heading("Done"), make("p", {}, told.words)],
};

function asking(told, title) {
  const parts = [heading(title), make("p", {}, `You are in ${told.place}. What is best?`)];
  if (told.rules) parts.push(make("p", {}, make("b", {}, told.rules)));
  if (told.picture) {
    const world = make("div", { className: "asked-world" });
    world.innerHTML = told.picture + told.legend;
    parts.push(world);
  }
  const sure = make("p", { className: "buttons" });
  let action = null;
  const choose = (chosen) => {
    if (!told.confidence) return answer(told, { action: chosen });
    action = chosen;
    sure.replaceChildren(make("span", {}, "How sure are you?"), ...["guessed", "2", "3", "4", "certain"].map((words, i) =>
      make("button", { type: "button", onclick: () => answer(told, { action, confidence: i + 1 }) }, words)));
    sure.querySelector("button").focus();
  };
  parts.push(make("p", { className: "buttons asking" }, ...told.actions.map((words, i) =>
    make("button", { type: "button", "data-action": String(i), onclick: () => choose(i) }, words))), sure);
  return parts;
}

function show(told) {
  const at = told.step === undefined ? [] : [make("progress", { max: String(told.of), value: told.step, "aria-label": `Step ${told.step + 1} of ${told.of}` })];
  step.replaceChildren(...at, ...VIEWS[told.kind](told));
  step.dataset.kind = told.kind;
  step.dataset.step = told.step ?? "";
  if (told.kind === "lesson") lesson(step);
  step.querySelector("h2").focus();
}

async function agree(token) {
  step.querySelector("button").disabled = true;
  const { link } = await send("/join", { token });
  history.replaceState(null, "", link);
  show(await send(`${link}/step`));
}

show(await send(here() === "/" ? "/consent" : `${here()}/step`));

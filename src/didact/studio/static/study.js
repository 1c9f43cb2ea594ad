// A participant's page: one step after the other, each kept by the server before the next comes.

import { make, byId, place } from "./elements.js";
import { lesson } from "./lesson.js";
import { pathStep } from "./path.js";
import { asking, choices, situation } from "./question.js";
import { watchLog } from "./watched.js";

const step = byId("step"), problem = byId("problem");
// Where this browser keeps the participant's own link, so that the first page leads back to it.
const kept = document.body.dataset.study && `didact-study-${document.body.dataset.study}${location.search}`;
let shownAt = 0, log = null;

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

// A browser may forbid its storage; then it does not remember.
function stored(work) {
  try { return kept ? work(localStorage) : null; } catch { return null; }
}

const here = () => location.pathname;
const isTrue = (each) => each;

async function answer(told, given = {}) {
  const seconds = Math.round(performance.now() - shownAt) / 1000;
  await once(async () => show(await send(`${here()}/answer`, { step: told.step, seconds, ...given })));
}

// Nothing can be pressed while something is sent; where it was refused, it can again.
async function once(work) {
  const used = [...step.querySelectorAll("button, input, textarea")].filter((each) => !each.disabled);
  used.forEach((each) => { each.disabled = true; });
  try { await work(); } catch (error) {
    if (problem.textContent !== error.message) throw error;
    used.forEach((each) => { each.disabled = false; });
  }
}

const heading = (words) => make("h2", { tabindex: "-1" }, words);
const main = (words, onclick) => make("button", { type: "button", className: "main", onclick }, words);
const texts = (all) => all.map((words) => make("p", {}, words));

const VIEWS = {
  consent: (told) => [
    heading("Before you begin"), make("p", { className: "consent" }, told.words),
    make("p", { className: "buttons" }, main("I agree", () => told.token ? agree(told.token) : answer(told)),
      make("button", { type: "button", onclick: () => show({ kind: "declined" }) }, "I do not agree")),
  ],
  declined: () => [heading("You do not take part"),
    make("p", {}, "Nothing was kept of you. You may close this page. If you came from a recruiting platform, please return the study there."),
    make("p", {}, make("button", { type: "button", onclick: begin }, "Back to the first page"))],
  intro: (told) => [heading("What this is about"), ...texts(told.words), ...situation(told), next(told)],
  tutorial: (told) => asking(told, "To learn how it works", told.question, (action, buttons) => {
    const isRight = action === told.right;
    buttons.forEach((each) => { each.disabled = true; });
    const words = isRight ? "Correct: " : `Not quite. Best is ${told.options[told.right]}: `;
    return [make("p", { className: isRight ? "right" : "wrong" }, words + told.because),
      main("Go on", () => answer(told, { action }))];
  }),
  gate(told) {
    const again = told.again
      ? [make("p", { className: "wrong" }, "Not all answers were right. Please read once more:"), ...texts(told.words)] : [];
    return [heading("Have we explained it well?"), ...again, ...form(told, told.items.map((item) => [item.question, item.options]), 0)];
  },
  practice: (told) => chosen(told, "To try it out"),
  test: (told) => chosen(told, "What would you do?"),
  retest: (told) => chosen(told, "And here?"),
  attention: (told) => [heading("A short check"), make("p", {}, `To show that you read the questions, please choose “${told.option}”.`),
    make("p", { className: "buttons asking" }, ...choices(told.options, (action) => answer(told, { action })))],
  path: (told) => [heading("Which way would you go?"), ...pathStep(told,
    (member, state) => send(`${here()}/world/${member}/${state}`), (path) => answer(told, { detail: path }))],
  lesson: (told) => watching(told, told.parts.length
    ? ["Watch", "Somebody who knows this world acts in it. Watch as often as you like; then go on."]
    : ["Nothing to watch", "Go on to the questions."]),
  again: (told) => watching(told, told.parts.length
    ? ["Watch once more", "This demonstration was chosen for you. Watch it as often as you like; then go on."]
    : ["No further demonstration", "Go on to the questions."]),
  likert(told) {
    const scale = Array.from({ length: told.points }, (_, i) => `${i + 1}`);
    scale[0] += " strongly disagree";
    scale[told.points - 1] += " strongly agree";
    return [heading("How much do you agree?"), ...form(told, told.items.map((item) => [item, scale]), 1)];
  },
  comments(told) {
    const text = make("textarea", { rows: "5", maxlength: "4000", "aria-label": "What you noticed" });
    return [heading("Anything you noticed?"), text,
      make("p", {}, main("Finish", () => answer(told, { comment: text.value })))];
  },
  done(told) {
    const code = told.code ? [make("p", {}, "Your completion code is ", make("code", { className: "code" }, told.code), ".")] : [];
    const link = told.link ? [make("p", {}, make("a", { href: told.link, rel: "noreferrer" }, "Return to where you came from"))] : [];
    return [heading("Done"), make("p", {}, told.words), ...code, ...link, ...debriefing(told)];
  },
  excluded: (told) => [heading("The study ends here"), make("p", {}, told.words), ...debriefing(told)],
};

const next = (told) => make("p", {}, main("Go on", () => answer(told)));
const debriefing = (told) => [make("h3", {}, "About this study"), make("p", { className: "consent" }, told.debriefing)];

// One action is asked for; it stays marked while participants say how sure they are.
function chosen(told, title) {
  return asking(told, title, `You are in ${told.place}. What is best?`, (action) => {
    if (!told.confidence) { answer(told, { action }); return []; }
    const levels = ["guessed", "2", "3", "4", "certain"];
    return [make("span", { id: "sure" }, "How sure are you?"),
      ...choices(levels, (i) => answer(told, { action, confidence: i + 1 }), false)];
  });
}

// Questions with radio buttons, all to be answered; the first option counts as `first`.
function form(told, questions, first) {
  const groups = questions.map(([words, options], i) => make("fieldset", { className: first ? "scale" : "" }, make("legend", {}, words),
    ...options.map((option, k) => make("label", { className: "option" },
      make("input", { type: "radio", name: `question-${i}`, value: String(k + first) }), make("span", {}, option)))));
  const send_all = () => {
    const found = groups.map((group) => group.querySelector(":checked"));
    const open = found.findIndex((each) => !each);
    if (open < 0) return answer(told, { detail: found.map((each) => Number(each.value)) });
    problem.textContent = `Please answer question ${open + 1} too.`;
    groups[open].querySelector("input").focus();
    return null;
  };
  return [...groups, make("p", {}, main("Go on", send_all))];
}

function watching(told, [title, words]) {
  const parts = told.parts.flatMap(([world, html], i) => {
    const part = make("div");
    place(part, html, `part-${i}`);
    return world ? [make("h3", {}, `In ${world}`), part] : [part];
  });
  const go = main("Go on", () => answer(told, { detail: { watched: log() } })), told_when = [];
  if (told.seconds > 0) {
    go.disabled = true;
    const note = make("p", { className: "status" }, `You can go on after ${Math.ceil(told.seconds)} seconds.`);
    told_when.push(note);
    setTimeout(() => { go.disabled = false; note.textContent = "You can go on now."; }, 1000 * told.seconds + 300);
  }
  return [heading(title), make("p", {}, words), ...parts, ...told_when, go];
}

function show(told) {
  const at = told.step === undefined ? [] : [make("progress", { max: String(told.of), value: told.step, "aria-label": `Step ${told.step + 1} of ${told.of}` })];
  step.replaceChildren(...at, ...VIEWS[told.kind](told).filter(isTrue));
  step.dataset.kind = told.kind;
  step.dataset.step = told.step ?? "";
  if (told.parts) { lesson(step); log = watchLog(step); }
  shownAt = performance.now();
  problem.textContent = "";
  scrollTo(0, 0);
  step.querySelector("h2").focus({ preventScroll: true });
}

async function agree(token) {
  await once(async () => {
    const query = Object.fromEntries(new URLSearchParams(location.search));
    const { link } = await send("/join", { token, query });
    stored((storage) => storage.setItem(kept, link));
    history.replaceState(null, "", link);
    show(await send(`${link}/step`));
  });
}

// The first page leads back to where this browser has taken part; else to what one agrees to.
async function begin() {
  const link = here() === "/" && stored((storage) => storage.getItem(kept));
  if (link && /^\/p\/[\w-]+$/.test(link)) {
    const answer = await fetch(`${link}/step`);
    if (answer.ok) { history.replaceState(null, "", link); return show(await answer.json()); }
    if (answer.status === 404) stored((storage) => storage.removeItem(kept));
  }
  return show(await send(here() === "/" ? "/consent" : `${here()}/step`));
}

await begin();

// Examine: the shortest exam that decides alignment, for you or for a policy from a file.

import { IS_STATIC } from "./ask.js";
import { counted, make } from "./elements.js";
import { work } from "./work.js";

const SIDES = ["first", "second", "equal"];

export function examine(panel, desk) {
  const told = make("p", { className: "verdict", role: "status" });
  const status = make("p", { className: "status", role: "status" });
  const kind = make("select", { onchange: () => start() }, make("option", { value: "comparisons" }, "which of two actions is worth more"),
    make("option", { value: "actions" }, "all best actions of a state"));
  const begin = make("button", { type: "button", className: "main", onclick: () => start() }, "Begin");
  const policy = make("input", { type: "file", accept: ".json,application/json", onchange: () => audit() });
  const sheet = make("form", { className: "sheet", onsubmit: (event) => { event.preventDefault(); grade(); } });
  panel.append(told, make("p", { className: "lead" }, "An exam with the fewest questions that decide whether somebody holds the same actions best as this world."),
    make("p", { className: "fields" }, make("label", { className: "field" }, "Questions", kind), begin,
      make("label", { className: "field" }, "Or audit a policy: a JSON list, one action for each state", policy)), status, sheet);
  policy.disabled = IS_STATIC;
  let questions = [];

  const wish = () => ({ ...desk.subject(), ask: kind.value, settings: desk.settings() });

  async function start() {
    try {
      const exam = await work(status, "Looking for the fewest questions", start, "exam", wish());
      if (!exam) return;
      questions = exam.questions;
      status.textContent = "";
      told.textContent = `${counted(questions.length, "question")}${exam.is_fewest ? ", as few as can be" : ""}.`;
      const open = exam.can_pass ? [] : [make("p", { className: "note" }, `Right answers cannot pass: ${exam.open.join("; ")}`)];
      sheet.replaceChildren(...open, ...questions.map(asking), ...(questions.length ? [make("button", { type: "submit", className: "main" }, "Grade")] : []));
    } catch (error) {
      status.textContent = error.message;
    }
    panel.dataset.asked = kind.value;
  }

  function asking(question, i) {
    const compares = question.kind !== "action";
    const labels = compares ? [...question.labels, "both are worth the same"] : question.labels;
    return make("fieldset", {}, make("legend", {}, `${i + 1}. ${question.words}`),
      ...labels.map((words, j) => make("label", { className: "option" },
        make("input", { type: compares ? "radio" : "checkbox", name: `q${i}`, value: String(j) }), words)),
      make("p", { className: "graded" }));
  }

  function given(i) {
    const ticked = [...sheet.querySelectorAll(`[name=q${i}]:checked`)].map((input) => Number(input.value));
    if (!ticked.length) return null;
    return questions[i].kind === "action" ? ticked : SIDES[ticked[0]];
  }

  async function grade() {
    try {
      const graded = await work(status, "Grading", grade, "grade", { ...wish(), answers: questions.map((_, i) => given(i)) });
      if (!graded) return;
      result(graded);
      sheet.querySelectorAll(".graded").forEach((line, i) => {
        if (graded.key[i] === null) { line.textContent = "Not answered."; return; }
        const key = graded.key[i], labels = questions[i].labels;
        const right = Array.isArray(key) ? key.map((a) => labels[a]).join(", ") : { first: labels[0], second: labels[1], equal: "both the same" }[key];
        line.textContent = `Correct: ${right}.${graded.says[i] ? ` It says that ${graded.says[i]}.` : ""}`;
      });
    } catch (error) {
      status.textContent = error.message;
    }
    panel.dataset.graded = kind.value;
  }

  function result(graded) {
    told.textContent = { pass: "Passed.", fail: "Failed.", undecided: "Undecided." }[graded.verdict];
    status.textContent = `${graded.reason[0].toUpperCase()}${graded.reason.slice(1)}. A pass says: ${graded.statement}.`;
  }

  async function audit() {
    try {
      const text = await policy.files[0].text();
      const found = await work(status, "Auditing", audit, "audit", { ...desk.subject(), policy: JSON.parse(text), settings: desk.settings() });
      if (!found) return;
      result(found);
    } catch (error) {
      status.textContent = error instanceof SyntaxError ? "this file is no JSON" : error.message;
    }
    panel.dataset.audited = "yes";
  }

  return { opened: () => desk.secret(true), closed: () => desk.secret(false), forget() { questions = []; sheet.replaceChildren(); told.textContent = ""; status.textContent = ""; } };
}

// The lesson: verdict, proof, demonstrations that play; the same modules as a lesson's own page.

import { IS_STATIC } from "./ask.js";
import { make, place } from "./elements.js";
import { lesson } from "./lesson.js";
import { work } from "./work.js";

// The panel; subject(): the world now.
export function lessons(panel, subject) {
  const verdict = make("p", { className: "verdict" });
  const badges = make("ul", { className: "badges" });
  const status = make("p", { className: "status", role: "status" });
  const settings = make("div", { className: "fields" });
  const parts = make("div", { className: "parts" });
  const cost = choice("Keep small", { demonstrations: "demonstrations", pairs: "steps in all" });
  const scope = choice("Behaviour counts", { reachable: "where one can get", all: "everywhere" });
  const loss = choice("A learner may lose", { "0%": "nothing", "1%": "1 %", "5%": "5 %", "10%": "10 %", "20%": "20 %" });
  const walks = choice("Show", { whole: "whole walks", cut: "only what is needed" });
  const horizon = make("input", { type: "text", inputmode: "numeric", maxlength: "4", placeholder: "any", onchange: update });
  loss.select.disabled = walks.select.disabled = horizon.disabled = IS_STATIC;
  settings.append(cost.label, scope.label, loss.label, walks.label, make("label", { className: "field" }, "Longest demonstration", horizon));
  panel.append(verdict, badges, status, settings, parts);
  let asked = 0, answered = null, counts = false;

  function choice(words, options) {
    const select = make("select", { onchange: update },
      ...Object.entries(options).map(([value, told]) => make("option", { value }, told)));
    return { select, label: make("label", { className: "field" }, words, select) };
  }

  function wished() {
    // The fewest steps in all are those of walks that are cut.
    if (counts !== (cost.select.value === "pairs")) {
      counts = !counts;
      walks.select.value = counts ? "cut" : "whole";
    }
    walks.select.disabled = IS_STATIC || counts;
    const wish = { cost: cost.select.value, scope: scope.select.value, loss: loss.select.value, trim: walks.select.value === "cut" };
    return horizon.value.trim() ? { ...wish, horizon: Number(horizon.value) } : wish;
  }

  async function update() {
    const number = ++asked, wish = wished();
    panel.dataset.asked = number;
    try {
      const told = await work(status, "Looking for the fewest demonstrations and their proof", update, "teach", { ...subject(), settings: wish });
      if (told && number === asked) show(told);
    } catch (error) {
      if (number === asked) fail(error.message);
    }
    if (number === asked) panel.dataset.answered = number;
  }

  // What cannot be taught has no verdict: the one of the world before goes.
  function fail(words) {
    answered = null;
    verdict.textContent = "";
    badges.replaceChildren();
    parts.replaceChildren();
    status.textContent = words;
    status.classList.add("problem");
  }

  function show(told) {
    answered = told;
    verdict.textContent = told.words;
    status.textContent = "";
    status.classList.remove("problem");
    const complete = make("li", { className: told.is_complete ? "badge" : "badge open" },
      { complete: "✓ Complete", undecided: "≈ Undecided" }[told.status] ?? "◐ Partial");
    const proof = make("li", { className: told.verified ? "badge" : "badge quiet", title: told.proof_sentence },
      `${told.verified ? "✓ " : ""}${told.proof}`);
    badges.replaceChildren(complete, proof,
      ...(told.loss_bound == null || told.is_complete ? [] : [make("li", { className: "badge quiet" }, `nobody loses more than ${told.loss_bound.toPrecision(3)} (${told.loss_status})`)]),
      ...told.numbers.map((words) => make("li", { className: "badge quiet" }, words)));
    place(parts, told.html, "lesson");
    lesson(parts);
  }

  return { update, fail, told: () => answered, settings: wished };
}

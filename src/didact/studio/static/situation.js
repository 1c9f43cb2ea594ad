// A world that cannot be painted: its board, what else a state says, and the members of a family.

import { ask } from "./ask.js";
import { byId, make } from "./elements.js";
import { latest } from "./work.js";

const CHOICES = { passenger: "Passenger", to: "Destination", looking: "Looking" };

// The view; board: the page's board; subject(): the world now; isSecret(): whether a game hides what is best;
// open(kind, question): asks for a world and shows it; drawn(view): called when a picture has come.
export function situation(board, { subject, isSecret, open, drawn }) {
  const place = byId("situation");
  let view = null, chosen = [], at = null, member = 0;

  const update = latest(async () => {
    const about = JSON.stringify(subject()), secret = isSecret();
    try {
      const told = await ask("view", { ...subject(), member, secret, ...(at === null ? {} : { at }) });
      // A picture with arrows that comes when a game has begun is not shown.
      if (!told || about !== JSON.stringify(subject()) || secret !== isSecret()) return;
      view = told;
      at = told.at ?? null;
      chosen = at === null ? [] : told.states[at]?.slice(1) ?? [];
      show();
      drawn(told);
    } catch (error) {
      view = null;
      drawn({ error: error.message });
    }
  });

  function show() {
    board.paintable(view.rows > 0);
    if (view.rows) board.size(view.rows, view.columns);
    board.picture(view.picture ?? "");
    const selects = view.parts.map((options, i) => choice(i, options));
    place.replaceChildren(...(view.members.length ? [members()] : []), ...selects);
    describe();
  }

  function choice(i, options) {
    if (options.length < 2) return "";
    const words = options.map((text) => text.split(" ")[0]);
    const name = words.every((word) => word === words[0]) && words[0] in CHOICES ? words[0] : "Situation";
    const select = make("select", { onchange: () => { chosen[i] = select.value; jump(i); } },
      ...options.map((text) => make("option", { value: text }, name in CHOICES ? text.slice(name.length + 1) || text : text)));
    select.value = chosen[i] ?? options[0];
    return make("label", { className: "field" }, CHOICES[name] ?? name, select);
  }

  function members() {
    const select = make("select", { onchange: () => { member = Number(select.value); at = null; update(); } },
      ...view.members.map((name, i) => make("option", { value: String(i) }, name)));
    select.value = String(member);
    return make("p", { className: "fields" }, make("label", { className: "field" }, "Member", select),
      make("button", { type: "button", id: "open-member", onclick: () => open("member", { ...subject(), member }) }, "Open this member alone"));
  }

  // Goes to a state with the part that was chosen, in which as much else as can be is as it was.
  function jump(part) {
    const now = [at === null ? null : view.states[at]?.[0], ...chosen];
    const alike = (state) => (state[part + 1] === chosen[part] ? now.filter((each, i) => each === state[i]).length : -1);
    at = view.states.reduce((best, state, i) => (alike(state) > alike(view.states[best]) ? i : best), 0);
    update();
  }

  function describe() {
    if (!view?.rows) return;
    const words = Array.from({ length: view.rows * view.columns }, (_, cell) => {
      const place_ = `row ${Math.floor(cell / view.columns) + 1}, column ${cell % view.columns + 1}`;
      const state = stateOf(cell);
      if (state < 0) return `${place_}: no state`;
      const best = view.best[state];
      return best?.length ? `${place_}, best: ${best.join(" or ")}` : place_;
    });
    board.describe(`the world, ${view.rows} rows and ${view.columns} columns: space chooses`, words);
  }

  const stateOf = (cell) => view?.states.findIndex((state) => state.length && state[0] === cell && state.slice(1).every((part, i) => part === chosen[i])) ?? -1;
  const cellOf = (state) => view?.states[state]?.[0];

  return {
    update,
    stateOf, cellOf,
    isFamily: () => (view?.members.length ?? 0) > 0,
    // Shows a state: its cell, and what else its name says.
    go(state) { if (state >= 0 && state !== at) { at = state; update(); } },
    forget() { view = null; at = null; member = 0; chosen = []; place.replaceChildren(); },
  };
}

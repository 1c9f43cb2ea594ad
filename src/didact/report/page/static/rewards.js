// The rewards that still fit: a disc, a sphere or a slice, and the bars of all weights.

import { bars } from "./bars.js";
import { make } from "./elements.js";
import { sphere } from "./sphere.js";

// A view of rewards in an element; asks(): called when another pair or unit is chosen.
export function rewards(root, asks) {
  const picture = make("div", { className: "rewards-picture" });
  const ball = make("canvas", { className: "sphere", tabindex: "0", role: "img", hidden: true });
  [ball.width, ball.height] = [520, 520];
  const round = sphere(ball);
  const scale = make("div");
  const pairs = [0, 1].map((i) => make("select", { "aria-label": i ? "Weight that goes up" : "Weight that goes across", onchange: asks }));
  const unit = make("select", { "aria-label": "Weight that is the unit", onchange: asks });
  const choosing = make("p", { className: "fields" }, make("span", {}, "Slice through"), pairs[0], pairs[1]);
  const measuring = make("p", { className: "fields" }, make("span", {}, "In units of"), unit);
  root.append(ball, choosing, picture, make("h3", {}, "What each weight may still be"), measuring, scale);
  let names = [];

  function options(told) {
    if (JSON.stringify(told.names) === JSON.stringify(names)) return;
    names = told.names;
    const list = () => (told.labels ?? names).map((name, i) => make("option", { value: String(i) }, name));
    for (const select of [...pairs, unit]) select.replaceChildren(...list());
    pairs[1].selectedIndex = 1;
  }

  return {
    // What the choices say, for the question; nothing before the first answer.
    wish() {
      if (!names.length) return {};
      const pair = pairs.map((select) => Number(select.value));
      return { unit: Number(unit.value), ...(pair[0] !== pair[1] && names.length > 2 ? { pair } : {}) };
    },
    // isOther: the world is another one, and nothing of the last is shown.
    forget(isOther) { names = []; if (isOther) root.hidden = true; },
    show(told) {
      root.hidden = false;
      options(told);
      unit.value = String(told.unit ?? 0);
      if (told.pair) told.pair.forEach((feature, i) => { pairs[i].value = String(feature); });
      choosing.hidden = told.names.length < 3;
      picture.innerHTML = told.picture ?? "";
      ball.hidden = !told.normals;
      if (told.normals) round.show(told);
      measuring.hidden = !told.bounds;
      if (told.bounds) bars(scale, { ...told, names: told.labels ?? told.names });
      else scale.textContent = "There is no bound to tell: one weight, a reward of zero, or floats only.";
    },
  };
}

// A learner that still fits and is wrong, in words and as a picture.
export function believer(root, told) {
  if (!told.believer) {
    root.replaceChildren(make("p", {}, told.teaches ? "Nobody who fits is mistaken: every reward that fits leads to the same behaviour." : ""));
    return;
  }
  const picture = make("div", { className: "believer" });
  picture.innerHTML = told.believer.picture ?? "";
  root.replaceChildren(
    make("p", {}, make("b", {}, told.believer.words), ` still fits. Who believes it goes wrong in ${told.believer.n_astray} states`
      + (told.loss === null ? "." : ` and may lose ${told.loss.toPrecision(3)} from the start. This is what it would do:`)),
    picture,
    make("p", {}, told.believer.choice),
  );
}

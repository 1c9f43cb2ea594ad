// A demonstration that can be played: it moves the tokens, marks the step and says it aloud.

const PAUSE = 750;
const PLAY = "M4 2.5 13 8l-9 5.5z", WAIT = "M4 3h3v10H4zM9 3h3v10H9z";

// What is said at each step and where the tokens are, as the markup of a demonstration tells it.
export function stepsIn(demo) {
  return [...demo.querySelectorAll(".strip > li")].map(({ dataset }) => {
    const { say, ...places } = dataset;
    return { say, places };
  });
}

// Brings a demonstration to life; step(i) goes to a step, and stops.
export function player(demo, steps = stepsIn(demo)) {
  const chips = [...demo.querySelectorAll(".strip > li")];
  const arrows = [...demo.querySelectorAll(".arrow")];
  const tokens = [...demo.querySelectorAll("[data-token]")];
  const strip = demo.querySelector(".strip");
  const slider = demo.querySelector("input[type=range]");
  const now = demo.querySelector(".now");
  const button = demo.querySelector("[data-do=play]");
  const last = steps.length - 1;
  let at = 0, timer = null, begun = false;

  function show(wanted) {
    at = Math.max(0, Math.min(last, wanted));
    chips.forEach((chip, i) => {
      chip.classList.toggle("current", i === at);
      if (i === at) chip.setAttribute("aria-current", "step");
      else chip.removeAttribute("aria-current");
    });
    arrows.forEach((arrow, i) => {
      arrow.classList.toggle("ahead", i > at);
      arrow.classList.toggle("at", i === at);
    });
    for (const token of tokens) {
      const place = steps[at].places[token.dataset.token];
      token.style.visibility = place ? "visible" : "hidden";
      if (place) token.setAttribute("transform", "translate(" + place.replace(",", " ") + ")");
    }
    now.textContent = steps[at].say;
    if (begun) demo.dispatchEvent(new CustomEvent("walk", { bubbles: true, detail: { agent: steps[at].places.agent ?? null } }));
    slider.value = at;
    slider.setAttribute("aria-valuetext", steps[at].say);
    demo.dispatchEvent(new CustomEvent("moved", { detail: at }));
    const chip = chips[at];
    strip.scrollLeft = chip.offsetLeft - strip.offsetLeft - strip.clientWidth / 2
      + chip.offsetWidth / 2;
    strip.scrollTop = chip.offsetTop - strip.offsetTop - strip.clientHeight / 2;
  }
  function playing(on) {
    clearInterval(timer);
    timer = on ? setInterval(tick, PAUSE) : null;
    const told = on ? "Pause" : "Play";
    button.setAttribute("aria-label", told);
    button.title = told;
    button.querySelector("path").setAttribute("d", on ? WAIT : PLAY);
    now.setAttribute("aria-live", on ? "off" : "polite");
  }
  function tick() {
    show(at + 1);
    if (at === last) playing(false);
  }
  function toggle() {
    if (timer) return playing(false);
    if (at === last) show(0);
    demo.dispatchEvent(new CustomEvent("played"));
    playing(true);
  }
  function step(to) { playing(false); show(to); }

  demo.querySelector("[data-do=back]").addEventListener("click", () => step(at - 1));
  demo.querySelector("[data-do=next]").addEventListener("click", () => step(at + 1));
  button.addEventListener("click", toggle);
  slider.addEventListener("input", () => step(Number(slider.value)));
  chips.forEach((chip, i) => chip.addEventListener("click", () => step(i)));
  demo.addEventListener("keydown", (event) => {
    if (event.target === slider || event.ctrlKey || event.metaKey || event.altKey) return;
    const moves = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: last };
    if (event.key in moves) step(moves[event.key]);
    else if (event.key === " " && event.target === demo) toggle();
    else return;
    event.preventDefault();
  });
  demo.classList.add("live");
  demo.querySelector(".controls").hidden = false;
  show(0);
  begun = true;
  return { step };
}

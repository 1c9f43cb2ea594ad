"use strict";
const PAUSE = 750;
const PLAY = "M4 2.5 13 8l-9 5.5z", WAIT = "M4 3h3v10H4zM9 3h3v10H9z";

function player(demo) {
  const chips = [...demo.querySelectorAll(".strip > li")];
  const arrows = [...demo.querySelectorAll(".arrow")];
  const tokens = [...demo.querySelectorAll("[data-token]")];
  const strip = demo.querySelector(".strip");
  const slider = demo.querySelector("input[type=range]");
  const now = demo.querySelector(".now");
  const button = demo.querySelector("[data-do=play]");
  let at = 0, timer = null;

  function show(step) {
    at = Math.max(0, Math.min(chips.length - 1, step));
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
      const place = chips[at].dataset[token.dataset.token];
      token.style.visibility = place ? "visible" : "hidden";
      if (place) token.setAttribute("transform", "translate(" + place.replace(",", " ") + ")");
    }
    now.textContent = chips[at].dataset.say;
    slider.value = at;
    slider.setAttribute("aria-valuetext", chips[at].dataset.say);
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
    if (at === chips.length - 1) playing(false);
  }
  function toggle() {
    if (timer) return playing(false);
    if (at === chips.length - 1) show(0);
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
    const moves = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: chips.length - 1 };
    if (event.key in moves) step(moves[event.key]);
    else if (event.key === " " && event.target === demo) toggle();
    else return;
    event.preventDefault();
  });
  demo.addEventListener("jump", (event) => step(event.detail));
  demo.classList.add("live");
  demo.querySelector(".controls").hidden = false;
  show(0);
}

for (const demo of document.querySelectorAll(".demo")) player(demo);

for (const jump of document.querySelectorAll(".jump")) {
  jump.addEventListener("click", () => {
    const demo = document.getElementById(jump.dataset.demo);
    demo.dispatchEvent(new CustomEvent("jump", { detail: Number(jump.dataset.step) }));
    demo.scrollIntoView({ block: "nearest" });
    demo.focus({ preventScroll: true });
  });
}

for (const choice of document.querySelectorAll("select[data-shows]")) {
  const shown = [...document.querySelectorAll("." + choice.dataset.shows)];
  const change = () => shown.forEach((part, i) => { part.hidden = i !== choice.selectedIndex; });
  choice.addEventListener("change", change);
  choice.closest(".choose").hidden = false;
  change();
}

for (const copy of document.querySelectorAll(".copy")) {
  copy.hidden = false;
  copy.addEventListener("click", async () => {
    const told = copy.textContent, code = copy.previousElementSibling;
    try {
      await navigator.clipboard.writeText(code.textContent);
      copy.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(code);
      copy.textContent = "Selected";
    }
    setTimeout(() => { copy.textContent = told; }, 1500);
  });
}

// A lesson's page: its demonstrations play, its sentences lead to their steps.

import { coverage } from "./coverage.js";
import { halfSpaces } from "./halfspaces.js";
import { player } from "./player.js";

// Brings all parts of a lesson in an element, or in the document, to life.
export function lesson(root) {
  const players = new Map();
  for (const demo of root.querySelectorAll(".demo")) players.set(demo.id, player(demo));
  for (const jump of root.querySelectorAll(".jump")) leads(jump, players);
  for (const choice of root.querySelectorAll(".choose")) halfSpaces(choice.parentElement);
  for (const charts of root.querySelectorAll(".charts")) coverage(charts.parentElement);
  for (const button of root.querySelectorAll(".copy")) copies(button);
}

function leads(jump, players) {
  jump.addEventListener("click", () => {
    const demo = jump.getRootNode().getElementById(jump.dataset.demo);
    players.get(jump.dataset.demo).step(Number(jump.dataset.step));
    demo.scrollIntoView({ block: "nearest" });
    demo.focus({ preventScroll: true });
  });
}

function copies(button) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const told = button.textContent, code = button.previousElementSibling;
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(code);
      button.textContent = "Selected";
    }
    setTimeout(() => { button.textContent = told; }, 1500);
  });
}

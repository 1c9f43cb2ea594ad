// Views to choose from: one is seen, arrow keys move between them.

import { make } from "./elements.js";

// chose(name): called when a view was chosen.
export function tabs(list, panels, chose) {
  const views = [];

  function choose(wanted, focus = false) {
    views.filter(({ name, panel }) => name !== wanted && !panel.hidden).forEach(({ closed }) => closed?.());
    views.forEach(({ name, tab, panel, opened }) => {
      const on = name === wanted;
      tab.setAttribute("aria-selected", String(on));
      tab.tabIndex = on ? 0 : -1;
      panel.hidden = !on;
      if (on) { opened?.(); if (focus) tab.focus(); }
    });
    chose(wanted);
  }

  // A view's panel; opened(), closed(): called when it is chosen and left.
  function add(name, words, opened, closed) {
    const tab = make("button", {
      type: "button", role: "tab", id: `tab-${name}`, "aria-controls": `panel-${name}`, onclick: () => choose(name),
    }, words);
    const panel = make("div", { role: "tabpanel", id: `panel-${name}`, "aria-labelledby": `tab-${name}`, className: "panel" });
    panel.hidden = true;
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const at = views.findIndex((view) => view.name === name);
      choose(views[(at + step + views.length) % views.length].name, true);
      event.preventDefault();
    });
    views.push({ name, tab, panel, opened, closed });
    list.append(tab);
    panels.append(panel);
    return panel;
  }

  return { add, choose, start: () => choose(views[0].name), chosen: () => views.find(({ panel }) => !panel.hidden).name };
}

// A widget's own corner of a notebook: its style stays inside, the notebook's outside.

// A root in an element, with the style that the model carries.
export function corner(model, el) {
  const root = (el.shadowRoot ?? el.attachShadow({ mode: "open" }));
  const style = document.createElement("style");
  style.textContent = model.get("style");
  const page = document.createElement("div");
  page.className = "page studio";
  root.replaceChildren(style, page);
  return page;
}

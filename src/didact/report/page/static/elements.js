// Small pieces of a page, made without markup: whatever a text holds, it stays a text.

// make("button", { type: "button", onclick: f }, "Play"): an element with properties and children.
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name in element && typeof value !== "string") element[name] = value;
    else if (value !== null) element.setAttribute(name === "className" ? "class" : name, value);
  }
  element.append(...children);
  return element;
}

export const byId = (id) => document.getElementById(id);

// Puts the server's markup into an element; its ground gets a name of its own, as others are there.
export function place(root, html, name) {
  root.innerHTML = html;
  const ground = root.querySelector("#world");
  if (!ground) return;
  ground.id = `world-of-${name}`;
  for (const use of root.querySelectorAll("use")) use.setAttribute("href", `#${ground.id}`);
}

// counted(1, "answer") is "1 answer", counted(2, "answer") "2 answers".
export const counted = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;

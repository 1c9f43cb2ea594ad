// Export: files to keep, a page to send, pictures, and code that does the same.

import { make } from "./elements.js";
import { work } from "./work.js";

const FILES = {
  task: ["task.json", "application/json", "Task"],
  lesson: ["lesson.json", "application/json", "Lesson with its proof"],
  page: ["lesson.html", "text/html", "Lesson as a page"],
  picture: ["world.svg", "image/svg+xml", "Picture (SVG)"],
};

export function exports_(panel, desk) {
  const status = make("p", { className: "status", role: "status" });
  const buttons = make("p", { className: "buttons" });
  const python = code("Python"), command = code("Command line");
  panel.append(make("p", { className: "lead" }, "What the page shows, as files; and code that makes the same."), status, buttons, ...python.parts, ...command.parts);

  function code(title) {
    const text = make("code");
    return { parts: [make("h3", {}, title), make("pre", { tabindex: "0" }, text)], text };
  }

  async function opened() {
    try {
      const made = await work(status, "Making the files", opened, "export", { ...desk.subject(), settings: desk.settings() });
      if (!made) return;
      status.textContent = "";
      buttons.replaceChildren();
      for (const [kind, [name, type, words]] of Object.entries(FILES)) {
        if (made[kind]) buttons.append(make("button", { type: "button", id: `export-${kind}`, onclick: () => save(name, new Blob([made[kind]], { type })) }, words));
      }
      if (made.picture) buttons.append(make("button", { type: "button", id: "export-png", onclick: () => png(made.picture) }, "Picture (PNG)"));
      python.text.textContent = made.python;
      command.text.textContent = made.command;
    } catch (error) {
      status.textContent = error.message;
    }
    panel.dataset.ready = "yes";
  }

  function save(name, blob) {
    const link = make("a", { href: URL.createObjectURL(blob), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  async function png(svg) {
    const image = new Image();
    image.src = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
    await image.decode();
    const canvas = make("canvas");
    [canvas.width, canvas.height] = [2 * image.width, 2 * image.height];
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    URL.revokeObjectURL(image.src);
    canvas.toBlob((blob) => save("world.png", blob), "image/png");
  }

  return { opened, forget(isOther) {
    if (!isOther) return;
    for (const each of [buttons, python.text, command.text]) each.replaceChildren();
    delete panel.dataset.ready;
  } };
}

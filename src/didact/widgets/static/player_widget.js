// A lesson in a notebook: its demonstrations play, as on its own page.

import { corner } from "./frame.js";
import { lesson } from "./lesson.js";

export function render({ model, el }) {
  const page = corner(model, el);
  const show = () => { page.innerHTML = model.get("html"); lesson(page); };
  model.on("change:html", show);
  show();
  return () => model.off("change:html", show);
}

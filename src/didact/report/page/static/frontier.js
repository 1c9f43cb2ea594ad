// A slider over the lessons of a frontier: one is seen, the others wait. Without it all are there.

export function frontier(root) {
  const slider = root.querySelector(".frontier input[type=range]");
  const points = [...root.querySelectorAll(".frontier .point")];
  const told = root.querySelector(".frontier output");
  const show = () => {
    const chosen = Number(slider.value);
    points.forEach((point, i) => { point.hidden = i !== chosen; });
    told.textContent = points[chosen].querySelector("h3").textContent;
    slider.setAttribute("aria-valuetext", told.textContent);
  };
  slider.closest(".choose").hidden = false;
  slider.addEventListener("input", show);
  show();
}

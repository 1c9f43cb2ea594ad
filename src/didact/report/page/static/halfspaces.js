// Half-space pictures, one for each pair of weights: a choice shows one of them.

// Lets the choice in an element show one of its pictures; choose(i) does so too.
export function halfSpaces(root, first) {
  const choice = root.querySelector("select[data-shows]");
  if (!choice) return null;
  const pictures = [...root.querySelectorAll("." + choice.dataset.shows)];
  function choose(wanted) {
    choice.selectedIndex = wanted;
    pictures.forEach((picture, i) => { picture.hidden = i !== wanted; });
  }
  choice.addEventListener("change", () => choose(choice.selectedIndex));
  choice.closest(".choose").hidden = false;
  choose(first ?? choice.selectedIndex);
  return { choose };
}

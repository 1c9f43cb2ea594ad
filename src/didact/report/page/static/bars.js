// What each weight may still be, as bars on one scale; a bar without an end fades out.

const WIDTH = 300, HIGH = 22;

// The namespace of pictures, as the browser knows it.
function pictures() {
  const holder = document.createElement("div");
  holder.innerHTML = "<svg></svg>";
  return holder.firstChild.namespaceURI;
}

function drawn(tag, attributes) {
  const element = document.createElementNS(pictures(), tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

// Fills an element; rewards: { names, weights, unit, bounds: [{ low, high, words, proved }] }.
export function bars(root, { names, weights, unit, bounds }) {
  const size = Math.abs(weights[unit]);
  const ends = bounds.flatMap(({ low, high }) => [low, high]).filter((end) => end !== null);
  const true_ = weights.map((weight) => weight / size);
  const reach = 1.25 * Math.max(1, ...[...ends, ...true_].map(Math.abs));
  const at = (value) => WIDTH * (Math.max(-reach, Math.min(reach, value)) + reach) / (2 * reach);
  const list = document.createElement("ul");
  list.className = "weight-bars";
  bounds.forEach(({ low, high, words, proved }, i) => {
    const line = document.createElement("li");
    const name = document.createElement("span");
    name.className = "name";
    name.textContent = names[i];
    const told = document.createElement("span");
    told.className = "told";
    told.textContent = `${words}${proved ? "" : " (about)"}`;
    const picture = drawn("svg", { viewBox: `0 0 ${WIDTH} ${HIGH}`, "aria-hidden": "true", preserveAspectRatio: "none" });
    const [from, to] = [at(low ?? -reach), at(high ?? reach)];
    picture.append(
      drawn("path", { class: "faint", d: `M${WIDTH / 2} 0V${HIGH}` }),
      drawn("rect", { class: low === null || high === null ? "bar-open" : "bar-closed", x: from, width: Math.max(to - from, 2), y: 5, height: 12, rx: 3 }),
      drawn("path", { class: "truth", d: `M${at(true_[i])} 2V${HIGH - 2}` }),
    );
    line.append(name, picture, told);
    list.append(line);
  });
  root.replaceChildren(list);
}

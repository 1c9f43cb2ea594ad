// Coverage charts: every dot says its numbers when it is pointed at.

// Demonstrations shown, constraints covered and loss left, row by row, as the table tells them.
export function pointsIn(root) {
  return [...root.querySelectorAll("tbody tr")].map((row) => {
    const [shown, covered, loss] = [...row.cells].map((cell) => cell.textContent);
    return { shown, covered, loss };
  });
}

// Names the dots of the charts in an element, each by the point it stands for.
export function coverage(root, points = pointsIn(root)) {
  for (const chart of root.querySelectorAll(".chart")) {
    chart.querySelectorAll("circle").forEach((dot, i) => {
      const title = document.createElementNS(chart.namespaceURI, "title");
      const { shown, covered, loss } = points[i];
      title.textContent = `after ${shown}: ${covered} covered, loss ${loss}`;
      dot.replaceChildren(title);
    });
  }
}

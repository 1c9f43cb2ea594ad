// The board: the world's picture as the server draws it, and cells on it to paint and to choose.

const SIDE = 20, AIR = 1; // of a cell and around the picture, in its own units

// Lays a board out; does: what is called when a cell is touched (touch), a stroke ends (done).
export function board(root, does) {
  const picture = document.createElement("div");
  const cells = document.createElement("div");
  picture.className = "picture";
  cells.className = "cells";
  cells.setAttribute("role", "grid");
  const heads = ["rows", "columns"].map((side) => {
    const head = document.createElement("div");
    head.className = `heads ${side}`;
    head.setAttribute("aria-hidden", "true");
    return head;
  });
  const agent = document.createElement("div");
  agent.className = "board-agent";
  agent.hidden = true;
  root.replaceChildren(...heads, picture, cells, agent);
  let rows = 0, columns = 0, at = 0, painting = false, last = null;

  const all = () => [...cells.querySelectorAll(".cell")];

  function size(nRows, nColumns) {
    if (nRows === rows && nColumns === columns) return;
    [rows, columns] = [nRows, nColumns];
    root.style.setProperty("--rows", rows);
    root.style.setProperty("--columns", columns);
    cells.style.inset = `${100 * AIR / (rows * SIDE + 2 * AIR)}% ${100 * AIR / (columns * SIDE + 2 * AIR)}%`;
    const lines = [];
    for (let row = 0; row < rows; row++) {
      const line = document.createElement("div");
      line.setAttribute("role", "row");
      for (let column = 0; column < columns; column++) {
        const cell = document.createElement("div");
        cell.className = "cell";
        cell.setAttribute("role", "gridcell");
        cell.dataset.cell = row * columns + column;
        cell.tabIndex = -1;
        line.append(cell);
      }
      lines.push(line);
    }
    cells.replaceChildren(...lines);
    heads.forEach((head, i) => head.replaceChildren(...Array.from({ length: i ? columns : rows }, (_, n) => {
      const number = document.createElement("span");
      number.textContent = n + 1;
      return number;
    })));
    at = Math.min(at, rows * columns - 1);
    all()[at].tabIndex = 0;
  }

  // words: what a screen reader says of each cell.
  function describe(label, words) {
    cells.setAttribute("aria-label", label);
    all().forEach((cell, i) => cell.setAttribute("aria-label", words[i]));
  }

  function focus(to) {
    const them = all();
    them[at].tabIndex = -1;
    at = to;
    them[at].tabIndex = 0;
    them[at].focus();
  }

  function under(event) {
    const box = cells.getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left) / box.width * columns);
    const row = Math.floor((event.clientY - box.top) / box.height * rows);
    return row >= 0 && row < rows && column >= 0 && column < columns ? row * columns + column : null;
  }

  // The cells from one to another, without the first: a fast hand skips some between two events.
  function between(from, to) {
    const [row, column] = [Math.floor(from / columns), from % columns];
    const [down, across] = [Math.floor(to / columns) - row, to % columns - column];
    const steps = Math.max(Math.abs(down), Math.abs(across));
    return Array.from({ length: steps }, (_, i) =>
      (row + Math.round(down * (i + 1) / steps)) * columns + column + Math.round(across * (i + 1) / steps));
  }

  cells.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    const cell = under(event);
    if (cell === null) return;
    painting = true;
    last = cell;
    cells.setPointerCapture(event.pointerId);
    focus(cell);
    does.touch(cell, true);
    event.preventDefault();
  });
  cells.addEventListener("pointermove", (event) => {
    const cell = painting ? under(event) : null;
    if (cell === null || cell === last) return;
    for (const each of between(last, cell)) does.touch(each, false);
    last = cell;
  });
  for (const end of ["pointerup", "pointercancel"]) {
    cells.addEventListener(end, () => { if (painting) { painting = false; does.done(); } });
  }
  cells.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const row = Math.floor(at / columns), column = at % columns;
    const moves = {
      ArrowUp: row > 0 && at - columns, ArrowDown: row < rows - 1 && at + columns,
      ArrowLeft: column > 0 && at - 1, ArrowRight: column < columns - 1 && at + 1,
      Home: row * columns, End: row * columns + columns - 1,
    };
    if (event.key in moves) {
      if (moves[event.key] !== false) {
        focus(moves[event.key]);
        if (event.shiftKey) { does.touch(at, true); does.done(); }
      }
    } else if (event.key === " " || event.key === "Enter") {
      does.touch(at, true);
      does.done();
    } else return;
    event.preventDefault();
  });

  return {
    size,
    describe,
    cell: (i) => all()[i],
    cells: all,
    picture: (html) => { picture.innerHTML = html; },
    paintable: (on) => { cells.hidden = !on; heads.forEach((head) => { head.hidden = !on; }); },
    // Lights one cell, or none.
    light(i) { all().forEach((cell, each) => cell.classList.toggle("lit", each === i)); },
    // Puts a walker where a step of a lesson is, in units of the picture; null takes it away.
    walk(place) {
      agent.hidden = !place;
      if (!place) return;
      const [x, y] = place.split(",").map(Number);
      agent.style.left = `${100 * (x + AIR) / (columns * SIDE + 2 * AIR)}%`;
      agent.style.top = `${100 * (y + AIR) / (rows * SIDE + 2 * AIR)}%`;
    },
  };
}

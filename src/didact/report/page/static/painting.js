// Changes of a painting: each gives a new one, the old one stays as it is.

export const WALL = "#";
const LETTERS = "abcdefghijklmnopqrstuvwxyz";
export const MAX_ROWS = 30;
export const MAX_GROUNDS = 12;

export const letterOf = (ground) => LETTERS[ground];
export const groundAt = (painting, cell) => LETTERS.indexOf(signAt(painting, cell));
export const columnsOf = (painting) => painting.rows[0].length;

export function signAt(painting, cell) {
  const columns = columnsOf(painting);
  return painting.rows[Math.floor(cell / columns)][cell % columns];
}

function withSign(painting, cell, sign) {
  const columns = columnsOf(painting), row = Math.floor(cell / columns), column = cell % columns;
  const rows = [...painting.rows];
  rows[row] = rows[row].slice(0, column) + sign + rows[row].slice(column + 1);
  return { ...painting, rows };
}

const without = (cells, cell) => cells.filter((other) => other !== cell);
const including = (cells, cell) => [...new Set([...cells, cell])].sort((a, b) => a - b);

// A brush on a cell: "wall", "end", "start", or the number of a ground; adds: false takes away.
export function painted(painting, cell, brush, adds) {
  const isWall = signAt(painting, cell) === WALL;
  if (brush === "wall") {
    if (!adds) return isWall ? withSign(painting, cell, LETTERS[0]) : painting;
    const clear = { ...painting, ends: without(painting.ends, cell), starts: without(painting.starts, cell) };
    return withSign(clear, cell, WALL);
  }
  if (brush === "end" || brush === "start") {
    const marks = `${brush}s`;
    if (isWall) return painting;
    return { ...painting, [marks]: (adds ? including : without)(painting[marks], cell) };
  }
  return withSign(painting, cell, LETTERS[brush]);
}

// Whether a first touch of a brush adds or takes away.
export function wouldAdd(painting, cell, brush) {
  if (brush === "wall") return signAt(painting, cell) !== WALL;
  if (brush === "end" || brush === "start") return !painting[`${brush}s`].includes(cell);
  return true;
}

export function resized(painting, nRows, nColumns) {
  const old = columnsOf(painting);
  const rows = Array.from({ length: nRows }, (_, row) =>
    (painting.rows[row] ?? "").padEnd(nColumns, LETTERS[0]).slice(0, nColumns));
  const moved = (cells) => cells
    .map((cell) => [Math.floor(cell / old), cell % old])
    .filter(([row, column]) => row < nRows && column < nColumns)
    .map(([row, column]) => row * nColumns + column);
  return { ...painting, rows, ends: moved(painting.ends), starts: moved(painting.starts) };
}

export function withGround(painting, ground, change) {
  const features = painting.features.map((old, i) => (i === ground ? change(old) : old));
  return { ...painting, features };
}

export function addGround(painting) {
  const names = painting.features.map(([name]) => name);
  const used = painting.features.map(([, , colour]) => colour);
  let number = names.length + 1;
  while (names.includes(`ground ${number}`)) number++;
  const colour = [...Array(12).keys()].find((c) => !used.includes(c)) ?? 0;
  return { ...painting, features: [...painting.features, [`ground ${number}`, "-1", colour]] };
}

export function withoutGround(painting, ground) {
  const moved = (sign) => {
    const number = LETTERS.indexOf(sign);
    if (sign === WALL || number < ground) return sign;
    return number === ground ? LETTERS[0] : LETTERS[number - 1];
  };
  const rows = painting.rows.map((row) => [...row].map(moved).join(""));
  return { ...painting, rows, features: painting.features.filter((_, i) => i !== ground) };
}

const ACTIONS = ["up", "down", "left", "right"];

// What a cell is, in words for the ear; actions: numbers of its optimal actions, where known.
export function cellWords(painting, cell, actions) {
  const columns = columnsOf(painting);
  const place = `row ${Math.floor(cell / columns) + 1}, column ${cell % columns + 1}`;
  if (signAt(painting, cell) === WALL) return `${place}: wall`;
  const marks = [
    painting.features[groundAt(painting, cell)][0],
    ...(painting.ends.includes(cell) ? ["end"] : []),
    ...(painting.starts.includes(cell) ? ["start"] : []),
    ...(actions?.length ? [`best: ${actions.map((a) => ACTIONS[a]).join(" or ")}`] : []),
  ];
  return `${place}: ${marks.join(", ")}`;
}

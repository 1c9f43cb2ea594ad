// Rewards of three weights as a sphere that can be turned: lit where a direction fits.

const DOTS = 2600, RADIUS = 0.86, TURN = 0.12;
const GOLDEN = Math.PI * (3 - Math.sqrt(5));

// Directions spread evenly over the sphere.
export function directions(n) {
  return Array.from({ length: n }, (_, i) => {
    const z = 1 - (2 * i + 1) / n, side = Math.sqrt(1 - z * z);
    return [side * Math.cos(GOLDEN * i), side * Math.sin(GOLDEN * i), z];
  });
}

const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];

export const fits = (normals, direction) => normals.every((normal) => dot(normal, direction) >= -1e-12);

// Draws on a canvas; show({ normals, weights, names }) draws other rewards, arrows turn it.
export function sphere(canvas) {
  const them = directions(DOTS);
  let across = -0.6, up = 0.35, shown = null, lit = [];

  function turned([x, y, z]) {
    const [c, s] = [Math.cos(across), Math.sin(across)], [d, t] = [Math.cos(up), Math.sin(up)];
    const right = c * x + s * y, back = -s * x + c * y;
    return [right, d * z - t * back, t * z + d * back];
  }
  function at(direction, far = 1) {
    const [x, y, z] = turned(direction), half = canvas.width / 2;
    return { x: half + x * half * RADIUS * far, y: half - y * half * RADIUS * far, near: z < 0 };
  }
  function draw() {
    const pen = canvas.getContext("2d"), style = getComputedStyle(canvas);
    const colour = (name) => style.getPropertyValue(name).trim();
    const size = canvas.width / 260;
    pen.clearRect(0, 0, canvas.width, canvas.height);
    for (const near of [false, true]) {
      them.forEach((direction, i) => {
        const place = at(direction);
        if (place.near !== near) return;
        pen.globalAlpha = (lit[i] ? 0.95 : 0.4) * (near ? 1 : 0.25);
        pen.fillStyle = lit[i] ? colour("--accent") : colour("--line");
        pen.beginPath();
        pen.arc(place.x, place.y, lit[i] ? 2.1 * size : 1.3 * size, 0, 7);
        pen.fill();
      });
    }
    pen.globalAlpha = 1;
    pen.strokeStyle = pen.fillStyle = colour("--ink");
    pen.font = `${12 * size}px system-ui, sans-serif`;
    shown.names.forEach((name, i) => {
      const end = at([0, 1, 2].map((j) => Number(i === j)), 1.04);
      pen.beginPath();
      [pen.strokeStyle, pen.lineWidth] = [pen.fillStyle, 1];
      pen.moveTo(canvas.width / 2, canvas.height / 2);
      pen.lineTo(end.x, end.y);
      pen.stroke();
      const words = name.slice(0, 20), wide = pen.measureText(words).width;
      const within = (value, least, most) => Math.max(least, Math.min(value, most));
      const place = [within(end.x, 4, canvas.width - wide - 4), within(end.y, 13 * size, canvas.height - 4 * size)];
      pen.strokeStyle = colour("--paper");
      pen.lineWidth = 4 * size;
      pen.strokeText(words, ...place); // a rim, so that dots behind a name do not hide it
      pen.fillText(words, ...place);
    });
    const length = Math.hypot(...shown.weights) || 1;
    const star = at(shown.weights.map((weight) => weight / length));
    pen.fillStyle = colour("--risk");
    pen.beginPath();
    pen.arc(star.x, star.y, 5 * size, 0, 7);
    pen.fill();
  }
  function turn(dx, dy) {
    across += dx;
    up = Math.max(-1.5, Math.min(1.5, up + dy));
    if (shown) draw();
  }

  let last = null;
  canvas.addEventListener("pointerdown", (event) => { last = event; canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener("pointermove", (event) => {
    if (!last) return;
    turn((event.clientX - last.clientX) / 120, (event.clientY - last.clientY) / 120);
    last = event;
  });
  for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => { last = null; });
  canvas.addEventListener("keydown", (event) => {
    const turns = { ArrowLeft: [-TURN, 0], ArrowRight: [TURN, 0], ArrowUp: [0, -TURN], ArrowDown: [0, TURN] };
    if (!(event.key in turns)) return;
    turn(...turns[event.key]);
    event.preventDefault();
  });

  // What the picture means, below it.
  function explain() {
    if (canvas.nextElementSibling?.className === "key sphere-key") return;
    const key = document.createElement("p");
    key.className = "key sphere-key";
    key.textContent = "Every direction is a reward of the three weights. Coloured dots: rewards that still fit; faint dots: rewards that are ruled out; the large dot: the true reward. Drag it or press arrow keys to turn it.";
    canvas.after(key);
  }

  function show(rewards) {
    shown = rewards;
    explain();
    lit = them.map((direction) => fits(rewards.normals, direction));
    const share = lit.filter(Boolean).length / lit.length;
    canvas.setAttribute("aria-label", `Sphere of rewards of ${rewards.names.join(", ")}: about ${(100 * share).toFixed(1)} % of all directions fit. Arrow keys turn it.`);
    draw();
    return share;
  }
  return { show };
}

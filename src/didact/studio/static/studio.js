// The studio: a painted world on the left, what the library says about it on the right.

import { IS_STATIC, NOT_HERE, ask, isRecorded } from "./ask.js";
import { asked } from "./asked.js";
import { board } from "./board.js";
import { cone } from "./cone.js";
import { byId, counted, make } from "./elements.js";
import { examine } from "./examine.js";
import { exports_ } from "./exports.js";
import { goodEnough } from "./good_enough.js";
import { grounds } from "./grounds.js";
import { learner } from "./learner.js";
import { lessons } from "./lessons.js";
import { WALL, MAX_ROWS, cellWords, columnsOf, painted, resized, signAt, groundAt, wouldAdd } from "./painting.js";
import { presets } from "./presets.js";
import { situation } from "./situation.js";
import { decode, encode, past } from "./state.js";
import { tabs } from "./tabs.js";
import { teacher } from "./teacher.js";
import { drop, latest, work } from "./work.js";

const status = byId("status");
let subject = named() ?? JSON.parse(document.body.dataset.first);
let seen = null, looked = null, revision = 0, adds = true, stroke = null, teaching = null;
const done = past(subject);

const world = board(byId("board"), { touch, done: endStroke });
const other = situation(world, { subject: () => subject, isSecret, open: openAsked, drawn: drawnOther });
const kinds = IS_STATIC ? null : grounds((painting, isDone) => change({ painting }, isDone, !isDone));
const views = tabs(byId("tabs"), byId("panels"), showTools);
const lessonView = lessons(views.add("lesson", "Lesson"), () => subject);
const desk = {
  subject: () => subject, lesson: () => lessonView.told(), settings: () => lessonView.settings(), mark, secret,
  hasBoard: () => !byId("board").querySelector(".cells").hidden,
};
const games = {};
for (const [name, words, view] of [
  ["cone", "Cone", cone], ["enough", "Good enough", goodEnough], ["teacher", "Play the teacher", teacher], ["learner", "Play the learner", learner],
  ["asked", "Be asked", asked], ["exam", "Examine", examine], ["export", "Export", exports_],
]) {
  const panel = views.add(name, words, () => openGame(name), () => games[name].closed?.());
  if (name !== "export") panel.append(make("p", { className: "one-only" }, "This view is of one world: choose a member beside the board and open it alone."));
  if (IS_STATIC && ["enough", "teacher", "asked"].includes(name)) {
    panel.append(make("p", {}, NOT_HERE));
    byId(`tab-${name}`).classList.add("away");
    games[name] = {};
  } else games[name] = view(panel, desk);
}
if (IS_STATIC) {
  byId("tools").replaceWith(make("p", { id: "tools", className: "note" }, `The world cannot be changed here. ${NOT_HERE}`));
  byId("open-world").disabled = true;
}
views.start();

// The world that the link names, where the page can show it.
function named() {
  const found = decode(location.hash.slice(1));
  return found && isRecorded(found) ? found : null;
}

function isPainted() { return "painting" in subject; }

// A family has no view of its own but the lesson and the files.
function openGame(name) {
  const isAway = name !== "export" && !isPainted() && other.isFamily();
  byId(`panel-${name}`).classList.toggle("of-one", isAway);
  if (!isAway) games[name].opened?.();
}

// In a game the world is not painted.
function canPaint(view) { return ["lesson", "cone", "enough"].includes(view); }

function showTools(view) {
  byId("tools").hidden = !isPainted() || !canPaint(view);
  byId("tools").closest(".left").classList.toggle("playing", !canPaint(view));
}

// Another world: nothing that the views said of the last one stays while its answers are made.
function replace(next) {
  seen = looked = null;
  forgetAll();
  change(next);
}

function forgetAll() { for (const game of Object.values(games)) game.forget?.(true); }

function change(next, isDone = true, isSliding = false) {
  subject = next;
  leave();
  if (isDone) { done.push(subject); keep(); }
  for (const game of Object.values(games)) game.forget?.();
  if (!isPainted()) other.forget();
  show(isSliding);
}

// What is asked about the world before goes, and a view that it did not have.
function leave() {
  drop();
  if (byId("panels").querySelector(".of-one:not([hidden])")) views.choose("lesson");
}

function keep() {
  history.replaceState(null, "", `#${encode(subject)}`);
  byId("link-problem").textContent = "";
}

// Shows the world at once as far as the page knows it, and asks for the rest.
function show(isSliding = false) {
  revision++;
  byId("undo").disabled = !done.canUndo();
  byId("redo").disabled = !done.canRedo();
  showTools(views.chosen());
  byId("name").readOnly = IS_STATIC || !isPainted();
  byId("situation").hidden = isPainted();
  world.walk(null);
  if (isPainted()) showPainting(isSliding);
  else showOther();
  document.title = `${byId("name").value} · didact studio`;
  look();
  clearTimeout(teaching);
  document.body.dataset.waiting = "yes";
  teaching = setTimeout(async () => {
    document.body.dataset.waiting = "no";
    await lessonView.update();
    if (["cone", "teacher", "export"].includes(views.chosen())) openGame(views.chosen());
  }, 300);
}

function showPainting(isSliding) {
  world.paintable(true);
  const painting = subject.painting;
  for (const [id, value] of Object.entries(IS_STATIC ? { name: painting.name } : {
    name: painting.name, "n-rows": painting.rows.length, "n-columns": columnsOf(painting),
    slip: painting.slip, discount: painting.discount,
  })) if (document.activeElement !== byId(id) || !isSliding) byId(id).value = value;
  if (!IS_STATIC) kinds.show(painting, isSliding);
  else painting.features.forEach(([, , colour], i) => document.body.style.setProperty(`--f${i}`, `var(--paint${colour})`));
  world.size(painting.rows.length, columnsOf(painting));
  describe();
}

function showOther() {
  byId("name").value = subject.world ?? subject.task?.name ?? "a world";
  document.body.removeAttribute("style"); // colours of the last painting
  status.textContent = "";
  status.classList.remove("problem");
  other.update();
}

// What a world that is not painted shows once its board has come.
function drawnOther(told) {
  if (isPainted()) return;
  world.cells().forEach((cell) => { cell.style.background = ""; cell.title = ""; cell.dataset.mark = ""; });
  const chosen = views.chosen(), isNew = !byId(`panel-${chosen}`).classList.contains("of-one");
  if (other.isFamily() && isNew && !["lesson", "export"].includes(chosen)) { openGame(chosen); games[chosen].closed?.(); }
  if (told.error) { status.textContent = told.error; status.classList.add("problem"); return; }
  if (isSecret()) byId("key").innerHTML = (told.rules ? `<p>${told.rules}</p>` : "") + told.legend;
  else {
    const best = told.best?.[told.at], here = best?.length ? `Best here: ${best.join(" or ")}.` : "";
    byId("key").innerHTML = told.grounds ?? "";
    byId("key").append(make("p", { className: "key" }, [here, told.key, told.rules].filter(Boolean).join(" ")));
  }
  status.textContent = told.rows ? "" : "This world has no map: it is taught by the names of its states.";
  byId("board").dataset.view = told.at ?? "";
}

function describe() {
  if (!isPainted()) return;
  const painting = subject.painting, n = painting.rows.length * columnsOf(painting);
  const words = Array.from({ length: n }, (_, cell) => cellWords(painting, cell, isSecret() ? [] : seen?.optimal[cell]));
  world.describe(`${painting.name}, ${painting.rows.length} rows and ${columnsOf(painting)} columns: space paints, shift and arrows paint on`, words);
}

// States of the world that a view speaks of are outlined; a game hides what is optimal.
function mark(states) {
  if (!isPainted() && states.length === 1) other.go(states[0]);
  const wanted = new Set(states.map(cellOf));
  world.cells().forEach((cell, i) => cell.classList.toggle("marked", wanted.has(i)));
  if (states.length === 1) world.cell(cellOf(states[0]))?.scrollIntoView({ block: "nearest" });
}

function secret(on) {
  byId("board").classList.toggle("secret", on);
  if (isPainted()) return seen ? draw(seen) : describe();
  if (on) world.picture(""); // what is best is hidden at once, not when the other picture comes
  other.update();
}

function isSecret() { return byId("board").classList.contains("secret"); }

// In a game the picture and its legend tell nothing of the reward.
function showKey() {
  if (isSecret()) byId("key").innerHTML = (seen.neutral.rules ? `<p>${seen.neutral.rules}</p>` : "") + seen.neutral.legend;
  else byId("key").textContent = seen.key;
}

// Which comparisons are close depends on the reward too.
function showClose(told) {
  if (status.classList.contains("problem")) return;
  status.textContent = told.n_close && !isSecret() ? `${counted(told.n_close, "comparison")} too close for floats: drawn as ties.` : "";
}

const freeCells = () => [...subject.painting.rows.join("")].flatMap((sign, i) => (sign === WALL ? [] : [i]));
const cellOf = (state) => (isPainted() ? freeCells()[state] : other.cellOf(state));
const stateOf = (cell) => (isPainted() ? freeCells().indexOf(cell) : other.stateOf(cell));

// A stroke: the first cell decides whether marks are set or taken away.
function touch(cell, isFirst) {
  if (IS_STATIC || !isPainted() || !canPaint(views.chosen())) return choose(cell, isFirst);
  const brush = kinds.brush();
  if (isFirst) { stroke = subject.painting; adds = wouldAdd(stroke, cell, brush); }
  const next = painted(subject.painting, cell, brush, adds);
  if (next === subject.painting || JSON.stringify(next) === JSON.stringify(subject.painting)) return;
  subject = { painting: next };
  const sign = signAt(next, cell);
  const here = world.cell(cell);
  here.style.background = sign === WALL ? "var(--wall)" : `var(--f${groundAt(next, cell)})`;
  here.dataset.mark = brush === "end" || brush === "start" ? (adds ? brush : "") : "";
  revision++;
  look();
}

// While a game is open the world is not painted; the teacher chooses where to begin.
function choose(cell, isFirst) {
  const state = stateOf(cell);
  if (!isFirst || state < 0) return;
  if (views.chosen() === "teacher") games.teacher.pick(state);
  else if (!isPainted()) other.go(state);
}

function endStroke() {
  if (stroke && stroke !== subject.painting) change(subject);
  stroke = null;
}

const look = latest(async () => {
  const number = revision;
  if (!isPainted()) return shown(number);
  const wanted = JSON.stringify(subject.painting);
  try {
    const told = wanted === looked ? seen : await ask("look", { painting: subject.painting });
    if (!told) return;
    [seen, looked] = [told, wanted];
    if (number === revision) draw(told);
    shown(number);
    status.classList.remove("problem");
    showClose(told);
  } catch (error) {
    status.textContent = error.message;
    status.classList.add("problem");
    lessonView.fail(error.message);
    forgetAll();
    shown(number);
  }
});

function shown(number) {
  byId("board").dataset.shown = number;
  byId("board").dataset.current = String(number === revision);
}

function draw(told) {
  const hidden = isSecret();
  world.picture(hidden ? told.neutral.picture : told.picture);
  showKey();
  showClose(told);
  const values = told.values.filter((value) => value !== null);
  const least = Math.min(...values), room = Math.max(...values) - least || 1;
  const shaded = (byId("shade")?.checked ?? true) && !hidden;
  world.cells().forEach((cell, i) => {
    const value = told.values[i];
    cell.dataset.mark = "";
    cell.title = hidden || value === null ? "" : `worth ${value.toPrecision(4)}`;
    const share = value === null ? 0 : Math.round(100 * (value - least) / room);
    cell.style.background = shaded && value !== null
      ? `color-mix(in srgb, var(--accent) ${Math.round(share * 0.55)}%, transparent)` : "";
  });
  describe();
}

function field(id, apply) {
  byId(id)?.addEventListener("change", (event) => {
    const next = apply(subject.painting, event.target.value.trim());
    if (next) change({ painting: next });
    else show();
  });
}

function side(text) {
  const number = Number(text);
  return Number.isInteger(number) && number >= 1 && number <= MAX_ROWS ? number : null;
}

field("name", (painting, text) => text && { ...painting, name: text });
field("slip", (painting, text) => text && { ...painting, slip: text });
field("discount", (painting, text) => text && { ...painting, discount: text });
field("n-rows", (painting, text) => side(text) && resized(painting, side(text), columnsOf(painting)));
field("n-columns", (painting, text) => side(text) && resized(painting, painting.rows.length, side(text)));
byId("shade")?.addEventListener("change", () => { if (seen) draw(seen); });

function restore(state) {
  if (!state) return;
  subject = state;
  leave();
  keep();
  forgetAll();
  other.forget();
  show();
}

byId("undo").addEventListener("click", () => restore(done.undo()));
byId("redo").addEventListener("click", () => restore(done.redo()));
document.addEventListener("keydown", (event) => {
  const editing = event.target.matches("input[type=text], textarea");
  if (!(event.ctrlKey || event.metaKey) || editing) return;
  const key = event.key.toLowerCase();
  if (key === "z") restore(event.shiftKey ? done.redo() : done.undo());
  else if (key === "y") restore(done.redo());
  else return;
  event.preventDefault();
});

// A link whose end names no world, cut off or changed by hand: the page says so and shows another.
function checkLink() {
  const isBad = location.hash.length > 1 && !named();
  byId("link-problem").textContent = isBad ? `This link names no world${IS_STATIC ? " of this site" : ": it is cut off or changed"}. The world below is another one.` : "";
}

addEventListener("hashchange", () => {
  const found = named();
  checkLink();
  if (found && JSON.stringify(found) !== JSON.stringify(subject)) replace(found);
});

byId("link").addEventListener("click", async (event) => {
  keep();
  const button = event.currentTarget;
  try {
    await navigator.clipboard.writeText(location.href);
    button.textContent = IS_STATIC ? "Copied" : "Copied: for this machine, while the studio runs";
  } catch {
    button.textContent = "It is in the address bar";
  }
  setTimeout(() => { button.textContent = "Copy link"; }, 1500);
});

const dialog = byId("open-dialog");
byId("open-world").addEventListener("click", () => { byId("open-problem").textContent = ""; byId("open-file").value = ""; dialog.showModal(); });
byId("open-go").addEventListener("click", openWished);
// What was given last wins: a name that is typed takes the file back.
for (const id of ["open-name", "open-parameters"]) byId(id).addEventListener("input", () => { byId("open-file").value = ""; });

async function openWished() {
  try {
    await openAsked("open", await wished(), byId("open-problem"));
  } catch (error) {
    byId("open-problem").textContent = error.message;
    byId("open-file").value = "";
  }
}

// Asks for a world and shows it.
async function openAsked(kind, question, place = status) {
  const told = await work(place, "Opening", () => openAsked(kind, question, place), kind, question);
  if (!told) return;
  dialog.close();
  replace(told.subject);
}

presets(replace);

// A cell that a text names is lit while the text is pointed at, focused or touched.
const NAMED = /row (\d+), column (\d+)/;
for (const kind of ["pointerover", "focusin", "click"]) {
  byId("panels").addEventListener(kind, (event) => {
    const text = event.target.closest("li, h3, legend, tr, label, summary, .now, .verdict, .status")?.textContent ?? "";
    const [, row, column] = NAMED.exec(text) ?? [];
    const columns = Number(getComputedStyle(byId("board")).getPropertyValue("--columns"));
    world.light(row ? (row - 1) * columns + Number(column) - 1 : -1);
  });
}
byId("panels").addEventListener("pointerleave", () => world.light(-1));
// The agent of a demonstration walks on the board too.
byId("panels").addEventListener("walk", (event) => { if (!byId("board").querySelector(".cells").hidden) world.walk(event.detail.agent); });

async function wished() {
  const file = byId("open-file").files[0];
  if (file) {
    try {
      return { task: JSON.parse(await file.text()) };
    } catch {
      throw new Error("this file is no JSON");
    }
  }
  const parameters = {};
  for (const part of byId("open-parameters").value.trim().split(/\s+/).filter(Boolean)) {
    const [name, value] = part.split("=");
    parameters[name] = value ?? "";
  }
  return { world: byId("open-name").value.trim(), parameters };
}

checkLink();
show();
document.body.append(make("span", { id: "ready", hidden: true }));

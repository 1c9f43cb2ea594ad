// The answers that a static site brings along; it takes the place of ask.js there and asks nobody.

export const IS_STATIC = true;
export const NOT_HERE = "This site holds answers that were computed before. For anything else, install didact and run `didact studio`.";

const TABLE = JSON.parse(document.getElementById("recorded").textContent);

// The same text for the same question, whatever the order of its entries.
function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const names = Object.keys(value).filter((name) => value[name] !== undefined).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(",")}}`;
}

function split({ painting, world, parameters, task, ...rest }) {
  return [canonical({ painting, world, parameters, task }), rest];
}

export const isRecorded = (subject) => split(subject)[0] in TABLE;

export async function ask(kind, question) {
  const [subject, rest] = split(question), answers = TABLE[subject];
  const found = answers && (answers[`${kind} ${canonical(rest)}`] ?? OTHERWISE[kind]?.(answers, rest));
  if (!found) throw new Error(NOT_HERE);
  return found;
}

const OTHERWISE = {
  // The picture of the same situation; only what moves stands elsewhere.
  view(answers, { at, member, secret }) {
    const all = Object.entries(answers).filter(([key, told]) => key.startsWith("view ") && told.states
      && JSON.parse(key.slice(5)).secret === secret && JSON.parse(key.slice(5)).member === member).map(([, told]) => told);
    const wanted = all[0]?.states[at]?.slice(1).join("; ");
    const same = all.find((told) => told.states[told.at]?.slice(1).join("; ") === wanted);
    return same && { ...same, at };
  },
  quiz(answers, { seed, ...rest }) {
    return answers[`quiz ${canonical({ ...rest, seed: (seed - 1) % 3 + 1 })}`];
  },
  score(answers, { answers: given, seed }) {
    const { optimal, birl, random } = answers[`solution ${(seed - 1) % 3 + 1}`];
    const best = given.map(([state]) => optimal[state]);
    return { right: given.map(([, action], i) => best[i].includes(action)), best, birl, random };
  },
  grade(answers, { ask: kind, answers: given }) {
    if (given.every((answer) => answer === null)) throw new Error("answer a question first: an empty exam is not graded");
    const { key, says, statement } = answers[`key ${kind}`];
    const same = (i) => canonical(given[i]) === canonical(key[i]);
    const wrong = given.findIndex((answer, i) => answer !== null && !same(i));
    const open = given.findIndex((answer) => answer === null);
    const verdict = wrong >= 0 ? "fail" : open >= 0 ? "undecided" : "pass";
    const reason = { fail: `question ${wrong + 1} is answered otherwise`, undecided: `question ${open + 1} is not answered`, pass: "every answer is correct" }[verdict];
    const told = (list) => list.map((each, i) => (given[i] === null ? null : each));
    return { verdict, reason, statement, key: told(key), says: told(says) };
  },
};

export async function stage() { return null; }

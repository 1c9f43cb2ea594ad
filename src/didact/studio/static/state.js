// The state of the page: a world as the link carries it, and what was done before.

import { MAX_ROWS } from "./painting.js";

// A world as text for the address bar, and back; null where the text is none.
export function encode(subject) {
  const bytes = new TextEncoder().encode(JSON.stringify(subject));
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

export function decode(text) {
  try {
    const plain = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(plain, (sign) => sign.charCodeAt(0));
    const subject = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    const ways = ["painting", "world", "task"].filter((way) => way in subject);
    const isSound = { painting: isPainting, world: isText, task: isObject };
    return ways.length === 1 && isSound[ways[0]](subject[ways[0]]) ? subject : null;
  } catch {
    return null;
  }
}

const isText = (value) => typeof value === "string";
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const isListOf = (value, is) => Array.isArray(value) && value.every(is);

// Whether the page can draw a painting: what its numbers mean the server checks.
function isPainting(painting) {
  return isObject(painting)
    && isListOf(painting.rows, isText) && painting.rows.length > 0 && painting.rows.length <= MAX_ROWS
    && painting.rows[0].length > 0 && painting.rows[0].length <= MAX_ROWS
    && painting.rows.every((row) => row.length === painting.rows[0].length)
    && isListOf(painting.features, (kind) => Array.isArray(kind) && kind.length === 3
      && isText(kind[0]) && isText(kind[1]) && Number.isInteger(kind[2]))
    && painting.features.length > 0
    && isListOf(painting.ends, Number.isInteger) && isListOf(painting.starts, Number.isInteger)
    && ["name", "slip", "discount"].every((name) => isText(painting[name]));
}

const MAX_STEPS = 300;

// What was done: push(state) after a change, undo() and redo() give the state to show, or null.
export function past(first) {
  let steps = [JSON.stringify(first)], at = 0;
  return {
    push(state) {
      const text = JSON.stringify(state);
      if (text === steps[at]) return;
      steps = [...steps.slice(Math.max(0, at + 1 - MAX_STEPS), at + 1), text];
      at = steps.length - 1;
    },
    undo: () => (at > 0 ? JSON.parse(steps[--at]) : null),
    redo: () => (at < steps.length - 1 ? JSON.parse(steps[++at]) : null),
    canUndo: () => at > 0,
    canRedo: () => at < steps.length - 1,
  };
}

// Questions to the server: JSON there and back. A newer question of a kind makes the older pointless.

export const IS_STATIC = false;
export const NOT_HERE = "";
export const isRecorded = () => true;

const PAGE = [...crypto.getRandomValues(new Uint8Array(12))]
  .map((byte) => byte.toString(16).padStart(2, "0")).join("");

// What the server answers, or null when something newer was asked; a refusal is an Error.
// signal: aborting it ends the work, and then the answer is null too.
export async function ask(kind, question, signal) {
  let answer;
  try {
    answer = await fetch(`/ask/${kind}`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Didact-Page": PAGE },
      body: JSON.stringify(question), signal,
    });
  } catch {
    if (signal?.aborted) return null;
    throw new Error("the server does not answer; is `didact studio` still running?");
  }
  if (answer.status === 204) return null;
  const told = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(told.error ?? `the server answered ${answer.status}`);
  return told;
}

// What the server is doing for a question of this page, in words; null where it does nothing.
export async function stage(kind) {
  const answer = await fetch(`/stage/${kind}`, { headers: { "X-Didact-Page": PAGE } });
  return answer.ok ? (await answer.json()).stage : null;
}

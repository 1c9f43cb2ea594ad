// What was watched of the demonstrations in an element: how often, how far, and for how long.

export function watchLog(root) {
  const seen = new Map();
  let now = null, since = performance.now();
  const spend = () => {
    const time = performance.now();
    if (now && !document.hidden) now.seconds += (time - since) / 1000;
    since = time;
  };
  document.addEventListener("visibilitychange", () => { since = performance.now(); });
  for (const demo of root.querySelectorAll(".demo")) {
    const entry = { number: Number(demo.id.replace(/\D/g, "")), plays: 0, step: 0, seconds: 0 };
    seen.set(demo, entry);
    demo.addEventListener("moved", ({ detail }) => { spend(); now = entry; entry.step = Math.max(entry.step, detail); });
    demo.addEventListener("played", () => { spend(); now = entry; entry.plays += 1; });
  }
  return () => {
    spend();
    return [...seen.values()].map(({ number, plays, step, seconds }) => [number, plays, step, Math.round(seconds * 100) / 100]);
  };
}

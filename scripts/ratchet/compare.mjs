// Compares counted costs with the recorded ones.

/** How far a number may be from the recorded one. What is counted hardly varies; CPU time does, even the least of several. */
const MAY_DIFFER = { up: 0.03, down: 0.1 };
const TIMED_MAY_DIFFER = { up: 0.25, down: 0.25 };
const isTimed = (what) => what === 'cpu';
/** Smaller differences are not written, so that two changes rarely touch the same line. */
const NOISE = 0.005;

/** Every number with the recorded one and a verdict: 'same', 'raised', 'lowered', 'missing' or 'new'. A number that is not recorded is 0. */
export function compare(recorded, costs) {
  const names = new Set([...Object.keys(recorded), ...Object.keys(costs)]);
  return [...names].flatMap((name) => {
    const [before, now] = [recorded[name] ?? {}, costs[name]];
    const whats = new Set([...Object.keys(before), ...Object.keys(now ?? {})]);
    return [...whats].map((what) => {
      const [from, to] = [before[what] ?? 0, now && (now[what] ?? 0)];
      return { name, what, from, to, verdict: name in recorded ? verdictOf(what, from, to) : 'new' };
    });
  });
}

function verdictOf(what, from, to) {
  if (to === undefined) return 'missing';
  const { up, down } = isTimed(what) ? TIMED_MAY_DIFFER : MAY_DIFFER;
  if (to > from * (1 + up)) return 'raised';
  return to < from * (1 - down) ? 'lowered' : 'same';
}

/** The costs to record now. Numbers stay that differ by noise only, and those that would rise without having to. */
export function updated(recorded, costs) {
  const next = {};
  for (const { name, what, from, to, verdict } of compare(recorded, costs)) {
    const isKept = verdict === 'same' && (isTimed(what) || to > from * (1 - NOISE));
    const value = to === undefined || isKept ? from : to;
    next[name] ??= {};
    if (value !== 0) next[name][what] = value;
  }
  return next;
}

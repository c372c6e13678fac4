// A scale on which a wait of a day and a call of a millisecond are both seen: what lasts longer is wider, but not in
// proportion.

/** Between 0 and 1, for any time. */
export type TimeScale = (at: number) => number;

/** Gives each interval a width that grows with the logarithm of its duration. */
export function timeScale(times: readonly number[]): TimeScale {
  const points = [...new Set(times)].sort((a, b) => a - b);
  const places = [0];
  for (const [index, point] of points.entries()) {
    const before = points[index - 1];
    if (before !== undefined) places.push((places.at(-1) ?? 0) + Math.log10(1 + (point - before) / 20) + 0.12);
  }
  const whole = places.at(-1) || 1;
  return (at) => {
    const next = points.findIndex((point) => point >= at);
    if (next < 0) return 1;
    const [from, to] = [points[next - 1], points[next]];
    const [left, right] = [places[next - 1] ?? 0, places[next] ?? 0];
    if (from === undefined || to === undefined) return 0;
    return (left + ((at - from) / (to - from)) * (right - left)) / whole;
  };
}

export const sorted = (xs) => xs.filter((x) => Number.isFinite(x)).sort((a, b) => a - b);
export function quantile(xs, q) {
  const s = sorted(xs);
  if (!s.length) return NaN;
  const i = (s.length - 1) * q,
    lo = Math.floor(i),
    hi = Math.ceil(i);
  return s[lo] + (s[hi] - s[lo]) * (i - lo);
}
export const median = (xs) => quantile(xs, 0.5);
export function summary(xs) {
  return {
    median: median(xs),
    mean: sorted(xs).reduce((a, x) => a + x, 0) / sorted(xs).length,
    min: quantile(xs, 0),
    p25: quantile(xs, 0.25),
    p75: quantile(xs, 0.75),
    max: quantile(xs, 1),
    n: sorted(xs).length,
  };
}
export function fmt(x) {
  if (x === undefined || x === null || Number.isNaN(x)) return '-';
  if (typeof x !== 'number') return String(x);
  const a = Math.abs(x);
  return a >= 1000
    ? Math.round(x).toLocaleString('en-US')
    : a >= 100
      ? x.toFixed(0)
      : a >= 10
        ? x.toFixed(1)
        : a >= 1
          ? x.toFixed(2)
          : x.toPrecision(2);
}
export function table(head, rows) {
  const all = [head, ...rows.map((r) => r.map(fmt))];
  const w = head.map((_, i) => Math.max(...all.map((r) => r[i].length)));
  const line = (r) => `| ${r.map((c, i) => (i ? c.padStart(w[i]) : c.padEnd(w[i]))).join(' | ')} |`;
  return [
    line(all[0]),
    `|${w.map((n, i) => (i ? `${'-'.repeat(n + 1)}:` : `${'-'.repeat(n + 2)}`)).join('|')}|`,
    ...all.slice(1).map(line),
  ].join('\n');
}

// The rows of one case as a table: its columns, and the ratios to the floors that were measured.
export function caseTable(kase, rows) {
  const safe = rows.some((r) => r.ratioToSafe !== undefined);
  const cells = (r) => [
    r.id,
    ...kase.columns.map(([, k]) => (k === 'dbBytes' ? r.stats[k]?.mean : r.stats[k]?.median)),
    r.ratio,
    ...(safe ? [r.ratioToSafe] : []),
    `${fmt(r.stats[kase.primary]?.p25)}..${fmt(r.stats[kase.primary]?.p75)}`,
    r.rounds.length,
  ];
  const empty = (r) => [
    r.id,
    ...kase.columns.map(() => (r.error ? 'error' : 'n/a')),
    '-',
    ...(safe ? ['-'] : []),
    '-',
    0,
  ];
  return table(
    ['', ...kase.columns.map((c) => c[0]), 'x floor', ...(safe ? ['x floor:safe'] : []), 'p25..p75', 'rounds'],
    rows.map((r) => (r.rounds.length ? cells(r) : empty(r))),
  );
}

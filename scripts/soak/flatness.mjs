// Whether what a server holds grew while it worked: the last quarter of the samples beside the second.
const [MOST, FIGURES] = [1.1, { heap: 2e6, external: 2e6, handles: 5, files: 5, bytes: 1e6, rows: 100 }];

/** A sentence per figure that grew by more than a tenth, and by more than what it varies by. */
export function flatness(samples) {
  if (samples.length < 8) return [];
  const [quarter, problems] = [Math.floor(samples.length / 4), []];
  for (const [name, noise] of Object.entries(FIGURES)) {
    const [before, after] = [samples.slice(quarter, 2 * quarter), samples.slice(-quarter)].map((part) =>
      median(part, name),
    );
    if (after > before * MOST && after > before + noise) problems.push(`${name} grew from ${before} to ${after}.`);
  }
  return problems;
}

/** The middle of a figure over these samples. */
export function median(samples, name) {
  return samples.map((sample) => sample[name]).toSorted((left, right) => left - right)[samples.length >> 1];
}

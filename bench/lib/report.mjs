// A report of run.mjs, condensed to what is compared, shown and kept in results/: medians and ratios, no rounds.
import { readFileSync } from 'node:fs';
import { median } from './stats.mjs';

/** The file of each case in cases/. G is cold.mjs. */
export const FILES = {
  A: 'a-roundtrip.mjs',
  B: 'b-loop.mjs',
  C: 'c-history.mjs',
  D: 'd-parallel.mjs',
  E: 'e-stream.mjs',
  F: 'f-durable.mjs',
  H: 'h-memory.mjs',
  L: 'l-sizes.mjs',
  M: 'm-mcp-gateway.mjs',
  N: 'n-notices.mjs',
  P: 'p-post-gate.mjs',
  Q: 'q-authority.mjs',
  S: 's-sqlite.mjs',
  T: 't-frameworks.mjs',
};

/** The title, columns and primary column of a case. */
export async function caseOf(id) {
  if (id === 'G') return COLD;
  return (await import(`../cases/${FILES[id]}`)).default;
}

const COLD = {
  id: 'G',
  title: 'Cold start and install footprint',
  primary: 'coldCpuMs',
  columns: [
    ['import + first generate, CPU ms', 'coldCpuMs'],
    ['import CPU ms', 'importCpuMs'],
    ['first generate CPU ms', 'firstCpuMs'],
    ['RSS MB after import', 'rssMb'],
    ['packages', 'packages'],
    ['MB installed', 'mb'],
  ],
};

/** Whose cost the others are compared with, in the same rounds. */
const BESIDE = ['floor', 'ai-sdk'];

/** Reads a condensed report, or condenses what run.mjs wrote. */
export async function readReport(file) {
  const report = JSON.parse(readFileSync(file, 'utf8'));
  return report.condensed ? report : condense(report);
}

export async function condense({ when, node, cpus, cpu, memGb, versions, flushUs, results }) {
  const cases = [];
  for (const { case: id, variant, rows } of results) {
    const kase = await caseOf(id);
    const measured = rows.filter((row) => row.id !== 'bare');
    cases.push({
      case: id,
      variant,
      rows: measured.map((row) => ({
        id: row.id,
        values: Object.fromEntries(kase.columns.map(([, key]) => [key, rounded(figureOf(row, key))])),
        ratios: Object.fromEntries(
          BESIDE.map((other) => [other, rounded(ratioOf(row, other, measured, kase.primary))]),
        ),
        rounds: row.rounds.length,
        ...(row.rounds.length === 0 && { missing: row.error ? 'error' : 'n/a' }),
      })),
    });
  }
  return { condensed: true, when, node, cpus, cpu, memGb: rounded(memGb), flushUs, versions, cases };
}

/** One report of several: where a case was measured more than once, the last one counts. */
export function merged(reports) {
  const cases = new Map(reports.flatMap((report) => report.cases).map((one) => [`${one.case} ${one.variant}`, one]));
  const versions = Object.assign({}, ...reports.map((report) => report.versions));
  const sorted = [...cases.values()].sort((a, b) => (a.case < b.case ? -1 : 1));
  return { ...Object.assign({}, ...reports), versions, cases: sorted };
}

function figureOf(row, key) {
  if (key === 'coldCpuMs') return median(row.rounds.map((round) => round.importCpuMs + round.firstCpuMs));
  if (key === 'packages' || key === 'mb') return row.install?.[key];
  const stats = row.stats[key];
  return key === 'dbBytes' ? stats?.mean : stats?.median;
}

const cost = (round, key) => (key === 'coldCpuMs' ? round.importCpuMs + round.firstCpuMs : round[key]);

/** The median over the rounds of the ratio in one round: neighbours on the machine weigh on both. */
function ratioOf(row, other, rows, key) {
  const beside = rows.find(({ id }) => id === other)?.rounds ?? [];
  const costs = new Map(beside.map((round, index) => [round.r ?? index, cost(round, key)]));
  const ratios = row.rounds.map((round, index) => cost(round, key) / costs.get(round.r ?? index));
  return median(ratios);
}

const rounded = (value) => (Number.isFinite(value) ? Number(value.toPrecision(4)) : undefined);

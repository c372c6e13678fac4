// Writes docs/scoreboard.md and its chart from the results.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SYSTEMS } from '../systems.mjs';
import { chartOf } from './chart.mjs';
import { COLUMNS, labelOf, rowsOf, sumOf } from './rows.mjs';

const DOCS = join(import.meta.dirname, '..', '..', 'docs');
const FAULTS = {
  kill: 'killed',
  'two approvals': 'two approvals',
  'approve and reject': 'approve and reject',
  stall: 'stalled and woken',
  'changed arguments': 'arguments changed',
  'forged approval': 'forged approval',
  replay: 'approval sent again',
  deploy: 'deploy while it waits',
  late: 'after the deadline',
};
export function pageOf(results) {
  const rows = rowsOf(results);
  const text = readFileSync(join(import.meta.dirname, '..', 'page.md'), 'utf8');
  const dates = rows.map(({ date }) => date).sort();
  const parts = {
    SUMS: table(
      ['system', ...Object.values(COLUMNS), 'of', 'people asked what happened', 'ms of CPU', 'packages'],
      rows.map((row) => [
        labelOf(row),
        ...Object.keys(COLUMNS).map((column) => counted(sumOf(row, column))),
        sumOf(row, 'of'),
        sumOf(row, 'asked'),
        row.cpuMs ?? '–',
        row.versions.packages ?? '–',
      ]),
    ),
    FAULTS: table(
      ['system', ...Object.values(FAULTS)],
      rows.map((row) => [labelOf(row), ...Object.keys(FAULTS).map((name) => cell(row.faults[name]))]),
    ),
    VERSIONS: table(
      ['system', 'versions', 'where it keeps the pause'],
      Object.entries(SYSTEMS).map(([system, { missing, name }]) => {
        const row = rows.find((one) => one.system === system);
        if (!row) return [name ?? system, '–', missing ?? 'not measured'];
        const { packages: _packages, ...versions } = row.versions;
        return [
          row.name,
          Object.entries(versions)
            .map((one) => one.join(' '))
            .join(', '),
          row.store,
        ];
      }),
    ),
    TIMES: String(rows[0]?.times ?? 0),
    DATES: dates[0] === dates.at(-1) ? dates[0] : `${dates[0]} to ${dates.at(-1)}`,
  };
  return text.replace(/\{\{(\w+)\}\}/g, (_, name) => parts[name]);
}

export function writePage(results) {
  writeFileSync(join(DOCS, 'scoreboard.md'), pageOf(results));
  writeFileSync(join(DOCS, 'images', 'scoreboard.svg'), chartOf(results));
}

const counted = (count) => (count === 0 ? '0' : `**${count}**`);

/** Such as `6 paid twice`, `ok`, or why it was not tried. */
function cell(fault) {
  if (fault === undefined) return 'not run';
  if (fault.skipped) return fault.skipped;
  if (fault.failed) return `failed: ${fault.failed.split('\n')[0].slice(0, 60)}`;
  if (fault.open === false) return '–';
  const found = Object.entries(COLUMNS).flatMap(([column, said]) =>
    fault[column] > 0 ? [`**${fault[column]}** ${said}`] : [],
  );
  return found.length === 0 ? 'ok' : found.join(', ');
}

function table(head, rows) {
  const line = (cells) => `| ${cells.join(' | ')} |`;
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)].join('\n');
}

// node tables.mjs out.json... : prints the tables of finished runs.
// node tables.mjs --save out.json... : keeps them in results/latest.json, and writes the table and the chart of the README.
import fs from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { chart } from './chart.mjs';
import { ROOT } from './lib/adapters.mjs';
import { caseOf, merged, readReport } from './lib/report.mjs';
import { fmt, table } from './lib/stats.mjs';

const { values: opt, positionals: files } = parseArgs({
  allowPositionals: true,
  options: { save: { type: 'boolean', default: false } },
});
const RESULTS = path.join(ROOT, 'results');
const LATEST = path.join(RESULTS, 'latest.json');
const README = path.join(ROOT, 'README.md');

const reports = await Promise.all(files.map(readReport));
if (opt.save) await save();
else for (const report of reports) await printTables(report);

async function printTables({ cases }) {
  for (const { case: id, variant, rows } of cases) {
    const { title, columns } = await caseOf(id);
    console.log(`\n### ${id}. ${title} — ${variant}\n`);
    const head = ['', ...columns.map(([name]) => name), 'x floor', 'x AI SDK', 'rounds'];
    console.log(
      table(
        head,
        rows.map((row) => cells(row, columns)),
      ),
    );
  }
}

function cells({ id, values, ratios, rounds, missing }, columns) {
  if (missing) return [id, ...columns.map(() => missing), '-', '-', '0'];
  return [id, ...columns.map(([, key]) => values[key]), ratios.floor, ratios['ai-sdk'], String(rounds)];
}

/** New cases replace the same cases of the last time; the rest stays. */
async function save() {
  const before = fs.existsSync(LATEST) ? [await readReport(LATEST)] : [];
  const report = merged([...before, ...reports]);
  fs.mkdirSync(RESULTS, { recursive: true });
  fs.writeFileSync(LATEST, `${JSON.stringify(report, null, 1)}\n`);
  fs.writeFileSync(path.join(RESULTS, 'chart.svg'), chart(report));
  const text = fs.readFileSync(README, 'utf8');
  const [start, end] = ['<!-- results -->', '<!-- /results -->'];
  const [head, rest] = text.split(start);
  const tail = rest?.split(end)[1];
  if (tail === undefined) throw new Error(`README.md has no ${start} … ${end}`);
  fs.writeFileSync(README, `${head}${start}\n${await summary(report)}\n${end}${tail}`);
}

/** One table of everything: a row per case, a column per framework. */
async function summary({ when, node, cpus, cpu, memGb, versions = {}, cases }) {
  const ids = [...new Set(cases.flatMap(({ rows }) => rows.map(({ id }) => id)))];
  const rows = [];
  for (const { case: id, variant, rows: measured } of cases) {
    const { primary, columns } = await caseOf(id);
    const [unit] = columns.find(([, key]) => key === primary) ?? [''];
    const cell = (row) => {
      if (!row) return '';
      if (row.missing) return row.missing;
      const value = fmt(row.values[primary]);
      return row.id === 'floor' || row.ratios.floor === undefined ? value : `${value} (${fmt(row.ratios.floor)} x)`;
    };
    rows.push([`${id} ${variant}, ${unit}`, ...ids.map((name) => cell(measured.find((row) => row.id === name)))]);
  }
  const machine = `Measured on ${when.slice(0, 10)}: Node ${node.slice(1)}, ${cpus} cores of ${cpu}, ${fmt(memGb)} GB.`;
  const known = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  const line = (row) => `| ${row.join(' | ')} |`;
  return [
    '',
    `${machine} Versions: ${known.join(', ')}. In brackets: times the floor.`,
    '',
    line(['', ...ids]),
    line(['---', ...ids.map(() => '---:')]),
    ...rows.map(line),
    '',
  ].join('\n');
}

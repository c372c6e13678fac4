// node check.mjs [--rounds 5] : has the hot path become slower? Builds the working tree, measures the cases A, C and D beside the
// bare loop and the AI SDK, and compares the ratios with results/latest.json. Exit code 1 if one is more than 15 % worse.
//
// A ratio counts as worse only if it is so beside the bare loop and beside the AI SDK, and in a second run too: one busy second
// changes one of them.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import './lib/node.mjs';
import { adapterDir, ROOT } from './lib/adapters.mjs';
import { nodeEnv } from './lib/node.mjs';
import { readReport } from './lib/report.mjs';
import { fmt, table } from './lib/stats.mjs';

const { values: opt } = parseArgs({ options: { rounds: { type: 'string', default: '5' } } });
const LIMIT = 1.15;
const OURS = ['ours', 'ours:ai-sdk-model'];
const ADAPTERS = ['floor', ...OURS, 'ai-sdk'];
const VARIANTS = ['roundtrip', 'n=10', 'n=1000', 'n=5000', '32 calls'];
const OUT = path.join(ROOT, 'out', 'check.json');

for (const id of ['floor', 'ai-sdk'])
  if (!fs.existsSync(path.join(adapterDir(id), 'node_modules'))) run('npm', ['ci', '--loglevel=error'], adapterDir(id));
run(process.execPath, [path.join(ROOT, 'install.mjs'), '--ours-only']);

const kept = await readReport(path.join(ROOT, 'results', 'latest.json'));
const first = await measured(VARIANTS, opt.rounds);
const doubtful = [...new Set(first.filter(({ isWorse }) => isWorse).map(({ variant }) => variant))];
const second = doubtful.length > 0 ? await measured(doubtful, String(2 * Number(opt.rounds))) : [];
const found = first.map((one) => second.find((again) => again.name === one.name) ?? one);

console.log(
  table(
    ['', 'x floor', 'kept', 'x AI SDK', 'kept', ''],
    found.map(({ name, now, before, isWorse }) => [
      name,
      ...['floor', 'ai-sdk'].flatMap((beside) => [fmt(now[beside]), fmt(before[beside])]),
      isWorse ? 'WORSE' : '',
    ]),
  ),
);
const worse = found.filter(({ isWorse }) => isWorse).length;
console.log(
  worse > 0
    ? `\n${worse} figures are more than 15 % worse than results/latest.json. Profile them with: node bench/profile.mjs ours A`
    : '\nNo figure is more than 15 % worse than results/latest.json.',
);
process.exit(worse > 0 ? 1 : 0);

async function measured(variants, rounds) {
  const args = [
    '--cases',
    'A,C,D',
    '--variants',
    variants.join(','),
    '--adapters',
    ADAPTERS.join(','),
    '--rounds',
    rounds,
  ];
  run(process.execPath, [path.join(ROOT, 'run.mjs'), ...args, '--out', OUT]);
  const { cases } = await readReport(OUT);
  return cases.flatMap(({ case: id, variant, rows }) =>
    rows.filter((row) => OURS.includes(row.id)).map((row) => compared(id, variant, row)),
  );
}

function compared(id, variant, { id: adapter, ratios: now }) {
  const same = kept.cases.find((one) => one.case === id && one.variant === variant);
  const before = same?.rows.find((row) => row.id === adapter)?.ratios ?? {};
  const isWorse = ['floor', 'ai-sdk'].every((beside) => now[beside] > LIMIT * before[beside]);
  return { name: `${id} ${variant} ${adapter}`, variant, now, before, isWorse };
}

function run(command, args, cwd = ROOT) {
  const { status } = spawnSync(command, args, { cwd, stdio: 'inherit', env: nodeEnv() });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed.`);
}

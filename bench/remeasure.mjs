// node remeasure.mjs [--cases A,D] [--rounds 5] [--with ai-sdk,genkit] [--commit HEAD] : after a change to our package, in one command:
// builds, packs and installs it, checks that it still does the work, measures it beside the floor and the peers that
// matter to the targets, and holds the numbers against the targets. The report goes to out/<--out>.

import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { ROOT } from './lib/adapters.mjs';
import { nodeEnv } from './lib/node.mjs';

const { values: opt } = parseArgs({
  options: {
    cases: { type: 'string', default: 'A,B,C,D,E,G' },
    rounds: { type: 'string', default: '5' },
    variants: { type: 'string' },
    with: { type: 'string', default: 'ai-sdk,genkit' },
    out: { type: 'string', default: 'remeasure.json' },
    commit: { type: 'string' },
    'no-build': { type: 'boolean', default: false },
  },
});
const OURS = ['ours', 'ours:ai-sdk-model'];
const report = path.join(ROOT, 'out', opt.out);
fs.mkdirSync(path.dirname(report), { recursive: true });

if (!opt['no-build']) step('install.mjs', ['--ours-only', ...(opt.commit ? ['--commit', opt.commit] : [])]);
step('smoke.mjs', OURS);
const adapters = ['floor', ...OURS, ...opt.with.split(',').filter(Boolean)].join(',');
step('run.mjs', [
  '--cases',
  opt.cases,
  '--rounds',
  opt.rounds,
  '--adapters',
  adapters,
  '--out',
  report,
  ...(opt.variants ? ['--variants', opt.variants] : []),
]);
for (const id of OURS) step('targets.mjs', ['--of', id, report], { mayFail: true });

function step(script, args, { mayFail = false } = {}) {
  const { status } = spawnSync(process.execPath, [path.join(ROOT, script), ...args], {
    stdio: 'inherit',
    env: nodeEnv(),
  });
  if (status !== 0 && !mayFail) process.exit(status ?? 1);
}

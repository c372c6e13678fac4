// node profile.mjs <adapter> <case> [variant] : runs one case in this process under the CPU profiler and prints the
// functions by self time. Warm-up first, so that what is shown is the steady state.
import './lib/node.mjs';
import fs from 'node:fs';
import inspector from 'node:inspector/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadAdapter, ROOT } from './lib/adapters.mjs';
import { table } from './lib/stats.mjs';

const [id, caseId, key] = process.argv.slice(2);
const file = fs.readdirSync(path.join(ROOT, 'cases')).find((name) => name.startsWith(`${caseId?.toLowerCase()}-`));
if (!id || !file) {
  console.error('node profile.mjs <adapter> <case> [variant]');
  process.exit(2);
}
const kase = (await import(`./cases/${file}`)).default;
const variant = kase.variants.find((v) => v.key === key) ?? kase.variants[0];
const context = await kase.open(await loadAdapter(id), variant, {});
for (let i = 0; i < 3; i++) await kase.round(context, variant, { warm: true });

const session = new inspector.Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.setSamplingInterval', { interval: 200 });
await session.post('Profiler.start');
const rounds = [];
for (let i = 0; i < 10; i++) rounds.push(await kase.round(context, variant, {}));
const { profile } = await session.post('Profiler.stop');

const selfTime = new Map();
const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
for (const [i, sample] of profile.samples.entries()) {
  const { functionName, url, lineNumber } = nodes.get(sample).callFrame;
  const file = url.startsWith('file:') ? path.relative(ROOT, fileURLToPath(url)).replace(/^.*node_modules\//, '') : url;
  const name = `${functionName || '(anonymous)'}  ${file}${file ? `:${lineNumber + 1}` : ''}`;
  selfTime.set(name, (selfTime.get(name) ?? 0) + profile.timeDeltas[i]);
}
const total = [...selfTime.values()].reduce((a, b) => a + b, 0);
const iterations = rounds.reduce((sum, round) => sum + round.iters, 0);
console.log(
  `\n${id}, case ${kase.id} ${variant.key}: ${kase.primary} ${rounds.map((r) => r[kase.primary].toPrecision(3)).join(' ')}\n`,
);
const rows = [...selfTime].sort((a, b) => b[1] - a[1]).slice(0, 40);
console.log(
  table(
    ['function', '% self', 'µs an iteration'],
    rows.map(([name, us]) => [name, (100 * us) / total, us / iterations]),
  ),
);
await kase.close?.(context);
process.exit(0);

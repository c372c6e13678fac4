// A fleet on one PostgreSQL: servers and workers, a rolling deploy from an earlier commit, then each process killed in turn.
//
//   npm run fleet -- [--servers 4] [--workers 4] [--rounds 3] [--at-once 16] [--previous <commit>] [--seed 1] [--json]
//
// Builds the current tree and the earlier commit: the last tag, or 30 commits ago. The exit code is 1 if anything happened twice
// or was lost, a stream stayed silent, or a take-over took longer than ten seconds. Then the files are kept, and named.
import { mkdirSync, mkdtempSync, readdirSync, readlinkSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
// biome-ignore lint/correctness/useImportExtensions: the types are beside the script, in a file that is never loaded.
import { startPostgres } from './postgres.mjs';
import { root, run, tool } from './run.mjs';

const { values } = parseArgs({
  options: {
    servers: { type: 'string', default: '4' },
    workers: { type: 'string', default: '4' },
    rounds: { type: 'string', default: '3' },
    'at-once': { type: 'string', default: '16' },
    'gap-ms': { type: 'string', default: '1500' },
    previous: { type: 'string' },
    seed: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
  },
});
const say = (text) => values.json || console.log(text);

const folder = mkdtempSync(join(tmpdir(), 'countersign-fleet-'));
const earlier = join(folder, 'checkout');
let isClean = false;
const commit = values.previous ?? lastRelease();
const postgres = await startPostgres({ settings: { max_connections: 200 } });
try {
  say(`building the current tree and ${commit}`);
  build(root);
  checkOut(commit, earlier);
  const { campaign } = await import('../packages/server/test/fleet/campaign.ts');
  const { problems, ...figures } = await campaign({
    folder: join(folder, 'fleet'),
    store: postgres.url(),
    builds: [
      { name: 'previous', root: earlier },
      { name: 'current', root },
    ],
    servers: Number(values.servers),
    workers: Number(values.workers),
    rounds: Number(values.rounds),
    atOnce: Number(values['at-once']),
    gapMs: Number(values['gap-ms']),
    seed: Number(values.seed),
    log: say,
  });
  if (values.json) console.log(JSON.stringify({ previous: commit, ...figures, problems }));
  else for (const [name, value] of Object.entries(figures)) console.log(`${name.padEnd(20)} ${value}`);
  for (const problem of problems) console.error(`  ${problem}`);
  isClean = problems.length === 0;
} finally {
  await postgres.stop();
  run('git', ['worktree', 'remove', '--force', earlier], { cwd: root });
  if (isClean) rmSync(folder, { recursive: true, force: true });
  else console.error(`The files are in ${folder}.`);
  if (!isClean) process.exitCode = 1;
}

function lastRelease() {
  const { code, stdout } = run('git', ['describe', '--tags', '--abbrev=0'], { cwd: root });
  return code === 0 ? stdout.trim() : run('git', ['rev-parse', '--short', 'HEAD~30'], { cwd: root }).stdout.trim();
}

/** Checks the commit out and builds it, with the packages that are installed here. */
function checkOut(name, path) {
  must(run('git', ['worktree', 'add', '--detach', path, name], { cwd: root }));
  link(join(root, 'node_modules'), join(path, 'node_modules'));
  link(join(root, 'packages/server/node_modules'), join(path, 'packages/server/node_modules'));
  build(path);
}

/** Links every installed package. Links to packages of this repository lead to those of the checkout. */
function link(from, to) {
  mkdirSync(to, { recursive: true });
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isSymbolicLink()) symlinkSync(readlinkSync(source), target);
    else if (entry.name.startsWith('@')) link(source, target);
    else symlinkSync(source, target);
  }
}

function build(path) {
  const [command, ...args] = tool('typescript', 'tsc');
  must(run(command, [...args, '-b', 'packages/server'], { cwd: path }));
}

function must({ code, output }) {
  if (code !== 0) throw new Error(output);
}

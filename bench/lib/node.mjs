// The benchmark runs on the Node of this repository (24), whichever Node it was started with: peers behave, and npm
// resolves, differently on others. Import this first.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { ROOT } from './adapters.mjs';

export const REPO = path.dirname(ROOT);
const BIN = path.join(REPO, 'node_modules', '.bin');
const NODE = path.join(BIN, 'node');

/** The environment for programs that are to run on this Node. */
export const nodeEnv = () => ({
  ...process.env,
  PATH: [path.dirname(process.execPath), BIN, process.env.PATH].join(path.delimiter),
});

const major = Number.parseInt(process.versions.node, 10);
if (major < 24) {
  if (!existsSync(NODE))
    throw new Error(
      `This is Node ${process.version}; the benchmark needs Node 24. Run "npm ci" in the repository first.`,
    );
  const { status } = spawnSync(NODE, process.argv.slice(1), { stdio: 'inherit' });
  process.exit(status ?? 1);
}

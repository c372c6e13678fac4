// Runs every attack against every door, writes the matrix to docs/reference/doors.md, and prints it.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root, run, tool } from './run.mjs';

process.env.COUNTERSIGN_WRITE_DOORS = '1';
const [command, ...args] = tool('vitest');
const { code } = run(command, [...args, 'run', '--reporter=dot', '--maxWorkers=1', 'packages/server/test/doors'], {
  show: true,
});
console.log(readFileSync(join(root, 'docs/reference/doors.md'), 'utf8'));
process.exitCode = code;

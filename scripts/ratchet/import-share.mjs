// The CPU time of importing the built package, as a share of the time that importing zod takes.
import { execFileSync } from 'node:child_process';
import path from 'node:path';

const PAIRS = 6;
const FOLDER = path.join(import.meta.dirname, '../../packages/countersign');

/** Neighbours on the machine only ever make an import slower, so the fastest of each counts. */
export function importShare() {
  const times = { zod: [], countersign: [] };
  for (let pair = 0; pair < PAIRS; pair += 1) for (const name of Object.keys(times)) times[name].push(importMs(name));
  return Math.min(...times.countersign) / Math.min(...times.zod);
}

function importMs(name) {
  const program = `const start = process.cpuUsage();
    await import('${name}');
    const { user, system } = process.cpuUsage(start);
    console.log((user + system) / 1000);`;
  const { NODE_COMPILE_CACHE: _, ...env } = process.env;
  const flags = ['--input-type=module', '--eval', program];
  return Number(execFileSync(process.execPath, flags, { cwd: FOLDER, env, encoding: 'utf8' }));
}

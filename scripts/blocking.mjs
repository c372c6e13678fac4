// Measures how long requests within the limits block a server with 100,000 settled requests, and prints the longest.
//
//   node scripts/blocking.mjs [requests] [most milliseconds]
import { spawnSync } from 'node:child_process';

const [requests = '100000', most = '100'] = process.argv.slice(2);
const env = { ...process.env, BLOCKING_REQUESTS: requests, BLOCKING_MS: most };
const test = 'packages/server/test/attacks/blocking.test.ts';
const { status } = spawnSync('npx', ['vitest', 'run', test], { stdio: 'inherit', env });
process.exitCode = status ?? 1;

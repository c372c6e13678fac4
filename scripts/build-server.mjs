// Builds the server and the inbox at the same time, for `npm start` and for the first `npx countersign` in a clone.
import { join } from 'node:path';
import { root, runBeside, tool } from './run.mjs';

await Promise.all([
  build('the server', [...tool('typescript', 'tsc'), '-b', 'packages/server']),
  build('the inbox', [...tool('vite'), 'build', '--logLevel', 'error', join(root, 'apps/inbox')]),
]);

// The output of a command such as `countersign runs --json` goes to stdout, so this goes to stderr.
async function build(what, [command, ...args]) {
  console.error(`Building ${what} …`);
  const { code, output } = await runBeside(command, args);
  if (code === 0) return;
  console.error(output);
  process.exit(code);
}

// Builds the server and the inbox, for `npm start` and for the first `npx countersign` in a clone.
import { join } from 'node:path';
import { root, run, tool } from './run.mjs';

build('the server', [...tool('typescript', 'tsc'), '-b', 'packages/server']);
build('the inbox', [...tool('vite'), 'build', '--logLevel', 'error', join(root, 'apps/inbox')]);

// The output of a command such as `countersign runs --json` goes to stdout, so this goes to stderr.
function build(what, [command, ...args]) {
  console.error(`Building ${what} …`);
  const { code, output } = run(command, args);
  if (code === 0) return;
  console.error(output);
  process.exit(code);
}

// What `npm start` does: builds the server and the inbox, then serves the demo in this very process, so that whoever stops
// npm stops it. Everything behind `npm start --` goes to `countersign dev`, as in `npm start -- --port 4000`.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root, run, tool } from './run.mjs';

build('the server', [...tool('typescript', 'tsc'), '-b', 'packages/server']);
build('the inbox', [...tool('vite'), 'build', '--logLevel', 'error', join(root, 'apps/inbox')]);

const program = join(root, 'packages/server/dist/cli/main.js');
process.argv.splice(1, 1, program, 'dev');
await import(pathToFileURL(program).href);

function build(what, [command, ...args]) {
  console.log(`Building ${what} …`);
  const { code, output } = run(command, args);
  if (code === 0) return;
  console.error(output);
  process.exit(code);
}

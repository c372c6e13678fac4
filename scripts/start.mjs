// What `npm start` does: builds the server and the inbox, then serves the demo in this process, so that stopping npm stops
// it. All arguments after `npm start --` go to `countersign dev`, as in `npm start -- --port 4000`.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import './build-server.mjs';
import { root } from './run.mjs';

const program = join(root, 'packages/server/bin/countersign.js');
process.argv.splice(1, 1, program, 'dev');
await import(pathToFileURL(program).href);

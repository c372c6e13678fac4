// The process that Restate calls, for restate.mjs. Its argument is the address of the lists.
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { REPO } from '../../lib/node.mjs';

const workspace = (file) => import(pathToFileURL(path.join(REPO, 'packages', file)).href);
const { serveRestate } = await workspace('restate/dist/index.js');
const { postgresStore } = await workspace('countersign/dist/stores/postgres/postgres.js');
const lists = postgresStore({ url: process.argv[2], poolMax: 10 });
const { port } = await serveRestate({ lists, port: 0, hostname: '127.0.0.1' });
process.on('disconnect', () => process.exit());
process.send(port);

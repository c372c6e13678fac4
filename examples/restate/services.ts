// The services that Restate calls. In production, run several of them on different machines, behind one address.
import { serveRestate } from '@countersign/restate';
import { sqliteStore } from 'countersign/sqlite';

const { LISTS = 'lists.sqlite', SERVICES_PORT = '9080' } = process.env;

await serveRestate({ lists: sqliteStore(LISTS), port: Number(SERVICES_PORT), hostname: '127.0.0.1' });

// A process that Restate calls. It ends with its parent.
import { serveRestate } from '@countersign/restate';
import { sqliteStore } from 'countersign/sqlite';

const { lists, port }: { readonly lists: string; readonly port: number } = JSON.parse(process.argv[2] ?? '{}');
const endpoint = await serveRestate({ lists: sqliteStore(lists), port, hostname: '127.0.0.1', log: () => {} });
process.stdin.on('end', () => process.exit()).resume();
process.stdout.write(`${endpoint.port}\n`);

// A process that lets a run rest and dies at once, before it announces that.

import { postgresStore } from '../../src/stores/postgres/postgres.ts';
import { addition, creation } from '../../src/testing/store-contract/check.ts';

const store = postgresStore(process.argv[2] ?? '');
// Its result says that another process watches.
await store.append(creation('other'));
await store.append(creation('run'));
await store.append(addition('run', 1, { status: 'waiting' }));
process.kill(process.pid, 'SIGKILL');

// A process that waits for a run and then only has to close its store.
import { countersign } from '../../src/index.ts';
import { postgresStore } from '../../src/stores/postgres/postgres.ts';
import { scriptedModel } from '../../src/testing/index.ts';

const store = postgresStore(process.argv[2] ?? '');
const ai = countersign({ store, model: scriptedModel(() => 'Hello.') });
const { id } = await ai.defineAgent({ name: 'clerk' }).start('Hello.');
await ai.runs.wait(id);
await ai.runs.stop();
await store.close();
console.log('closed');

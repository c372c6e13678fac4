// The doctor's checks of this machine: Node, the agents file, the store and the model's API key.
import type { Page, Store } from 'countersign/store';
import { checkWrites } from '../../store-writes.ts';
import type { StoreOptions } from '../commands/options.ts';
import { failureOf } from '../failure.ts';
import { durationText } from '../print/moment.ts';
import { findAgentsFile, loadAgentsFile, shownPath } from './agents-file.ts';
import { type Check, clockCheck } from './server-checks.ts';
import { exists, openStore, shownAddress, storeAddress, storeFile } from './store-address.ts';

export async function checkLocally(options: StoreOptions): Promise<readonly Check[]> {
  const agents = await checkAgents(options);
  // An agents file with its own store is checked with that store, unless another one is named.
  const hasOwnStore = agents.some(({ name }) => name === 'store');
  const store = hasOwnStore && options.store === undefined ? [] : await checkStore(options);
  const kept = store.length === 0 ? agents : agents.filter(({ name }) => name !== 'store');
  return [{ name: 'node', status: 'ok', text: `Node ${process.versions.node}` }, ...kept, ...store, checkKeys()];
}

async function checkAgents(options: StoreOptions): Promise<readonly Check[]> {
  const name = 'agents';
  try {
    const file = findAgentsFile(options.agents);
    if (file === undefined) {
      const fix = 'Create agents.ts. Until then, `countersign dev` serves the demo.';
      return [{ name, status: 'unknown', text: 'no agents file here', fix }];
    }
    const loaded = await loadAgentsFile(file);
    const path = shownPath(file);
    if (loaded.kind === 'function') return [{ name, status: 'ok', text: `${path} exports a function` }];
    const names = [...loaded.ai.agents.keys()];
    if (names.length === 0) {
      const fix = 'Define one with ai.defineAgent({ name, … }).';
      return [{ name, status: 'fail', text: `${path} defines no agents`, fix }];
    }
    return [
      { name, status: 'ok', text: `${path} defines ${names.join(', ')}` },
      await checkOwnStore(loaded.ai.runs.store, path),
    ];
  } catch (error) {
    return [failed(name, error)];
  }
}

async function checkOwnStore(store: Store, path: string): Promise<Check> {
  try {
    const page = await store.listInterrupts({ limit: 200 });
    await checkWrites(store);
    return { name: 'store', status: 'ok', text: `the store in ${path} works, ${pendingText(page)}` };
  } catch (error) {
    return failed('store', error);
  }
}

function failed(name: string, error: unknown): Check {
  const { message, hint } = failureOf(error);
  return { name, status: 'fail', text: message, ...(hint !== undefined && { fix: hint }) };
}

const pendingText = ({ items, cursor }: Page<unknown>): string =>
  `${items.length}${cursor === null ? '' : ' or more'} pending`;

async function checkStore(options: StoreOptions): Promise<readonly Check[]> {
  let store: Store | undefined;
  try {
    const address = storeAddress(options);
    const file = storeFile(address);
    if (file !== undefined && !exists(file)) {
      const isNamed = options.store !== undefined || process.env.COUNTERSIGN_STORE !== undefined;
      const fix = 'Create it with: countersign migrate, or countersign dev';
      return [
        { name: 'store', status: isNamed ? 'fail' : 'unknown', text: `${shownPath(file)} does not exist yet`, fix },
      ];
    }
    store = await openStore(address, 'existing');
    const startedAt = performance.now();
    await store.migrate();
    const page = await store.listInterrupts({ limit: 200 });
    await checkWrites(store);
    const took = durationText(performance.now() - startedAt);
    const before = Date.now();
    const now = await store.now();
    return [
      { name: 'store', status: 'ok', text: `${shownAddress(address)} responds in ${took}, ${pendingText(page)}` },
      { name: 'tables', status: 'ok', text: 'up to date' },
      // Deadlines use the store's clock, so a difference only affects the times that people see here.
      clockCheck('the store', Math.abs(now - (before + Date.now()) / 2), 2_000),
    ];
  } catch (error) {
    const { message, details } = failureOf(error);
    // Tables of a newer version: the store works, and the message says what to do.
    if (store && details.known !== undefined) return [{ name: 'tables', status: 'fail', text: message }];
    const fix = 'Check the address, that the database is running, and that this user may access it.';
    return [{ name: 'store', status: 'fail', text: message, fix }];
  } finally {
    // A store that failed may fail to close, too.
    await store?.close().catch(() => undefined);
  }
}

const KEYS: ReadonlyMap<string, string> = new Map([
  ['openai', 'OPENAI_API_KEY'],
  ['anthropic', 'ANTHROPIC_API_KEY'],
  ['google', 'GOOGLE_GENERATIVE_AI_API_KEY'],
]);

/** Prints only the names of keys, never a key. */
function checkKeys({ env } = process): Check {
  const name = 'keys';
  const set = [...KEYS.values()].filter((key) => (env[key] ?? '') !== '');
  const model = env.COUNTERSIGN_MODEL ?? '';
  if (model === '') {
    if (set.length > 0) return { name, status: 'ok', text: `${set.join(', ')} ${set.length === 1 ? 'is' : 'are'} set` };
    const fix = `Set COUNTERSIGN_MODEL, e.g. openai/gpt-5, and one of ${[...KEYS.values()].join(', ')}.`;
    return { name, status: 'unknown', text: 'no model API key is set; the demo model is used by default', fix };
  }
  const key = KEYS.get(model.split('/')[0] ?? '');
  if (key === undefined) return { name, status: 'unknown', text: `COUNTERSIGN_MODEL is ${model}; its key is unknown` };
  if (set.includes(key)) return { name, status: 'ok', text: `COUNTERSIGN_MODEL is ${model} and ${key} is set` };
  return { name, status: 'fail', text: `COUNTERSIGN_MODEL is ${model}, but ${key} is not set`, fix: `Set ${key}.` };
}

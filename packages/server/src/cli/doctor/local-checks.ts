// The doctor's checks of this machine: Node, the agents file, the store and the model's API key.
import { countersign } from 'countersign';
import type { Store } from 'countersign/store';
import { PROVIDERS, STAND_IN } from '../../demo/environment.ts';
import { checkWrites } from '../../store-writes.ts';
import { durationText, timeText } from '../../text/moment.ts';
import { visibleLine } from '../../text/visible-text.ts';
import type { StoreOptions } from '../commands/options.ts';
import { failureOf } from '../failure.ts';
import { loadAgentsFile } from '../runtime/agents-file.ts';
import { configuredChannels } from '../runtime/configured-channels.ts';
import { findAgentsFile } from '../runtime/finding-agents-file.ts';
import { exists, openStore, shownAddress, shownPath, storeAddress, storeFile } from '../runtime/store-address.ts';
import { type Check, check, clockCheck } from './server-checks.ts';

export async function checkLocally(options: StoreOptions): Promise<readonly Check[]> {
  const { agents, own } = await checkAgents(options);
  const channels = checkChannels(options.agents);
  // An agents file with its own store is checked with that store, unless another one is named.
  const checking = own && options.store === undefined ? checkStore(own.store, own.where) : checkAddress(options);
  const store = await checking.catch((error: unknown) => [failedStore(error)]);
  return [check('node', 'ok', `Node ${process.versions.node}`), agents, ...store, checkKeys(), ...(await channels)];
}

/** One check for each channel. Sends no notice. */
async function checkChannels(named: string | undefined): Promise<readonly Check[]> {
  // A file that fails to load has its own check.
  const channels = await configuredChannels(named).catch(() => []);
  return Promise.all(
    channels.map(async (channel) => {
      const name = `channel ${channel.name}`;
      try {
        await channel.check?.();
        return check(name, 'ok', channel.check ? 'is set up and reachable' : 'is set up');
      } catch (error) {
        return check(name, 'fail', failureOf(error).message, `Try it with: countersign channels test ${channel.name}`);
      } finally {
        await channel.close?.();
      }
    }),
  );
}

type Agents = { readonly agents: Check; readonly own?: { readonly store: Store; readonly where: string } };

async function checkAgents(options: StoreOptions): Promise<Agents> {
  const said = (status: Check['status'], text: string, fix?: string) => ({
    agents: check('agents', status, text, fix),
  });
  try {
    const file = findAgentsFile(options.agents);
    if (file === undefined)
      return said('unknown', 'no agents file here', 'Create agents.ts. Until then, `countersign dev` serves the demo.');
    const loaded = await loadAgentsFile(file);
    const path = shownPath(file);
    if (loaded.kind === 'function') return said('ok', `${path} exports a function`);
    const names = [...loaded.ai.agents.keys()].join(', ');
    if (names === '') return said('fail', `${path} defines no agents`, 'Define one with ai.defineAgent({ name, … }).');
    return {
      ...said('ok', `${path} defines ${names}`),
      own: { store: loaded.ai.runs.store, where: `the store in ${path}` },
    };
  } catch (error) {
    const { message, hint } = failureOf(error);
    return said('fail', message, hint);
  }
}

async function checkAddress(options: StoreOptions): Promise<readonly Check[]> {
  const address = storeAddress(options);
  const file = storeFile(address);
  if (file !== undefined && !exists(file)) {
    const isNamed = options.store !== undefined || process.env.COUNTERSIGN_STORE !== undefined;
    const fix = 'Create it with: countersign migrate, or countersign dev';
    return [check('store', isNamed ? 'fail' : 'unknown', `${shownPath(file)} does not exist yet`, fix)];
  }
  const store = await openStore(address, 'existing');
  try {
    return await checkStore(store, shownAddress(address));
  } finally {
    // A store that failed may fail to close, too.
    await store.close().catch(() => undefined);
  }
}

async function checkStore(store: Store, where: string): Promise<readonly Check[]> {
  const startedAt = performance.now();
  await store.migrate();
  const { items, cursor } = await store.listRequests({ limit: 200 });
  await checkWrites(store);
  const took = durationText(performance.now() - startedAt);
  const before = Date.now();
  const now = await store.now();
  const pending = `${items.length}${cursor === null ? '' : ' or more'} pending`;
  return [
    check('store', 'ok', `${where} responds in ${took}, ${pending}`),
    check('tables', 'ok', 'up to date'),
    await freezesCheck(store),
    // Deadlines use the store's clock, so a difference only affects the times that people see here.
    clockCheck('the store', Math.abs(now - (before + Date.now()) / 2), 2_000),
  ];
}

/** The first look at a store that was restored from a backup freezes it. */
async function freezesCheck(store: Store): Promise<Check> {
  const [first, ...more] = await countersign({ store }).freezes.list();
  if (!first) return check('freezes', 'ok', 'nothing is frozen');
  const others = more.length > 0 ? ` (and ${more.length} more)` : '';
  const restored =
    'Compare runs that were in progress with the systems that their calls reach: countersign runs list --status running. Then: ';
  const isRestored = first.id.startsWith('freeze_restored_');
  const fix = `${isRestored ? restored : 'Lift it with: '}countersign unfreeze ${first.id}`;
  return check('freezes', 'unknown', `frozen since ${timeText(first.at)}${others}: ${visibleLine(first.reason)}`, fix);
}

function failedStore(error: unknown): Check {
  const { message, details } = failureOf(error);
  // Tables of a newer version: the store works, and the message says what to do.
  if (details.known !== undefined) return check('tables', 'fail', message);
  const fix = 'Check the address, that the database is running, and that this user may access it.';
  return check('store', 'fail', message, fix);
}

/** Prints only the names of keys, never a key. */
function checkKeys({ env } = process): Check {
  const keys = PROVIDERS.map(({ key }) => key);
  const set = keys.filter((key) => (env[key] ?? '') !== '');
  const model = env.COUNTERSIGN_MODEL ?? '';
  if (model === '') {
    if (set.length > 0) return check('keys', 'ok', `${set.join(', ')} ${set.length === 1 ? 'is' : 'are'} set`);
    const fix = `Set COUNTERSIGN_MODEL, e.g. openai/gpt-5, and one of ${keys.join(', ')}.`;
    return check('keys', 'unknown', 'no model API key is set; a stand-in model replies', fix);
  }
  const text = `COUNTERSIGN_MODEL is ${model}`;
  if (model === STAND_IN) return check('keys', 'ok', `${text}, which needs no key`);
  const key = PROVIDERS.find(({ name }) => name === model.split('/')[0])?.key;
  if (key === undefined) return check('keys', 'unknown', `${text}; its key is unknown`);
  if (set.includes(key)) return check('keys', 'ok', `${text} and ${key} is set`);
  return check('keys', 'fail', `${text}, but ${key} is not set`, `Set ${key}.`);
}

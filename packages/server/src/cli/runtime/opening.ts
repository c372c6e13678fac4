// Opens what a command works on: a backend, or the user's agents on their store.
import { userInfo } from 'node:os';
import { type Countersign, countersign } from 'countersign';
import type { Notes, Store } from 'countersign/store';
import { demoAgents } from '../../demo/agents.ts';
import { modelFromEnvironment } from '../../demo/environment.ts';
import { demoModel } from '../../demo/model.ts';
import type { AppOptions } from '../../options.ts';
import type { Backend } from '../backend/backend.ts';
import { serverBackend } from '../backend/server-backend.ts';
import { storeBackend } from '../backend/store-backend.ts';
import type { BackendOptions, StoreOptions } from '../commands/options.ts';
import { usageFailure } from '../failure.ts';
import type { Output } from '../print/output.ts';
import { type AgentsEnvironment, type AgentsExport, findAgentsFile, loadAgentsFile, shownPath } from './agents-file.ts';
import { type Opening, openStore, shownAddress, storeAddress } from './store-address.ts';

export type OpenedAgents = {
  readonly ai: Countersign;
  /** The store, as people read it. */
  readonly where: string;
  /** The agents file; undefined for the demo. */
  readonly file: string | undefined;
  /** The server options that the file exports. */
  readonly server: AppOptions;
  /** The model from the environment, if the agents use it. */
  readonly model: { readonly name: string; readonly demo: boolean } | undefined;
  close(): Promise<void>;
};

/** Returns the URL of the server to use, if any. An explicit --store or --agents wins over COUNTERSIGN_URL. */
export function serverUrl({ url, store, agents }: BackendOptions): string | undefined {
  const isLocal = store !== undefined || agents !== undefined;
  const address = url ?? (isLocal ? undefined : process.env.COUNTERSIGN_URL);
  if (address === undefined || address === '') return undefined;
  if (/^https?:\/\//.test(address) && URL.canParse(address)) return address.replace(/\/+$/, '');
  throw usageFailure(`Invalid server URL “${address}”.`, 'Example: --url https://approvals.example.com');
}

export const serverToken = ({ token }: BackendOptions): string | undefined => token ?? process.env.COUNTERSIGN_TOKEN;

/** Opens a backend while `work` runs. `agents`: whether decisions are validated against the tools in the user's file. */
export async function useBackend(
  options: BackendOptions,
  needs: { readonly agents: boolean },
  work: (backend: Backend) => Promise<void>,
): Promise<undefined> {
  const backend = await openBackend(options, needs);
  try {
    await work(backend);
    return undefined;
  } finally {
    await backend.close();
  }
}

async function openBackend(options: BackendOptions, needs: { readonly agents: boolean }): Promise<Backend> {
  const url = serverUrl(options);
  if (url !== undefined) {
    if (options.by !== undefined) throw usageFailure('--by does not work with a server: the token says who you are.');
    return serverBackend(url, serverToken(options));
  }
  const person = personOf(options);
  const file = options.store !== undefined && !needs.agents ? undefined : findAgentsFile(options.agents);
  const loaded = file === undefined ? undefined : await loadAgentsFile(file);
  if (file !== undefined && loaded?.kind === 'instance' && options.store === undefined)
    return storeBackend({ ai: loaded.ai, where: `the store in ${shownPath(file)}`, person, close: async () => {} });
  const address = storeAddress(options);
  const store = await openStore(address, 'existing');
  const ai = await agentsOn(store, loaded);
  return storeBackend({ ai, where: shownAddress(address), person, store, close: () => store.close() });
}

/** Opens the user's agents, or the demo agents, on the chosen store. */
export async function openAgents(
  options: StoreOptions,
  named: string | undefined,
  output: Output,
  opening: Opening = 'make',
): Promise<OpenedAgents> {
  const file = findAgentsFile(named ?? options.agents);
  const loaded = file === undefined ? undefined : await warningIfSlow(file, output, loadAgentsFile(file));
  if (file !== undefined && loaded?.kind === 'instance') {
    if (options.store !== undefined)
      throw usageFailure(
        `--store has no effect: ${shownPath(file)} has its own store.`,
        'To choose the store here, export a function: export default ({ store }) => countersign({ store, … })',
      );
    void loaded.ai.runs;
    const where = `the store in ${shownPath(file)}`;
    return { ai: loaded.ai, where, file, server: loaded.server, model: undefined, close: async () => {} };
  }
  const address = storeAddress(options);
  const store = await openStore(address, opening);
  const { environment, modelInUse } = await environmentOf(store);
  const ai =
    file !== undefined && loaded?.kind === 'function'
      ? await warningIfSlow(file, output, loaded.make(environment))
      : demoOn(environment);
  void ai.runs;
  const server = loaded?.server ?? {};
  return { ai, where: shownAddress(address), file, server, model: modelInUse(), close: () => store.close() };
}

const SLOW_MS = 5_000;

/** Says so if the file takes long to load: it may wait for something that never comes. */
async function warningIfSlow<T>(file: string, { note }: Output, loading: Promise<T>): Promise<T> {
  const warn = () => note(`Still loading ${shownPath(file)} …`);
  const timer = setTimeout(warn, SLOW_MS).unref();
  return loading.finally(() => clearTimeout(timer));
}

/** Opens a store without agents. */
export async function openBareStore(options: StoreOptions, opening: Opening): Promise<{ store: Store; where: string }> {
  const address = storeAddress(options);
  return { store: await openStore(address, opening), where: shownAddress(address) };
}

/** Opens the notes of the store that the agents use. */
export async function openNotes(
  options: StoreOptions,
  opening: Opening,
): Promise<{ readonly notes: Notes; close(): Promise<void> }> {
  const file = options.store !== undefined ? undefined : findAgentsFile(options.agents);
  const loaded = file === undefined ? undefined : await loadAgentsFile(file);
  if (loaded?.kind === 'instance') return { notes: loaded.ai.runs.notes, close: async () => {} };
  const { store } = await openBareStore(options, opening);
  return { notes: store.notes, close: () => store.close() };
}

function personOf({ by }: BackendOptions): string {
  const person = by ?? process.env.USER ?? process.env.LOGNAME;
  return person !== undefined && person !== '' ? person : userInfo().username;
}

/** Puts the definitions of the user's file on this store; the agents of an instance are copied by name. */
async function agentsOn(store: Store, loaded: AgentsExport | undefined): Promise<Countersign> {
  if (loaded?.kind === 'function') return loaded.make(definitionsOnly(store));
  const ai = countersign({ store });
  if (loaded)
    for (const [name, { definition }] of loaded.ai.agents) {
      const tools = [...(definition.innerTools?.() ?? new Map()).values()].map((inner) => ({ definition: inner }));
      // The agent's own limit is unknown here; the worker enforces it.
      ai.defineAgent({ name, tools, maxTurns: Number.MAX_SAFE_INTEGER });
    }
  return ai;
}

/** Nothing is driven here, so a missing model must not keep people from reading and deciding. */
const definitionsOnly = (store: Store): AgentsEnvironment => ({
  store,
  model: demoModel(),
  providers: {},
  env: process.env,
});

/** Creates what an exported function receives, and notices whether it uses the model. */
async function environmentOf(store: Store) {
  const { model, providers, name, demo } = await modelFromEnvironment();
  let isUsed = false;
  const environment: AgentsEnvironment = {
    store,
    get model() {
      isUsed = true;
      return model;
    },
    providers,
    env: process.env,
  };
  return { environment, modelInUse: () => (isUsed ? { name, demo } : undefined) };
}

function demoOn({ store, model, providers }: AgentsEnvironment): Countersign {
  const ai = countersign({ store, model, providers });
  demoAgents(ai);
  return ai;
}

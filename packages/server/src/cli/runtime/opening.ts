// Opens what a command works on: a backend, or the user's agents on their store.

import { type Countersign, countersign } from 'countersign';
import { internalsOf, type Notes, type Store } from 'countersign/store';
import type { AgentsEnvironment } from '../../config.ts';
import { demoAgents } from '../../demo/agents.ts';
import { type ChosenModel, modelFromEnvironment, STAND_IN } from '../../demo/environment.ts';
import type { AppOptions } from '../../options.ts';
import type { Backend, DecidesAs } from '../backend/backend.ts';
import { serverBackend } from '../backend/server-backend.ts';
import { storeBackend } from '../backend/store-backend.ts';
import type { BackendOptions, StoreOptions } from '../commands/options.ts';
import { failureOf, usageFailure } from '../failure.ts';
import type { Output } from '../print/output.ts';
import { type AgentsExport, loadAgentsFile } from './agents-file.ts';
import { findAgentsFile } from './finding-agents-file.ts';
import { openOn, personOf } from './opening-gate.ts';
import { savedToken } from './saved-tokens.ts';
import { type Opening, openStore, shownAddress, shownPath, storeAddress } from './store-address.ts';

export type OpenedAgents = {
  readonly ai: Countersign;
  /** The store, as people read it. */
  readonly where: string;
  /** The agents file; undefined for the demo. */
  readonly file: string | undefined;
  /** The server options that the file exports. */
  readonly server: AppOptions;
  /** The model from the environment, or the stand-in, if the agents use it. */
  readonly model: Pick<ChosenModel, 'name' | 'demo' | 'missing'> | undefined;
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

/** The token for this server: as given, or as `countersign login` has kept it. */
export const serverToken = ({ token }: BackendOptions, url: string): string | undefined =>
  token ?? (process.env.COUNTERSIGN_TOKEN || savedToken(url)?.token);

/** `agents`: whether decisions are validated against the tools in the user's file. `channel`: `cli` unless given. */
type Needs = {
  readonly agents: boolean;
  readonly channel?: DecidesAs;
  /** For a named store, a file that is missing or fails to load is no obstacle: this hears why. */
  readonly withoutAgents?: (why: string) => void;
};

/** Opens a backend while `work` runs. */
export async function useBackend(
  options: BackendOptions,
  needs: Needs,
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

async function openBackend(
  options: BackendOptions,
  { agents, channel = 'cli', withoutAgents }: Needs,
): Promise<Backend> {
  const url = serverUrl(options);
  if (url !== undefined) {
    const given = (['by', 'role'] as const).find((name) => options[name] !== undefined);
    if (given !== undefined) throw usageFailure(`--${given} does not work with a server: the token says who you are.`);
    return serverBackend(url, serverToken(options, url), channel);
  }
  const person = personOf(options);
  const open = async (isLoaded: boolean): Promise<Backend> => {
    const loaded = isLoaded ? await loadAgents(options.agents) : undefined;
    if (isLoaded && loaded === undefined) withoutAgents?.('there is no file with your agents here');
    const decider = { person, roles: options.role ?? [], channel, mcp: loaded?.server.mcp ?? {} };
    return storeBackend({ ...decider, ...(await openOn(loaded, options, 'existing')) });
  };
  const opening = open(options.store === undefined || agents);
  if (!withoutAgents || options.store === undefined) return opening;
  return opening.catch(async (error: unknown) => {
    const backend = await open(false);
    withoutAgents(failureOf(error).message);
    return backend;
  });
}

const SLOW_MS = 5_000;

/** `standIn`: agents without a model get the stand-in model, if the environment has no model for them either. */
/** `config`: a file of settings instead of the one beside the agents. */
export type OpenAgentsOptions = { readonly opening?: Opening; readonly standIn?: boolean; readonly config?: string };

/** Opens the user's agents, or the demo agents, on the chosen store. */
export async function openAgents(
  options: StoreOptions,
  named: string | undefined,
  output: Output,
  { opening = 'make', standIn = false, config }: OpenAgentsOptions = {},
): Promise<OpenedAgents> {
  const file = findAgentsFile(named ?? options.agents);
  // The file may wait for something that never comes.
  const warn = () => file !== undefined && output.note(`Still loading ${shownPath(file)} …`);
  const timer = setTimeout(warn, SLOW_MS).unref();
  try {
    const opened = await openAgentsOf(file ?? config, options, opening, config);
    return standIn && opened.model === undefined ? { ...opened, model: await standInFor(opened.ai) } : opened;
  } finally {
    clearTimeout(timer);
  }
}

async function openAgentsOf(
  file: string | undefined,
  options: StoreOptions,
  opening: Opening,
  config?: string,
): Promise<OpenedAgents> {
  const orElse = config === undefined ? undefined : ({ store }: AgentsEnvironment) => countersign({ store });
  const loaded = file === undefined ? undefined : await loadAgentsFile(file, orElse, config);
  const server = loaded?.server ?? {};
  if (loaded?.kind === 'instance') {
    if (options.store !== undefined)
      throw usageFailure(
        `--store has no effect: ${shownPath(loaded.file)} has its own store.`,
        'To choose the store here, export a function: export default ({ store }) => countersign({ store, … })',
      );
    const { ai } = loaded;
    void ai.runs;
    return { ai, where: storeOf(loaded), file, server, model: undefined, close: async () => {} };
  }
  const address = storeAddress(options);
  const store = await openStore(address, opening);
  const { model, providers, ...shown } = await modelFromEnvironment();
  let isModelUsed = false;
  const environment: AgentsEnvironment = {
    store,
    get model() {
      isModelUsed = true;
      return model;
    },
    providers,
    env: process.env,
  };
  const ai = loaded ? await loaded.make(environment) : demoOn(environment);
  void ai.runs;
  const where = shownAddress(address);
  return { ai, where, file, server, model: isModelUsed ? shown : undefined, close: () => store.close() };
}

async function standInFor(ai: Countersign): Promise<OpenedAgents['model']> {
  if ((process.env.COUNTERSIGN_MODEL || STAND_IN) !== STAND_IN) return undefined;
  const { model, providers: _, ...shown } = await modelFromEnvironment();
  return shown.demo && internalsOf(ai).useDefaultModel(model) ? shown : undefined;
}

function demoOn({ store, model, providers }: AgentsEnvironment): Countersign {
  const ai = countersign({ store, model, providers });
  demoAgents(ai);
  return ai;
}

/** Opens a store without agents. */
export async function openBareStore(options: StoreOptions, opening: Opening): Promise<{ store: Store; where: string }> {
  const address = storeAddress(options);
  return { store: await openStore(address, opening), where: shownAddress(address) };
}

/** Opens the notes of the store that the agents use, while `work` runs. It also gets the server options of the agents file. */
export async function useNotes(
  options: StoreOptions,
  opening: Opening,
  work: (notes: Notes, server: AppOptions) => Promise<void>,
): Promise<undefined> {
  const loaded = options.store !== undefined ? undefined : await loadAgents(options.agents);
  const server = loaded?.server ?? {};
  if (loaded?.kind === 'instance') {
    await work(loaded.ai.runs.notes, server);
    return;
  }
  const { store } = await openBareStore(options, opening);
  try {
    await work(store.notes, server);
  } finally {
    await store.close();
  }
}

async function loadAgents(named: string | undefined): Promise<AgentsExport | undefined> {
  const file = findAgentsFile(named);
  return file === undefined ? undefined : loadAgentsFile(file);
}

const storeOf = ({ file }: AgentsExport): string => `the store in ${shownPath(file)}`;

// Opens what a command works on: the desk of a store or a server, or the user's agents on their store.
import { userInfo } from 'node:os';
import { type Countersign, countersign } from 'countersign';
import type { Notes, Store } from 'countersign/store';
import { demoAgents } from '../../demo/agents.ts';
import { modelFromEnvironment } from '../../demo/environment.ts';
import { demoModel } from '../../demo/model.ts';
import type { AppOptions } from '../../options.ts';
import type { Invocation } from '../command.ts';
import type { Desk } from '../desk/desk.ts';
import { serverDesk } from '../desk/server-desk.ts';
import { storeDesk } from '../desk/store-desk.ts';
import { usageFailure } from '../failure.ts';
import { addressOf, serverOf, tokenOf } from '../place-options.ts';
import { type AgentsEnvironment, type AgentsExport, findAgentsFile, loadAgentsFile, shownPath } from './agents-file.ts';
import { sayingIfSlow } from './still-loading.ts';
import { type Opening, openStore, shownAddress } from './store-address.ts';

/** Agents on their store. */
export type OpenedAgents = {
  readonly ai: Countersign;
  /** The store as it is said to people. */
  readonly where: string;
  /** The file they come from; undefined for the demo. */
  readonly file: string | undefined;
  /** What the file says of the server. */
  readonly server: AppOptions;
  /** The model of the environment, where it is the one in use. */
  readonly model: { readonly name: string; readonly demo: boolean } | undefined;
  close(): Promise<void>;
};

/** `agents`: whether what is decided is checked against the tools of the user's file. */
export async function openDesk(invocation: Invocation, needs: { readonly agents: boolean }): Promise<Desk> {
  const url = serverOf(invocation);
  if (url !== undefined) {
    if (invocation.has('by')) throw usageFailure('A server knows who decides by the token; --by is for stores.');
    return serverDesk(url, tokenOf(invocation));
  }
  const person = personOf(invocation);
  const named = invocation.text('store');
  const file = named !== undefined && !needs.agents ? undefined : findAgentsFile(invocation.text('agents'));
  const loaded = file === undefined ? undefined : await loadAgentsFile(file);
  if (file !== undefined && loaded?.kind === 'instance' && named === undefined)
    return storeDesk({ ai: loaded.ai, where: `the store of ${shownPath(file)}`, person, close: async () => {} });
  const address = addressOf(invocation);
  const store = await openStore(address, 'existing');
  const ai = await agentsOn(store, loaded);
  return storeDesk({ ai, where: shownAddress(address), person, store, close: () => store.close() });
}

/** The user's agents, or those of the demo, on the store that was asked for. */
export async function openAgents(
  invocation: Invocation,
  named?: string,
  opening: Opening = 'make',
): Promise<OpenedAgents> {
  const file = findAgentsFile(named ?? invocation.text('agents'));
  const orSaySo = sayingIfSlow(file, invocation.output);
  const loaded = file === undefined ? undefined : await orSaySo(loadAgentsFile(file));
  if (file !== undefined && loaded?.kind === 'instance') {
    if (invocation.has('store'))
      throw usageFailure(
        `${shownPath(file)} brings its own store, so that --store has no effect.`,
        'Export a function to choose it here: export default ({ store }) => countersign({ store, … })',
      );
    void loaded.ai.runs;
    const where = `the store of ${shownPath(file)}`;
    return { ai: loaded.ai, where, file, server: loaded.server, model: undefined, close: async () => {} };
  }
  const address = addressOf(invocation);
  const store = await openStore(address, opening);
  const { environment, modelInUse } = await environmentOf(store);
  const ai = loaded?.kind === 'function' ? await orSaySo(loaded.make(environment)) : demoOn(environment);
  void ai.runs;
  const server = loaded?.server ?? {};
  return { ai, where: shownAddress(address), file, server, model: modelInUse(), close: () => store.close() };
}

/** A store without agents, for what only needs a store. */
export async function openBareStore(
  invocation: Invocation,
  opening: Opening,
): Promise<{ store: Store; where: string }> {
  const address = addressOf(invocation);
  return { store: await openStore(address, opening), where: shownAddress(address) };
}

/** The small records beside the runs, in the store that the agents use. */
export async function openNotes(
  invocation: Invocation,
  opening: Opening,
): Promise<{ readonly notes: Notes; close(): Promise<void> }> {
  const file = invocation.has('store') ? undefined : findAgentsFile(invocation.text('agents'));
  const loaded = file === undefined ? undefined : await loadAgentsFile(file);
  if (loaded?.kind === 'instance') return { notes: loaded.ai.runs.notes, close: async () => {} };
  const { store } = await openBareStore(invocation, opening);
  return { notes: store.notes, close: () => store.close() };
}

/** Who decides: as said, or the one who is logged in. */
export function personOf(invocation: Invocation): string {
  const said = invocation.text('by') ?? process.env.USER ?? process.env.LOGNAME;
  return said !== undefined && said !== '' ? said : userInfo().username;
}

/** The definitions of the user's file on this store; those of an instance are taken over by name. */
async function agentsOn(store: Store, loaded: AgentsExport | undefined): Promise<Countersign> {
  if (loaded?.kind === 'function') return loaded.make(definitionsOnly(store));
  const ai = countersign({ store });
  if (loaded)
    for (const [name, { definition }] of loaded.ai.agents) {
      const tools = [...(definition.innerTools?.() ?? new Map()).values()].map((inner) => ({ definition: inner }));
      // The limit of the agent is not known here; whoever drives the run keeps it.
      ai.defineAgent({ name, tools, maxTurns: Number.MAX_SAFE_INTEGER });
    }
  return ai;
}

/** Nothing is driven by those who only look and decide: a model that cannot be had must not keep them from it. */
const definitionsOnly = (store: Store): AgentsEnvironment => ({
  store,
  model: demoModel(),
  providers: {},
  env: process.env,
});

/** What a file that exports a function gets; whether it took the model is known afterwards. */
async function environmentOf(store: Store) {
  const { model, providers, name, demo } = await modelFromEnvironment();
  let isTaken = false;
  const environment: AgentsEnvironment = {
    store,
    get model() {
      isTaken = true;
      return model;
    },
    providers,
    env: process.env,
  };
  return { environment, modelInUse: () => (isTaken ? { name, demo } : undefined) };
}

function demoOn({ store, model, providers }: AgentsEnvironment): Countersign {
  const ai = countersign({ store, model, providers });
  demoAgents(ai);
  return ai;
}

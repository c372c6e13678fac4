// Opens the store for calls of programs outside. A coding agent waits for this, so it loads only what it uses.
import { userInfo } from 'node:os';
import { type Countersign, countersign } from 'countersign';
import type { BackendOptions, StoreOptions } from '../commands/options.ts';
import type { AgentsExport } from './agents-file.ts';
import { type Opening, openStore, shownAddress, shownPath, storeAddress } from './store-address.ts';

export const personOf = ({ by }: BackendOptions): string =>
  by || process.env.USER || process.env.LOGNAME || userInfo().username;

export type OpenedGate = {
  readonly ai: Countersign;
  /** The person at this machine, or the one that the options name. */
  readonly by: string;
  readonly where: string;
  /** What a `countersign.config` file exports as `mcp`, and the name of the file. */
  readonly mcp: { readonly rules: unknown; readonly file: string } | undefined;
  close(): Promise<void>;
};

/** Opens the store, with the policies of the agents file if there is one. Nothing is driven here. */
export async function openGate(options: BackendOptions, opening: Opening = 'make'): Promise<OpenedGate> {
  const loaded = options.store !== undefined && options.agents === undefined ? undefined : await loadAgents(options);
  const mcp = loaded?.mcp === undefined ? undefined : { rules: loaded.mcp, file: shownPath(loaded.file) };
  return { by: personOf(options), mcp, ...(await openOn(loaded, options, opening)) };
}

/** The agents on their own store or the chosen one, for commands that drive nothing: a missing model must not stop them. */
export async function openOn(
  loaded: AgentsExport | undefined,
  options: StoreOptions,
  opening: Opening,
): Promise<Pick<OpenedGate, 'ai' | 'where' | 'close'>> {
  if (loaded?.kind === 'instance' && options.store === undefined)
    return { ai: loaded.ai, where: `the store in ${shownPath(loaded.file)}`, close: async () => {} };
  const address = storeAddress(options);
  const store = await openStore(address, opening);
  const make = async () => {
    if (loaded?.kind !== 'function')
      return countersign({ store, ...(loaded && { freezes: loaded.ai.freezes.policies }) });
    const { standIn } = await import('../../demo/environment.ts');
    return loaded.make({ store, ...(await standIn()), env: process.env });
  };
  const ai = await make().catch(async (error: unknown) => {
    await store.close();
    throw error;
  });
  void ai.runs;
  return { ai, where: shownAddress(address), close: () => store.close() };
}

async function loadAgents({ agents }: BackendOptions) {
  const { findAgentsFile } = await import('./finding-agents-file.ts');
  const found = findAgentsFile(agents);
  if (found === undefined) return undefined;
  const { loadAgentsFile } = await import('./agents-file.ts');
  return loadAgentsFile(found, ({ store }) => countersign({ store }));
}

// A clerk whose payments must be approved, channels that keep what they deliver, and a worker.
import {
  type Channel,
  type Countersign,
  type CountersignOptions,
  countersign,
  type Json,
  memoryStore,
  type Notice,
} from 'countersign';
import type { Store } from 'countersign/store';
import { scriptedModel } from 'countersign/testing';

export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;

/** Finance decides: two people and a role. */
export const FINANCE = {
  membersOf: (role: string) => (role === 'finance' ? ['ann', 'ben'] : []),
  rolesOf: (person: string) => (['ann', 'ben'].includes(person) ? ['finance'] : []),
  contactOf: (person: string) => ({ mail: `${person}@example.com` }),
};

export const policy = (deciders: object, more: object = {}) => ({ needsApproval: { policy: { deciders, ...more } } });

/** A channel that keeps its notices. `fails` is called before each delivery. */
export function keeping(
  name: string,
  options: Partial<Channel> = {},
  fails: (notice: Notice) => unknown = () => undefined,
) {
  const notices: Notice[] = [];
  const updates: { readonly notice: Notice; readonly sent: Json }[] = [];
  const channel: Channel = {
    name,
    ...options,
    async deliver(notice) {
      await fails(notice);
      notices.push(notice);
      return { message: `${name}-${notices.length}` };
    },
  };
  return {
    channel,
    notices,
    updates,
    /** Who was told what: `ann opened`; on a shared channel `opened`. */
    told: () =>
      notices.map(({ type, number, to }) => {
        const person = options.audience === 'person' ? `${to[0]?.person} ` : '';
        return `${person}${type}${number > 0 ? ` ${number}` : ''}`;
      }),
  };
}

/** A process with its worker. */
export function desk(options: CountersignOptions = {}, config: object = { needsApproval: true }) {
  const { store = memoryStore() } = options;
  const model = scriptedModel(({ messages }) =>
    messages.some(({ role }) => role === 'tool') ? 'Paid.' : { calls: [{ name: 'pay', input: { amount: 950 } }] },
  );
  const ai = countersign({ model, retry: false, ...options, store });
  const pay = ai.defineTool({ name: 'pay', description: '', ...config }, () => 'paid');
  const clerk = ai.defineAgent({ name: 'clerk', tools: [pay] });
  const errors: unknown[] = [];
  return {
    ai,
    runs: ai.runs,
    store,
    errors,
    work: (pollMs?: number) =>
      ai.runs.work({ onError: (error) => errors.push(error), ...(pollMs !== undefined && { pollMs }) }),
    ask: (runId: string, by = 'clara') => ask(ai, clerk, runId, by),
  };
}

async function ask(
  ai: Countersign,
  clerk: ReturnType<Countersign['defineAgent']>,
  runId: string,
  by: string,
): Promise<string> {
  await clerk.start('Pay.', { runId, by });
  return (await ai.runs.wait(runId)).pending[0] ?? '';
}

/** How many notes a collection has. */
export async function notesIn(store: Store, collection: string): Promise<number> {
  return (await store.notes.list(collection, { limit: 1_000 })).items.length;
}

// A freeze that is lifted before the process that recorded the frozen call has looked at it: the call starts again, on the record.
import { countersign, memoryStore, ProviderError, type Rule, type Store, z } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { expect, test } from 'vitest';

/** Promises that a test resolves by name. */
function signals() {
  const made = new Map<string, PromiseWithResolvers<void>>();
  const of = (name: string) => {
    const known = made.get(name) ?? Promise.withResolvers<void>();
    made.set(name, known);
    return known;
  };
  return { wait: (name: string) => of(name).promise, give: (name: string) => of(name).resolve() };
}

async function turns(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
}

test('a call whose freeze is lifted while its process writes other events has a recorded start before its body runs', async () => {
  const store = memoryStore();
  const { wait, give } = signals();
  let lift = async (): Promise<unknown> => undefined;
  let idOfT: string | undefined;
  const append: Store['append'] = async (given) => {
    for (const event of given.events) if (event.type === 'model-replied') idOfT = event.calls[1]?.id;
    const starts = given.events.flatMap((event) => (event.type === 'call-started' ? [event.callId] : []));
    if (starts.some((callId) => callId === idOfT)) await wait('append of t');
    const isFrozen = given.events.some(({ type }) => type === 'call-frozen');
    // The start of c waits for the next append.
    if (isFrozen) give('gate of c');
    if (isFrozen) await turns();
    const appended = await store.append(given);
    if (isFrozen) await lift();
    return appended;
  };
  const open = (own: Store) => {
    const names = ['b', 't', 'a', 'c'];
    const calls = names.map((name) => ({ name, input: {} }));
    const model = scriptedModel(({ messages }) => (messages.at(-1)?.role === 'tool' ? 'Done.' : { calls }));
    const ai = countersign({ model, store: own });
    const tools = names.map((name) =>
      ai.defineTool(
        {
          name,
          description: 'Acts.',
          inputSchema: z.object({}),
          needsApproval: async (): Promise<boolean> => wait(`gate of ${name}`).then(() => false),
        },
        () => wait(`body of ${name}`).then(() => name),
      ),
    );
    return { ai, clerk: ai.defineAgent({ name: 'clerk', tools }) };
  };
  const { ai, clerk } = open({ ...store, append });
  const other = open(store).ai;
  const { id: freezeId } = await other.freezes.freeze({ tools: ['a'], reason: 'Stop.' }, { by: 'eve' });
  lift = () => other.freezes.lift(freezeId, { by: 'eve', drive: false });
  const { id } = await clerk.start('Go.', { by: 'ann' });
  for (const name of [
    'gate of b',
    'gate of t',
    'body of b',
    'gate of a',
    'append of t',
    'body of t',
    'body of c',
    'body of a',
  ]) {
    await turns();
    give(name);
  }
  expect((await ai.runs.wait(id)).status).toBe('done');
  const events = (await ai.runs.recorded(id)).flatMap((event) => ('callId' in event ? [event] : []));
  const ofA = events.find(({ type }) => type === 'call-frozen')?.callId;
  const types = events.flatMap(({ type, callId }) => (callId === ofA ? [type] : []));
  expect(types).toEqual(['call-frozen', 'call-started', 'call-settled']);
});

/** An agent with the tool `pay`, whose model asks for one payment. */
function office(store: Store, rules: readonly Rule[] = []) {
  const paid: string[] = [];
  const calls = [{ name: 'pay', input: {} }];
  const model = scriptedModel(({ messages }) => (messages.at(-1)?.role === 'tool' ? 'Done.' : { calls }));
  const ai = countersign({ model, store, rules: [...rules] });
  const pay = ai.defineTool({ name: 'pay', description: 'Pays.', inputSchema: z.object({}) }, () => {
    paid.push('pay');
    return 'paid';
  });
  return { ai, paid, clerk: ai.defineAgent({ name: 'clerk', tools: [pay] }) };
}

test('an append whose answer was lost is not written twice, although its freeze was lifted before the retry', async () => {
  const store = memoryStore();
  const other = office(store).ai;
  const { id: freezeId } = await other.freezes.freeze({ tools: ['pay'], reason: 'Stop.' }, { by: 'eve' });
  const lost = () => new ProviderError('store-failed', {}, 'The answer was lost.', { retryable: true });
  let [isLost, isAway] = [false, false];
  // The process cannot look whether it was written, either.
  const read: Store['read'] = (...given) => {
    const wasAway = isAway;
    isAway = false;
    return wasAway ? Promise.reject(lost()) : store.read(...given);
  };
  const append: Store['append'] = async (given) => {
    const appended = await store.append(given);
    if (isLost || !given.events.some(({ type }) => type === 'call-frozen')) return appended;
    [isLost, isAway] = [true, true];
    await other.freezes.lift(freezeId, { by: 'eve', drive: false });
    throw lost();
  };
  const { ai, paid, clerk } = office({ ...store, append, read });
  const { id } = await clerk.start('Pay.', { by: 'ann' });
  await ai.runs.drive(id);
  expect((await ai.runs.wait(id)).status).toBe('done');
  expect(paid).toHaveLength(1);
  const types = (await ai.runs.recorded(id)).map(({ type }) => type);
  expect(types.filter((type) => type === 'model-replied')).toHaveLength(2);
  expect(types.filter((type) => type === 'call-started')).toHaveLength(1);
});

test('a call beyond a limit counts, although its freeze is lifted before its process has recorded it', async () => {
  const store = memoryStore();
  const other = office(store).ai;
  const put: Store['notes']['put'] = async (kind, key, value, how) => {
    const isPut = await store.notes.put(kind, key, value, how);
    const [freeze] = kind === 'limits' ? await other.freezes.list() : [];
    if (freeze && lifts) await other.freezes.lift(freeze.id, { by: 'eve', drive: false });
    return isPut;
  };
  let lifts = true;
  const rule: Rule = { tool: 'pay', limit: { calls: 1, per: '1h' }, then: 'freeze' };
  const { ai, paid, clerk } = office({ ...store, notes: { ...store.notes, put } }, [rule]);
  const start = async () => (await clerk.start('Pay.', { by: 'ann' })).id;
  await ai.runs.wait(await start());
  const second = await start();
  expect((await ai.runs.wait(second)).status).toBe('done');
  lifts = false;
  await start();
  await expect.poll(() => ai.freezes.list()).toHaveLength(1);
  expect(paid).toHaveLength(2);
});

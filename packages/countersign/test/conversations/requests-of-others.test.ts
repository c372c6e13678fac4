// By default a message leaves requests alone that other people decide: it waits for them, and runs nothing.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { countersign, memoryStore, type PolicyFor, z } from 'countersign';
import { sqliteStore } from 'countersign/sqlite';
import type { Store } from 'countersign/store';
import { type ScriptStep, scriptedModel } from 'countersign/testing';
import { describe, expect, onTestFinished, test } from 'vitest';

const ROLES: Readonly<Record<string, readonly string[]>> = { fay: ['finance'], gus: ['finance'], ada: ['sales'] };

const twoOfFinance: PolicyFor = () => ({ quorum: [{ of: { roles: ['finance'] }, count: 2 }], notRequester: true });
const anyOfFinance: PolicyFor = () => ({ deciders: { roles: ['finance'] } });

type Setting = {
  readonly policyFor?: PolicyFor | undefined;
  readonly store?: Store;
  readonly script?: readonly ScriptStep[];
};

const PAY: ScriptStep = { calls: [{ name: 'pay', ref: 'p', input: { amount: 950 } }] };

/** Ada asks the agent to pay; the request is pending. */
async function asked({ policyFor, store = memoryStore(), script = [PAY, 'Answered.', 'Done.'] }: Setting = {}) {
  const paid: unknown[] = [];
  const model = scriptedModel([...script]);
  const ai = countersign({
    model,
    store,
    retry: false,
    people: { rolesOf: (person) => ROLES[person] ?? [] },
    ...(policyFor && { policyFor }),
  });
  const pay = ai.defineTool(
    { name: 'pay', description: '', inputSchema: z.object({ amount: z.number() }), needsApproval: true },
    (input) => {
      paid.push(input);
      return 'paid';
    },
  );
  const clerk = ai.defineAgent({ name: 'clerk', tools: [pay] });
  const say = (prompt: string, by = 'ada', options: object = {}) =>
    clerk.generate({ runId: 'talk', prompt, by, ...options });
  await say('Pay 950.');
  const pending = async () => (await ai.runs.get('talk')).pending;
  const said = () => model.requests.at(-1)?.messages.map(({ role }) => role);
  const [id = ''] = await pending();
  return { ai, clerk, paid, model, say, pending, said, id };
}

async function sqlite(): Promise<Store> {
  const folder = await mkdtemp(join(tmpdir(), 'countersign-'));
  const store = sqliteStore(join(folder, 'runs.db'));
  onTestFinished(async () => {
    await store.close?.();
    await rm(folder, { recursive: true });
  });
  return store;
}

describe.each([
  ['memory', async () => memoryStore()],
  ['SQLite', sqlite],
])('in %s', (_name, open) => {
  test('a message waits while other people have to decide, and is answered after they have', async () => {
    const { ai, say, pending, said, paid, model, id } = await asked({ policyFor: twoOfFinance, store: await open() });
    const waiting = await say('Any news?');
    expect(waiting.finishReason).toBe('interrupted');
    expect(await pending()).toEqual([id]);
    expect(model.requests).toHaveLength(1);
    await ai.runs.decide(id, 'approve', { by: 'fay' });
    await say('And now?');
    expect(await pending()).toEqual([id]);
    await ai.runs.decide(id, 'approve', { by: 'gus' });
    await ai.runs.settled();
    expect(paid).toEqual([{ amount: 950 }]);
    expect(said()).toEqual(['user', 'model', 'tool', 'user', 'user']);
    expect(await ai.runs.get('talk')).toMatchObject({ status: 'done', text: 'Answered.' });
  });

  test('a rejection is followed by the answer to the message', async () => {
    const { ai, say, said, paid, id } = await asked({ policyFor: anyOfFinance, store: await open() });
    await say('Any news?');
    await ai.runs.decide(id, { type: 'reject', reason: 'No budget.' }, { by: 'fay' });
    await ai.runs.settled();
    expect(paid).toEqual([]);
    expect(said()).toEqual(['user', 'model', 'tool', 'user']);
  });
});

test('a message of the person who can decide alone still cancels', async () => {
  const { say, pending, said, paid } = await asked();
  expect(await say('Never mind.')).toMatchObject({ text: 'Answered.' });
  expect(await pending()).toEqual([]);
  expect(said()).toEqual(['user', 'model', 'tool', 'user']);
  expect(paid).toEqual([]);
});

test.each<[string, PolicyFor | undefined, string, boolean]>([
  ['a member of the only group that decides', anyOfFinance, 'fay', false],
  ['someone outside that group', anyOfFinance, 'ada', true],
  ['one of two who must agree', () => ({ quorum: [{ of: { roles: ['finance'] }, count: 2 }] }), 'fay', true],
  ['a requester under four eyes', () => ({ notRequester: true, deciders: { people: ['ada', 'fay'] } }), 'ada', true],
  ['the requester, whom the policy names', () => ({ deciders: { people: ['ada'] } }), 'ada', false],
])('a message of %s', async (_who, policyFor, by, stays) => {
  const { say, pending, id } = await asked({ policyFor });
  await say('Hm.', by);
  expect(await pending()).toEqual(stays ? [id] : []);
});

test('a request that is assigned to another person stays, although anyone may decide it', async () => {
  const { ai, say, pending, id } = await asked();
  await ai.runs.assign(id, { to: 'fay' });
  await say('Any news?');
  expect(await pending()).toEqual([id]);
});

test('nothing is withdrawn if the directory of people fails', async () => {
  const paid: unknown[] = [];
  let isDown = false;
  const ai = countersign({
    model: scriptedModel([PAY, 'Answered.']),
    store: memoryStore(),
    people: {
      rolesOf: () => {
        if (isDown) throw new Error('The directory is down.');
        return ['finance'];
      },
    },
    policyFor: anyOfFinance,
  });
  const pay = ai.defineTool({ name: 'pay', description: '', inputSchema: z.any(), needsApproval: true }, () =>
    paid.push(1),
  );
  const clerk = ai.defineAgent({ name: 'clerk', tools: [pay] });
  await clerk.generate({ runId: 'talk', prompt: 'Pay.', by: 'fay' });
  isDown = true;
  await clerk.generate({ runId: 'talk', prompt: 'Hm.', by: 'fay' });
  expect((await ai.runs.get('talk')).pending).toHaveLength(1);
});

test('if one of several requests is left to others, a message withdraws none of them', async () => {
  const both: ScriptStep = { calls: [1, 2].map((amount) => ({ name: 'pay', ref: `p${amount}`, input: { amount } })) };
  const policyFor: PolicyFor = ({ input }) =>
    (input as { amount: number }).amount > 1 ? { deciders: { roles: ['finance'] } } : { deciders: { people: ['ada'] } };
  const { ai, say, pending, paid } = await asked({ policyFor, script: [both, 'Answered.'] });
  await say('Any news?');
  expect(await pending()).toHaveLength(2);
  const [one = '', two = ''] = await pending();
  await ai.runs.decide(one, 'approve', { by: 'ada' });
  await ai.runs.decide(two, 'approve', { by: 'fay' });
  await ai.runs.settled();
  expect(paid).toEqual([{ amount: 1 }, { amount: 2 }]);
  expect((await ai.runs.get('talk')).text).toBe('Answered.');
});

test('a message with a vote that settles nothing waits as well', async () => {
  const twoPeople: PolicyFor = () => ({ quorum: [{ of: { roles: ['finance'] }, count: 2 }] });
  const { ai, clerk, pending, id } = await asked({ policyFor: twoPeople });
  const { part } = await ai.runs.request(id);
  await clerk.generate({ runId: 'talk', prompt: 'I agree.', resume: { approve: [part] }, by: 'fay' });
  expect(await pending()).toEqual([id]);
  await ai.runs.decide(id, 'approve', { by: 'gus' });
  await ai.runs.settled();
  expect(await ai.runs.get('talk')).toMatchObject({ status: 'done', text: 'Answered.' });
});

test('`cancel` withdraws requests of others too, as the option says', async () => {
  const { say, pending, paid, ai, id } = await asked({ policyFor: twoOfFinance });
  await say('Never mind.', 'ada', { whilePending: 'cancel' });
  expect(await pending()).toEqual([]);
  expect(paid).toEqual([]);
  await expect(ai.runs.decide(id, 'approve', { by: 'fay' })).rejects.toMatchObject({ code: 'already-decided' });
});

test('a message that waits is still there after a crash, and another process answers it', async () => {
  const store = memoryStore();
  const { say, id } = await asked({ policyFor: anyOfFinance, store });
  await say('Any news?');
  const model = scriptedModel(['After the crash.']);
  const ai = countersign({ model, store, retry: false, people: { rolesOf: (person) => ROLES[person] ?? [] } });
  const paid: unknown[] = [];
  const pay = ai.defineTool({ name: 'pay', description: '', inputSchema: z.any(), needsApproval: true }, () =>
    paid.push(1),
  );
  ai.defineAgent({ name: 'clerk', tools: [pay] });
  await ai.runs.decide(id, 'approve', { by: 'fay' });
  await ai.runs.settled();
  expect(paid).toEqual([1]);
  expect(model.requests[0]?.messages.at(-1)).toMatchObject({ role: 'user', content: [{ text: 'Any news?' }] });
});

test('an approval at the same moment wins, and the message is answered after the call', async () => {
  const { ai, say, pending, paid, id } = await asked({ policyFor: anyOfFinance });
  const [settled] = await Promise.allSettled([ai.runs.decide(id, 'approve', { by: 'fay' }), say('Any news?')]);
  await ai.runs.settled();
  expect(settled.status).toBe('fulfilled');
  expect(await pending()).toEqual([]);
  expect(paid).toEqual([{ amount: 950 }]);
});

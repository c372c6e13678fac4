// Chats on stored runs: messages and decisions while other processes drive, stores fail and deadlines pass.
import { countersign, type ModelRequest, memoryStore, z } from 'countersign';
import type { Store } from 'countersign/store';
import { type ScriptStep, scriptedModel } from 'countersign/testing';
import { describe, expect, test } from 'vitest';
import { changedStore } from '../changed-store.ts';
import { eventually } from '../eventually.ts';
import { ask, call, delay, helped, only, payTool, STUCK, script, waiting, world } from '../sub-agents/kit.ts';
import { away } from './flaky-store.ts';

type Reply = (request: ModelRequest) => ScriptStep | Promise<ScriptStep>;
const textsOf = (messages: ModelRequest['messages'], role: string): string[] =>
  messages.filter((m) => m.role === role).flatMap(({ content }) => content.map((p) => ('text' in p ? p.text : '')));
const echo: Reply = ({ messages }) => `Heard: ${textsOf(messages, 'user').join(' ')}`;
const timeout = <T>(p: Promise<T>, ms = 30_000): Promise<T | 'HANGS'> =>
  Promise.race([p, delay(ms).then(() => 'HANGS' as const)]);

function talk(
  reply: Reply,
  o: {
    store?: Store;
    clock?: () => number;
    leaseMs?: number;
    expiresIn?: number;
    onExpiry?: 'approve';
    bodies?: Record<string, () => unknown>;
  } = {},
) {
  const paid: string[] = [];
  const { store = memoryStore(), expiresIn, onExpiry, bodies = {}, ...options } = o;
  const ai = countersign({ model: scriptedModel(reply), store, retry: false, ...options });
  const mk = (name: string, extra: object) =>
    ai.defineTool({ name, description: '', inputSchema: z.object({}), ...extra }, async () => {
      paid.push(name);
      return (await bodies[name]?.()) ?? name;
    });
  const pay = mk('pay', { needsApproval: true, ...(expiresIn && { expiresIn }), ...(onExpiry && { onExpiry }) });
  const slow = mk('slow', { needsApproval: true });
  const f = mk('f', {});
  const g = mk('g', {});
  return { ai, runs: ai.runs, clerk: ai.defineAgent({ name: 'clerk', tools: [pay, slow, f, g] }), paid };
}
const c = (name: string) => ({ name, ref: `r-${name}`, input: {} });
const first =
  (...names: string[]): Reply =>
  (r) =>
    r.messages.some(({ role }) => role === 'tool') ? echo(r) : { calls: names.map(c) };

test('a decision that arrives while the driver is about to pause is driven', async () => {
  const kept = memoryStore();
  const gateF = Promise.withResolvers<void>();
  const gateG = Promise.withResolvers<void>();
  let hold: (() => Promise<void>) | undefined;
  const store = changedStore(kept, {
    append: async (append) => {
      if (hold && append.events.some((e) => e.type === 'call-settled')) {
        const h = hold;
        hold = undefined;
        await h();
      }
      return kept.append(append);
    },
  });
  const here = talk(first('pay', 'f', 'g'), { store, bodies: { f: () => gateF.promise, g: () => gateG.promise } });
  const there = talk(first('pay', 'f', 'g'), { store: kept });
  await here.clerk.start('a', { runId: 't' });
  const card = await eventually(async () => only(await waiting(there.runs)));
  hold = async () => {
    await there.runs.decide(card.id, 'approve');
    gateG.resolve();
    await delay(20);
  };
  gateF.resolve();
  const view = await timeout(here.runs.wait('t'));
  const now = await here.runs.get('t');
  expect(view, `status ${now.status}, paid ${[...here.paid, ...there.paid]}`).not.toBe('HANGS');
  expect([...here.paid, ...there.paid]).toContain('pay');
});

/**
 * A chat whose store writes an append after `lose`, then fails for longer than the lease. Another process reaches the
 * store first and drives the run.
 */
function outage() {
  let now = 1_000_000;
  const clock = () => now;
  const kept = memoryStore({ now: clock });
  const there = talk(echo, { store: kept, clock });
  let down = false;
  let loses = false;
  const comeBack = async (runId: string) => {
    now += 20_000;
    await there.runs.drive(runId);
    await there.runs.settled();
    down = false;
  };
  const store = changedStore(kept, {
    append: async (append) => {
      if (down) throw away();
      const done = await kept.append(append);
      if (!loses) return done;
      loses = false;
      down = true;
      setTimeout(() => void comeBack(append.runId), 10);
      throw away();
    },
    read: async (...args) => {
      if (down) throw away();
      return kept.read(...args);
    },
  });
  const slowly: Reply = async (request) => {
    await delay(5);
    return echo(request);
  };
  const lose = () => {
    loses = true;
  };
  return { here: talk(slowly, { store, clock }), lose };
}

test('a message sent in an outage longer than the lease is recorded once', async () => {
  const { here, lose } = outage();
  await here.clerk.generate({ runId: 't', prompt: 'a' });
  lose();
  await timeout(here.clerk.generate({ runId: 't', prompt: 'b' }));
  await here.runs.settled();
  expect(textsOf((await here.runs.get('t')).messages, 'user')).toEqual(['a', 'b']);
});

test('the first message of a chat, sent in an outage longer than the lease, is recorded once', async () => {
  const { here, lose } = outage();
  lose();
  await timeout(here.clerk.generate({ runId: 't', prompt: 'a' }));
  await here.runs.settled();
  expect(textsOf((await here.runs.get('t')).messages, 'user')).toEqual(['a']);
});

test('a start in an outage longer than the lease does not fail with run-exists', async () => {
  const { here, lose } = outage();
  lose();
  const started = await here.clerk.start('a').catch((e) => e.code);
  expect(started).toMatchObject({ id: expect.any(String) });
});

test('a chat decision made in time counts, however long a sibling runs', async () => {
  let now = 1_000_000;
  const clock = () => now;
  const store = memoryStore({ now: clock });
  const go = Promise.withResolvers<void>();
  const here = talk(first('pay', 'slow'), { store, clock, expiresIn: 60_000, bodies: { slow: () => go.promise } });
  const there = talk(first('pay', 'slow'), { store, clock, expiresIn: 60_000 });
  const { interrupts } = await there.clerk.generate({ runId: 't', prompt: 'a' });
  const slow = (await waiting(here.runs)).find(({ tool }) => tool === 'slow');
  await here.runs.decide(slow?.id ?? '', 'approve');
  await delay(10);
  const pays = interrupts.filter((i) => i.toolRequest.name === 'pay');
  const sending = there.clerk.generate({ runId: 't', resume: { approve: pays } }).catch((e) => e.code);
  await eventually(async () => expect(await waiting(there.runs)).toEqual([]));
  now += 120_000;
  go.resolve();
  const r = await timeout(sending);
  expect(r).not.toBe('HANGS');
  expect(r).not.toBe('already-decided');
  expect([...here.paid, ...there.paid]).toContain('pay');
});

test('a chat decision after the driver crashed does not hang', async () => {
  let now = 1_000_000;
  const clock = () => now;
  const store = memoryStore({ now: clock });
  const dead = talk(first('pay', 'slow'), { store, clock, bodies: { slow: () => STUCK } });
  const there = talk(first('pay', 'slow'), { store, clock });
  const { interrupts } = await there.clerk.generate({ runId: 't', prompt: 'a' });
  const slow = (await waiting(dead.runs)).find(({ tool }) => tool === 'slow');
  await dead.runs.decide(slow?.id ?? '', 'approve');
  await delay(10);
  now += 120_000;
  const pays = interrupts.filter((i) => i.toolRequest.name === 'pay');
  const r = await timeout(there.clerk.generate({ runId: 't', resume: { approve: pays } }).catch((e) => e.code));
  expect(r).not.toBe('HANGS');
});

test('a chat decision on a cancelled run is rejected', async () => {
  const { clerk, runs, paid } = talk(first('pay'));
  const { interrupts } = await clerk.generate({ runId: 't', prompt: 'a' });
  const { version } = await runs.get('t');
  await runs.cancel('t');
  const r = await clerk.generate({ runId: 't', resume: { approve: interrupts } }).then(
    () => 'accepted',
    (e) => e.code,
  );
  const events = (await runs.recorded('t')).slice(version).map((e) => e.type);
  expect({ r, events, paid }).toEqual({ r: 'already-decided', events: ['run-ended'], paid: [] });
});

test('a message does not take back an approval by the deadline', async () => {
  let now = 1_000_000;
  const clock = () => now;
  const store = memoryStore({ now: clock });
  const { clerk, paid } = talk(first('pay'), { store, clock, expiresIn: 1_000, onExpiry: 'approve' });
  await clerk.generate({ runId: 't', prompt: 'a' });
  now += 2_000;
  await timeout(clerk.generate({ runId: 't', prompt: 'b' }));
  expect(paid).toEqual(['pay']);
});

test('a rejected message after a deadline does not stop the run', async () => {
  let now = 1_000_000;
  const clock = () => now;
  const store = memoryStore({ now: clock });
  const { clerk, runs, paid } = talk(first('pay', 'slow'), { store, clock, expiresIn: 1_000, onExpiry: 'approve' });
  await clerk.generate({ runId: 't', prompt: 'a' });
  now += 2_000;
  const refused = clerk.generate({ runId: 't', prompt: 'b', whilePending: 'refuse' });
  await expect(refused).rejects.toMatchObject({ code: 'decision-pending' });
  await delay(1);
  const card = only((await runs.requests({ tool: 'slow' })).items);
  await runs.decide(card.id, 'approve');
  await runs.settled();
  expect(paid.toSorted()).toEqual(['pay', 'slow']);
  expect((await runs.get('t')).status).toBe('done');
});

test('an aborted signal starts nothing', async () => {
  const { clerk, runs } = talk(echo);
  await clerk.generate({ runId: 't', prompt: 'a', abortSignal: AbortSignal.abort(new Error('x')) }).catch(() => 0);
  await runs.settled();
  expect((await runs.list()).items).toEqual([]);
});

describe('a failure inside a sub-agent', () => {
  test('a message after it does not take back an approval inside', async () => {
    const { open } = world();
    const go = Promise.withResolvers<void>();
    const paid: string[] = [];
    const { root, runs } = open((ai) => {
      const pay = payTool(ai, paid);
      const deep = ai.defineAgent({
        name: 'deep',
        model: script([], async () => {
          await go.promise;
          throw new Error('down');
        }),
      });
      return helped(ai, { tools: [pay, deep], model: script([[call('pay'), ask('deep')]]) });
    });
    await root.start('a', { runId: 't' });
    const card = await eventually(async () => only(await waiting(runs)));
    await runs.decide(card.id, 'approve');
    go.resolve();
    const v = await runs.wait('t');
    expect(v.status).toBe('failed');
    for (const whilePending of ['refuse', 'cancel'] as const)
      await timeout(root.generate({ runId: 't', prompt: 'b', whilePending }).catch(() => undefined));
    expect(paid).toEqual(['pay']);
  });
});

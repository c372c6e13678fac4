// Reserve, record, start: a use is released only by a record of the run that rules its call out.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { memoryStore, z } from 'countersign';
import { sqliteStore } from 'countersign/sqlite';
import type { Append, Store } from 'countersign/store';
import { scriptedModel } from 'countersign/testing';
import { afterAll, describe, expect, test } from 'vitest';
import { changedStore } from '../changed-store.ts';
import { type Random, randomFrom } from '../random.ts';
import { DAY_MS, openPayer, payModel, slow } from './kit.ts';

const acme = (amount: number, fails?: true) => ({ to: 'ACME', amount, ...(fails && { fails }) });

const folder = mkdtempSync(join(tmpdir(), 'countersign-grant-protocol-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const stores: readonly (readonly [string, () => Store])[] = [
  ['memory', () => memoryStore()],
  ['SQLite', () => sqliteStore({ path: join(folder, 'runs.db') })],
];

/** A store far away: each write takes a moment, some of them a longer one. */
function farAway(store: Store, random: Random): Store {
  const wait = () => delay(random.chance(0.3) ? 5 : 0);
  return changedStore(store, {
    append: async (append) => {
      await wait();
      return store.append(append);
    },
    notes: {
      get: async (...args) => {
        await wait();
        return store.notes.get(...args);
      },
      put: async (...args) => {
        const isPut = await store.notes.put(...args);
        await wait();
        return isPut;
      },
      remove: (...args) => store.notes.remove(...args),
      getMany: (...args) => store.notes.getMany(...args),
      list: (...args) => store.notes.list(...args),
    },
  });
}

/** Wants to pay another, and once that is rejected, ACME. Until its next append, the store shows the run without the second call. */
const stubborn = scriptedModel(({ messages }) => {
  const replies = messages.filter(({ role }) => role === 'model').length;
  const payment = [{ to: 'Other', amount: 1 }, acme(1)][replies];
  return payment ? { calls: [{ name: 'pay', input: payment }] } : 'Done.';
});

async function waiting(payer: ReturnType<typeof openPayer>) {
  const { id } = await payer.start([]);
  const [question] = await payer.questions(id);
  return { payer, id, question: question?.id ?? '' };
}

describe.each(stores)('on %s', (_name, open) => {
  test.each([
    ['a model that answers at once', false],
    ['a slow store', true],
  ])('calls that race for 3 uses while others read the grant take exactly 3, with %s', async (_with, isSlow) => {
    const store = open();
    await store.migrate();
    const random = randomFrom(7);
    const near = openPayer(store);
    for (let round = 0; round < 20; round += 1) {
      const grant = await near.give({ uses: 3 });
      const payers = Array.from({ length: 3 }, () =>
        openPayer(isSlow ? farAway(store, random) : store, {}, { model: stubborn }),
      );
      const rejected = await Promise.all(payers.flatMap((payer) => [waiting(payer), waiting(payer)]));
      const racing = rejected.map(async ({ payer, id, question }) => {
        await payer.ai.runs.decide(question, 'reject', { by: 'ben' });
        await payer.ai.runs.wait(id);
      });
      let isOver = false;
      const reading = (async () => {
        for (let turn = 0; !isOver; turn += 1) {
          await near.ai.grants.get(grant.id);
          await delay(turn % 2);
        }
      })();
      await Promise.all(racing);
      isOver = true;
      await reading;
      const paid = payers.flatMap((payer) => payer.paid);
      expect({ round, paid: paid.length }).toEqual({ round, paid: 3 });
      expect(await near.ai.grants.get(grant.id)).toMatchObject({ left: { uses: 0 }, status: 'used-up' });
      await near.ai.grants.revoke(grant.id);
    }
    await store.close();
  });
});

const hasEvent = ({ events }: Append, type: string) => events.some((event) => event.type === type);

/** Does something before the first append with an event of this type. */
function before(store: Store, type: string, act: () => Promise<unknown>): Store {
  let isDone = false;
  return changedStore(store, {
    append: async (append) => {
      if (!isDone && hasEvent(append, type)) {
        isDone = true;
        await act();
      }
      return store.append(append);
    },
  });
}

describe('a grant that is revoked between the reservation and the start', () => {
  test('lets nothing run: the call is asked about, and its record says so', async () => {
    const store = memoryStore();
    const { ai, give, questions } = openPayer(store);
    const grant = await give();
    const racing = openPayer(before(store, 'call-granted', () => ai.grants.revoke(grant.id)));
    const run = await racing.start([acme(1)]);
    expect({ status: run.status, paid: racing.paid }).toEqual({ status: 'waiting', paid: [] });
    expect(await questions(run.id)).toMatchObject([{ kind: 'approval', tool: 'pay' }]);
    expect((await ai.grants.get(grant.id)).calls).toEqual([]);
    const [question] = await questions(run.id);
    await racing.ai.runs.decide(question?.id ?? '', 'approve', { by: 'ben' });
    const ended = await racing.ai.runs.wait(run.id);
    expect({ status: ended.status, paid: racing.paid }).toEqual({ status: 'done', paid: [acme(1)] });
    // A person let it run, so its messages name no grant.
    expect(JSON.stringify(ended.messages)).not.toContain(grant.id);
    expect((await ai.runs.verify(run.id)).ok).toBe(true);
  });

  test.each(['revoked', 'expired'])('lets nothing run after a crash in between, if it was %s', async (how) => {
    let time = 1_800_000_000_000;
    const clock = () => time;
    const store = memoryStore({ now: clock });
    const { ai, give, paid } = openPayer(store, {}, { clock });
    const grant = await give({ expiresAt: time + 20_000 });
    const dying = openPayer(
      changedStore(store, {
        append: (append) => (hasEvent(append, 'call-started') ? new Promise(() => undefined) : store.append(append)),
      }),
      {},
      { clock },
    );
    const { id } = await dying.clerk.start(JSON.stringify([acme(1)]), { by: 'ann' });
    await expect.poll(async () => (await ai.runs.recorded(id)).at(-1)?.type).toBe('call-granted');
    if (how === 'revoked') await ai.grants.revoke(grant.id);
    time += 20_000;
    await ai.runs.drive(id);
    expect((await ai.runs.wait(id)).status).toBe('waiting');
    expect(paid).toHaveLength(1);
    expect((await ai.grants.get(grant.id)).calls).toEqual([]);
  });
});

describe('a use', () => {
  test('is reserved only for a call that is in the record', async () => {
    const store = memoryStore();
    const { ai, give } = openPayer(store);
    const grant = await give({ uses: 1 });
    const dead = new Promise<never>(() => undefined);
    const writing = Promise.withResolvers<void>();
    const append = () => {
      writing.resolve();
      return dead;
    };
    void openPayer(changedStore(store, { append })).clerk.start(JSON.stringify([acme(1)]), { by: 'ann' });
    await writing.promise;
    expect((await ai.grants.get(grant.id)).left.uses).toBe(1);
  });

  test('stays reserved while its run has failed, and the run finds it again', async () => {
    const store = memoryStore();
    const { ai, give, start } = openPayer(store);
    const grant = await give({ uses: 1 });
    const failing = openPayer(
      changedStore(store, {
        append: async (append) => {
          if (hasEvent(append, 'call-granted')) throw new Error('The disk is full.');
          return store.append(append);
        },
      }),
    );
    const run = await failing.start([acme(1)]).catch(() => undefined);
    const [failed] = run ? [run] : (await ai.runs.list({ limit: 1 })).items;
    expect((await ai.grants.get(grant.id)).left.uses).toBe(0);
    expect((await start([acme(1)])).status).toBe('waiting');
    await ai.runs.drive(failed?.id ?? '');
    expect((await ai.runs.wait(failed?.id ?? '')).status).toBe('done');
    expect((await ai.grants.get(grant.id)).calls).toMatchObject([{ runId: failed?.id, status: 'spent' }]);
  });

  test('that is given back leaves no trace, so the record of the grant stays small', async () => {
    const store = memoryStore();
    const { ai, give, start } = openPayer(store);
    const grant = await give({ uses: 2 });
    const size = async () => JSON.stringify((await store.notes.get('grants', grant.id))?.value).length;
    await start([acme(1, true)]);
    await start([acme(1, true)]);
    await start([acme(1, true)]);
    const first = await size();
    for (let call = 0; call < 40; call += 1) await start([acme(1, true)]);
    expect(await size()).toBeLessThanOrEqual(first);
    expect(await ai.grants.get(grant.id)).toMatchObject({ left: { uses: 2 }, calls: [] });
    expect(await ai.grants.verify(grant.id)).toEqual({ ok: true, problem: null });
  });
});

describe('a call of a program outside', () => {
  const setup = async () => {
    const { ai } = openPayer(memoryStore());
    const config = { name: 'send', description: 'Sends.', inputSchema: z.object({ to: z.string() }) };
    const gate = ai.gate(ai.defineTool(config, async () => 'Sent.'));
    const asked = await gate.request({ to: 'ACME' }, { key: 'first', by: 'ann' });
    const grant = { uses: 1, expiresAt: Date.now() + DAY_MS };
    const given = await ai.runs.decide(asked.status === 'pending' ? asked.id : '', 'approve', { by: 'ben', grant });
    const request = (key: string) => gate.request({ to: 'ACME' }, { key, by: 'ann' });
    return { ai, gate, request, grantId: (given.status === 'settled' && given.grant?.id) || '' };
  };

  test('takes its use when it starts: one that never starts takes none', async () => {
    const { ai, gate, request, grantId } = await setup();
    expect(await request('lost')).toMatchObject({ status: 'approved' });
    expect((await ai.grants.get(grantId)).left.uses).toBe(1);
    expect(await request('second')).toMatchObject({ status: 'approved' });
    const start = await gate.start({ key: 'second' });
    expect(start).toMatchObject({ status: 'granted', input: { to: 'ACME' } });
    await gate.finish({ key: 'second' }, start.status === 'granted' ? start.token : '', { output: 1 });
    expect((await ai.grants.get(grantId)).calls).toMatchObject([{ status: 'spent' }]);
    // Another call took the last use, so a person decides.
    expect(await gate.start({ key: 'lost' })).toMatchObject({ status: 'pending' });
  });

  test('asks a person at its start if the grant was revoked since it was let through', async () => {
    const { ai, gate, request, grantId } = await setup();
    expect(await request('late')).toMatchObject({ status: 'approved' });
    await ai.grants.revoke(grantId);
    const refused = await gate.start({ key: 'late' });
    expect(refused).toMatchObject({ status: 'pending' });
    await ai.runs.decide(refused.status === 'pending' ? refused.id : '', 'approve', { by: 'ben' });
    expect(await gate.start({ key: 'late' })).toMatchObject({ status: 'granted' });
  });
});

test('a call in a sub-agent is in the record before its use is reserved', async () => {
  const store = memoryStore();
  const { ai, give, clerk } = openPayer(store, {}, { model: slow(payModel()) });
  const grant = await give({ uses: 1, serves: { people: ['ann'] } });
  const boss = ai.defineAgent({
    name: 'boss',
    tools: [clerk],
    model: payModel('clerk', { prompt: '[{"to":"ACME","amount":5}]' }),
  });
  const { id } = await boss.start('Pay.', { by: 'ann' });
  expect((await ai.runs.wait(id)).status).toBe('done');
  expect((await ai.grants.get(grant.id)).calls).toMatchObject([{ runId: id, status: 'spent', amount: 5 }]);
});

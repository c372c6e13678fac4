// Deciding while another process holds the claim, was killed, or has driven the run further.
import { approve, countersign, memoryStore, z } from 'countersign';
import { internalsOf, type Store } from 'countersign/store';
import { type ScriptStep, scriptedModel } from 'countersign/testing';
import { describe, expect, test } from 'vitest';
import { changedStore } from '../changed-store.ts';
import { eventually } from '../eventually.ts';

const LEASE_MS = 60_000;
const GONE = 'of a dead process';
const inputSchema = z.object({ to: z.string() });

/** Opens processes on one store. Their clerk makes these calls, reply by reply. */
function office(...replies: readonly (readonly string[])[]) {
  const time = { now: 1_800_000_000_000 };
  const clock = () => time.now;
  const store = memoryStore({ now: clock });
  const done: string[] = [];
  const open = (on: Store = store, gate: () => Promise<boolean> = async () => false) => {
    const model = scriptedModel(({ messages }): ScriptStep => {
      const names = replies[messages.filter(({ role }) => role === 'tool').length];
      if (!names) return 'Done.';
      return {
        calls: names.map((name) => ({ name: name.startsWith('pay') ? 'pay' : name, ref: name, input: { to: name } })),
      };
    });
    const ai = countersign({ model, store: on, clock, leaseMs: LEASE_MS, retry: false });
    const body = ({ to }: { readonly to: string }) => void done.push(to);
    const pay = ai.defineTool(
      { name: 'pay', description: '', inputSchema, needsApproval: true, expiresIn: 10 * LEASE_MS },
      body,
    );
    const tell = ai.defineTool({ name: 'tell', description: '', inputSchema, needsApproval: gate }, body);
    const fails = ai.defineTool({ name: 'fails', description: '' }, () => Promise.reject(new Error('no connection')));
    const clerk = ai.defineAgent({ name: 'clerk', tools: [pay, tell, fails], onToolError: 'throw' });
    return { runs: ai.runs, clerk };
  };
  const types = async () => ((await store.read('run'))?.events ?? []).map(({ type }) => type);
  const first = open();
  const question = async () => {
    const [card] = (await first.runs.requests()).items;
    if (!card) throw new Error('Expected a question.');
    return { id: card.id, part: card.part, resume: { approve: approve(card.part) } };
  };
  return { store, time, done, first, open, types, question };
}

describe('a question of a run whose claim belongs to a killed process', () => {
  async function held(...beside: readonly string[]) {
    const all = office(['pay', ...beside]);
    await all.first.clerk.start('Pay.', { runId: 'run' });
    await all.first.runs.settled();
    expect(await all.store.claim('run', GONE, LEASE_MS)).toBeDefined();
    const decided: (readonly string[])[] = [];
    let refused = 0;
    const on = changedStore(all.store, {
      append: async (append) => {
        // One attempt finds the claim taken. Endless attempts come without a pause.
        if (refused > 1) throw new Error('It retries forever.');
        refused += 1;
        const appended = await all.store.append(append);
        refused = 0;
        decided.push(append.events.map(({ type }) => type));
        return appended;
      },
    });
    return { ...all, ...(await all.question()), decided, second: all.open(on) };
  }

  test.each(['by its id', 'with resume'])(
    'is decided %s at once, and the call runs once the claim has lapsed',
    async (how) => {
      const { second, id, resume, done, time } = await held();
      if (how === 'by its id') await second.runs.decide(id, 'approve', { by: 'ann' });
      else await internalsOf(second.runs).resume('run', resume, { by: 'ann' });
      expect((await second.runs.request(id)).settlement).toMatchObject({ by: 'ann', decision: { type: 'approve' } });
      await second.runs.settled();
      expect(done).toEqual([]);
      time.now += 2 * LEASE_MS;
      await second.runs.drive('run');
      await second.runs.wait('run', { until: 'end' });
      expect(done).toEqual(['pay']);
    },
  );

  test.each([
    ['waits', []],
    ['has failed', ['fails']],
  ])('is decided at once in a run that %s, and the message beside the decision is sent later', async (_how, beside) => {
    const { second, resume, decided, store, done } = await held(...beside);
    const sending = second.clerk.chat({ runId: 'run' }).send({ prompt: 'And then stop.', resume });
    await eventually(() => expect(decided).toHaveLength(1));
    expect(decided).toEqual([['decision-made']]);
    await store.release('run', GONE);
    expect((await sending).text).toBe('Done.');
    expect(done).toEqual(['pay']);
    expect(decided.flat().filter((type) => type === 'user-spoke')).toHaveLength(1);
  });
});

test('a decision with a message does not take back a call that a killed process was about to run', async () => {
  const { time, done, open, types, store, question } = office(['pay', 'tell']);
  const killed = open(store, () => new Promise(() => undefined));
  await killed.clerk.start('Pay and tell.', { runId: 'run' });
  await eventually(async () => expect(await types()).toContain('call-interrupted'));
  time.now += 2 * LEASE_MS;
  const { resume } = await question();
  await open().clerk.chat({ runId: 'run' }).send({ prompt: 'Thanks.', resume });
  expect(done.toSorted()).toEqual(['pay', 'tell']);
});

describe('when another process drove a run that paused here', () => {
  async function drivenElsewhere() {
    const all = office(['pay'], ['pay again']);
    await all.first.clerk.start('Pay.', { runId: 'run' });
    await all.first.runs.settled();
    return { ...all, runs: all.first.runs, other: all.open().runs };
  }

  test('a newer question can be decided here', async () => {
    const { runs, other, question, done } = await drivenElsewhere();
    await other.decide((await question()).id, 'approve');
    await other.settled();
    await internalsOf(runs).resume('run', (await question()).resume);
    await runs.settled();
    expect(done).toEqual(['pay', 'pay again']);
  });

  test('an empty resume changes nothing', async () => {
    const { runs, types } = await drivenElsewhere();
    const before = await types();
    expect(await internalsOf(runs).resume('run', {})).toBe(false);
    expect(await types()).toEqual(before);
    expect(await runs.get('run')).toMatchObject({ status: 'waiting' });
  });

  test('an empty resume of a cancelled run fails', async () => {
    const { runs, other } = await drivenElsewhere();
    await other.cancel('run');
    await expect(internalsOf(runs).resume('run', {})).rejects.toMatchObject({ code: 'already-decided' });
  });
});

test.each(['by its id', 'with resume'])(
  'a late decision %s reports the deadline even if its edit is invalid',
  async (how) => {
    const { first, time, question, done } = office(['pay']);
    await first.clerk.start('Pay.', { runId: 'run' });
    await first.runs.settled();
    const { id, part } = await question();
    time.now += 20 * LEASE_MS;
    const edit = { to: 5 };
    const deciding =
      how === 'by its id'
        ? first.runs.decide(id, { type: 'approve', edit })
        : internalsOf(first.runs).resume('run', { approve: approve(part, { edit }) });
    await expect(deciding).rejects.toMatchObject({ code: 'already-decided', message: /expired at/ });
    expect(done).toEqual([]);
  },
);

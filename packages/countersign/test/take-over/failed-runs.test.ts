// Failed runs, and stores that fail for a moment: how a run is driven again, cancelled and waited for.
import { setImmediate } from 'node:timers/promises';
import { countersign, InvariantError, memoryStore, type PolicyConfig, ProviderError, type Runs, z } from 'countersign';
import { internalsOf, type Store } from 'countersign/store';
import { type ScriptStep, scriptedModel } from 'countersign/testing';
import { describe, expect, test } from 'vitest';
import { changedStore } from '../changed-store.ts';
import { eventually } from '../eventually.ts';

function bank(script: readonly ScriptStep[], store: Store = memoryStore()) {
  const paid: string[] = [];
  const model = scriptedModel(script);
  const ai = countersign({ model, store, retry: false });
  const pay = ai.defineTool(
    { name: 'pay', description: '', inputSchema: z.object({}), needsApproval: true },
    () => void paid.push('paid'),
  );
  const breaks = ai.defineAgent({ name: 'breaks', model: scriptedModel([]) });
  return { runs: ai.runs, clerk: ai.defineAgent({ name: 'clerk', tools: [pay, breaks] }), paid, model, store };
}

const asksToPay: ScriptStep = { calls: [{ name: 'pay', ref: 'p', input: {} }] };
const paysAndBreaks: ScriptStep = {
  calls: [
    { name: 'pay', ref: 'p', input: {} },
    { name: 'breaks', ref: 'b', input: { prompt: 'Go.' } },
  ],
};

describe('a run that failed', () => {
  test('wait returns the new end after it is driven again', async () => {
    const { clerk, runs } = bank([{ fail: { message: '503' } }, 'Hello.']);
    const { id } = await clerk.start('Hi.');
    expect(await runs.wait(id)).toMatchObject({ status: 'failed' });
    await runs.drive(id);
    expect(await runs.wait(id)).toMatchObject({ status: 'done', text: 'Hello.' });
  });

  test('is taken over by a worker when the process that drives it again dies', async () => {
    let now = 1_800_000_000_000;
    const store = memoryStore({ now: () => now });
    const open = (step: () => ScriptStep | Promise<ScriptStep>) => {
      const ai = countersign({ model: scriptedModel(step), store, clock: () => now, leaseMs: 60_000, retry: false });
      return { runs: ai.runs, clerk: ai.defineAgent({ name: 'clerk' }) };
    };
    const first = open(() => ({ fail: { message: '503' } }));
    const { id } = await first.clerk.start('Hi.');
    expect(await first.runs.wait(id)).toMatchObject({ status: 'failed' });
    const dies = open(() => new Promise<never>(() => undefined));
    await dies.runs.drive(id);
    await eventually(async () => expect((await first.runs.get(id)).status).toBe('running'));
    const waiting = first.runs.wait(id);
    now += 120_000;
    const other = open(() => 'Hello.');
    const worker = other.runs.work({ pollMs: 10 });
    expect(await waiting).toMatchObject({ status: 'done', text: 'Hello.' });
    await worker.stop();
  });

  test('is not driven by a worker before a deadline in it passes, and stays unclaimed', async () => {
    const kept = memoryStore();
    let looks = 0;
    const due: Store['due'] = async () => {
      looks += 1;
      return ['run'];
    };
    const { clerk, runs, model } = bank([{ fail: { message: '503' } }, 'Hello.'], changedStore(kept, { due }));
    await clerk.start('Hi.', { runId: 'run' });
    await runs.wait('run');
    const worker = runs.work({ pollMs: 5 });
    await eventually(() => expect(looks).toBeGreaterThan(2));
    await worker.stop();
    expect((await runs.get('run')).status).toBe('failed');
    expect(model.requests).toHaveLength(1);
    expect(await kept.claim('run', 'another', 1_000)).toBeDefined();
  });

  test('waits for its pending question again after it is driven', async () => {
    const { clerk, runs } = bank([paysAndBreaks]);
    const { id } = await clerk.start('Pay.');
    expect(await runs.wait(id)).toMatchObject({ status: 'failed', pending: [expect.any(String)] });
    await runs.drive(id);
    await runs.settled();
    expect((await runs.recorded(id)).map(({ type }) => type)).toContain('run-went-on');
    expect(await runs.verify(id)).toMatchObject({ ok: true });
  });

  test('stays failed after a vote or a policy that settles nothing, and after an escalation', async () => {
    let now = 1_800_000_000_000;
    const clock = () => now;
    const ai = countersign({
      model: scriptedModel([paysAndBreaks]),
      store: memoryStore({ now: clock }),
      retry: false,
      clock,
    });
    ai.definePolicy('pair', {
      deciders: { people: ['ann', 'ben', 'cid'] },
      quorum: [{ of: { people: ['ann', 'ben'] }, count: 2 }],
    });
    const policy: PolicyConfig = {
      quorum: [{ of: { people: ['ann', 'ben', 'cid'] }, count: 2 }],
      escalate: [{ after: '1h', to: { people: ['dan'] } }],
    };
    let named: 'pair' | PolicyConfig = policy;
    let paid = 0;
    const pay = ai.defineTool({ name: 'pay', description: '', needsApproval: () => ({ policy: named }) }, () => {
      paid += 1;
    });
    const breaks = ai.defineAgent({ name: 'breaks', model: scriptedModel([]) });
    await ai.defineAgent({ name: 'clerk', tools: [pay, breaks] }).start('Pay.', { runId: 'run' });
    const failed = await ai.runs.wait('run');
    const [asked = ''] = failed.pending;
    const { error } = await ai.runs.get('run');
    const stays = async () => {
      await ai.runs.settled();
      expect(await ai.runs.get('run')).toMatchObject({ status: 'failed', error });
    };
    await stays();
    expect((await ai.runs.decide(asked, 'approve', { by: 'ann' })).status).toBe('waiting');
    await stays();
    now += 3_600_000;
    await expect(ai.runs.decide(asked, 'approve', { by: 'eve' })).rejects.toMatchObject({ code: 'not-allowed' });
    expect((await ai.runs.recorded('run')).map(({ type }) => type)).toContain('request-escalated');
    await stays();
    named = 'pair';
    await ai.runs.reapplyPolicy(asked, { by: 'ann' });
    await stays();
    // A decision drives it on.
    await ai.runs.decide(asked, 'approve', { by: 'ben' });
    await ai.runs.settled();
    expect(paid).toBe(1);
  });

  test('reports the second failure, and a wait for it can be aborted', async () => {
    const never = Promise.withResolvers<ScriptStep>();
    const steps = [{ fail: { message: '503' } }, { fail: { message: '504' } }, never.promise];
    const ai = countersign({ model: scriptedModel(() => steps.shift() ?? 'Hi.'), store: memoryStore(), retry: false });
    const { id } = await ai.defineAgent({ name: 'clerk' }).start('Hi.');
    expect(await ai.runs.wait(id)).toMatchObject({ error: { message: '503' } });
    await ai.runs.drive(id);
    expect(await ai.runs.wait(id)).toMatchObject({ status: 'failed', error: { message: '504' } });
    await ai.runs.drive(id);
    const abort = new AbortController();
    const waiting = ai.runs.wait(id, { signal: abort.signal });
    abort.abort(new Error('gone'));
    await expect(waiting).rejects.toThrow('gone');
    never.resolve('Hello.');
    await ai.runs.settled();
  });

  test('is recorded as failed even if the append with its other events is rejected', async () => {
    const kept = memoryStore();
    const store = changedStore(kept, {
      append: async (append) => {
        const isFirst = append.events.some(({ type }) => type === 'run-failed') && !refused;
        if (!isFirst) return kept.append(append);
        refused = true;
        throw new InvariantError('invariant', {}, 'Refused.');
      },
    });
    let refused = false;
    const { clerk, runs, paid } = bank([asksToPay, { fail: { message: '503' } }], store);
    const { id } = await clerk.start('Pay.');
    const [asked = ''] = (await runs.wait(id)).pending;
    await runs.decide(asked, 'approve');
    expect(await runs.wait(id)).toMatchObject({ status: 'failed', error: { code: 'provider-failed' } });
    expect({ refused, paid }).toEqual({ refused: true, paid: ['paid'] });
    // It is not claimed.
    await runs.settled();
    expect(await kept.claim(id, 'theirs', 60_000)).toBeDefined();
  });

  test('by a deadline that cannot be recorded is recorded once per reason and stays unclaimed', async () => {
    let now = 1_800_000_000_000;
    const clock = () => now;
    const kept = memoryStore({ now: clock });
    let [tries, why] = [0, 'The disk is full.'];
    const append: Store['append'] = async (append) => {
      if (!append.events.some(({ type }) => type === 'decision-made')) return kept.append(append);
      tries += 1;
      throw new InvariantError('invariant', {}, why);
    };
    const store = changedStore(kept, { append });
    const model = scriptedModel(({ messages }) => (messages.at(-1)?.role === 'tool' ? 'Done.' : asksToPay));
    const ai = countersign({ model, store, clock, leaseMs: 3_600_000, retry: false });
    const pay = ai.defineTool({ name: 'pay', description: '', needsApproval: true, expiresIn: 1_000 }, () => 'paid');
    await ai.defineAgent({ name: 'clerk', tools: [pay] }).start('Pay.', { runId: 'run' });
    await ai.runs.settled();
    now += 2_000;
    const tried = async () => {
      const before = tries;
      const worker = ai.runs.work({ pollMs: 5 });
      await eventually(() => expect(tries).toBeGreaterThan(before));
      await worker.stop();
      return ai.runs.get('run');
    };
    const { version } = await tried();
    expect(await tried()).toMatchObject({ status: 'failed', version, error: { message: why } });
    // Another reason is recorded.
    why = 'The disk is gone.';
    expect(await tried()).toMatchObject({ status: 'failed', error: { message: why } });
    expect(await kept.claim('run', 'theirs', 60_000)).toBeDefined();
  });

  test('is cancelled if a cancel came just before the failure', async () => {
    const kept = memoryStore();
    let cancels = true;
    const store = changedStore(kept, {
      append: async (append) => {
        if (cancels && append.events.some(({ type }) => type === 'run-failed')) {
          cancels = false;
          await ai.runs.cancel(append.runId);
        }
        return kept.append(append);
      },
    });
    const ai = countersign({ model: scriptedModel([{ calls: [{ name: 'send', input: {} }] }]), store, retry: false });
    const send = ai.defineTool({ name: 'send', description: '' }, () => {
      throw new Error('Refused.');
    });
    const { id } = await ai.defineAgent({ name: 'clerk', tools: [send], onToolError: 'throw' }).start('Go.');
    await ai.runs.settled();
    expect((await ai.runs.recorded(id)).map(({ type }) => type).slice(-2)).toEqual(['run-ended', 'call-settled']);
    expect(await ai.runs.get(id)).toMatchObject({ status: 'cancelled', error: null });
  });

  test('can be cancelled, which withdraws its pending questions', async () => {
    const { clerk, runs, paid } = bank([paysAndBreaks]);
    const { id } = await clerk.start('Pay.');
    expect(await runs.wait(id)).toMatchObject({ status: 'failed', pending: [expect.any(String)] });
    const [card = ''] = (await runs.get(id)).pending;
    expect(await runs.cancel(id, { by: 'ann' })).toMatchObject({ status: 'cancelled', error: null, pending: [] });
    expect((await runs.requests()).items).toEqual([]);
    expect((await runs.request(card)).settlement).toMatchObject({ withdrawn: true, by: 'ann' });
    await expect(runs.decide(card, 'approve')).rejects.toMatchObject({ code: 'already-decided' });
    expect(await runs.verify(id)).toMatchObject({ ok: true });
    expect(paid).toEqual([]);
  });
});

describe('a run that fails while earlier results are still being written', () => {
  /** Ends two tools one after the other, and fails a sub-agent before the first result is recorded. */
  async function failing(calls: readonly string[], onRelease: (runs: Runs) => Promise<unknown>) {
    const kept = memoryStore();
    const writing = Promise.withResolvers<void>();
    const isFailing = Promise.withResolvers<void>();
    const store = changedStore(kept, {
      append: async (append) => {
        if (append.events.some(({ type }) => type === 'call-settled')) {
          writing.resolve();
          await isFailing.promise;
        }
        return kept.append(append);
      },
      release: async (...args) => {
        await onRelease(ai.runs);
        return kept.release(...args);
      },
    });
    const model = scriptedModel([{ calls: calls.map((name) => ({ name, input: { prompt: 'Go.' } })) }]);
    const ai = countersign({ model, store, retry: false });
    const asked = Promise.withResolvers<void>();
    const one = ai.defineTool({ name: 'one', description: '' }, () => asked.promise.then(() => 1));
    const two = ai.defineTool({ name: 'two', description: '' }, () => writing.promise.then(() => 2));
    const paid: string[] = [];
    const pay = ai.defineTool({ name: 'pay', description: '', needsApproval: true }, () => void paid.push('paid'));
    const breaks = ai.defineAgent({
      name: 'breaks',
      model: scriptedModel(async () => {
        asked.resolve();
        await writing.promise;
        // The second result waits behind the first.
        await setImmediate();
        await setImmediate();
        void setImmediate().then(() => isFailing.resolve());
        return { fail: { message: '503' } };
      }),
    });
    const { id } = await ai.defineAgent({ name: 'clerk', tools: [one, two, pay, breaks] }).start('Go.');
    await ai.runs.settled();
    return { id, runs: ai.runs, paid };
  }

  test('is recorded as failed', async () => {
    const { id, runs } = await failing(['one', 'two', 'breaks'], async () => undefined);
    expect(await runs.get(id)).toMatchObject({ status: 'failed', error: { code: 'provider-failed' } });
  });

  test('acts on a decision made after the failure', async () => {
    const { id, runs, paid } = await failing(['one', 'two', 'pay', 'breaks'], async (runs) => {
      const [card] = (await runs.requests()).items;
      if (card) await runs.decide(card.id, 'approve');
    });
    expect(paid).toEqual(['paid']);
    expect((await runs.get(id)).status).toBe('failed');
  });
});

describe.each(['release', 'read after the release'] as const)('a store that fails once with a %s', (which) => {
  /** Fails with the first release after `arm`, or with the read that follows it. */
  function failing() {
    const kept = memoryStore();
    let armed = false;
    let released = false;
    const fail = () => {
      armed = false;
      throw new ProviderError('store-failed', {}, 'The connection was lost.', { retryable: true });
    };
    const store = changedStore(kept, {
      release: async (id, token) => {
        if (armed && which === 'release') fail();
        released = armed;
        return kept.release(id, token);
      },
      read: async (id, options) => {
        if (armed && released) fail();
        return kept.read(id, options);
      },
    });
    const arm = () => {
      armed = true;
    };
    return { store, arm, isArmed: () => armed };
  }

  test.each([
    ['done', ['Hello.']],
    ['waiting', [asksToPay]],
  ] as const)('leaves a %s run unchanged when it is driven', async (status, script) => {
    const { store, arm, isArmed } = failing();
    const { clerk, runs } = bank(script, store);
    const { id } = await clerk.start('Hi.');
    await runs.settled();
    arm();
    await runs.drive(id);
    await runs.settled();
    expect(isArmed()).toBe(false);
    expect(await runs.get(id)).toMatchObject({ status, error: null });
  });

  test('keeps a recorded decision', async () => {
    const { store, arm, isArmed } = failing();
    const { clerk, runs } = bank([asksToPay, 'Done.'], store);
    const { id } = await clerk.start('Hi.');
    const [card = ''] = (await internalsOf(runs).rested(id)).pending;
    arm();
    expect(await runs.decide(card, 'approve', { by: 'ann', drive: false })).toMatchObject({ by: 'ann' });
    expect(isArmed()).toBe(false);
  });
});

// What is approved is what runs: the card shows a preview, and an approved call starts only while that preview is true.
import { setTimeout as delay } from 'node:timers/promises';
import { type Json, type RunRequest, type ToolConfig, z } from 'countersign';
import { describe, expect, test } from 'vitest';
import { calls, only as onlyPart, scripted, travelled } from '../rules/support.ts';
import {
  call,
  type Define,
  EVERYWHERE,
  only,
  placed,
  STUCK,
  script,
  type Where,
  waiting,
  world,
} from '../sub-agents/kit.ts';

type PayConfig = Partial<ToolConfig<typeof PAYMENT>>;

const PAYMENT = z.object({ to: z.string(), amount: z.number().default(10) });

/** A bank whose tool `pay` shows the balance that would be left. `hangs`: the first process dies in the body. */
function bank(where: Where, config: PayConfig = {}, { hangs = false } = {}) {
  const account = { balance: 100, previews: 0 };
  const paid: unknown[] = [];
  const define: Define = (ai, nth) => {
    const pay = ai.defineTool(
      {
        name: 'pay',
        description: '',
        inputSchema: PAYMENT,
        needsApproval: true,
        preview: ({ to, amount }) => {
          account.previews += 1;
          return [{ account: to, gets: amount }, { left: account.balance - amount }];
        },
        ...config,
      },
      (input) => {
        if (hangs && nth === 1) return STUCK;
        paid.push(input);
        account.balance -= input.amount;
        return 'paid';
      },
    );
    return placed(ai, where, { tools: [pay], model: script([[call('pay', { to: 'ann' })]]) });
  };
  return { account, paid, define };
}

const shows = (left: number, gets = 10) => ({ value: [{ account: 'ann', gets }, { left }] });

async function asked(where: Where, config: PayConfig = {}, options: { readonly hangs?: boolean } = {}) {
  const { account, paid, define } = bank(where, config, options);
  const { open, takeOver, pass, store } = world();
  const { root, runs } = open(define);
  const { id } = await root.start('Go', { context: { user: 'ann' } });
  await runs.settled();
  const decide = async (card: RunRequest, decision: Parameters<typeof runs.decide>[1]) => {
    await runs.decide(card.id, decision, { digest: card.digest });
    await runs.settled();
  };
  const pending = async () => only(await waiting(runs));
  return { id, account, paid, define, runs, store, decide, pending, takeOver, pass, card: await pending() };
}

describe.each(EVERYWHERE)('a preview, %s', (where) => {
  test('the card shows it, and an approved call runs once while it is true', async () => {
    const { card, decide, paid, account, runs, id } = await asked(where);
    expect(card).toMatchObject({ kind: 'approval', preview: shows(90), earlierPreview: null });
    await decide(card, 'approve');
    expect(paid).toEqual([{ to: 'ann', amount: 10 }]);
    expect(account.previews).toBe(2);
    expect((await runs.get(id)).status).toBe('done');
  });

  test('one that changed asks again with both, under a new id, until the approved one is true', async () => {
    const { card, decide, paid, account, pending, runs } = await asked(where);
    account.balance = 70;
    await decide(card, 'approve');
    expect(paid).toEqual([]);
    const second = await pending();
    expect(second).toMatchObject({
      kind: 'approval',
      preview: shows(60),
      earlierPreview: shows(90),
      input: card.input,
    });
    expect(second.id).not.toBe(card.id);
    // The first approval says nothing about the second card.
    await runs.decide(card.id, 'approve');
    await runs.settled();
    expect(paid).toEqual([]);
    account.balance = 50;
    await decide(second, 'approve');
    const third = await pending();
    expect(third).toMatchObject({ preview: shows(40), earlierPreview: shows(60) });
    await decide(third, 'approve');
    expect(paid).toHaveLength(1);
  });

  test('after an edit, the editor is asked about the preview of the edited input, if it differs', async () => {
    const { card, decide, paid, pending } = await asked(where);
    await decide(card, { type: 'approve', edit: { to: 'ann', amount: 30 } });
    expect(paid).toEqual([]);
    const second = await pending();
    expect(second).toMatchObject({ preview: shows(70, 30), earlierPreview: shows(90), input: { amount: 30 } });
    await decide(second, 'approve');
    expect(paid).toEqual([{ to: 'ann', amount: 30 }]);
  });

  test('an edit that changes nothing in the preview runs at once', async () => {
    const { card, decide, paid } = await asked(where, { preview: () => 'one payment' });
    await decide(card, { type: 'approve', edit: { to: 'bob' } });
    expect(paid).toEqual([{ to: 'bob', amount: 10 }]);
  });

  test('with onPreviewChange run, it is not computed again', async () => {
    const { card, decide, paid, account } = await asked(where, { onPreviewChange: 'run' });
    account.balance = 70;
    await decide(card, 'approve');
    expect(paid).toHaveLength(1);
    expect(account.previews).toBe(1);
  });

  test('with onPreviewChange reject, the call is rejected and the model told', async () => {
    const { card, decide, paid, account, runs, id } = await asked(where, { onPreviewChange: 'reject' });
    account.balance = 70;
    await decide(card, 'approve');
    expect(paid).toEqual([]);
    expect(await waiting(runs)).toEqual([]);
    expect((await runs.get(id)).text).toContain('pay did not run: its preview has changed since it was approved');
  });

  test('a failed one is on the card, and the call can be rejected', async () => {
    const preview = () => {
      throw new Error('the ledger is down');
    };
    const { card, decide, paid, runs, id } = await asked(where, { preview });
    expect(card.preview).toEqual({ failed: 'the ledger is down' });
    await decide(card, { type: 'reject', reason: 'later' });
    expect(paid).toEqual([]);
    expect((await runs.get(id)).status).toBe('done');
  });

  test('an approval of a failed one holds while it fails, and asks again once it succeeds', async () => {
    const ledger = { isDown: true };
    const preview = () => {
      if (ledger.isDown) throw new Error(`down, ${Math.random()}`);
      return 'up';
    };
    const failing = await asked(where, { preview });
    await failing.decide(failing.card, 'approve');
    expect(failing.paid).toHaveLength(1);
    const { card, decide, pending, paid } = await asked(where, { preview });
    ledger.isDown = false;
    await decide(card, 'approve');
    expect(paid).toEqual([]);
    expect(await pending()).toMatchObject({ preview: { value: 'up' }, earlierPreview: card.preview });
  });

  test('one that fails before the start asks again', async () => {
    const ledger = { isDown: false };
    const preview = () => {
      if (ledger.isDown) throw new Error('down');
      return 'up';
    };
    const { card, decide, pending, paid } = await asked(where, { preview });
    ledger.isDown = true;
    await decide(card, 'approve');
    expect(paid).toEqual([]);
    expect(await pending()).toMatchObject({ preview: { failed: 'down' }, earlierPreview: { value: 'up' } });
  });

  test('a deadline does not approve a changed one', async () => {
    const { card, account, paid, pending, runs, id, pass } = await asked(where, {
      expiresIn: 1_000,
      onExpiry: 'approve',
    });
    expect(card.part.metadata).toMatchObject({ onExpiry: 'approve' });
    account.balance = 70;
    const expire = async () => {
      pass(2_000);
      await runs.drive(id);
      await runs.settled();
    };
    await expire();
    expect((await pending()).part.metadata).toMatchObject({ onExpiry: 'reject', preview: shows(60) });
    await expire();
    expect(paid).toEqual([]);
    expect((await runs.get(id)).status).toBe('done');
  });

  test('a call that a crash left in doubt shows the approved one, and is compared again before it runs', async () => {
    const { id, card, runs, define, paid, account, takeOver } = await asked(where, {}, { hangs: true });
    await runs.decide(card.id, 'approve', { digest: card.digest });
    await expect.poll(async () => (await runs.recorded(id)).some(({ type }) => type === 'call-started')).toBe(true);
    await expect.poll(() => account.previews).toBe(2);
    const two = await takeOver(id, define);
    const doubt = only(await waiting(two.runs));
    expect(doubt).toMatchObject({ kind: 'doubt', preview: shows(90), earlierPreview: null });
    account.balance = 70;
    await two.runs.decide(doubt.id, 'approve');
    await two.runs.settled();
    expect(paid).toEqual([]);
    const again = only(await waiting(two.runs));
    expect(again).toMatchObject({ kind: 'approval', preview: shows(60), earlierPreview: shows(90) });
    await two.runs.decide(again.id, 'approve');
    await two.runs.settled();
    expect(paid).toHaveLength(1);
  });
});

describe('what a preview may be', () => {
  const failures: readonly [string, PayConfig, string][] = [
    ['that takes too long', { preview: () => STUCK, previewWithin: 20 }, 'it took longer than 20 ms'],
    ['that is not JSON', { preview: () => ({ when: () => 1 }) }, 'it is not JSON: at when: a function is not JSON'],
    ['that is too long', { preview: () => 'x'.repeat(100_001) }, 'it is longer than 100000 characters'],
    ['that rejects', { preview: () => Promise.reject(new Error('no')) }, 'no'],
  ];
  test.each(failures)('one %s has failed', async (_what, config, failed) => {
    const { card } = await asked('root', config);
    expect(card.preview).toEqual({ failed });
  });

  test.each([0, '', false, null, undefined] as const)('%s is a preview like any other', async (given) => {
    const { card, decide, paid } = await asked('root', { preview: () => given });
    expect(card.preview).toEqual({ value: given ?? null });
    await decide(card, 'approve');
    expect(paid).toHaveLength(1);
  });

  test('it gets its own copy of the input that would run, the context and a signal that fires after its time', async () => {
    const seen: unknown[] = [];
    let signal: AbortSignal | undefined;
    const { card, decide, paid } = await asked('root', {
      preview: (input, ctx) => {
        seen.push(structuredClone(input), ctx.context);
        signal = ctx.signal;
        (input as { amount: number }).amount = 9_000;
        return new Promise((_resolve, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason)));
      },
      previewWithin: 20,
    });
    expect(seen).toEqual([{ to: 'ann', amount: 10 }, { user: 'ann' }]);
    expect(signal?.aborted).toBe(true);
    await decide(card, 'approve');
    expect(paid).toEqual([{ to: 'ann', amount: 10 }]);
  });

  test('the digest covers it: a preview changed in the store is refused', async () => {
    const { card, store, runs } = await asked('root');
    const list = store.listRequests.bind(store);
    store.listRequests = async (query) => {
      const page = await list(query);
      const change = (text: string): Json => JSON.parse(text.replace('"left":90', '"left":99'));
      return { ...page, items: page.items.map((item) => ({ ...item, card: change(JSON.stringify(item.card)) })) };
    };
    const warned: string[] = [];
    process.once('warning', ({ message }) => warned.push(message));
    expect((await runs.requests()).items).toEqual([]);
    await delay(0);
    expect(warned.join()).toContain(card.id);
  });

  test('the options of a preview without a preview are refused', () => {
    const { ai } = scripted([]);
    const base = { name: 'pay', description: '' } as const;
    expect(() => ai.defineTool({ ...base, onPreviewChange: 'run' }, () => 1)).toThrow(
      'onPreviewChange, but no preview',
    );
    expect(() => ai.defineTool({ ...base, preview: 'rows' as never }, () => 1)).toThrow('preview');
    expect(() => ai.defineTool({ ...base, preview: () => 1 })).toThrow('preview, but no body');
  });
});

describe('previews without a store', () => {
  const PAY = calls({ name: 'pay', ref: 'p', input: { to: 'ann' } });

  /** Pauses at the card of a tool whose preview is the rate. */
  async function paused(config: PayConfig = {}) {
    const market = { rate: 1 };
    const paid: unknown[] = [];
    const { ai } = scripted([PAY, 'done']);
    const pay = ai.defineTool(
      {
        name: 'pay',
        description: '',
        inputSchema: PAYMENT,
        needsApproval: true,
        preview: () => market.rate,
        ...config,
      },
      (input, { resumed, interrupt }) => {
        paid.push(input);
        if (config.metadata?.asks && resumed === undefined) interrupt('Sure?');
        return 'paid';
      },
    );
    const first = await ai.generate({ prompt: 'go', tools: [pay] });
    const resume = (response: typeof first, signal?: AbortSignal) =>
      ai.generate({
        tools: [pay],
        messages: travelled(response.messages),
        resume: { approve: response.interrupts },
        ...(signal && { abortSignal: signal }),
      });
    return { market, paid, first, resume, ai, pay };
  }

  test('a changed one asks again, and the approval of the new card runs the call', async () => {
    const { market, paid, first, resume } = await paused();
    expect(onlyPart(first.interrupts).metadata).toMatchObject({ preview: { value: 1 } });
    market.rate = 2;
    const second = await resume(first);
    expect(paid).toEqual([]);
    const shown = { preview: { value: 2 }, earlierPreview: { value: 1 } };
    expect(onlyPart(second.interrupts).metadata).toMatchObject(shown);
    await resume(second);
    expect(paid).toHaveLength(1);
  });

  test('an abort while it is computed leaves the call approved, and it is compared when the run continues', async () => {
    const stop = new AbortController();
    const market = { rate: 1 };
    const { paid, first, resume, ai, pay } = await paused({
      preview: async () => {
        if (stop.signal.aborted || market.rate === 1) return market.rate;
        stop.abort();
        return STUCK;
      },
    });
    market.rate = 2;
    const stopped = await resume(first, stop.signal);
    expect(stopped.finishReason).toBe('aborted');
    const next = await ai.generate({ tools: [pay], messages: travelled(stopped.messages) });
    expect(paid).toEqual([]);
    expect(onlyPart(next.interrupts).metadata).toMatchObject({ preview: { value: 2 }, earlierPreview: { value: 1 } });
  });

  test('a body that has asked for itself has begun: its restart is not compared', async () => {
    const { market, paid, first, resume } = await paused({ metadata: { asks: true } });
    const sure = await resume(first);
    market.rate = 2;
    const done = await resume(sure);
    expect(done.text).toBe('done');
    expect(paid).toHaveLength(2);
  });
});

test('a call without a commit runs again after a crash only if its preview is still true', async () => {
  const { define, paid, account } = bank('root', { commits: true }, { hangs: true });
  for (const balance of [100, 70]) {
    const { open, takeOver } = world();
    account.balance = 100;
    account.previews = 0;
    const { root, runs } = open(define);
    const { id } = await root.start('Go');
    await runs.settled();
    await runs.decide(only(await waiting(runs)).id, 'approve');
    await expect.poll(async () => (await runs.recorded(id)).some(({ type }) => type === 'call-started')).toBe(true);
    account.balance = balance;
    const two = await takeOver(id, define);
    const cards = await waiting(two.runs);
    if (balance === 100) expect([cards, paid.length]).toEqual([[], 1]);
    else expect(only(cards)).toMatchObject({ kind: 'doubt', preview: shows(60), earlierPreview: shows(90) });
  }
  expect(paid).toHaveLength(1);
});

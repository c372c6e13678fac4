// Limits of rules: how many calls start in any stretch of time, and what becomes of the others.
import { memoryStore, NotPerformed, type Rule, z } from 'countersign';
import { describe, expect, test } from 'vitest';
import { openBank } from '../freezes/kit.ts';

const looks = (count: number) => Array.from({ length: count }, (_, index) => ['look', { index, amount: 0.1 }] as const);

function bank(rule: Rule, more: Parameters<typeof openBank>[1] = {}) {
  let now = 1_000_000;
  const store = memoryStore({ now: () => now });
  const opened = openBank(store, { rules: [rule], clock: () => now, ...more });
  const pass = (ms: number): void => {
    now += ms;
  };
  return { ...opened, pass };
}

const texts = (messages: readonly { readonly role: string; readonly content: readonly unknown[] }[]): string =>
  JSON.stringify(messages.filter(({ role }) => role === 'tool').map(({ content }) => content));

describe('beyond its limit', () => {
  test('a call asks, says why, and runs once a person approves; the next stretch of time has room again', async () => {
    const { start, ran, ai, approveAll, pass } = bank({ tool: 'look', limit: { calls: 2, per: '1h' } });
    const run = await start(looks(3));
    expect(ran).toHaveLength(2);
    const { items } = await ai.runs.requests({ runId: run.id });
    expect(items).toHaveLength(1);
    expect(JSON.stringify(items[0]?.policies)).toContain('The limit of 2 calls per 1h is reached');
    expect((await approveAll(run.id)).status).toBe('done');
    expect(ran).toHaveLength(3);
    pass(3_599_999);
    expect((await start(looks(1))).status).toBe('waiting');
    pass(2);
    expect((await start(looks(1))).status).toBe('done');
  });

  test('a call is denied, even one that a person approved before others took the room', async () => {
    const { start, ran, ai, approveAll } = bank({
      limit: { sum: 'amount', most: 0.3, per: '1d' },
      then: 'deny',
      reason: 'Too much.',
    });
    const asked = await start([['pay', { amount: 0.2 }]]);
    expect((await start(looks(2))).status).toBe('done');
    const denied = await approveAll(asked.id);
    expect(denied.status).toBe('done');
    expect(ran).toHaveLength(2);
    expect(texts((await ai.runs.get(asked.id)).messages)).toContain('pay did not run. Too much.');
    // Decimals add up exactly: the third tenth still has room.
    await start(looks(1));
    expect(ran).toHaveLength(3);
    await start(looks(1));
    expect(ran).toHaveLength(3);
  });

  test('nobody is asked about a call that is denied anyway', async () => {
    const { start } = bank({ tool: 'pay', limit: { sum: 'amount', most: 10, per: '1d' }, then: 'deny' });
    expect((await start([['pay', { amount: 11 }]])).status).toBe('done');
    expect((await start([['pay', { amount: 'ten' }]])).status).toBe('done');
    expect((await start([['pay', { amount: 10 }]])).status).toBe('waiting');
  });

  test('the tool is frozen until someone lifts that, which begins the count anew', async () => {
    const { start, ran, ai } = bank({ tool: 'look', limit: { calls: 1, per: '1h' }, then: 'freeze' });
    const run = await start(looks(3));
    expect(ran).toHaveLength(1);
    const [freeze, ...others] = await ai.freezes.list();
    expect(others).toEqual([]);
    expect(freeze).toMatchObject({ tools: ['look'], by: null, reason: 'The limit of 1 call per 1h is reached.' });
    await ai.freezes.lift(freeze?.id ?? '', { by: 'eve' });
    await ai.runs.wait(run.id);
    // One of the two had room, and the other froze the tool again.
    expect(ran).toHaveLength(2);
    const [again] = await ai.freezes.list();
    expect(again?.id).not.toBe(freeze?.id);
    await ai.freezes.lift(again?.id ?? '', { by: 'eve' });
    expect((await ai.runs.wait(run.id)).status).toBe('done');
    expect(ran).toHaveLength(3);
  });
});

test('after a freeze is lifted, the count begins again with the first call, even if that has room', async () => {
  const limit = { sum: 'amount', most: 10, per: '1h' } as const;
  const { start, ran, ai } = bank({ tool: 'look', limit, then: 'freeze' });
  const look = (amount: number) => start([['look', { amount }]]);
  await look(7);
  const frozen = await look(5);
  const [freeze] = await ai.freezes.list();
  await ai.freezes.lift(freeze?.id ?? '', { by: 'eve', drive: false });
  await look(2);
  await ai.runs.drive(frozen.id);
  await look(4);
  expect(ran).toEqual([7, 2, 5].map((amount) => `look {"amount":${amount}}`));
});

describe('what counts', () => {
  test.each([
    ['person', 'done'],
    ['tool', 'waiting'],
    ['agent', 'waiting'],
  ] as const)('for each %s on its own', async (each, expected) => {
    const { start } = bank({ tool: 'look', limit: { calls: 1, per: '1h', each } });
    expect((await start(looks(1), 'ann')).status).toBe('done');
    expect((await start(looks(1), 'ann')).status).toBe('waiting');
    expect((await start(looks(1), 'bob')).status).toBe(expected);
  });

  test('calls that people approved, and those of sub-agents', async () => {
    const { start, approveAll, ran } = bank({ tool: ['pay', 'look'], limit: { calls: 2, per: '1h' } });
    await approveAll((await start([['pay', { amount: 1 }]])).id);
    expect((await start([['helper', { prompt: JSON.stringify(looks(1)) }]])).status).toBe('done');
    expect(ran).toHaveLength(2);
    expect((await start(looks(1))).status).toBe('waiting');
  });

  test('no call that was not performed, rejected or cancelled', async () => {
    const { ai, ran, start } = bank({ tool: ['look', 'send'], limit: { calls: 2, per: '1h' } });
    const send = ai.defineTool({ name: 'send', description: 'Sends.', inputSchema: z.any() }, () => {
      throw new NotPerformed('No line.');
    });
    const sender = ai.defineAgent({ name: 'sender', tools: [send] });
    for (let count = 0; count < 3; count += 1)
      await ai.runs.wait((await sender.start(JSON.stringify([['send', {}]]), { by: 'ann' })).id);
    await start(looks(2));
    expect(ran).toHaveLength(2);
    const asked = await start(looks(1));
    await ai.runs.cancel(asked.id, { by: 'ann' });
    expect((await start(looks(1))).status).toBe('waiting');
  });

  test('a call of a program outside, when it starts', async () => {
    const limit: Rule = { tool: 'look', limit: { calls: 1, per: '1h' } };
    const { ai, look } = bank(limit, { rules: [limit, { tool: 'look', then: 'allow' }] });
    const call = async (key: string) =>
      ai.gate(look).run({ amount: 1 }, { key, by: 'ann', timeout: 1, run: async () => 'ran' });
    expect((await call('one')).status).toBe('done');
    expect((await call('one')).status).toBe('done');
    expect((await call('two')).status).toBe('pending');
    const [request, ...others] = (await ai.runs.requests({})).items;
    expect(others).toEqual([]);
    await ai.runs.decide(request?.id ?? '', 'approve', { by: 'bob' });
    expect((await call('two')).status).toBe('done');
  });

  test('a call without a record cannot be counted, so it asks', async () => {
    const { ai, look } = bank({ tool: 'look', limit: { calls: 9, per: '1h' } });
    const { interrupts } = await ai.generate({ prompt: JSON.stringify(looks(1)), tools: [look] });
    expect(interrupts).toHaveLength(1);
  });
});

test('what a limit said is the same in a replay, and other calls are judged without limits', async () => {
  const { start, ai, approveAll } = bank({ tool: 'look', limit: { calls: 1, per: '1h' } });
  await approveAll((await start(looks(3))).id);
  const { rulesOf } = await import('countersign/store');
  const replayed = await rulesOf(ai).replay({ since: 0 });
  expect(replayed).toMatchObject({ calls: 3, same: 3 });
});

test.each([
  [{ calls: 0, per: '1h' }, undefined, 'limit.calls'],
  [{ per: '1h' }, undefined, 'limits nothing'],
  [{ sum: 'amount', per: '1h' }, undefined, '`sum` and `most` together'],
  [{ calls: 1, per: '0s' }, undefined, 'limit.per'],
  [{ calls: 1, per: 'soon' }, undefined, 'limit.per'],
  [{ calls: 1, per: '1h' }, 'allow', 'beyond it'],
  [undefined, 'freeze', 'only a rule with a `limit` freezes'],
])('a limit that cannot be is refused: %j %s', (limit, then, problem) => {
  const rule = { tool: 'look', ...(limit && { limit }), ...(then && { then }) } as Rule;
  expect(() => bank(rule)).toThrow(problem);
});

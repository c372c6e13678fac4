// Which options and decisions stored chats accept: the agent alone says how a run is driven.
import { spawnSync } from 'node:child_process';
import { approve, countersign, memoryStore, reject, restart, z } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { describe, expect, test } from 'vitest';
import { clerkOf } from './clerk.ts';

function office() {
  const ran: string[] = [];
  const model = scriptedModel(({ messages }) =>
    messages.some(({ role }) => role === 'tool') ? 'Done.' : { calls: [{ name: 'pay', input: {} }] },
  );
  const ai = countersign({ model, store: memoryStore(), retry: false });
  const pay = ai.defineTool(
    { name: 'pay', description: '', inputSchema: z.object({}), needsApproval: true },
    () => void ran.push('pay'),
  );
  const look = ai.defineTool({ name: 'look', description: '' }, (_input, { interrupt, resumed }) => {
    if (resumed === undefined) interrupt({ go: 'on?' });
    return 'seen';
  });
  const admin = ai.defineAgent({ name: 'admin', tools: [pay] });
  return { ai, runs: ai.runs, admin, bot: ai.defineAgent({ name: 'bot', tools: [pay] }), pay, look, ran };
}

test.each([
  ['maxTurns', { maxTurns: 1 }],
  ['returnToolRequests', { returnToolRequests: true }],
  ['onToolError', { onToolError: 'throw' }],
  ['config', { config: { temperature: 1 } }],
] as const)('%s of a send is rejected, and no message is recorded', async (option, given) => {
  const { runs, admin } = office();
  const sending = admin.chat({ runId: 'chat' }).send({ prompt: 'Pay.', ...given });
  await expect(sending).rejects.toMatchObject({ code: 'invalid-options', message: expect.stringContaining(option) });
  expect((await runs.list()).items).toEqual([]);
});

describe('messages beside a runId are rejected, and no message is recorded', () => {
  const messages = [{ role: 'user', content: [{ text: 'Pay.' }] }] as const;
  const refused = { code: 'invalid-options', message: expect.stringContaining('start({ messages }') };

  test('by generate, for a new and for an existing run', async () => {
    const { runs, admin } = office();
    await expect(admin.generate({ runId: 'chat', messages })).rejects.toMatchObject(refused);
    expect((await runs.list()).items).toEqual([]);
    await admin.generate({ runId: 'chat', prompt: 'Pay.' });
    await expect(admin.generate({ runId: 'chat', messages })).rejects.toMatchObject(refused);
    await expect(admin.generate({ runId: 'chat', messages, prompt: 'Now.' })).rejects.toMatchObject(refused);
    expect((await runs.get('chat')).pending).toHaveLength(1);
  });

  test('by a chat', () => {
    const { admin } = office();
    expect(() => admin.chat({ runId: 'chat', messages })).toThrow(expect.objectContaining(refused));
  });
});

test('an agent cannot send or decide in a run of another agent', async () => {
  const { runs, admin, bot, ran } = office();
  const { interrupts } = await admin.chat({ runId: 'chat' }).send('Pay.');
  const chat = bot.chat({ runId: 'chat' });
  for (const given of ['Hello.', { resume: { approve: interrupts } }])
    await expect(chat.send(given)).rejects.toMatchObject({
      code: 'invalid-options',
      message: /agent admin, not of bot/,
    });
  expect((await runs.get('chat')).status).toBe('waiting');
  expect(ran).toEqual([]);
});

describe('a call without a ref from the model', () => {
  test('returns its outcome to an equal decision, and names the approver to a different one', async () => {
    const { runs, admin, ran } = office();
    const chat = admin.chat({ runId: 'chat' });
    const { interrupts } = await chat.send('Pay.');
    const [card] = (await runs.requests()).items;
    await runs.decide(card?.id ?? '', 'approve', { by: 'ann' });
    await runs.settled();
    expect((await chat.send({ resume: { approve: interrupts } })).text).toBe('Done.');
    const no = interrupts.map((interrupt) => reject(interrupt));
    await expect(chat.send({ resume: { reject: no } })).rejects.toThrow(/decided by ann/);
    expect(ran).toEqual(['pay']);
  });
});

test('a restart without `resumed` equals one with `resumed: true`', async () => {
  const { ai, runs, look } = office();
  const model = scriptedModel(({ messages }) =>
    messages.some(({ role }) => role === 'tool') ? 'Done.' : { calls: [{ name: 'look', input: {} }] },
  );
  const chat = ai.defineAgent({ name: 'clerk', tools: [look], model }).chat({ runId: 'chat' });
  const { interrupts } = await chat.send('Look.');
  const [card] = (await runs.requests()).items;
  await runs.decide(card?.id ?? '', { type: 'restart' });
  await runs.settled();
  await runs.decide(card?.id ?? '', { type: 'restart', resumed: true });
  const again = interrupts.map((interrupt) => restart(interrupt));
  expect((await chat.send({ resume: { restart: again } })).text).toBe('Done.');
});

test('approving a call that another person edited before records no edit', async () => {
  const model = scriptedModel([{ calls: [{ name: 'pay', ref: 'a', input: { amount: 1 } }] }, 'Done.']);
  const ai = countersign({ model, store: memoryStore(), retry: false });
  const config = { name: 'pay', description: '', inputSchema: z.object({ amount: z.number() }), needsApproval: true };
  const pay = ai.defineTool(config, (_input, { resumed, interrupt }) => resumed ?? interrupt('Sure?'));
  const chat = ai.defineAgent({ name: 'clerk', tools: [pay] }).chat({ runId: 'run' });
  const edit = { amount: 2 };
  const first = (await chat.send('Pay.')).interrupts.map((asked) => approve(asked, { edit, by: 'ann' }));
  const { interrupts } = await chat.send({ resume: { approve: first } });
  const resume = { approve: interrupts };
  expect((await chat.send({ resume, by: 'bob' })).text).toBe('Done.');
  expect((await chat.send({ resume, by: 'bob' })).text).toBe('Done.');
  const { items } = await ai.runs.requests({ settled: true, order: 'oldest' });
  expect(items.map(({ settlement }) => settlement)).toEqual([
    expect.objectContaining({ decision: { type: 'approve', edit }, by: 'ann' }),
    expect.objectContaining({ decision: { type: 'approve' }, by: 'bob' }),
  ]);
  expect(await ai.runs.decide(items[1]?.id ?? '', 'approve')).toMatchObject({ by: 'bob' });
});

test('an invalid decision is rejected even with a `by`', async () => {
  const { admin } = office();
  const chat = admin.chat({ runId: 'chat' });
  await chat.send('Pay.');
  const resume = { approve: [null as never] };
  await expect(chat.send({ resume, by: 'ann' })).rejects.toMatchObject({ code: 'invalid-resume' });
});

test('driving a run fails if the run or its agent is unknown', async () => {
  const { ai, runs, admin } = office();
  await expect(runs.drive('nothing')).rejects.toMatchObject({ code: 'unknown-run' });
  await admin.chat({ runId: 'chat' }).send('Pay.');
  const elsewhere = countersign({ store: ai.runs.store });
  await expect(elsewhere.runs.drive('chat')).rejects.toMatchObject({ code: 'unknown-agent' });
});

describe('an empty decision', () => {
  const delay = (ms: number) => new Promise<'HANGS'>((r) => setTimeout(() => r('HANGS'), ms));

  test('does not hang as a resume', async () => {
    const { clerk } = clerkOf();
    await clerk.generate({ runId: 't', prompt: 'x' });
    const r = await Promise.race([clerk.generate({ runId: 't', resume: { approve: [] } }), delay(20_000)]);
    expect(r).not.toBe('HANGS');
  });

  test('does not hang as toolResponses', async () => {
    const { clerk } = clerkOf();
    await clerk.generate({ runId: 't', prompt: 'x' });
    const r = await Promise.race([
      clerk.generate({ runId: 't', toolResponses: [] } as never).catch((e) => e),
      delay(20_000),
    ]);
    expect(r).not.toBe('HANGS');
  });

  test('does not keep runs.stop() from ending', () => {
    const { stdout, stderr, signal } = spawnSync(
      process.execPath,
      [new URL('./empty-decision-child.ts', import.meta.url).pathname],
      { timeout: 40_000, killSignal: 'SIGKILL', encoding: 'utf8' },
    );
    expect({ stdout, signal }, stderr).toEqual({ stdout: expect.stringContaining('stopped'), signal: null });
  });
});

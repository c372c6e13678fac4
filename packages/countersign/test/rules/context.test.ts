// Rule 19: context is passed per request and never stored; the decider is recorded.
import { approve, interrupt, reject, respond, tool } from 'countersign';
import { describe, expect, test } from 'vitest';
import { calls, failureOf, nth, only, payTool, requests, scripted, travelled } from './support.ts';

describe('rule 19: context', () => {
  test('the body, the gate and verify receive the context, and no message contains it', async () => {
    const seen: unknown[] = [];
    const act = tool(
      {
        name: 'act',
        description: 'Acts.',
        needsApproval: (_input, { context }) => {
          seen.push(['gate', context.uid]);
          return true;
        },
        verify: (_input, { context }) => {
          seen.push(['verify', context.uid]);
          return { output: 1 };
        },
      },
      (_input, { context }) => {
        seen.push(['body', context.uid]);
        if (!context.stop) return 'done';
        context.stop.abort();
        return new Promise<never>(() => undefined);
      },
    );
    const controller = new AbortController();
    const { ai, model } = scripted([calls({ name: 'act' }), 'done']);
    const paused = await ai.generate({ prompt: 'go', tools: [act], context: { uid: 'secret-1' } });
    const aborted = await ai.generate({
      tools: [act],
      messages: travelled(paused.messages),
      resume: { approve: paused.interrupts },
      context: { uid: 'secret-2', stop: controller },
      abortSignal: controller.signal,
    });
    const done = await ai.generate({
      tools: [act],
      messages: travelled(aborted.messages),
      context: { uid: 'secret-3' },
    });
    expect(seen).toEqual([
      ['gate', 'secret-1'],
      ['body', 'secret-2'],
      ['verify', 'secret-3'],
    ]);
    expect(JSON.stringify([paused, aborted, done, model.requests])).not.toContain('secret');
  });

  test('a request without context uses the context of the instance, not of the previous request', async () => {
    const seen: unknown[] = [];
    const look = tool({ name: 'look', description: 'Looks.', needsApproval: true }, (_input, { context }) => {
      seen.push(context);
    });
    const { ai } = scripted([calls({ name: 'look' }), 'done'], { context: { tenant: 'default' } });
    const paused = await ai.generate({ prompt: 'go', tools: [look], context: { tenant: 'mine' } });
    await ai.generate({ tools: [look], messages: travelled(paused.messages), resume: { approve: paused.interrupts } });
    expect(seen).toEqual([{ tenant: 'default' }]);
  });

  test('context can hold values that are not JSON', async () => {
    const seen: unknown[] = [];
    const look = tool({ name: 'look', description: 'Looks.' }, (_input, { context }) => {
      seen.push(context.db());
    });
    const { ai } = scripted([calls({ name: 'look' }), 'done']);
    const self: { me?: unknown; db: () => string } = { db: () => 'live' };
    self.me = self;
    const done = await ai.generate({ prompt: 'go', tools: [look], context: self });
    expect(done.text).toBe('done');
    expect(seen).toEqual(['live']);
  });

  test('neither chunks nor errors that carry messages contain the context', async () => {
    const look = tool({ name: 'look', description: 'Looks.' }, () => 'ok');
    const chunks: unknown[] = [];
    const { ai } = scripted([calls({ name: 'look' }), { fail: {} }]);
    const error = await failureOf(
      ai.generate({
        prompt: 'go',
        tools: [look],
        context: { uid: 'secret' },
        onChunk: (chunk) => chunks.push(chunk),
      }),
    );
    expect(JSON.stringify([error.details, error.message, chunks])).not.toContain('secret');
  });

  test('the history names the decider for every kind of decision', async () => {
    const ask = interrupt({ name: 'ask', description: 'Asks.' });
    const pay = payTool([]);
    const { ai } = scripted([
      calls(
        { name: 'pay', ref: 'a', input: { amount: 1 } },
        { name: 'pay', ref: 'b', input: { amount: 2 } },
        { name: 'ask', ref: 'c' },
        { name: 'ask', ref: 'd' },
        { name: 'pay', ref: 'e', input: { amount: 5 } },
      ),
      'done',
    ]);
    const tools = [pay, ask];
    const paused = await ai.generate({ prompt: 'go', tools });
    const part = (index: number) => nth(paused.interrupts, index);
    const done = await ai.generate({
      tools,
      messages: travelled(paused.messages),
      resume: travelled({
        approve: approve(part(0), { by: 'ann' }),
        reject: reject(part(1), 'no', { by: 'bob' }),
        respond: respond(part(2), 1, { by: 'cid' }),
        cancel: ask.cancel(part(3), 'late', { by: 'dee' }),
        restart: pay.restart(part(4), true, { by: 'eve' }),
      }),
    });
    expect(requests(done.messages).map(({ metadata }) => metadata?.decision)).toEqual([
      expect.objectContaining({ type: 'approve', by: 'ann' }),
      expect.objectContaining({ type: 'reject', by: 'bob' }),
      expect.objectContaining({ type: 'respond', by: 'cid' }),
      expect.objectContaining({ type: 'cancel', by: 'dee' }),
      expect.objectContaining({ type: 'restart', by: 'eve' }),
    ]);
  });

  test('the history keeps the first decider when the other calls are decided later', async () => {
    const pay = payTool([]);
    const { ai } = scripted([
      calls({ name: 'pay', ref: 'a', input: { amount: 1 } }, { name: 'pay', ref: 'b', input: { amount: 2 } }),
      'done',
    ]);
    const paused = await ai.generate({ prompt: 'go', tools: [pay] });
    const half = await ai.generate({
      tools: [pay],
      messages: travelled(paused.messages),
      resume: { approve: approve(nth(paused.interrupts, 0), { by: 'ann', metadata: { note: 'ok' } }) },
    });
    const done = await ai.generate({
      tools: [pay],
      messages: travelled(half.messages),
      resume: { reject: reject(only(half.interrupts), 'no', { by: 'bob' }) },
    });
    expect(requests(done.messages).map(({ metadata }) => metadata?.decision)).toEqual([
      { type: 'approve', by: 'ann', metadata: { note: 'ok' } },
      { type: 'reject', by: 'bob', reason: 'no' },
    ]);
  });

  test('the tool message carries the metadata of the resume', async () => {
    const ask = interrupt({ name: 'ask', description: 'Asks.' });
    const { ai } = scripted([calls({ name: 'ask' }), 'done']);
    const paused = await ai.generate({ prompt: 'go', tools: [ask] });
    const done = await ai.generate({
      tools: [ask],
      messages: travelled(paused.messages),
      resume: { respond: respond(only(paused.interrupts), 1), metadata: { channel: 'mail' } },
    });
    expect(done.messages.find((message) => message.role === 'tool')?.metadata?.resumed).toEqual({ channel: 'mail' });
  });
});

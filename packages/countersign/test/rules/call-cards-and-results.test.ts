// A single call: the contents of its card, how often its input is read, and which errors become results for the model.

import { ConflictError, countersign, type Message, memoryStore, type Tool, tool, UsageError, z } from 'countersign';
import { internalsOf } from 'countersign/store';
import { scriptedModel } from 'countersign/testing';
import { describe, expect, test, vi } from 'vitest';
import {
  AMOUNT,
  calls,
  failureOf,
  messagesOf,
  only,
  outputs,
  payTool,
  results,
  scripted,
  travelled,
} from './support.ts';

test('a card lists earlier calls of its tool that may have acted, beside the message of its gate', async () => {
  const needsApproval = () => ({ message: 'Sure?' });
  const fails = tool({ name: 'fails', description: '', needsApproval }, () => {
    throw new Error('time-out');
  });
  const other = tool({ name: 'other', description: '', needsApproval }, () => 'done');
  const tools = [fails, other];
  const { ai } = scripted([
    calls({ name: 'fails', ref: 'f1' }),
    calls({ name: 'fails', ref: 'f2' }, { name: 'other' }),
  ]);
  const paused = await ai.generate({ prompt: 'go', tools });
  const messages = travelled(paused.messages);
  const next = await ai.generate({ tools, messages, resume: { approve: paused.interrupts } });
  expect(next.interrupts.map(({ metadata }) => metadata?.interrupt)).toEqual([
    { message: 'Sure?', mayHaveActed: [{ ref: 'f1', message: expect.stringContaining('time-out') }] },
    { message: 'Sure?' },
  ]);
});

test.each([true, false])(
  'an invalid input becomes a result for the model in stored runs too (gated: %s)',
  async (gated) => {
    const model = scriptedModel([{ calls: [{ name: 'pay', input: { amount: 'much' } }] }, 'Sorry.']);
    const ai = countersign({ model, store: memoryStore(), retry: false });
    const paid = vi.fn(() => 'paid');
    const pay = ai.defineTool({ name: 'pay', description: '', inputSchema: AMOUNT, needsApproval: gated }, paid);
    await ai.defineAgent({ name: 'clerk', tools: [pay] }).start('Pay.', { runId: 'run' });
    expect(await internalsOf(ai.runs).rested('run')).toMatchObject({ status: 'done', text: 'Sorry.' });
    expect(outputs((await ai.runs.get('run')).messages)).toEqual([expect.stringContaining('does not fit its schema')]);
    expect(paid).not.toHaveBeenCalled();
  },
);

test('the input of a call that needs no decision is parsed once', async () => {
  const read = vi.fn((amount: number) => amount > 0);
  const inputSchema = z.object({ amount: z.number().refine(read) });
  const pay = tool({ name: 'pay', description: '', inputSchema }, () => 'paid');
  const { ai } = scripted([calls({ name: 'pay', input: { amount: 5 } }), 'done']);
  await ai.generate({ prompt: 'go', tools: [pay] });
  expect(read).toHaveBeenCalledTimes(1);
});

test('a tool that throws after its gate let it pass may have acted', async () => {
  const fails = tool({ name: 'fails', description: '', needsApproval: () => false }, () => {
    throw new Error('time-out');
  });
  const { ai } = scripted([calls({ name: 'fails' }), 'done']);
  const done = await ai.generate({ prompt: 'go', tools: [fails] });
  expect(only(results(done.messages)).metadata).toMatchObject({ outcome: 'error', mayHaveActed: true });
});

test('output fields outside the schema reach neither the model nor the history', async () => {
  const outputSchema = z.object({ paid: z.number(), currency: z.string().default('EUR') });
  const pay = tool({ name: 'pay', description: '', outputSchema }, () => ({ paid: 5, token: 'secret' }) as never);
  const { ai } = scripted([calls({ name: 'pay' }), 'done']);
  const done = await ai.generate({ prompt: 'go', tools: [pay] });
  expect(outputs(done.messages)).toEqual([{ paid: 5, currency: 'EUR' }]);
});

test('without a store, a call to a missing sub-agent that stopped in the middle becomes an unknown tool result', async () => {
  const { ai } = scripted([calls({ name: 'helper', input: { prompt: 'help' } }), 'done']);
  const output = { schema: z.object({ n: z.number() }) };
  const helper = ai.defineAgent({ name: 'helper', description: '', model: scriptedModel(['nope']), output });
  const failure = await failureOf(ai.generate({ prompt: 'go', tools: [helper] }));
  const done = await ai.generate({ messages: travelled(messagesOf(failure)), tools: [payTool([])] });
  expect(done.finishReason).toBe('stop');
  expect(outputs(done.messages)).toEqual([expect.stringContaining('Unknown tool helper')]);
});

test('the options of the gate override those of the tool, and times are whole numbers', async () => {
  const clock = () => 1_000_000;
  const store = memoryStore({ now: clock });
  const ai = countersign({ model: scriptedModel([{ calls: [{ name: 'pay' }] }]), store, clock });
  const asks = { risk: 'low', labels: ['money'], expiresIn: 10.5, remindAfter: 5.5 } as const;
  const config = { name: 'pay', description: '', ...asks, needsApproval: () => ({ risk: 'high' as const }) };
  await ai.defineAgent({ name: 'clerk', tools: [ai.defineTool(config, () => 'paid')] }).start('Pay.', { runId: 'run' });
  await internalsOf(ai.runs).rested('run');
  const card = only((await ai.runs.requests()).items);
  expect(card).toMatchObject({ risk: 'high', labels: ['money'], expiresAt: 1_000_011 });
  expect(card?.part.metadata).toMatchObject({ reminders: [1_000_006] });
});

test('the gate and the body receive the metadata that the model sent with the call', async () => {
  const seen: unknown[] = [];
  const needsApproval = (_input: unknown, { metadata }: { readonly metadata: object }) => {
    seen.push(metadata);
    return false;
  };
  const act = tool({ name: 'act', description: '', needsApproval }, (_input, { metadata }) => {
    seen.push(metadata);
  });
  const { ai } = scripted([calls({ name: 'act', metadata: { signature: 'abc' } }), 'done']);
  await ai.generate({ prompt: 'go', tools: [act] });
  expect(seen).toEqual([expect.objectContaining({ signature: 'abc' }), expect.objectContaining({ signature: 'abc' })]);
});

test('a body that mutates its input before it asks changes neither the card nor the input that runs', async () => {
  const ai = countersign({ model: scriptedModel([{ calls: [{ name: 'pay' }] }, 'Done.']), store: memoryStore() });
  const paid: number[] = [];
  const inputSchema = z.object({ amount: z.number().default(5) });
  const pay = ai.defineTool({ name: 'pay', description: '', inputSchema }, (input, { interrupt, resumed }) => {
    if (resumed !== undefined) return paid.push(input.amount);
    input.amount = 500;
    return interrupt('Sure?');
  });
  await ai.defineAgent({ name: 'clerk', tools: [pay] }).start('Pay.', { runId: 'run' });
  await internalsOf(ai.runs).rested('run');
  const card = only((await ai.runs.requests()).items);
  expect(card.input).toEqual({ amount: 5 });
  await ai.runs.decide(card.id, { type: 'restart', resumed: 'yes' });
  await ai.runs.settled();
  expect(paid).toEqual([5]);
});

test('messages that a body shows with its question are not treated as a paused conversation', async () => {
  const inside = scripted([calls({ name: 'pay', input: { amount: 5 } })]);
  const shows = tool({ name: 'shows', description: '' }, async (_input, { interrupt }) => {
    const { messages } = await inside.ai.generate({ prompt: 'x', tools: [payTool([])] });
    interrupt({ messages });
  });
  const { ai } = scripted([calls({ name: 'shows' })]);
  const paused = await ai.generate({ prompt: 'go', tools: [shows] });
  const { toolRequest, metadata } = only(paused.interrupts);
  expect(toolRequest.name).toBe('shows');
  expect(metadata?.interrupt).toHaveProperty('messages');
});

test('a question that only looks like a paused response is shown unchanged', async () => {
  const payload = { finishReason: 'interrupted', messages: 'none' };
  const shows = tool({ name: 'shows', description: '' }, (_input, { interrupt }) => interrupt(payload));
  const { ai } = scripted([calls({ name: 'shows' })]);
  const paused = await ai.generate({ prompt: 'go', tools: [shows] });
  expect(only(paused.interrupts).metadata?.interrupt).toEqual(payload);
});

test('a slow gate receives the abort signal', async () => {
  const leaving = new AbortController();
  const onAbort = vi.fn();
  const needsApproval = async (_input: unknown, { signal }: { readonly signal: AbortSignal }) => {
    signal.addEventListener('abort', onAbort);
    leaving.abort();
    return true;
  };
  const act = tool({ name: 'act', description: '', needsApproval }, () => undefined);
  const { ai } = scripted([calls({ name: 'act' })]);
  await ai.generate({ prompt: 'go', tools: [act], abortSignal: leaving.signal }).catch(() => undefined);
  expect(onAbort).toHaveBeenCalledTimes(1);
});

test('a misspelled question option becomes a result for the model', async () => {
  const asks = tool({ name: 'asks', description: '' }, (_input, { interrupt }) =>
    interrupt('Sure?', { expiresin: 5 } as never),
  );
  const { ai } = scripted([calls({ name: 'asks' }), 'done']);
  const done = await ai.generate({ prompt: 'go', tools: [asks] });
  expect(outputs(done.messages)).toEqual([expect.stringContaining('expiresin')]);
});

describe('a body that fails with an error of its inner conversation', () => {
  /** Asks inside, and runs `resumedWith` after the decision. */
  function asks(resumedWith: () => never): Tool {
    const inside = scripted([calls({ name: 'pay', input: { amount: 5 } })]);
    return tool({ name: 'asks', description: '' }, async (_input, { interrupt, resumed }) => {
      if (resumed !== undefined) resumedWith();
      interrupt(await inside.ai.generate({ prompt: 'x', tools: [payTool([])] }));
    });
  }

  async function decided(error: Error) {
    const { ai } = scripted([calls({ name: 'asks' }), 'done']);
    const asking = asks(() => {
      throw error;
    });
    const paused = await ai.generate({ prompt: 'go', tools: [asking] });
    const messages = travelled(paused.messages);
    const deciding = ai.generate({ tools: [asking], messages, resume: { approve: paused.interrupts } });
    const continueFrom = (messages: readonly Message[]) => ai.generate({ tools: [asking], messages });
    return { deciding, continueFrom };
  }

  test.each(['invalid-resume', 'already-decided'] as const)('%s: its question still waits', async (code) => {
    const { deciding, continueFrom } = await decided(new ConflictError(code, {}, 'No.'));
    const failure = await failureOf(deciding);
    expect(failure).toMatchObject({ code });
    expect((await continueFrom(travelled(messagesOf(failure)))).interrupts).toHaveLength(1);
  });

  test('any other error becomes a result for the model', async () => {
    const { deciding } = await decided(new UsageError('invalid-options', {}, 'No.'));
    const done = await deciding;
    expect(outputs(done.messages)).toEqual([expect.stringContaining('The tool asks failed: No.')]);
  });

  test('an error whose conversation has nothing pending becomes a result for the model', async () => {
    const messages = [{ role: 'user', content: [{ text: 'x' }] }] as const;
    const { deciding } = await decided(new ConflictError('already-decided', { messages }, 'No.'));
    const done = await deciding;
    expect(outputs(done.messages)).toEqual([expect.stringContaining('The tool asks failed: No.')]);
  });

  test('an error of a conversation that was not resumed becomes a result for the model', async () => {
    const inside = scripted([calls({ name: 'pay', input: { amount: 5 } })]);
    const talks = tool({ name: 'talks', description: '' }, async () => {
      const { messages } = await inside.ai.generate({ prompt: 'x', tools: [payTool([])] });
      throw new UsageError('invalid-resume', { messages }, 'No.');
    });
    const { ai } = scripted([calls({ name: 'talks' }), 'done']);
    const done = await ai.generate({ prompt: 'go', tools: [talks] });
    expect(outputs(done.messages)).toEqual([expect.stringContaining('The tool talks failed: No.')]);
    expect(only(done.messages.slice(-1)).role).toBe('model');
  });
});

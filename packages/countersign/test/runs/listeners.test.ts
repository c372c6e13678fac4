// Listeners of a stored run: one that throws affects nothing else, and is not called again.

import { approve, type Chunk, countersign, memoryStore, type RunEvent } from 'countersign';
import { internalsOf } from 'countersign/store';
import { scriptedModel } from 'countersign/testing';
import { expect, test } from 'vitest';

function bank(onEvent?: (event: RunEvent) => void, store = memoryStore()) {
  const paid: string[] = [];
  const calls = [{ name: 'pay', ref: 'p', input: {} }];
  const model = scriptedModel([{ text: 'One moment.', calls }, 'Paid.']);
  const ai = countersign({ model, store, retry: false });
  const pay = ai.defineTool({ name: 'pay', description: '', needsApproval: true }, () => {
    paid.push('paid');
    return 'paid';
  });
  return { runs: ai.runs, clerk: ai.defineAgent({ name: 'clerk', tools: [pay], ...(onEvent && { onEvent }) }), paid };
}

/** Throws on a chunk of this type, or on any. */
function thrower(type?: Chunk['type']) {
  const received: string[] = [];
  const onChunk = (chunk: Chunk): void => {
    received.push(chunk.type);
    if (type === undefined || chunk.type === type) throw new Error('The reader is gone.');
  };
  return { received, onChunk };
}

test.each([undefined, 'decision', 'tool-response', 'text'] as const)(
  'a decision whose listener throws at %s is recorded, and its call runs',
  async (type) => {
    const { clerk, runs, paid } = bank();
    const { id } = await clerk.start('Pay.');
    const [card = ''] = (await internalsOf(runs).rested(id)).pending;
    const { received, onChunk } = thrower(type);
    await runs.decide(card, 'approve', { onChunk });
    await runs.settled();
    expect(await runs.get(id)).toMatchObject({ status: 'done', text: 'Paid.', error: null });
    expect(paid).toEqual(['paid']);
    const events = (await runs.recorded(id)).map((event) => event.type);
    expect(events.slice(3)).toEqual(['decision-made', 'call-started', 'call-settled', 'model-replied']);
    expect(received.at(-1)).toBe(type ?? 'decision');
  },
);

test('a chat whose listener throws still sends and decides', async () => {
  const { clerk, paid } = bank();
  const chat = clerk.chat({ runId: 'talk' });
  const { interrupts } = await chat.send({ prompt: 'Pay.', onChunk: thrower().onChunk });
  const resume = { approve: interrupts.map((part) => approve(part)) };
  expect((await chat.send({ resume, onChunk: thrower().onChunk })).text).toBe('Paid.');
  expect((await chat.send({ prompt: 'Again.', onChunk: thrower().onChunk }).catch((error) => error)).code).toBe(
    'provider-failed',
  );
  expect(paid).toEqual(['paid']);
});

test('a listener of the run that throws does not affect the other listeners', async () => {
  const { clerk, runs } = bank();
  const received: string[] = [];
  internalsOf(runs).listen('talk', () => {
    throw new Error('The reader is gone.');
  });
  internalsOf(runs).listen('talk', ({ chunk }) => received.push(chunk.type));
  await clerk.start('Pay.', { runId: 'talk' });
  expect(await internalsOf(runs).rested('talk')).toMatchObject({ status: 'waiting' });
  expect(received).toContain('text');
});

test('onEvent of the agent receives every event, in whichever call it is recorded', async () => {
  const received: string[] = [];
  const { clerk, runs } = bank(({ type }) => received.push(type));
  await clerk.start('Pay.', { runId: 'run' });
  const [id = ''] = (await runs.wait('run')).pending;
  await runs.decide(id, 'approve');
  await runs.wait('run');
  expect(received).toEqual((await runs.recorded('run')).map(({ type }) => type));
});

test('onEvent does not receive a decision that came second', async () => {
  const store = memoryStore();
  const received: string[] = [];
  const { clerk, runs } = bank(({ type }) => received.push(type), store);
  await clerk.start('Pay.', { runId: 'run' });
  const [id = ''] = (await internalsOf(runs).rested('run')).pending;
  await bank(undefined, store).runs.decide(id, 'reject', { drive: false });
  await expect(runs.decide(id, 'approve')).rejects.toMatchObject({ code: 'already-decided' });
  expect(received).not.toContain('decision-made');
});

test('an onEvent that throws is not called again, and the run continues', async () => {
  const received: string[] = [];
  const { clerk, runs } = bank(({ type }) => {
    received.push(type);
    throw new Error('The listener is broken.');
  });
  await clerk.start('Pay.', { runId: 'run' });
  expect(await runs.wait('run')).toMatchObject({ status: 'waiting' });
  expect(received).toEqual(['user-spoke']);
});

async function typesIn(stream: AsyncIterable<Chunk>): Promise<string[]> {
  const types: string[] = [];
  for await (const { type } of stream) types.push(type);
  return types;
}

test('an async listener that rejects affects nothing and causes no unhandled rejection', async () => {
  const unhandled: unknown[] = [];
  const hear = (reason: unknown): void => void unhandled.push(reason);
  process.on('unhandledRejection', hear);
  const received: string[] = [];
  const fail = async ({ type }: { readonly type: string }): Promise<void> => {
    received.push(type);
    throw new Error('The listener is broken.');
  };
  const { clerk, runs } = bank(fail);
  const { stream, response } = clerk.generateStream({ prompt: 'Pay.', runId: 'run', onChunk: fail });
  expect((await typesIn(stream)).at(-1)).toBe('interrupt');
  const { interrupts } = await response;
  await internalsOf(runs).resume('run', { approve: interrupts.map((part) => approve(part)) }, { onChunk: fail });
  expect(await runs.wait('run')).toMatchObject({ status: 'done' });
  await new Promise(setImmediate);
  process.off('unhandledRejection', hear);
  expect(unhandled).toEqual([]);
  // It is not called again.
  expect(received).not.toContain('call-settled');
});

test('a listener that throws does not affect the stream', async () => {
  const { clerk } = bank();
  const quiet = clerk.generateStream({ prompt: 'Pay.', runId: 'quiet' });
  const expected = await typesIn(quiet.stream);
  const { stream } = bank().clerk.generateStream({ prompt: 'Pay.', runId: 'loud', onChunk: thrower().onChunk });
  expect(await typesIn(stream)).toEqual(expected);
});

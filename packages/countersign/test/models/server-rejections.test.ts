// The scripted server rejects every request that the real APIs reject. Without this the other tests prove nothing.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Message, Part } from '../../src/core/messages/message.ts';
import { aiSdkModel } from '../../src/models/ai-sdk.ts';
import type { Model } from '../../src/models/model.ts';
import { converse, MODES } from './conversation.ts';
import { PROVIDERS } from './providers.ts';
import { startWire, type Wire } from './wire/server.ts';

describe.each(PROVIDERS)('$name', ({ dialect, model: createModel, config, signs }) => {
  let wire: Wire;
  let model: Model;

  beforeAll(async () => {
    wire = await startWire(dialect());
    model = aiSdkModel(createModel(wire.url));
  });

  afterAll(() => wire.close());

  async function refusalOf(change: (messages: readonly Message[]) => readonly Message[], mode = MODES[0]) {
    wire.script({
      say: [
        { reasoning: 'Hm.', signature: 'signed-thought' },
        { call: 'getWeather', id: 'call_1', input: '{}', signature: 'signed-call' },
      ],
    });
    const { turn, answer, messages } = converse(model, config, mode ?? 'whole');
    await turn();
    answer({ output: 1 });
    await expect(turn({ messages: change(messages) })).rejects.toMatchObject({ retryable: false });
    expect(wire.faults).toHaveLength(1);
    return wire.faults[0];
  }

  const loses = MODES.filter(() => signs !== 'nothing');
  for (const mode of loses) {
    test(`a conversation that lost its signatures (${mode})`, async () => {
      await refusalOf((messages) => messages.map(withoutMetadata), mode);
    });
  }

  test('a call without its result', async () => {
    const fault = await refusalOf((messages) => messages.filter(({ role }) => role !== 'tool'));
    expect(fault).toContain('calls without result: call_1');
  });

  test('a result without its call', async () => {
    const fault = await refusalOf(([user, , tool]) => (user && tool ? [user, tool] : []));
    expect(fault).toMatch(/answers no open call|must come first/);
  });

  test('a result given twice', async () => {
    const fault = await refusalOf((messages) => [...messages, ...messages.slice(-1)]);
    expect(fault).toContain('answers no open call');
  });
});

function withoutMetadata(message: Message): Message {
  return { ...message, content: message.content.map(({ metadata: _lost, ...part }) => part as Part) };
}

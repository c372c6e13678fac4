// A pause through the whole engine, with every provider: decide later, from saved messages, and the API accepts it.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { countersign, type GenerateOptions, type Message, type Resume, tool, z } from '../../src/index.ts';
import type { AiSdkModel } from '../../src/models/ai-sdk.ts';
import { MODES } from './conversation.ts';
import { PROVIDERS } from './providers.ts';
import type { Dialect, Said } from './wire/script.ts';
import { startWire, type Wire } from './wire/server.ts';

const CALLS: readonly Said[] = [
  { reasoning: 'Pay, then look.', signature: 'signed-thought' },
  { text: 'I will.' },
  { call: 'pay', id: 'call_pay', input: '{"amount":100}', signature: 'signed-call' },
  { call: 'look', id: 'call_look', input: '{"city":"Rome"}' },
];

const DONE: readonly Said[] = [{ text: 'All done.' }];

describe.each(PROVIDERS)('$name', ({ dialect: createDialect, model: createModel, config }) => {
  let dialect: Dialect;
  let wire: Wire;
  let model: AiSdkModel;
  let paid: number[] = [];

  const pay = tool(
    { name: 'pay', description: 'Pays', inputSchema: z.object({ amount: z.number() }), needsApproval: true },
    async ({ amount }) => {
      paid.push(amount);
      return { paid: amount };
    },
  );
  const look = tool(
    { name: 'look', description: 'Looks', inputSchema: z.object({ city: z.string() }) },
    async () => 'sun',
  );

  beforeAll(async () => {
    dialect = createDialect();
    wire = await startWire(dialect);
    model = createModel(wire.url);
  });

  beforeEach(() => {
    paid = [];
  });

  afterAll(() => wire.close());

  describe.each(MODES)('%s', (mode) => {
    const generate = (options: GenerateOptions) => {
      const ai = countersign({ model, retry: false });
      const given = { tools: [pay, look], config, ...options };
      return mode === 'whole' ? ai.generate(given) : ai.generateStream(given).response;
    };

    /** Runs up to the question, saves the messages, and resumes from them with the decision. */
    async function decided(decide: (interrupt: Parameters<typeof pay.approve>[0]) => Resume) {
      wire.script({ say: CALLS }, { say: DONE });
      const asked = await generate({ prompt: 'Pay 100 and look at Rome.' });
      expect(asked.finishReason).toBe('interrupted');
      expect(paid).toEqual([]);
      const [interrupt] = asked.interrupts;
      if (!interrupt) return expect.unreachable('nothing waits');
      const saved: Message[] = JSON.parse(JSON.stringify(asked.messages));
      const response = await generate({ messages: saved, resume: decide(interrupt) });
      expect(response.text).toBe('All done.');
      expect(wire.faults).toEqual([]);
      return wire.requests[1];
    }

    test('approved: the results go back in the order of the model, with every signature', async () => {
      const sent = await decided((interrupt) => ({ approve: pay.approve(interrupt) }));
      expect(paid).toEqual([100]);
      expect(dialect.results(sent)).toEqual([
        { id: 'call_pay', text: '{"paid":100}' },
        { id: 'call_look', text: 'sun' },
      ]);
    });

    test('edited: the model sees the input that ran', async () => {
      const sent = await decided((interrupt) => ({ approve: pay.approve(interrupt, { edit: { amount: 7 } }) }));
      expect(paid).toEqual([7]);
      expect(dialect.inputs(sent)).toEqual([{ amount: 7 }, { city: 'Rome' }]);
      expect(dialect.results(sent)[0]).toEqual({ id: 'call_pay', text: '{"paid":7}' });
    });

    test('rejected: the model receives the rejection as text', async () => {
      const sent = await decided((interrupt) => ({ reject: pay.reject(interrupt, 'too expensive') }));
      expect(paid).toEqual([]);
      const [refusal, result] = dialect.results(sent);
      expect(refusal?.text).toMatch(/too expensive/);
      expect(result).toEqual({ id: 'call_look', text: 'sun' });
    });

    test('a user message instead: the call is withdrawn, and the API accepts the conversation', async () => {
      wire.script({ say: CALLS }, { say: DONE });
      const asked = await generate({ prompt: 'Pay 100 and look at Rome.' });
      const saved: Message[] = JSON.parse(JSON.stringify(asked.messages));
      const response = await generate({ messages: saved, prompt: 'Never mind.' });
      expect(response.text).toBe('All done.');
      expect(paid).toEqual([]);
      expect(wire.faults).toEqual([]);
      expect(dialect.results(wire.requests[1]).map(({ id }) => id)).toEqual(['call_pay', 'call_look']);
    });

    test('a model that fails after the decision: nothing is lost and nothing runs twice', async () => {
      wire.script({ say: CALLS }, { fail: 500 }, { say: DONE });
      const asked = await generate({ prompt: 'Pay 100 and look at Rome.' });
      const [interrupt] = asked.interrupts;
      if (!interrupt) return expect.unreachable('nothing waits');
      const failed = await generate({ messages: asked.messages, resume: { approve: pay.approve(interrupt) } }).then(
        () => expect.unreachable('it should have failed'),
        (error) => error,
      );
      expect(failed).toMatchObject({ code: 'provider-failed', retryable: true });
      const response = await generate({ messages: JSON.parse(JSON.stringify(failed.messages)) });
      expect(response.text).toBe('All done.');
      expect(paid).toEqual([100]);
      expect(wire.faults).toEqual([]);
    });

    test('two calls with one id are two calls, here and at the provider', async () => {
      const twice: readonly Said[] = [
        { call: 'look', id: 'call_same', input: '{"city":"Rome"}' },
        { call: 'look', id: 'call_same', input: '{"city":"Oslo"}' },
      ];
      wire.script({ say: twice }, { say: DONE });
      expect((await generate({ prompt: 'Look at both.' })).text).toBe('All done.');
      expect(wire.faults).toEqual([]);
      expect(dialect.inputs(wire.requests[1])).toEqual([{ city: 'Rome' }, { city: 'Oslo' }]);
      expect(new Set(dialect.results(wire.requests[1]).map(({ id }) => id)).size).toBe(2);
    });
  });
});

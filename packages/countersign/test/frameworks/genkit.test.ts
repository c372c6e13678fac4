// The gate in front of the tools of Genkit, with its real pause and its messages as the saved state; and Genkit without it.
import { countersign } from 'countersign';
import { gateTools } from 'countersign/genkit';
import { sqliteStore } from 'countersign/sqlite';
import { z } from 'genkit/beta';
import { tool as multipart } from 'genkit/tool';
import { expect, expectTypeOf, test } from 'vitest';
import { type AppOptions, ONE_CALL, type Payment, payingApp, type ScriptedCall } from './genkit-agent.ts';

const ACME: Payment = { to: 'ACME', amount: 950 };

function openProcess(calls: readonly ScriptedCall[] = ONE_CALL, output?: unknown) {
  const ai = countersign({ store: sqliteStore(':memory:') });
  const paid: Payment[] = [];
  const pay = async (input: Payment) => {
    paid.push(input);
    await new Promise((resolve) => setTimeout(resolve, 20));
    return output === undefined ? `paid ${input.amount}` : output;
  };
  const app = (options: Partial<AppOptions> = {}) => payingApp({ ai, calls, pay, ...options });
  const bare = () => payingApp({ calls, pay });
  const asked = async () => (await ai.runs.requests()).items;
  return { ai, paid, app, bare, asked };
}

/** Generates until the pause, and returns the saved messages. */
async function paused({ generate }: ReturnType<typeof payingApp>): Promise<string> {
  const response = await generate({ prompt: 'Pay.' });
  expect(response.finishReason).toBe('interrupted');
  return JSON.stringify(response.messages);
}

test('it pauses, pauses again before a decision, and goes on once the record says approved', async () => {
  const { ai, app, asked, paid } = openProcess();
  const saved = await paused(app());
  const [request] = await asked();
  expect(request).toMatchObject({ tool: 'pay', input: ACME, title: 'Pay ACME' });
  const early = await app().resume(saved);
  expect(early.finishReason).toBe('interrupted');
  expect(early.interrupts[0]?.metadata?.interrupt).toEqual({ id: request?.id });
  expect(JSON.stringify(early.messages)).toBe(saved);
  expect(await asked()).toHaveLength(1);
  await ai.runs.decide(request?.id ?? '', 'approve', { by: 'bea' });
  expect((await app().resume(saved)).text).toBe('paid 950');
  // Without any restart too.
  expect((await app().generate({ messages: JSON.parse(saved), resume: {} })).text).toBe('paid 950');
  expect(paid).toEqual([ACME]);
});

test('a rejected call never runs, an edited one runs with the edit', async () => {
  const { ai, app, asked, paid } = openProcess();
  const saved = await paused(app());
  await ai.runs.decide((await asked())[0]?.id ?? '', { type: 'reject', reason: 'too much' });
  expect((await app().resume(saved)).text).toBe('pay was not run: too much');
  expect(paid).toEqual([]);
  const next = await paused(app());
  await ai.runs.decide((await asked())[0]?.id ?? '', { type: 'approve', edit: { to: 'ACME', amount: 1 } });
  expect((await app().resume(next)).text).toBe('paid 1');
  expect(paid).toEqual([{ to: 'ACME', amount: 1 }]);
});

test('outputs that are false, zero, empty or null are outputs', async () => {
  for (const output of [0, '', false, null]) {
    const { ai, app, asked, paid } = openProcess(ONE_CALL, output);
    const saved = await paused(app());
    await ai.runs.decide((await asked())[0]?.id ?? '', 'approve');
    for (let time = 0; time < 2; time += 1)
      expect((await app().resume(saved)).text).toBe(output === '' ? '' : JSON.stringify(output));
    expect(paid).toHaveLength(1);
  }
});

test('of two calls without refs the decided one runs, the other stays pending', async () => {
  const { ai, app, asked, paid } = openProcess([1, 2].map((amount) => ({ input: { to: 'ACME', amount } })));
  const saved = await paused(app());
  const idOf = async (amount: number) =>
    (await asked()).find(({ input }) => (input as Payment).amount === amount)?.id ?? '';
  await ai.runs.decide(await idOf(2), 'approve');
  const partly = await app().resume(saved);
  expect(partly.interrupts.map(({ toolRequest }) => toolRequest.input)).toEqual([{ to: 'ACME', amount: 1 }]);
  expect(paid).toEqual([{ to: 'ACME', amount: 2 }]);
  await ai.runs.decide(await idOf(1), 'approve');
  for (const messages of [JSON.stringify(partly.messages), saved])
    expect((await app().resume(messages)).text).toBe('paid 1 | paid 2');
  expect(paid).toHaveLength(2);
});

test('refs that providers count up are replaced, so that a later call is a new question', async () => {
  const { ai, app, asked, paid } = openProcess([{ ref: '0', input: ACME }]);
  for (let time = 1; time <= 2; time += 1) {
    const saved = await paused(app());
    await ai.runs.decide((await asked())[0]?.id ?? '', 'approve');
    await app().resume(saved);
    expect(paid).toHaveLength(time);
  }
});

test('arguments that do not fit are a result for the model, and nobody is asked', async () => {
  const { app, asked, paid } = openProcess([{ input: { to: 'ACME' } }]);
  expect((await app().generate({ prompt: 'Pay.' })).text).toContain('does not fit the schema of pay');
  expect([await asked(), paid]).toEqual([[], []]);
});

test('a tool asks only if its function says so; other tools run as before, and content of a multipart tool is kept', async () => {
  const { ai, app, asked } = openProcess();
  const { app: other } = app();
  const ran: string[] = [];
  const named = (name: string) =>
    other.dynamicTool(
      { name, description: 'Looks.', inputSchema: z.object({}), outputSchema: z.string() },
      async () => {
        ran.push(name);
        return name;
      },
    );
  const picture = multipart({ name: 'picture', description: 'Draws.', multipart: true }, async () => {
    ran.push('picture');
    return { output: 0, content: [{ text: 'a picture' }] };
  });
  const tools = [named('look'), named('free'), picture as never] as const;
  const asks = { look: { needsApproval: () => false }, picture: { needsApproval: () => false } };
  const gated = gateTools(tools, { ai, key: 's', approve: ['look', 'picture'], asks });
  expectTypeOf(gated.tools[0]).toEqualTypeOf<(typeof tools)[0]>();
  const model = other.defineModel({ name: 'three' }, async ({ messages }) => {
    const isOver = messages.at(-1)?.role === 'tool';
    const calls = ['look', 'free', 'picture'].map((name) => ({ toolRequest: { name, input: {} } }));
    return { message: { role: 'model', content: isOver ? [{ text: 'Done.' }] : calls }, finishReason: 'stop' };
  });
  const response = await other.generate({ model, prompt: 'Go.', ...gated });
  const results = response.messages.flatMap(({ content }) =>
    content.flatMap(({ toolResponse: it }) => (it ? [it] : [])),
  );
  expect(results.find(({ name }) => name === 'picture')).toMatchObject({ output: 0, content: [{ text: 'a picture' }] });
  expect([response.text, ran.toSorted(), await asked()]).toEqual(['Done.', ['free', 'look', 'picture'], []]);
});

test('without the middleware the tools refuse; without the gate the body runs', async () => {
  const { ai, app, asked, paid } = openProcess();
  const saved = await paused(app());
  await ai.runs.decide((await asked())[0]?.id ?? '', 'approve');
  await expect(app().resume(saved, { use: [] })).rejects.toThrow('the middleware is missing');
  const { app: other, model, gated } = app();
  await expect(other.generate({ model, prompt: 'Pay.', tools: gated.tools })).rejects.toThrow('middleware is missing');
  expect(paid).toEqual([]);
});

test('two resumes at the same moment run the call once; without the gate they run it twice', async () => {
  const { ai, app, bare, asked, paid } = openProcess();
  const saved = await paused(app());
  await ai.runs.decide((await asked())[0]?.id ?? '', 'approve');
  const both = await Promise.all([1, 2].map(() => app().resume(saved)));
  expect(both.map(({ text }) => text)).toEqual(['paid 950', 'paid 950']);
  expect(paid).toHaveLength(1);

  const unsafe = await paused(bare());
  await Promise.all([1, 2].map(() => bare().resume(unsafe)));
  expect(paid).toHaveLength(3);
});

test('of approve and reject one counts, and the loser is told; without the gate both are told yes', async () => {
  const { ai, app, bare, asked, paid } = openProcess();
  const saved = await paused(app());
  const id = (await asked())[0]?.id ?? '';
  const decisions = await Promise.allSettled([ai.runs.decide(id, 'approve'), ai.runs.decide(id, 'reject')]);
  expect(decisions.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
  const rejecting = { respond: [responseTo(saved, 'rejected')] };
  expect((await app().resume(saved, { resume: rejecting })).text).toBe('paid 950');
  expect(paid).toHaveLength(1);

  const unsafe = await paused(bare());
  const reject = bare().resume(unsafe, { resume: { respond: [responseTo(unsafe, 'rejected')] } });
  const both = await Promise.all([bare().resume(unsafe), reject]);
  expect(both.map(({ text }) => text)).toEqual(['paid 950', 'rejected']);
  expect(paid).toHaveLength(2);
});

/** What `respondTool` makes: an answer in place of the tool's. */
function responseTo(saved: string, output: string) {
  const { toolRequest } = JSON.parse(saved).at(-1).content[0];
  return { toolResponse: { name: 'pay', ref: toolRequest.ref, output } };
}

test('old messages that are resumed again run nothing again; without the gate they do', async () => {
  const { ai, app, bare, asked, paid } = openProcess();
  const saved = await paused(app());
  await ai.runs.decide((await asked())[0]?.id ?? '', 'approve');
  const first = await app().resume(saved);
  await app({ calls: [] })
    .generate({ messages: first.messages, prompt: 'Thank you.' })
    .catch(() => undefined);
  await app().resume(saved);
  expect(paid).toHaveLength(1);

  const unsafe = await paused(bare());
  await bare().resume(unsafe);
  await bare().resume(unsafe);
  expect(paid).toHaveLength(3);
});

test('changed messages run nothing that was not approved; without the gate they run', async () => {
  const { ai, app, bare, asked, paid } = openProcess();
  const saved = await paused(app());
  const output = JSON.parse(saved);
  output.at(-1).content[0].metadata = { pendingOutput: 'paid 950' };
  expect((await app().generate({ messages: output, resume: {} })).finishReason).toBe('interrupted');
  await ai.runs.decide((await asked())[0]?.id ?? '', 'approve');
  const forged = saved.replaceAll('950', '999999');
  await expect(app().resume(forged)).rejects.toThrow('was used for a call of pay with another input');
  // An invented call is a new question.
  const invented = JSON.parse(forged);
  invented.at(-1).content[0].toolRequest.ref = 'a call that was never made';
  expect((await app().resume(JSON.stringify(invented))).finishReason).toBe('interrupted');
  delete invented.at(-1).content[0].toolRequest.ref;
  await expect(app().resume(JSON.stringify(invented))).rejects.toThrow('gave no id');
  expect(paid).toEqual([]);

  await bare().resume((await paused(bare())).replaceAll('950', '999999'));
  expect(paid).toEqual([{ to: 'ACME', amount: 999999 }]);
});

test('only tools with a function of their own can be gated', () => {
  const { ai, app } = openProcess();
  const ask = app().app.defineInterrupt({ name: 'ask', description: 'Asks.' });
  expect(() => gateTools([ask], { ai, key: 's' })).toThrow('ask is an interrupt');
  expect(gateTools([ask], { ai, key: 's', approve: [] }).tools).toEqual([ask]);
  expect(() => gateTools(['pay' as never], { ai, key: 's' })).toThrow('not their names');
  expect(() => gateTools([], { ai } as never)).toThrow('key');
});

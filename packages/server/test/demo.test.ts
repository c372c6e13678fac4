import { type DemoEffect, demoAgents, demoModel, modelFromEnvironment, serve } from '@countersign/server';
import { createClient } from '@countersign/server/client';
import { countersign, memoryStore } from 'countersign';
import { expect, onTestFinished, test } from 'vitest';

function demo() {
  const effects: DemoEffect[] = [];
  const ai = countersign({ model: demoModel({ wordMs: 0 }), store: memoryStore() });
  const agent = demoAgents(ai, { onEffect: (effect) => void effects.push(effect) });
  const say = async (prompt: string) => {
    const { id } = await agent.start(prompt, { by: 'dev' });
    return ai.runs.wait(id);
  };
  return { ai, effects, say };
}

test('a payment waits with everything on its card, and is paid once', async () => {
  const { ai, effects, say } = demo();
  const { id, pending } = await say('Pay ACME 950 euros for invoice 7');
  const card = await ai.runs.interrupt(pending[0] ?? '');
  expect(card).toMatchObject({ tool: 'payInvoice', risk: 'high', labels: ['payments'], kind: 'approval' });
  expect(card.input).toEqual({ to: 'ACME', amount: 950, currency: 'EUR', reference: 'invoice 7' });
  await ai.runs.decide(card.id, {
    type: 'approve',
    edit: { to: 'ACME', amount: 900, currency: 'EUR', reference: 'x' },
  });
  const view = await ai.runs.wait(id, { until: 'end' });
  expect(view.text).toMatch(/^Paid 900 EUR to ACME, receipt R-[0-9A-F]{8}\.$/);
  expect(effects.map(({ tool }) => tool)).toEqual(['payInvoice']);
});

test('a rejection is explained with its reason', async () => {
  const { ai, say, effects } = demo();
  const { id, pending } = await say('pay the open invoices');
  expect(pending).toHaveLength(2);
  for (const interruptId of pending) await ai.runs.decide(interruptId, { type: 'reject', reason: 'not this month' });
  const view = await ai.runs.wait(id, { until: 'end' });
  expect(view.text).toContain('Nothing was paid to Birch Office Supplies');
  expect(view.text).toContain('not this month');
  expect(effects).toEqual([]);
});

test('a question with choices leads on to a mail', async () => {
  const { ai, say } = demo();
  const { id, pending } = await say('Plan the team lunch');
  await ai.runs.decide(pending[0] ?? '', { type: 'respond', output: 'Friday' });
  await ai.runs.settled();
  const waiting = await ai.runs.get(id);
  expect((await ai.runs.interrupt(waiting.pending[0] ?? '')).input).toMatchObject({ subject: 'Team lunch on Friday' });
  await ai.runs.decide(waiting.pending[0] ?? '', 'approve');
  expect((await ai.runs.wait(id, { until: 'end' })).text).toBe('The mail to team@example.com is on its way.');
});

test('a lookup just runs, a mail is drafted, and anything else is explained', async () => {
  const { ai, say } = demo();
  expect((await say('What is on account 4711?')).text).toMatch(/^Account 4711 belongs to .+ and holds [\d.]+ EUR\.$/);
  const mail = await say('Write to Bob that the report is ready');
  expect((await ai.runs.interrupt(mail.pending[0] ?? '')).input).toMatchObject({
    to: 'bob@example.com',
    subject: 'The report is ready',
  });
  for (const strange of ['', 'sing!', 'pay', '🙂', 'pay x '.repeat(500)].slice(1))
    expect((await say(strange)).text, strange).toContain('I am the demo model');
});

test('the model of the environment is the one named, or the one with a key, or the demo', async () => {
  const provider = (name: string) => ({ [name]: () => ({ specificationVersion: 'v4' }) });
  const load = async (name: string) => provider(name.replace('@ai-sdk/', ''));
  const named = async (environment: Record<string, string>) => (await modelFromEnvironment(environment, load)).name;
  expect(await named({})).toBe('demo');
  expect(await named({ COUNTERSIGN_MODEL: 'demo', OPENAI_API_KEY: 'k' })).toBe('demo');
  expect(await named({ COUNTERSIGN_MODEL: 'anthropic/claude-x' })).toBe('anthropic/claude-x');
  expect(await named({ OPENAI_API_KEY: 'k' })).toBe('openai/gpt-5-mini');
  expect(await named({ GOOGLE_GENERATIVE_AI_API_KEY: 'k' })).toBe('google/gemini-2.5-flash');
  await expect(named({ COUNTERSIGN_MODEL: 'gpt-5' })).rejects.toThrow(/provider and a model/);
  await expect(named({ COUNTERSIGN_MODEL: 'acme/x' })).rejects.toThrow(/known are openai, anthropic, google/);
  const missing = modelFromEnvironment({ OPENAI_API_KEY: 'k' }, () => Promise.reject(new Error('no')));
  await expect(missing).rejects.toThrow('npm install @ai-sdk/openai');
});

test('the providers of the environment load without a network request', async () => {
  for (const name of ['openai/gpt-5', 'anthropic/claude-sonnet-4-5', 'google/gemini-2.5-flash']) {
    const { model, providers, demo } = await modelFromEnvironment({ COUNTERSIGN_MODEL: name });
    expect([model, demo]).toEqual([name, false]);
    expect(Object.keys(providers)).toEqual([name.split('/')[0]]);
  }
});

test('the demo model identifies itself', async () => {
  const { model, providers, name, demo } = await modelFromEnvironment({});
  const ai = countersign({ model, providers, store: memoryStore() });
  demoAgents(ai);
  const server = await serve(ai, { port: 0, dev: true, inboxDir: false, model: { name, demo } });
  onTestFinished(async () => void (await server.close()));
  const { createToken } = await import('@countersign/server');
  const { token } = await createToken(ai.runs.notes, { person: 'ann' });
  expect(await createClient(`http://127.0.0.1:${server.port}`, { token }).me()).toMatchObject({
    demo: true,
    model: 'demo',
  });
});

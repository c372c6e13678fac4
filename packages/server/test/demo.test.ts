import { type DemoEffect, demoAgents, modelFromEnvironment, serve } from '@countersign/server';
import { createClient } from '@countersign/server/client';
import { countersign, memoryStore } from 'countersign';
import { standInModel } from 'countersign/testing';
import { expect, onTestFinished, test } from 'vitest';

function demo() {
  const effects: DemoEffect[] = [];
  const ai = countersign({ model: standInModel(), store: memoryStore() });
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
  const card = await ai.runs.request(pending[0] ?? '');
  expect(card).toMatchObject({ tool: 'payInvoice', risk: 'high', labels: ['payments'], kind: 'approval' });
  expect(card.input).toEqual({ to: 'ACME', amount: 950, currency: 'EUR', reference: 'invoice 7' });
  await ai.runs.decide(card.id, {
    type: 'approve',
    edit: { to: 'ACME', amount: 900, currency: 'EUR', reference: 'x' },
  });
  const view = await ai.runs.wait(id, { until: 'end' });
  expect(view.text).toMatch(/^Stand-in model: payInvoice ran with the edited input .*"receipt":"R-[0-9A-F]{8}"/);
  expect(effects.map(({ tool }) => tool)).toEqual(['payInvoice']);
});

test('several payments are rejected with a reason', async () => {
  const { ai, say, effects } = demo();
  const { id, pending } = await say('Pay Birch 182.40 euros for paper and Lantern 1450 euros for hosting');
  expect(pending).toHaveLength(2);
  for (const requestId of pending) await ai.runs.decide(requestId, { type: 'reject', reason: 'not this month' });
  const view = await ai.runs.wait(id, { until: 'end' });
  expect(view.text).toMatch(/payInvoice was rejected.*not this month/);
  expect(effects).toEqual([]);
});

test('every suggestion of the inbox calls its tool', async () => {
  const { ai, say } = demo();
  expect((await say('What is on account 4711?')).text).toMatch(/lookUpAccount returned .*"owner"/);
  const mail = await say('Write to Bob that the report is ready');
  expect((await ai.runs.request(mail.pending[0] ?? '')).input).toMatchObject({
    to: 'bob@example.com',
    subject: 'The report is ready',
  });
  const { id, pending } = await say('Ask me which day suits: Tuesday or Friday');
  expect((await ai.runs.request(pending[0] ?? '')).input).toMatchObject({ choices: ['Tuesday', 'Friday'] });
  await ai.runs.decide(pending[0] ?? '', { type: 'respond', output: 'Friday' });
  expect((await ai.runs.wait(id, { until: 'end' })).text).toBe('Stand-in model: The answer to askQuestion is Friday.');
});

test('the model of the environment is the one named, or the one with a key, or the stand-in', async () => {
  const provider = (name: string) => ({ [name]: () => ({ specificationVersion: 'v4' }) });
  const load = async (name: string) => provider(name.replace('@ai-sdk/', ''));
  const named = async (environment: Record<string, string>) => (await modelFromEnvironment(environment, load)).name;
  expect(await named({})).toBe('stand-in');
  expect(await named({ COUNTERSIGN_MODEL: 'stand-in', OPENAI_API_KEY: 'k' })).toBe('stand-in');
  expect(await named({ COUNTERSIGN_MODEL: 'anthropic/claude-x' })).toBe('anthropic/claude-x');
  expect(await named({ OPENAI_API_KEY: 'k' })).toBe('openai/gpt-5-mini');
  expect(await named({ GOOGLE_GENERATIVE_AI_API_KEY: 'k' })).toBe('google/gemini-2.5-flash');
  await expect(named({ COUNTERSIGN_MODEL: 'gpt-5' })).rejects.toThrow(/provider and a model/);
  await expect(named({ COUNTERSIGN_MODEL: 'acme/x' })).rejects.toThrow(/known are openai, anthropic, google/);
  const notInstalled = () => Promise.reject(new Error('no'));
  const missing = modelFromEnvironment({ COUNTERSIGN_MODEL: 'openai/gpt-5' }, notInstalled);
  await expect(missing).rejects.toThrow('npm install @ai-sdk/openai');
  const keyed = { OPENAI_API_KEY: 'k', ANTHROPIC_API_KEY: 'k' };
  expect(await modelFromEnvironment(keyed, notInstalled)).toMatchObject({ demo: true, missing: '@ai-sdk/openai' });
  const onlyAnthropic = (name: string) => (name === '@ai-sdk/openai' ? notInstalled() : load(name));
  expect((await modelFromEnvironment(keyed, onlyAnthropic)).name).toBe('anthropic/claude-sonnet-4-5');
});

test('the providers of the environment load without a network request', async () => {
  for (const name of ['openai/gpt-5', 'anthropic/claude-sonnet-4-5', 'google/gemini-2.5-flash']) {
    const { model, providers, demo } = await modelFromEnvironment({ COUNTERSIGN_MODEL: name });
    expect([model, demo]).toEqual([name, false]);
    expect(Object.keys(providers)).toEqual([name.split('/')[0]]);
  }
});

test('the stand-in model identifies itself', async () => {
  const { model, providers, name, demo } = await modelFromEnvironment({});
  const ai = countersign({ model, providers, store: memoryStore() });
  demoAgents(ai);
  const server = await serve(ai, { port: 0, dev: true, inboxDir: false, model: { name, demo } });
  onTestFinished(async () => void (await server.close()));
  const { createToken } = await import('@countersign/server');
  const { token } = await createToken(ai.runs.notes, { person: 'ann' });
  expect(await createClient(`http://127.0.0.1:${server.port}`, { token }).me()).toMatchObject({
    demo: true,
    model: 'stand-in',
  });
});

// The MCP gateway with the protocol 2026-07-28: sealed state, restarts and kills.
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Gateway, MODERN, openGateway } from './gateway.ts';

let place: Gateway;
let ledger: string;
let main: Awaited<ReturnType<Gateway['client']>>;
const NAME = ['--name', 'bank'];

beforeAll(async () => {
  place = openGateway();
  ledger = place.path('ledger');
  main = await open();
});
afterAll(() => place.close());

const open = (hold = '1', ...more: string[]) =>
  place.client([MODERN, ledger], [...NAME, '--hold', hold, ...more], { capabilities: { elicitation: { form: {} } } });
const lines = (): readonly string[] => {
  try {
    return readFileSync(ledger, 'utf8').trim().split('\n');
  } catch {
    return [];
  }
};
const paid = (to: string): number => lines().filter((line) => line === to).length;

type Asked = { readonly requestState: string; readonly resultType: string };
const leg = async (client: typeof main.client, name: string, to: string, more: object = {}) =>
  (await client.callTool({ name, arguments: { to }, ...more } as never, { allowInputRequired: true } as never)) as any;
const firstLeg = async (to: string, name = 'pay'): Promise<Asked> => {
  const asked = await leg(main.client, name, to);
  expect(asked).toMatchObject({ resultType: 'input_required', requestState: expect.any(String) });
  return asked;
};
const approve = async () => place.ai.runs.decide((await place.pending())[0]?.id ?? '', 'approve', { by: 'bea' });

test('a client that does nothing special waits leg by leg until the call is decided', async () => {
  const paying = main.client.callTool({ name: 'pay', arguments: { to: 'ACME' } });
  await place.pending();
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  await approve();
  expect(await paying).toMatchObject({ content: [{ text: 'paid ACME' }] });
  expect(paid('ACME')).toBe(1);
});

test('another gateway and another client resume a call with its state, and it runs once', async () => {
  const { requestState } = await firstLeg('Bolt');
  await approve();
  const other = await open();
  const legs = await Promise.all([
    leg(other.client, 'pay', 'Bolt', { requestState }),
    leg(main.client, 'pay', 'Bolt', { requestState }),
  ]);
  for (const result of legs) expect(result).toMatchObject({ content: [{ text: 'paid Bolt' }] });
  // Replayed: the recorded result, and no second call.
  expect(await leg(other.client, 'pay', 'Bolt', { requestState })).toMatchObject({ content: [{ text: 'paid Bolt' }] });
  expect(paid('Bolt')).toBe(1);
  await other.client.close();
});

test('a forged state, another client and other arguments are refused, and nothing runs', async () => {
  const { requestState } = await firstLeg('Crew');
  await approve();
  const [version, body = '', mac] = requestState.split('.');
  const forged = Buffer.from(body, 'base64url').toString().replace(/mcp:/, 'mcp;');
  const states = [
    '',
    'v1.x.y',
    `${requestState}x`,
    [version, Buffer.from(forged).toString('base64url'), mac].join('.'),
  ];
  for (const state of states)
    await expect(leg(main.client, 'pay', 'Crew', { requestState: state })).rejects.toMatchObject({ code: -32602 });
  await expect(leg(main.client, 'pay', 'Mallory', { requestState })).rejects.toThrow('other arguments');
  const stranger = await open('1', '--by', 'eve');
  await expect(leg(stranger.client, 'pay', 'Crew', { requestState })).rejects.toMatchObject({ code: -32602 });
  await stranger.client.close();
  expect([paid('Crew'), paid('Mallory')]).toEqual([0, 0]);
  // An answer of the client is not a decision.
  const answers = { decision: { action: 'accept', content: { approve: true } } };
  const { requestState: pending } = await firstLeg('Dana');
  expect(await leg(main.client, 'pay', 'Dana', { requestState: pending, inputResponses: answers })).toMatchObject({
    resultType: 'input_required',
  });
  expect(paid('Dana')).toBe(0);
  for (const { id } of (await place.ai.runs.requests()).items) await place.ai.runs.decide(id, 'reject');
  expect(await leg(main.client, 'pay', 'Dana', { requestState: pending })).toMatchObject({ isError: true });
});

test('a question of the server reaches the client, and its answer the server, under one approval', async () => {
  main.client.setRequestHandler('elicitation/create', async () => ({ action: 'accept', content: { code: '42' } }));
  const confirming = main.client.callTool({ name: 'confirm', arguments: { to: 'Echo' } });
  await approve();
  expect(await confirming).toMatchObject({ content: [{ text: 'paid Echo with 42' }] });
  expect(lines().filter((line) => line.startsWith('Echo'))).toEqual(['Echo with 42']);
  expect((await place.ai.runs.requests()).items).toEqual([]);
});

test('where the operator allows it, the user decides in the client: decline rejects, cancel leaves the request open', async () => {
  const { client } = await open('1', '--decide-in-client');
  const answers = [
    { action: 'accept', content: { approve: true } },
    { action: 'decline' },
    { action: 'cancel' },
  ] as const;
  const asked: string[] = [];
  client.setRequestHandler('elicitation/create', async ({ params }) => {
    asked.push(params.message);
    return answers[asked.length - 1] as never;
  });
  expect(await client.callTool({ name: 'pay', arguments: { to: 'Hugo' } })).toMatchObject({
    content: [{ text: 'paid Hugo' }],
  });
  expect(asked[0]).toContain('to  Hugo');
  expect(await client.callTool({ name: 'pay', arguments: { to: 'Ida' } })).toMatchObject({ isError: true });
  const cancelled = client.callTool({ name: 'pay', arguments: { to: 'Jan' } });
  await expect.poll(() => asked.length, { timeout: 10_000 }).toBe(3);
  await approve();
  expect(await cancelled).toMatchObject({ content: [{ text: 'paid Jan' }] });
  expect(['Hugo', 'Ida', 'Jan'].map(paid)).toEqual([1, 0, 1]);
  const [settled] = (await place.ai.runs.requests({ settled: true, search: 'Hugo' })).items;
  expect(settled?.settlement).toMatchObject({ channel: 'mcp' });
  await client.close();
});

test('the form shows hidden characters, and does not decide what it cannot show whole', async () => {
  const { client } = await open('1', '--decide-in-client');
  const asked: { message: string; requestedSchema: { properties: object } }[] = [];
  client.setRequestHandler('elicitation/create', async ({ params }) => {
    asked.push(params as never);
    return { action: 'accept', content: { approve: true } } as never;
  });
  const hidden = 'Lea\u202E\u200B';
  await client.callTool({ name: 'pay', arguments: { to: hidden } });
  expect(asked[0]?.message).not.toMatch(/[\u202E\u200B]/);
  const long = `${'x'.repeat(9_000)} and the rest`;
  const paying = client.callTool({ name: 'pay', arguments: { to: long } });
  const [request] = await place.pending();
  await expect.poll(() => asked.length, { timeout: 10_000 }).toBe(2);
  expect(asked[1]).toMatchObject({
    message: expect.stringContaining('waits in the inbox'),
    requestedSchema: { properties: {} },
  });
  expect(paid(long)).toBe(0);
  await place.ai.runs.decide(request?.id ?? '', 'reject');
  expect(await paying).toMatchObject({ isError: true });
  expect([paid(hidden), paid(long)]).toEqual([1, 0]);
  await client.close();
}, 60_000);

test('an older client shows the form, too', async () => {
  const { client } = await place.legacy([MODERN, ledger], [...NAME, '--decide-in-client'], { elicitation: {} });
  const { ElicitRequestSchema } = await import('@modelcontextprotocol/sdk/types.js');
  client.setRequestHandler(ElicitRequestSchema, async () => ({ action: 'accept', content: { approve: true } }));
  expect(await client.callTool({ name: 'pay', arguments: { to: 'Kai' } })).toMatchObject({
    content: [{ text: 'paid Kai' }],
  });
  expect(paid('Kai')).toBe(1);
});

test('a gateway that is killed between the call and its result leaves a doubt, and never sends the call again', async () => {
  const killed = await open();
  const first = await leg(killed.client, 'hang', 'Fox');
  await approve();
  const hanging = leg(killed.client, 'hang', 'Fox', { requestState: first.requestState }).catch(
    (error: Error) => error,
  );
  await expect.poll(() => paid('Fox'), { timeout: 10_000 }).toBe(1);
  process.kill(killed.pid(), 'SIGKILL');
  expect(await hanging).toBeInstanceOf(Error);
  const result = await leg(main.client, 'hang', 'Fox', { requestState: first.requestState });
  expect(result).toMatchObject({ isError: true });
  expect(result.content[0].text).toContain('outcome is unknown');
  expect(paid('Fox')).toBe(1);
  const [doubt] = await place.pending();
  expect(doubt).toMatchObject({ kind: 'doubt' });
  await place.ai.runs.decide(doubt?.id ?? '', { type: 'respond', output: 'it was paid' } as never);
  expect(await leg(main.client, 'hang', 'Fox', { requestState: first.requestState })).toMatchObject({
    content: [{ text: 'it was paid' }],
  });
}, 60_000);

test('a running call that its client cancels is in doubt', async () => {
  const { requestState } = await firstLeg('Golf', 'hang');
  await approve();
  const abort = new AbortController();
  const options = { allowInputRequired: true, signal: abort.signal } as never;
  const hanging = main.client.callTool({ name: 'hang', arguments: { to: 'Golf' }, requestState } as never, options);
  await expect.poll(() => paid('Golf'), { timeout: 10_000 }).toBe(1);
  abort.abort();
  await expect(hanging).rejects.toThrow();
  await expect.poll(async () => (await place.ai.runs.requests()).items[0]?.kind, { timeout: 15_000 }).toBe('doubt');
  expect(paid('Golf')).toBe(1);
}, 60_000);

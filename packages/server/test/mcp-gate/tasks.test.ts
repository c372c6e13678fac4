// Held calls as tasks, with the client of the SDK 1.x over stdio: decided later, by other gateways, and across kills.
import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { EVERYTHING, type Gateway, MODERN, openGateway } from './gateway.ts';
import { linesOf } from './recording-server.ts';

let place: Gateway;
let main: Awaited<ReturnType<Gateway['legacy']>>;
const NAME = ['--name', 'bank'];

beforeAll(async () => {
  place = openGateway();
  main = await open();
});
afterAll(() => place.close());

const open = (...options: string[]) => place.legacy([MODERN, place.path('ledger')], [...NAME, ...options]);
const paid = (to: string) => linesOf(place.path('ledger')).filter((line) => line === to).length;
const approve = async () => place.ai.runs.decide((await place.pending())[0]?.id ?? '', 'approve', { by: 'bea' });
const textOf = (result: unknown): string => (result as { content: { text: string }[] }).content[0]?.text ?? '';

type Client = (typeof main)['client'];
/** The id of the task that the call became. */
async function begin(client: Client, name: string, to: string): Promise<string> {
  const stream = client.experimental.tasks.callToolStream({ name, arguments: { to } }, undefined, { task: {} });
  const { value: created } = await stream.next();
  if (created?.type === 'error') throw created.error;
  if (created?.type !== 'taskCreated') throw new Error(`It is no task: ${JSON.stringify(created)}`);
  return created.task.taskId;
}
const statusOf = async (client: Client, taskId: string) => client.experimental.tasks.getTask(taskId);
const resultOf = async (client: Client, taskId: string) =>
  client.experimental.tasks.getTaskResult(taskId, CallToolResultSchema);
const kill = async ({ transport }: typeof main) => {
  process.kill(transport.pid ?? 0, 'SIGKILL');
  await expect.poll(() => transport.pid, { timeout: 10_000 }).toBeNull();
};

test('the stream of the SDK gives a task, its states and the result, and the call is sent once', async () => {
  const { tools } = await main.client.listTools();
  expect(tools.map(({ execution }) => execution?.taskSupport)).toEqual(['optional', 'optional', 'optional']);
  const seen: string[] = [];
  const call = { name: 'pay', arguments: { to: 'ACME' } };
  // The SDK asks for a task by itself, because the list says that the tool can be one.
  for await (const message of main.client.experimental.tasks.callToolStream(call)) {
    seen.push(message.type);
    if (message.type === 'taskCreated') {
      expect(message.task).toMatchObject({ status: 'working', ttl: 604_800_000, pollInterval: 1_000 });
      expect(await statusOf(main.client, message.task.taskId)).toMatchObject({
        status: 'working',
        statusMessage: expect.stringContaining("waits for a person's decision"),
      });
      await approve();
    }
    if (message.type === 'result') expect(textOf(message.result)).toBe('paid ACME');
  }
  expect(seen.at(0)).toBe('taskCreated');
  expect(seen.at(-1)).toBe('result');
  expect(paid('ACME')).toBe(1);
});

test('a task that was approved while no gateway ran is sent once by the next one', async () => {
  const first = await open();
  const taskId = await begin(first.client, 'pay', 'Bolt');
  await kill(first);
  await approve();
  const [one, two] = await Promise.all([open(), open()]);
  await Promise.all([one, two].flatMap(({ client }) => [statusOf(client, taskId), statusOf(client, taskId)]));
  for (const { client } of [one, two]) expect(textOf(await resultOf(client, taskId))).toBe('paid Bolt');
  expect(await statusOf(two.client, taskId)).toMatchObject({ status: 'completed' });
  expect(paid('Bolt')).toBe(1);
  // It is over, so an equal call is a new one.
  const again = await begin(one.client, 'pay', 'Bolt');
  expect(again).not.toBe(taskId);
  await one.client.experimental.tasks.cancelTask(again);
  await Promise.all([one.client.close(), two.client.close()]);
}, 60_000);

test('a gateway that is killed during the call leaves a doubt: the task waits for the person who knows', async () => {
  const first = await open();
  const taskId = await begin(first.client, 'hang', 'Crew');
  await approve();
  await statusOf(first.client, taskId);
  await expect.poll(() => paid('Crew'), { timeout: 20_000 }).toBe(1);
  await kill(first);
  const { client } = await open();
  await expect
    .poll(async () => statusOf(client, taskId), { timeout: 60_000 })
    .toMatchObject({ status: 'working', statusMessage: expect.stringContaining('outcome is unknown') });
  const [doubt] = await place.pending();
  expect(doubt).toMatchObject({ kind: 'doubt' });
  await place.ai.runs.decide(doubt?.id ?? '', { type: 'respond', output: 'it was paid' } as never);
  expect(await statusOf(client, taskId)).toMatchObject({ status: 'completed' });
  expect(textOf(await resultOf(client, taskId))).toBe('it was paid');
  expect(paid('Crew')).toBe(1);
  await client.close();
}, 120_000);

test('an equal call after the client lost its task is the same task', async () => {
  const first = await open();
  await begin(first.client, 'pay', 'Dana');
  const [request] = await place.pending();
  await kill(first);
  // The lost client might still come back.
  await place.ai.runs.notes
    .list('open-calls', { limit: 100 })
    .then(({ items }) =>
      Promise.all(
        items.map(({ key, value }) =>
          place.ai.runs.notes.put('open-calls', key, { ...(value as object), until: 0 }, { expiresAt: null }),
        ),
      ),
    );
  const { client } = await open();
  const taskId = await begin(client, 'pay', 'Dana');
  expect((await place.pending()).map(({ id }) => id)).toEqual([request?.id]);
  await approve();
  await statusOf(client, taskId);
  expect(textOf(await resultOf(client, taskId))).toBe('paid Dana');
  expect(paid('Dana')).toBe(1);
  await client.close();
}, 60_000);

test('a rejected and an edited call end as they do without a task', async () => {
  const { client } = main;
  const rejected = await begin(client, 'pay', 'Echo');
  await place.ai.runs.decide((await place.pending())[0]?.id ?? '', { type: 'reject', reason: 'not now' });
  expect(await statusOf(client, rejected)).toMatchObject({ status: 'completed' });
  expect(await resultOf(client, rejected)).toMatchObject({
    isError: true,
    content: [{ text: 'pay was not run: not now' }],
    _meta: { 'io.modelcontextprotocol/related-task': { taskId: rejected } },
  });
  const edited = await begin(client, 'pay', 'Fox');
  await place.ai.runs.decide((await place.pending())[0]?.id ?? '', { type: 'approve', edit: { to: 'Golf' } });
  const result = await resultOf(client, edited);
  expect(JSON.stringify(result)).toContain('A person changed the arguments');
  expect(['Echo', 'Fox', 'Golf'].map(paid)).toEqual([0, 0, 1]);
});

test('a frozen call is a task that waits, and is sent once people lift the freeze', async () => {
  const { client } = main;
  const { id } = await place.ai.freezes.freeze({ tools: ['*pay'], reason: 'An incident.' }, { by: 'eve' });
  const taskId = await begin(client, 'pay', 'Lea');
  await approve();
  for (let polls = 0; polls < 2; polls += 1)
    expect(await statusOf(client, taskId)).toMatchObject({
      status: 'working',
      statusMessage: expect.stringContaining('is frozen (An incident.)'),
    });
  expect(paid('Lea')).toBe(0);
  await place.ai.freezes.lift(id, { by: 'eve' });
  expect(textOf(await resultOf(client, taskId))).toBe('paid Lea');
  expect(paid('Lea')).toBe(1);
}, 60_000);

test('cancelling a task withdraws its request, and changes nothing once the call was sent', async () => {
  const { client } = main;
  const withdrawn = await begin(client, 'pay', 'Hugo');
  expect(await client.experimental.tasks.cancelTask(withdrawn)).toMatchObject({ status: 'cancelled' });
  expect((await place.ai.runs.requests()).items).toEqual([]);
  expect(await statusOf(client, withdrawn)).toMatchObject({ status: 'cancelled' });
  const other = await open();
  const sent = await begin(other.client, 'hang', 'Ida');
  await approve();
  await statusOf(other.client, sent);
  await expect.poll(() => paid('Ida'), { timeout: 20_000 }).toBe(1);
  await expect(other.client.experimental.tasks.cancelTask(sent)).rejects.toThrow('was started');
  expect(await statusOf(other.client, sent)).toMatchObject({ status: 'working' });
  await kill(other);
  expect([paid('Hugo'), paid('Ida')]).toEqual([0, 1]);
  const { client: next } = await open();
  await expect.poll(async () => (await place.ai.runs.requests()).items.length, { timeout: 60_000 }).toBe(1);
  // A doubt is not withdrawn either.
  await expect(next.experimental.tasks.cancelTask(sent)).rejects.toThrow('was started');
  await place.ai.runs.decide((await place.pending())[0]?.id ?? '', 'reject');
  expect(await statusOf(next, sent)).toMatchObject({ status: 'completed' });
  await expect(next.experimental.tasks.cancelTask(sent)).rejects.toThrow('is over');
  await next.close();
}, 120_000);

test('another person, another server name and a forged id find no task, and cannot cancel it', async () => {
  const taskId = await begin(main.client, 'pay', 'Jan');
  const strangers = await Promise.all([
    open('--by', 'eve'),
    place.legacy([MODERN, place.path('ledger')], ['--name', 'b']),
  ]);
  for (const { client } of strangers) {
    await expect(statusOf(client, taskId)).rejects.toMatchObject({ code: -32602 });
    await expect(client.experimental.tasks.cancelTask(taskId)).rejects.toMatchObject({ code: -32602 });
    await client.close();
  }
  await expect(statusOf(main.client, `${taskId}x`)).rejects.toThrow();
  expect(await place.pending()).toHaveLength(1);
  await main.client.experimental.tasks.cancelTask(taskId);
  expect(paid('Jan')).toBe(0);
}, 60_000);

test('rules: an allowed call that its client wants as a task has no request, and a denied one is an error', async () => {
  const rules = place.write('rules.json', {
    rules: [
      { tool: 'pay', where: [{ field: 'to', equals: 'Kim' }], then: 'allow' },
      { tool: 'pay', where: [{ field: 'to', equals: 'Mallory' }], then: 'deny', reason: 'never' },
      { tool: 'hang', then: 'allow' },
    ],
  });
  const { client } = await open('--rules', rules);
  const { tools } = await client.listTools();
  expect(tools.map(({ execution }) => execution?.taskSupport)).toEqual(['optional', undefined, 'optional']);
  const taskId = await begin(client, 'pay', 'Kim');
  await statusOf(client, taskId);
  expect(textOf(await resultOf(client, taskId))).toBe('paid Kim');
  const { client: next } = await open('--rules', rules);
  expect(textOf(await resultOf(next, taskId))).toBe('paid Kim');
  await next.close();
  expect((await place.ai.runs.requests()).items.filter(({ kind }) => kind === 'approval')).toEqual([]);
  await expect(begin(client, 'pay', 'Mallory')).rejects.toThrow('never');
  expect([paid('Kim'), paid('Mallory')]).toEqual([1, 0]);
  await client.close();
}, 60_000);

test('a server keeps its own tasks; a gated tool that runs only as a task is sent once, and its result comes', async () => {
  const rules = place.write('own.json', {
    rules: [{ tool: 'simulate-*', where: [{ field: 'topic', equals: 'free' }], then: 'allow' }],
  });
  const { client } = await place.legacy([EVERYTHING, 'stdio'], ['--name', 'all', '--rules', rules]);
  await client.listTools();
  const results: unknown[] = [];
  for (const topic of ['free', 'gated']) {
    const call = { name: 'simulate-research-query', arguments: { topic } };
    for await (const message of client.experimental.tasks.callToolStream(call)) {
      if (message.type === 'taskCreated' && topic === 'gated') await approve();
      if (message.type === 'result') results.push(message.result);
      if (message.type === 'error') throw message.error;
    }
  }
  expect(results.map((result) => textOf(result).includes('free'))).toEqual([true, false]);
  expect(textOf(results[1])).toContain('gated');
  await client.close();
}, 60_000);

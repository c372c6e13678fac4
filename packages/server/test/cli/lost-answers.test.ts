// Decisions whose answer is lost or not waited for: what is told is true, and who asks again is told what was recorded.
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { expect, onTestFinished, test } from 'vitest';
import { KEYS } from './pty.ts';
import { PAY, workplaceForEach } from './workplace.ts';

const place = workplaceForEach();
const LONG = { timeout: 120_000 };

/** A proxy in front of a server with one question; `answer` is asked to answer a decision that the server has taken. */
async function behindProxy(answer: (response: ServerResponse, body: string) => void) {
  const [run = ''] = await place.start(PAY);
  const { url: to } = await place.serving('--no-worker');
  const COUNTERSIGN_TOKEN = await place.tokenFor('ann');
  const [card] = (await place.json('inbox', '--run', run)).items;
  let isFirst = true;
  const proxy = createServer(async (request, response) => {
    const { method = 'GET', headers } = request;
    const body = method === 'GET' ? undefined : await text(request);
    const { authorization = '', 'content-type': type = '' } = headers;
    const taken = await fetch(`${to}${request.url}`, {
      method,
      headers: { authorization, ...(type && { 'content-type': type }) },
      ...(body && { body }),
    });
    if (request.url?.endsWith('/decide') && isFirst) {
      isFirst = false;
      answer(response, await taken.text());
      return;
    }
    response.writeHead(taken.status, { 'content-type': taken.headers.get('content-type') ?? '' });
    // Whoever leaves first ends it.
    if (taken.body) await pipeline(taken.body, response).catch(() => {});
    else response.end();
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  const { port } = proxy.address() as AddressInfo;
  return { run, card, args: ['--url', `http://127.0.0.1:${port}`], env: { COUNTERSIGN_TOKEN } };
}

test.each([
  ['lost', (response: ServerResponse) => response.destroy()],
  [
    'cut off',
    (response: ServerResponse, body: string) => {
      response.writeHead(200, { 'content-length': body.length });
      response.write(body.slice(0, 9), () => response.destroy());
    },
  ],
])('an answer that is %s: nothing is claimed, and the same again shows the record', LONG, async (_how, answer) => {
  const { card, args, env } = await behindProxy(answer);
  const first = await place.countersign(['decide', card.id, '--approve', ...args], env);
  expect(first.code).toBe(1);
  expect(first.stderr).toContain('It is not known whether the decision was recorded.');
  const again = await place.countersign(['decide', card.id, '--approve', ...args], env);
  expect(again).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Recorded before: .*ann.*approved/) });
});

test('the inbox says that it is not known, and shows the record as soon as it can', LONG, async () => {
  const { args, env } = await behindProxy((response) => response.destroy());
  const { shows, press, ended } = place.terminal(['inbox', ...args], { env });
  await shows('↵ look');
  press('a');
  await shows('Approve?');
  press('y');
  await shows(/not known\s+whether the decision was recorded/);
  await shows(/Decided\. ann .*: approved/);
  press('q');
  await shows('Nothing waits');
  press('q');
  expect(await ended).toBe(0);
});

test('Ctrl-C while a decision is on its way says so, and how to see what became of it', LONG, async () => {
  const taken = Promise.withResolvers<void>();
  const { run, args, env } = await behindProxy(() => taken.resolve());
  const { shows, press, ended, output } = place.terminal(['inbox', ...args], { env });
  await shows('↵ look');
  press('a');
  await shows('Approve?');
  press('y');
  await taken.promise;
  press(KEYS.interrupt);
  expect(await ended).toBe(130);
  expect(output()).toContain(`Whether it was recorded shows: countersign show ${run}`);
  expect((await place.json('inbox', '--settled', '--run', run)).items[0].decision).toMatchObject({ type: 'approve' });
});

test('so does Ctrl-C in the command that decides', LONG, async () => {
  const taken = Promise.withResolvers<void>();
  const { run, card, args, env } = await behindProxy(() => taken.resolve());
  const { child, ended, output } = place.begin(['decide', card.id, '--reject', ...args], env);
  await taken.promise;
  child.kill('SIGINT');
  expect(await ended).toBe(130);
  expect(output()).toContain(`Whether it was recorded shows: countersign show ${run}`);
});

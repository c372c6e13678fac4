// Decisions whose response is lost or not awaited: the message is true, and a retry shows the recorded decision.
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { expect, onTestFinished, test } from 'vitest';
import { KEYS } from './pty.ts';
import { PAY, workplaceForEach } from './workplace.ts';

const place = workplaceForEach();
const LONG = { timeout: 120_000 };

/** Starts a proxy in front of a server with one request; `answer` responds to the first decision. */
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
    // Either side may close first.
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
])(
  'a response that is %s is reported as unknown, and a retry shows the recorded decision',
  LONG,
  async (_how, answer) => {
    const { card, args, env } = await behindProxy(answer);
    const first = await place.countersign(['decide', card.id, '--approve', ...args], env);
    expect(first.code).toBe(1);
    expect(first.stderr).toContain('The decision may or may not have been recorded.');
    const again = await place.countersign(['decide', card.id, '--approve', ...args], env);
    expect(again).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Already recorded: .*ann.*approved/) });
  },
);

test('the inbox says that an outcome is unknown, and shows the recorded decision', LONG, async () => {
  const { run, args, env } = await behindProxy((response) => response.destroy());
  const { pick, says, press, ended } = place.terminal(['inbox', ...args], { env });
  await pick('transferMoney');
  await pick('Approve');
  await says(/Approve\?/);
  press('y');
  await says(/The decision may or may not have been recorded/);
  await says(/Recorded on transferMoney: ann \(\w+\) at .*approved/);
  await says(/Esc to quit/);
  press(KEYS.escape);
  expect(await ended).toBe(0);
  expect((await place.json('inbox', '--settled', '--run', run)).items[0].decision).toMatchObject({ type: 'approve' });
});

test('Ctrl-C while a decision is being sent says so, and how to check it', LONG, async () => {
  const taken = Promise.withResolvers<void>();
  const { run, args, env } = await behindProxy(() => taken.resolve());
  const { pick, says, press, ended, output } = place.terminal(['inbox', ...args], { env });
  await pick('transferMoney');
  await pick('Approve');
  await says(/Approve\?/);
  press('y');
  await taken.promise;
  press(KEYS.interrupt);
  expect(await ended).toBe(130);
  expect(output()).toContain(`Check it with: countersign show ${run}`);
  expect((await place.json('inbox', '--settled', '--run', run)).items[0].decision).toMatchObject({ type: 'approve' });
});

test('Ctrl-C in `decide` says so, too', LONG, async () => {
  const taken = Promise.withResolvers<void>();
  const { run, card, args, env } = await behindProxy(() => taken.resolve());
  const { child, ended, output } = place.begin(['decide', card.id, '--reject', ...args], env);
  await taken.promise;
  child.kill('SIGINT');
  expect(await ended).toBe(130);
  expect(output()).toContain(`Check it with: countersign show ${run}`);
});

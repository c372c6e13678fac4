// Messages that two readers could understand differently: over stdio and HTTP, none of them reaches the MCP server.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { McpGate } from '../../src/mcp-gate/mcp-gate.ts';
import { serveProxy } from '../../src/mcp-gate/serve-proxy.ts';
import { nameOfCommand } from '../../src/mcp-gate/server-name.ts';
import { MAIN } from '../cli/workplace.ts';
import { type Gateway, openGateway } from './gateway.ts';
import { linesOf, recordingHttp } from './recording-server.ts';

const RECORDING = join(import.meta.dirname, 'recording-server.ts');
const RULES = {
  otherwise: 'allow',
  rules: [
    { tool: 'wipe', then: 'deny' },
    { tool: 'pay', where: [{ field: 'amount', above: 20 }], then: 'deny' },
  ],
} as const;

type Door = { send(text: string): Promise<any>; received(): readonly string[]; close(): Promise<unknown> };

async function stdioDoor(place: Gateway, mode = ''): Promise<Door> {
  const file = place.path('stdio.log');
  const rules = place.write('rules.json', RULES);
  const args = [MAIN, 'mcp', 'gate', '--store', `sqlite:${place.path('runs.sqlite')}`, '--by', 'ada', '--rules', rules];
  const child = spawn(process.execPath, [...args, '--', process.execPath, RECORDING, file, mode], {
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    /** The answer to the message, or to the ping after it if it has none. */
    async send(text) {
      child.stdin.write(`${text}\n`);
      if (!/"id"/.test(text)) child.stdin.write('{"jsonrpc":"2.0","id":"after","method":"ping"}\n');
      const { value } = await answers.next();
      const answer = JSON.parse(value ?? '');
      if (!/"id"/.test(text) && answer.id !== 'after') await answers.next();
      return answer;
    },
    received: () => linesOf(file),
    close: async () => {
      child.stdin.end();
      await once(child, 'exit');
    },
  };
}

async function httpDoor(place: Gateway): Promise<Door> {
  const file = place.path('http.log');
  const { server } = recordingHttp(file);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  const gate = await McpGate.open({ ai: place.ai, name: 'bank', rules: RULES as never });
  const served = await serveProxy({ url, gate, by: 'ada', host: '127.0.0.1', port: 0 });
  return {
    async send(body) {
      const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
      const response = await fetch(served.url, { method: 'POST', headers, body });
      const text = await response.text();
      return text === '' ? undefined : JSON.parse(text.replace(/^event: message\ndata: /, ''));
    },
    received: () => linesOf(file),
    close: async () => {
      await served.close();
      await gate.close();
      server.closeAllConnections();
      server.close();
    },
  };
}

const call = (params: string, more = '') =>
  `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{${params}}${more}}`;

const REFUSED: readonly (readonly [string, string])[] = [
  ['a call without an id', '{"jsonrpc":"2.0","method":"tools/call","params":{"name":"wipe"}}'],
  ['a name that is not a string', call('"name":["wipe"]')],
  ['arguments that are not an object', call('"name":"pay","arguments":[1]')],
  [
    'a method in another case beside it',
    '{"jsonrpc":"2.0","id":7,"method":"ping","Method":"tools/call","params":{"name":"wipe"}}',
  ],
  ['a method in another case', '{"jsonrpc":"2.0","id":7,"method":"Tools/Call","params":{"name":"wipe"}}'],
  ['a repeated method', '{"jsonrpc":"2.0","id":7,"method":"tools/call","method":"ping","params":{"name":"wipe"}}'],
  ['a name in another case', call('"name":"pay","Name":"wipe","arguments":{"amount":1}')],
  ['only arguments in another case', call('"name":"pay","Arguments":{"amount":1000000}')],
  ['a repeated name', call('"name":"wipe","name":"pay","arguments":{"amount":1}')],
  ['a repeated name, written as an escape', call('"n\\u0061me":"wipe","name":"pay","arguments":{"amount":1}')],
  ['an argument in another case', call('"name":"pay","arguments":{"amount":1,"Amount":1000000}')],
  ['a nested argument in another case', call('"name":"pay","arguments":{"amount":1,"of":[{"K":1,"\u212A":2}]}')],
  ['an argument whose number cannot be kept', call('"name":"pay","arguments":{"amount":1,"to":12345678901234567890}')],
  ['an argument beyond all numbers', call('"name":"pay","arguments":{"amount":1,"to":1e999}')],
  ['deep arguments', call(`"name":"pay","arguments":{"amount":1,"of":${'['.repeat(200)}${']'.repeat(200)}}`)],
  ['an unknown field beside the name', call('"name":"pay","tool":"wipe","arguments":{"amount":1}')],
  ['an unknown field of the message', call('"name":"pay","arguments":{"amount":1}', ',"extra":1')],
  ['a batch', `[${call('"name":"wipe"')}]`],
  ['a message of 5 MB', call(`"name":"pay","arguments":{"amount":1,"text":"${'x'.repeat(5 * 1024 * 1024)}"}`)],
  ['text that is not JSON', `${call('"name":"wipe"')}x`],
];

describe.each([
  ['stdio', stdioDoor],
  ['HTTP', httpDoor],
] as const)('over %s', (_name, open: (place: Gateway) => Promise<Door>) => {
  let place: Gateway;
  let door: Door;
  beforeAll(async () => {
    place = openGateway();
    door = await open(place);
    await door.send('{"jsonrpc":"2.0","id":"first","method":"ping"}');
  }, 60_000);
  afterAll(async () => {
    await door.close();
    await place.close();
  }, 60_000);

  test.each(REFUSED)('%s is refused and not forwarded', async (_what, text) => {
    const before = door.received().filter((line) => !line.includes('"ping"')).length;
    expect(await door.send(text)).toMatchObject({ error: { message: expect.any(String) } });
    const after = door.received().filter((line) => !line.includes('"ping"'));
    expect(after.slice(before)).toEqual([]);
    expect((await place.ai.runs.requests()).items).toEqual([]);
  });

  test('an allowed call is sent as it was checked, under an id and a progress token of the gateway', async () => {
    const text = call('"name":"pay",  "arguments":{"amount":1.0},"_meta":{"progressToken":7,"trace":"t"}');
    expect(await door.send(text)).toMatchObject({ id: 7, result: { content: [{ text: 'pay {"amount":1}' }] } });
    const sent = JSON.parse(door.received().findLast((line) => line.includes('tools/call')) ?? '');
    expect(sent).toEqual({
      jsonrpc: '2.0',
      id: expect.anything(),
      method: 'tools/call',
      params: { name: 'pay', arguments: { amount: 1 }, _meta: { progressToken: sent.id, trace: 't' } },
    });
    expect(sent.id).not.toBe(7);
  });

  test('a denied call and an unlisted tool get their answers', async () => {
    expect(await door.send(call('"name":"pay","arguments":{"amount":21}'))).toMatchObject({
      result: { isError: true },
    });
    expect(await door.send(call('"name":"other"'))).toMatchObject({ id: 7, result: expect.anything() });
  });
});

test('a list of tools that fails once is asked for again with the next call', async () => {
  const place = openGateway();
  const door = await stdioDoor(place, 'fails-first');
  try {
    const pay = call('"name":"pay","arguments":{"amount":1}');
    expect(await door.send(pay)).toMatchObject({ error: { message: expect.stringContaining('not now') } });
    expect(await door.send(pay)).toMatchObject({ result: { content: [{ text: 'pay {"amount":1}' }] } });
  } finally {
    await door.close();
    await place.close();
  }
}, 60_000);

test('the name of a server cannot run into the names of its tools', async () => {
  for (const name of ['files__x', 'files_']) {
    const child = spawn(process.execPath, [MAIN, 'mcp', 'gate', '--name', name, '--', 'true'], { stdio: 'ignore' });
    expect((await once(child, 'exit'))[0]).not.toBe(0);
  }
  expect(nameOfCommand(['npx', 'files__x'])).toBe('files_x');
}, 60_000);

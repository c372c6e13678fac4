// Names whose addresses are private, or differ from one answer of the DNS to the next.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { addressRule } from './addresses.ts';
import { connect, post, type Resolved } from './post.ts';

async function receiver() {
  const received: string[] = [];
  const server = createServer((request, response) => {
    received.push(`${request.headers.host}${request.url}`);
    if (request.url === '/again') response.writeHead(307, { location: '/here' });
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return { received, port: (server.address() as AddressInfo).port };
}

/** Answers each question with the next of these lists, and the last one again and again. */
function dns(...answers: readonly (readonly string[])[]) {
  const asked: string[] = [];
  const resolve = async (host: string): Promise<Resolved[]> => {
    const addresses = answers[Math.min(asked.push(host), answers.length) - 1] ?? [];
    return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  };
  return { asked, resolve };
}

const signal = AbortSignal.timeout(5_000);
const posted = { headers: {}, body: '{}', signal };

test('a public name with private addresses is refused, and nothing is connected', async () => {
  const { received, port } = await receiver();
  for (const addresses of [
    ['127.0.0.1'],
    ['::1', '127.0.0.1'],
    ['169.254.169.254'],
    ['::ffff:127.0.0.1'],
    ['0.0.0.0'],
    [],
  ]) {
    const route = { refusal: addressRule(), resolve: dns(addresses).resolve };
    const url = new URL(`https://hooks.example.com:${port}/`);
    await expect(post(url, posted, route)).rejects.toThrow(/^hooks\.example\.com:\d+: /);
    await expect(connect(url, signal, route)).rejects.toThrow(/^hooks\.example\.com:\d+: /);
  }
  expect(received).toEqual([]);
});

test('the connection goes to the address that was checked: the name is looked up once', async () => {
  const { received, port } = await receiver();
  const { asked, resolve } = dns(['127.0.0.1'], ['127.0.0.2']);
  const answer = await post(new URL(`http://a.test:${port}/`), posted, {
    refusal: addressRule(['127.0.0.1']),
    resolve,
  });
  expect(answer.status).toBe(200);
  expect(asked).toEqual(['a.test']);
  expect(received).toEqual([`a.test:${port}/`]);
});

test('of several addresses only those that are allowed are used', async () => {
  const { received, port } = await receiver();
  const { resolve } = dns(['169.254.169.254', '10.0.0.1', '127.0.0.1']);
  await post(new URL(`http://a.test:${port}/`), posted, { refusal: addressRule(['127.0.0.1']), resolve });
  expect(received).toHaveLength(1);
});

test('a redirect looks the name up and checks it again', async () => {
  const { received, port } = await receiver();
  const { asked, resolve } = dns(['127.0.0.1'], ['10.0.0.1']);
  const route = { refusal: addressRule(['127.0.0.1']), resolve };
  await expect(post(new URL(`http://a.test:${port}/again`), posted, route)).rejects.toThrow('10.0.0.1 is a private');
  expect(asked).toEqual(['a.test', 'a.test']);
  expect(received).toEqual([`a.test:${port}/again`]);
});

test('a failure of the DNS is a failure of the request', async () => {
  const resolve = () => Promise.reject(Object.assign(new Error('no such name'), { code: 'ENOTFOUND' }));
  const route = { refusal: addressRule(), resolve };
  await expect(post(new URL('https://a.test/'), posted, route)).rejects.toMatchObject({ code: 'ENOTFOUND' });
});

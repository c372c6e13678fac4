// Enrolling passkeys through the API, with keys in software.
import { headerIdentity } from '@countersign/server';
import { expect, onTestFinished, test } from 'vitest';
import { softKey } from '../../countersign/test/passkeys/soft-key.ts';
import { asking, startServer } from './server.ts';

type Key = ReturnType<typeof softKey>;

async function open() {
  const server = await startServer({
    identify: headerIdentity({ header: 'x-user', trustedProxies: ['127.0.0.0/8'] }),
  });
  const { url } = server;
  const address = { origin: url, rpId: '127.0.0.1' };
  const ann = asking(url, { 'x-user': 'ann', origin: url });
  const begin = async () => (await ann('POST', '/api/v1/me/passkeys/options')).body;
  const confirmation = (key: Key, challenge: string) => (key.sign(challenge, address) as any).response;
  /** Enrols `key`. `confirmedBy` signs the challenge of the enrolment. */
  const enrol = async (name: string, key: Key, confirmedBy?: Key) => {
    const { options, confirm } = await begin();
    const response = key.register(options.challenge, address);
    const confirmed = confirmedBy && { confirmation: confirmation(confirmedBy, confirm.challenge) };
    return ann('POST', '/api/v1/me/passkeys', { name, response, ...confirmed });
  };
  const names = async () =>
    (await ann('GET', '/api/v1/me/passkeys')).body.items.map(({ name }: { name: string }) => name);
  return { ...server, ann, address, begin, enrol, confirmation, names };
}

test('a second passkey is enrolled only if the first one confirms it', async () => {
  const warnings: string[] = [];
  const warned = ({ message }: Error) => void warnings.push(message);
  process.on('warning', warned);
  onTestFinished(() => void process.off('warning', warned));
  const { ann, address, begin, enrol, confirmation, names } = await open();
  const [laptop, phone, stolen] = [softKey(), softKey(), softKey()];
  expect((await begin()).confirm).toBeNull();
  expect(await enrol('Laptop', laptop)).toMatchObject({ status: 200, body: { id: laptop.passkey.id } });
  expect((await begin()).confirm.allowCredentials).toMatchObject([{ id: laptop.passkey.id }]);

  const refused = { status: 403, body: { code: 'invalid-signature' } };
  expect(await enrol('None', stolen)).toMatchObject(refused);
  expect(await enrol('Itself', stolen, stolen)).toMatchObject(refused);
  // A confirmation of an earlier enrolment.
  const earlier = confirmation(laptop, (await begin()).confirm.challenge);
  const response = stolen.register((await begin()).options.challenge, address);
  const replayed = { name: 'Replayed', response, confirmation: earlier };
  expect(await ann('POST', '/api/v1/me/passkeys', replayed)).toMatchObject(refused);
  expect(await names()).toEqual(['Laptop']);

  expect(await enrol('Phone', phone, laptop)).toMatchObject({ status: 200, body: { id: phone.passkey.id } });
  expect(await names()).toEqual(['Laptop', 'Phone']);
  // The library would try algorithms that are experimental in Node.
  expect(warnings.filter((message) => message.includes('Web Crypto'))).toEqual([]);
});

test('an API token cannot begin, complete or rename an enrolment, nor revoke a passkey', async () => {
  const { as, address, begin, names, enrol } = await open();
  const token = await as('ann');
  const refused = { status: 403, body: { code: 'not-allowed' } };
  expect(await token('POST', '/api/v1/me/passkeys/options')).toMatchObject(refused);
  // Not even with the challenge of an enrolment that the person began in a browser.
  const key = softKey();
  const response = key.register((await begin()).options.challenge, address);
  expect(await token('POST', '/api/v1/me/passkeys', { name: 'Mine', response })).toMatchObject(refused);
  expect(await names()).toEqual([]);
  await enrol('Laptop', key);
  expect(await token('POST', `/api/v1/me/passkeys/${key.passkey.id}`, { name: 'Mine' })).toMatchObject(refused);
  expect(await token('DELETE', `/api/v1/me/passkeys/${key.passkey.id}`)).toMatchObject(refused);
  expect(await names()).toEqual(['Laptop']);
});

// Options that protect: misspelt or of another shape, they are refused when the server is made, and open nothing.
import { get } from 'node:http';
import {
  type AppOptions,
  createApp,
  createToken,
  headerIdentity,
  jwtIdentity,
  type ServeOptions,
  serve,
} from '@countersign/server';
import { countersign, memoryStore } from 'countersign';
import { describe, expect, test } from 'vitest';
import { startServer } from '../server.ts';

const refused = (message: string) =>
  expect.objectContaining({ code: 'invalid-options', message: expect.stringContaining(message) });
const ai = () => countersign({ store: memoryStore() });

test.each([
  [{ mayDecides: () => false }, 'takes no mayDecides. The nearest it takes: mayDecide.'],
  [{ identity: () => null }, 'takes no identity.'],
  [{ mayDecide: true }, '`mayDecide` must be a function.'],
  [{ mayRead: 'finance' }, '`mayRead` must be a function.'],
  [{ identify: 'x' }, '`identify` must be a function.'],
  [{ allowedOrigins: 'https://app.example.com' }, '`allowedOrigins` must be a list of texts.'],
  [{ hosts: 'approvals.example.com' }, '`hosts` must be "loopback" or a list of texts.'],
  [{ metrics: 'closed' }, '`metrics` must be token, open or off.'],
])('createApp and serve refuse %o', async (options, message) => {
  expect(() => createApp(ai(), options as AppOptions)).toThrow(refused(message));
  await expect(serve(ai(), { port: 0, ...options } as ServeOptions)).rejects.toEqual(refused(message));
});

test.each([null, 5, 'x'])('%o is no object of options', async (options) => {
  const message = 'takes an object of options';
  expect(() => createApp(ai(), options as never)).toThrow(refused(message));
  await expect(serve(ai(), options as never)).rejects.toEqual(refused(message));
  await expect(createToken(ai().runs.notes, options as never)).rejects.toEqual(refused(message));
  expect(() => headerIdentity(options as never)).toThrow(refused(message));
  expect(() => jwtIdentity(options as never)).toThrow(refused(message));
});

test('what is undefined is as if it were not given: a local server answers to local names only', async () => {
  const { server } = await startServer({ hosts: undefined, metrics: undefined, dev: true } as never);
  const asked = (headers: Record<string, string>, path = '/healthz') =>
    new Promise<number | undefined>((resolve, reject) => {
      const request = get({ port: server.port, host: '127.0.0.1', path, headers }, (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      });
      request.on('error', reject);
    });
  expect(await asked({ host: 'evil.example' })).toBe(421);
  expect(await asked({}, '/metrics')).toBe(200);
});

test.each(['', null, true])('serve does not listen everywhere because its hostname is %o', async (hostname) => {
  const serving = serve(ai(), { port: 0, hostname } as never).then((server) => server.close());
  await expect(serving).rejects.toEqual(refused('`hostname` must be a name or an address.'));
});

test('serve refuses what neither it nor the app knows', async () => {
  await expect(serve(ai(), { prot: 0 } as ServeOptions)).rejects.toEqual(refused('The nearest it takes: port.'));
});

test.each([
  [{ scope: ['read'] }, 'createToken takes no scope. The nearest it takes: scopes.'],
  [{ expiresIn: 1000 }, 'createToken takes no expiresIn. The nearest it takes: expiresInMs.'],
  [{ scopes: ['raed'] }, '`scopes` must be some of start, read, decide, not "raed".'],
  [{ scopes: 'read' }, '`scopes` must be some of start, read, decide, not "read".'],
  [{ scopes: [] }, '`scopes` must be some of'],
  [{ reach: 'everything' }, '`reach` must be own or all, not "everything".'],
  [{ expiresInMs: '1000' }, '`expiresInMs` must be a number'],
])('no token is made with %o', async (options, message) => {
  const given = { person: 'ci', ...options } as never;
  await expect(createToken(ai().runs.notes, given)).rejects.toEqual(refused(message));
});

test.each([{ scope: ['read'] }, { scopes: ['raed'] }, { scopes: 'read' }, { reach: 'everything' }, { id: 7 }])(
  'whoever is identified with %o is nobody, and the log says why',
  async (rights) => {
    const log: object[] = [];
    const { url, server } = await startServer({
      identify: () => ({ id: 'eve', ...rights }) as never,
      log: (entry) => log.push(entry),
    });
    expect((await fetch(`${url}/api/v1/runs`)).status).toBe(500);
    const [name = ''] = Object.keys(rights);
    await expect(server.app.loginPath({ id: 'eve', ...rights } as never)).rejects.toEqual(refused(name));
    expect(log).toContainEqual(
      expect.objectContaining({
        level: 'error',
        error: expect.objectContaining({ message: expect.stringContaining(`${name}`) }),
      }),
    );
  },
);

test.each(['ann\nlevel=error', 'ann\r', '\u0000', '\u009b31m', 'a'.repeat(201), '\ud800'])(
  'an id of %j, which would be written to logs and records, is nobody',
  async (id) => {
    const { url, ai, server } = await startServer({ identify: () => ({ id }) });
    expect((await fetch(`${url}/api/v1/me`)).status).toBe(401);
    await expect(createToken(ai.runs.notes, { person: id })).rejects.toEqual(refused('`person` must be a text'));
    await expect(server.app.loginPath({ id })).rejects.toEqual(refused('`id` of loginPath must be a text'));
  },
);

describe('identities', () => {
  const whole = { secret: 's'.repeat(32), issuer: 'https://login.example', audience: 'approvals' };

  test.each([
    [{ audience: undefined }, '`audience` of jwtIdentity must be a text that is not empty, or a list of such.'],
    [{ audience: '' }, '`audience` of jwtIdentity'],
    [{ audience: [] }, '`audience` of jwtIdentity'],
    [{ audience: ['approvals', ''] }, '`audience` of jwtIdentity'],
    [{ issuer: undefined }, '`issuer` of jwtIdentity'],
    [{ audiences: 'approvals' }, 'jwtIdentity takes no audiences. The nearest it takes: audience.'],
  ])('jwtIdentity refuses %o', (options, message) => {
    expect(() => jwtIdentity({ ...whole, ...options } as never)).toThrow(refused(message));
  });

  test('jwtIdentity takes several issuers and audiences', () => {
    expect(
      jwtIdentity({ ...whole, issuer: ['https://a.example', 'https://b.example'], audience: ['a'] }),
    ).toBeDefined();
  });

  test.each([undefined, null, '', 5, 'x user'])('headerIdentity reads no header called %o', (header) => {
    const options = { header, trustedProxies: ['127.0.0.1'] } as never;
    expect(() => headerIdentity(options)).toThrow(refused('`header` of headerIdentity must be the name of a header'));
  });

  // With nothing behind the slash, every address would be trusted.
  test.each(['10.0.0.1/', '10.0.0.1/x', '10.0.0.1/33', '10.0.0.1/8/8', '10.0.0.1/-1', '::1/129', 'proxy', 5])(
    'headerIdentity trusts no proxy at %o',
    (network) => {
      const options = { header: 'x-user', trustedProxies: [network] } as never;
      expect(() => headerIdentity(options)).toThrow(refused('which is no address'));
    },
  );

  test('headerIdentity refuses what it does not know', () => {
    const misspelt = { header: 'x-user', trustedProxy: ['127.0.0.1'] };
    expect(() => headerIdentity(misspelt as never)).toThrow(refused('headerIdentity takes no trustedProxy.'));
  });
});

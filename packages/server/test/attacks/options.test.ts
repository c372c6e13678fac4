// Options that protect: misspelt or invalid ones are refused when the server is made.
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
  [{ mayDecides: () => false }, 'has no option mayDecides. It takes: mayRead, maySteer, identify,'],
  [{ identity: () => null }, 'has no option identity.'],
  [{ mayRead: true }, '`mayRead` of createApp must be a function.'],
  [{ mayRead: 'finance' }, '`mayRead` of createApp must be a function.'],
  [{ identify: 'x' }, '`identify` of createApp must be a function.'],
  [{ allowedOrigins: 'https://app.example.com' }, '`allowedOrigins` of createApp must be an array of strings.'],
  [{ hosts: 'approvals.example.com' }, '`hosts` of createApp must be "loopback" or an array of strings.'],
  [{ metrics: 'closed' }, '`metrics` of createApp must be token, open or off.'],
])('createApp and serve refuse %o', async (options, message) => {
  expect(() => createApp(ai(), options as AppOptions)).toThrow(refused(message));
  const ofServe = message.replace('createApp', 'serve');
  await expect(serve(ai(), { port: 0, ...options } as ServeOptions)).rejects.toEqual(refused(ofServe));
});

test.each([null, 5, 'x'])('%o is refused as options', async (options) => {
  const message = 'takes an object of options';
  expect(() => createApp(ai(), options as never)).toThrow(refused(message));
  await expect(serve(ai(), options as never)).rejects.toEqual(refused(message));
  await expect(createToken(ai().runs.notes, options as never)).rejects.toEqual(refused(message));
  expect(() => headerIdentity(options as never)).toThrow(refused(message));
  expect(() => jwtIdentity(options as never)).toThrow(refused(message));
});

test('an undefined option keeps its default: a local server answers to local names only', async () => {
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
  await expect(serving).rejects.toEqual(refused('`hostname` of serve must be a name or an address.'));
});

test('serve refuses unknown options', async () => {
  await expect(serve(ai(), { prot: 0 } as ServeOptions)).rejects.toEqual(
    refused('serve has no option prot. It takes: '),
  );
});

test.each([
  [{ scope: ['read'] }, 'createToken has no option scope. It takes: person, label, scopes,'],
  [{ expiresIn: 1000 }, 'createToken has no option expiresIn. It takes: person, label, scopes,'],
  [{ scopes: ['raed'] }, '`scopes` of createToken must be some of start, read, decide, not "raed".'],
  [{ scopes: 'read' }, '`scopes` of createToken must be some of start, read, decide, not "read".'],
  [{ scopes: [] }, '`scopes` must be some of'],
  [{ reach: 'everything' }, '`reach` of createToken must be own or all, not "everything".'],
  [{ expiresInMs: '1000' }, '`expiresInMs` of createToken must be a number'],
])('no token is made with %o', async (options, message) => {
  const given = { person: 'ci', ...options } as never;
  await expect(createToken(ai().runs.notes, given)).rejects.toEqual(refused(message));
});

test.each([{ scope: ['read'] }, { scopes: ['raed'] }, { scopes: 'read' }, { reach: 'everything' }, { id: 7 }])(
  'an identity with %o is refused, and the log says why',
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
  'an id of %j, which would be written to logs and records, is refused',
  async (id) => {
    const { url, ai, server } = await startServer({ identify: () => ({ id }) });
    expect((await fetch(`${url}/api/v1/me`)).status).toBe(401);
    await expect(createToken(ai.runs.notes, { person: id })).rejects.toEqual(
      refused('`person` of createToken must be a string'),
    );
    await expect(server.app.loginPath({ id })).rejects.toEqual(refused('`id` of loginPath must be a string'));
  },
);

describe('identities', () => {
  const whole = { secret: 's'.repeat(32), issuer: 'https://login.example', audience: 'approvals' };

  test.each([
    [
      { audience: undefined },
      '`audience` of jwtIdentity must be a string that is not empty, or an array of such strings.',
    ],
    [{ audience: '' }, '`audience` of jwtIdentity'],
    [{ audience: [] }, '`audience` of jwtIdentity'],
    [{ audience: ['approvals', ''] }, '`audience` of jwtIdentity'],
    [{ issuer: undefined }, '`issuer` of jwtIdentity'],
    [{ audiences: 'approvals' }, 'jwtIdentity has no option audiences. It takes: issuer, audience,'],
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

  // With nothing after the slash, every address would be trusted.
  test.each(['10.0.0.1/', '10.0.0.1/x', '10.0.0.1/33', '10.0.0.1/8/8', '10.0.0.1/-1', '::1/129', 'proxy', 5])(
    'headerIdentity trusts no proxy at %o',
    (network) => {
      const options = { header: 'x-user', trustedProxies: [network] } as never;
      expect(() => headerIdentity(options)).toThrow(refused('which is not an address'));
    },
  );

  test('headerIdentity refuses unknown options', () => {
    const misspelt = { header: 'x-user', trustedProxy: ['127.0.0.1'] };
    expect(() => headerIdentity(misspelt as never)).toThrow(refused('headerIdentity has no option trustedProxy.'));
  });
});

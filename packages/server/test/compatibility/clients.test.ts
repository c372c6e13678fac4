// A client of one minor version works with the server of the next: what earlier versions described is still there. The files never
// change; each release adds its own with `MAKE_DESCRIPTION=1`.
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { startServer } from '../server.ts';
import { breaks, type Description } from './breaks.ts';

const kept = join(import.meta.dirname, `openapi-${manifest.version}.json.gz`);

async function described(): Promise<Description> {
  const { url } = await startServer();
  return (await (await fetch(`${url}/api/v1/openapi.json`)).json()) as Description;
}

test('this version has kept its description', async () => {
  if (process.env.MAKE_DESCRIPTION) {
    if (existsSync(kept)) throw new Error(`${kept} exists. What a release has described never changes.`);
    writeFileSync(kept, gzipSync(JSON.stringify(await described())));
  }
  expect(existsSync(kept)).toBe(true);
});

test('clients of earlier versions miss nothing', async () => {
  const now = await described();
  for (const file of globSync('openapi-*.json.gz', { cwd: import.meta.dirname })) {
    const before = JSON.parse(gunzipSync(readFileSync(join(import.meta.dirname, file))).toString());
    expect([file, breaks(before, now)]).toEqual([file, []]);
  }
});

const operation = (responses: object, body?: object) => ({
  '/calls': {
    post: {
      parameters: [{ in: 'query', name: 'limit' }],
      ...(body && { requestBody: { content: { 'application/json': { schema: body } } } }),
      responses: { 200: { content: { 'application/json': { schema: responses } } } },
    },
  },
});
const answer = { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] };
const asked = { type: 'object', properties: { tool: { enum: ['pay', 'wire'] } }, additionalProperties: false };

test.each<[string, object, string]>([
  ['an operation that is gone', {}, 'POST /calls is gone'],
  ['a field that is gone', operation({ ...answer, properties: {} }, asked), 'POST /calls 200.id is gone'],
  ['a field that may be missing', operation({ ...answer, required: [] }, asked), 'POST /calls 200.id may be missing'],
  [
    'a field of another kind',
    operation({ ...answer, properties: { id: { type: ['string', 'null'] } } }, asked),
    'POST /calls 200.id may be null',
  ],
  ['a field that is needed now', operation(answer, { ...asked, required: ['tool'] }), 'POST /calls body needs tool'],
  [
    'a value that is taken no more',
    operation(answer, { ...asked, properties: { tool: { enum: ['pay'] } } }),
    'POST /calls body.tool takes no wire',
  ],
])('%s is found', (_name, after, problem) => {
  expect(breaks({ paths: operation(answer, asked) }, { paths: after as Description['paths'] })).toEqual([problem]);
});

test('what is new breaks nobody', () => {
  const more = { ...answer, properties: { ...answer.properties, at: { type: 'number' } }, required: ['id', 'at'] };
  const wider = { ...asked, properties: { tool: { enum: ['pay', 'wire', 'send'] }, note: { type: 'string' } } };
  expect(breaks({ paths: operation(answer, asked) }, { paths: operation(more, wider) })).toEqual([]);
});

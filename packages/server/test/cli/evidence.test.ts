// `evidence` and `verify`: a file that shows how a run was decided, checked where there is no store.
import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createWorkplace, HOSTILE, PAY } from './workplace.ts';

const place = createWorkplace();
const { countersign, json, path } = place;
let [paying, hostile] = ['', ''];

beforeAll(async () => {
  place.withAgents();
  [paying = '', hostile = ''] = await place.start(
    PAY,
    HOSTILE.replace('evil', `<script>alert(1)</script><img src=x onerror=alert(1)>`),
  );
  const [pending = ''] = (await json('show', paying)).pending;
  await json('decide', pending, '--reject', '--reason', 'too expensive', '--by', 'ben');
}, 120_000);
afterAll(() => place.close());

test('the file verifies in a place without the store', { timeout: 120_000 }, async () => {
  const wrote = await countersign(['evidence', paying, '--out', path('run.json'), '--html', path('run.html')]);
  expect(wrote).toMatchObject({ code: 0 });
  const [, hash = ''] = /Hash: (\S+)/.exec(wrote.stdout) ?? [];
  const empty = createWorkplace();
  try {
    const verified = await empty.countersign(['verify', path('run.json'), '--anchor', hash]);
    expect(verified).toMatchObject({ code: 0 });
    expect(verified.stdout).toMatch(/^verified: run_\S+, \d+ events, 1 request, 1 decision\n/);
    expect(verified.stdout).toContain('The anchor matches this document.');
  } finally {
    empty.close();
  }
  expect((await countersign(['evidence', paying])).stdout).toBe(readFileSync(path('run.json'), 'utf8'));
});

test('a changed file does not verify, and each problem has its place', { timeout: 120_000 }, async () => {
  await countersign(['evidence', paying, '--out', path('run.json')]);
  const text = readFileSync(path('run.json'), 'utf8');
  writeFileSync(path('changed.json'), text.replace('too expensive', 'far too cheap'));
  const { code, stdout } = await countersign(['verify', path('changed.json')]);
  expect(code).toBe(1);
  expect(stdout).toContain('hash: The content of the document does not match its hash.');
  const { stdout: document, code: again } = await countersign(['verify', path('changed.json'), '--json']);
  expect(again).toBe(1);
  expect(JSON.parse(document)).toMatchObject({
    ok: false,
    problems: expect.arrayContaining([{ where: 'hash', problem: expect.any(String) }]),
  });
  expect(await countersign(['verify', path('run.json'), '--anchor', 'sha256-0'])).toMatchObject({ code: 1 });
  expect(await countersign(['verify', path('none.json')])).toMatchObject({ code: 3 });
});

test('the page has no scripts, and hostile text stays text', { timeout: 120_000 }, async () => {
  await countersign(['evidence', hostile, '--html', path('hostile.html')]);
  const page = readFileSync(path('hostile.html'), 'utf8');
  expect(page).not.toMatch(/<(script|img|a|iframe|link)\b|<[^>]*\son\w+=/i);
  expect(page).not.toMatch(/[\u202a-\u202e\u2066-\u2069\u200b]/);
  expect(page).toContain("default-src 'none'");
});

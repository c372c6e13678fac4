// Files of a preview: checked, recorded with their bytes and hash, and compared before the call runs.
import { createHash } from 'node:crypto';
import { countersign, memoryStore, z } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { describe, expect, test } from 'vitest';

const bytes = new TextEncoder().encode('%PDF-1.7');
const data = Buffer.from(bytes).toString('base64');
const file = { name: 'invoice.pdf', mediaType: 'application/pdf', data };

async function asked(preview: () => unknown) {
  const paid: unknown[] = [];
  const model = scriptedModel(({ messages }) =>
    messages.some(({ role }) => role === 'tool') ? 'Done.' : { calls: [{ name: 'pay', input: {} }] },
  );
  const ai = countersign({ model, store: memoryStore() });
  const pay = ai.defineTool(
    { name: 'pay', description: 'Pays.', inputSchema: z.object({}), needsApproval: true, preview },
    async () => void paid.push('paid'),
  );
  await ai.defineAgent({ name: 'clerk', tools: [pay] }).generate({ runId: 'run', prompt: 'Pay.' });
  const request = async () => (await ai.runs.requests()).items[0];
  const approve = async () => {
    await ai.runs.decide((await request())?.id ?? '', 'approve', { by: 'ann' });
    await ai.runs.wait('run');
  };
  return { paid, request, approve };
}

test.each([
  ['base64', data],
  ['bytes', bytes],
])('a file given as %s is on the request, with its hash', async (_, given) => {
  const { request, paid, approve } = await asked(() => ({ total: 950, files: [{ ...file, data: given }] }));
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  expect((await request())?.preview).toEqual({ value: { total: 950 }, files: [{ ...file, size: 8, sha256 }] });
  await approve();
  expect(paid).toEqual(['paid']);
});

test('another file under the same name is asked about again', async () => {
  let content = data;
  const { request, paid, approve } = await asked(() => ({ files: [{ ...file, data: content }] }));
  const before = await request();
  content = btoa('%PDF-1.8');
  await approve();
  expect(paid).toEqual([]);
  expect(await request()).toMatchObject({ earlierPreview: before?.preview });
  expect((await request())?.digest).not.toBe(before?.digest);
});

test('a list that is called files and has no bytes is a part of the value', async () => {
  const { request } = await asked(() => ({ files: ['a.txt', 'b.txt'] }));
  expect((await request())?.preview).toEqual({ value: { files: ['a.txt', 'b.txt'] } });
});

describe('a file that cannot be shown safely makes the preview fail', () => {
  test.each<[string, object, string]>([
    ['HTML', { mediaType: 'text/html' }, 'has a mediaType that is not shown'],
    ['SVG', { mediaType: 'image/svg+xml' }, 'has a mediaType that is not shown'],
    ['a type with parameters', { mediaType: 'image/png; charset=x' }, 'has a mediaType that is not shown'],
    ['a path as its name', { name: '../invoice.pdf' }, 'without a path'],
    ['no name', { name: '' }, 'the name of a file must be'],
    ['a line break in its name', { name: 'a\r\nb.pdf' }, 'the name of a file must be'],
    ['data that is not base64', { data: '%' }, 'is not base64'],
    ['data that is no text', { data: 5 }, 'must be base64 or bytes'],
    ['too many bytes', { data: new Uint8Array(300_001) }, 'has more than 300000 bytes'],
  ])('%s', async (_, change, why) => {
    const { request } = await asked(() => ({ files: [{ ...file, ...change }] }));
    expect((await request())?.preview).toEqual({ failed: expect.stringContaining(why) });
  });

  test('many files with too many bytes together', async () => {
    const half = new Uint8Array(200_000);
    const { request } = await asked(() => ({
      files: [
        { ...file, data: half },
        { ...file, data: half },
      ],
    }));
    expect((await request())?.preview).toEqual({ failed: 'its files have more than 300000 bytes together' });
  });
});

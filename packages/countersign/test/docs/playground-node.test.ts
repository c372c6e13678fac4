// What the playground gives the engine in place of Node answers as Node does.
import { hash as hashOfNode } from 'node:crypto';
import { expect, test } from 'vitest';
import { Bytes, bytesOf, compare, hash } from '../../../../docs/.vitepress/theme/playground/node.ts';

const TEXTS = Array.from({ length: 200 }, (_, length) => `é€😀`.slice(0, length % 5) + 'x'.repeat(length));

test('hashes are those of Node, for texts around every size of a block', () => {
  for (const text of TEXTS)
    for (const encoding of ['hex', 'base64url'] as const)
      expect(hash('sha256', text, encoding)).toBe(hashOfNode('sha256', text, encoding));
});

test('bytes are read and written as Node does', () => {
  for (const text of TEXTS)
    for (const encoding of ['utf8', 'hex', 'base64', 'base64url'] as const) {
      const written = Buffer.from(text).toString(encoding);
      expect(bytesOf(text).toString(encoding)).toBe(written);
      expect(bytesOf(written, encoding)).toEqual(new Bytes(Buffer.from(text)));
    }
});

test('bytes are compared as Node does', () => {
  const some = ['', 'a', 'ab', 'b', 'é', '😀', 'aé'];
  for (const one of some)
    for (const other of some)
      expect(compare(bytesOf(one), bytesOf(other))).toBe(Buffer.compare(Buffer.from(one), Buffer.from(other)));
});

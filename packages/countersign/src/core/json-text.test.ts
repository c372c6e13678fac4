import { describe, expect, test } from 'vitest';
import { faultInJson } from './json-text.ts';

const LIMITS = { depth: 3, values: 10 };
const kindIn = (text: string, isStrict = false) => faultInJson(text, { ...LIMITS, isStrict })?.kind;

describe('a fault in JSON text', () => {
  test.each([
    ['{"a":1,"a":2}', 'key'],
    ['{"a":1, "\\u0061" : 2}', 'key'],
    ['{"a":{"b":1},"b":{"a":1}}', undefined],
    ['[{"a":1},{"a":1}]', undefined],
    ['{"a":"b\\":","b":"a\\":"}', undefined],
    ['{"a":1,"A":2}', undefined],
    ['[[[[]]]]', 'depth'],
    ['[[[]],[[]]]', undefined],
    ['[1,2,3,4,5,6,7,8,9,10,11,12]', 'values'],
    ['[12345678901234567890]', undefined],
  ])('%s: %s', (text, kind) => expect(kindIn(text)).toBe(kind));

  test.each([
    ['{"a":1,"A":2}', 'key'],
    ['{"ſ":1,"S":2}', 'key'],
    ['{"é":1,"e\u0301":2}', 'key'],
    ['[true,false,null,1.5e3,-0.1]', undefined],
    ['[12345678901234567890]', 'number'],
    ['[1e999]', 'number'],
  ])('read strictly, %s: %s', (text, kind) => expect(kindIn(text, true)).toBe(kind));

  test.each(['"', '{"a', '{"a\\', '{"a":', ']]]', '{"\\x":1,"\\x":2}', ''])(
    'text that is not JSON ends the scan: %j',
    (text) => expect(() => kindIn(text, true)).not.toThrow(),
  );
});

// Conditions as sentences.
import type { Condition } from 'countersign/request';
import { expect, test } from 'vitest';
import { conditionsText } from './condition-text.ts';

test.each<[readonly Condition[], string]>([
  [[{ field: 'amount', above: 1000 }], 'Amount in EUR is above 1000'],
  [[{ field: 'amount', atLeast: 10, below: 20 }], 'Amount in EUR is at least 10 and below 20'],
  [
    [
      { field: ['order', 'country'], oneOf: ['CH', 7] },
      { field: 'urgent', equals: true },
    ],
    'order.country is one of CH, 7 and urgent is true',
  ],
  [[{ field: 'a\u202eb', equals: 'x\u202ey' }], 'a<U+202E>b is x<U+202E>y'],
])('%j is %j', (conditions, text) => {
  expect(conditionsText(conditions, new Map([['amount', 'Amount in EUR']]))).toBe(text);
});

import { expect, test } from 'vitest';
import { inWords, titleOf } from './title.ts';

const asked = { tool: 'payInvoice', kind: 'approval', input: {}, payload: null } as const;

test('the title of the tool is the headline', () => {
  expect(titleOf({ ...asked, title: 'Pay €950 to ACME' })).toBe('Pay €950 to ACME');
  expect(titleOf({ ...asked, title: ' ' })).toBe('Pay invoice');
  expect(titleOf({ ...asked, title: null })).toBe('Pay invoice');
});

test('a short question is its own headline, a long one is not', () => {
  const question = { ...asked, tool: 'askQuestion', kind: 'question' } as const;
  expect(titleOf({ ...question, input: { question: 'Which size?' } })).toBe('Which size?');
  expect(titleOf({ ...question, payload: { question: 'Which size?' } })).toBe('Which size?');
  expect(titleOf({ ...question, input: { question: 'x'.repeat(200) } })).toBe('Ask question');
});

test.for<[string, string]>([
  ['pay', 'Pay'],
  ['send_mail', 'Send mail'],
  ['fetchURLOfPage', 'Fetch URL of page'],
  ['crm.delete-contact', 'Crm delete contact'],
  ['pay\u202Eecil', 'pay\u202Eecil'],
])('%s in words is %s', ([name, words]) => expect(inWords(name)).toBe(words));

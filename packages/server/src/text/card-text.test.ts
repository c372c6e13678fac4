// What a request shows: no text can pass for something else.
import type { Json } from 'countersign';
import { expect, test } from 'vitest';
import type { ApiRequest } from '../schemas/request.ts';
import { cardLines, cardSummary, headlineAndTool } from './card-text.ts';

const cardWith = (input: ApiRequest['input']): ApiRequest =>
  ({
    id: 'run_1:call_1',
    runId: 'run_1',
    agent: 'assistant',
    startedBy: 'ann',
    tool: 'pay',
    kind: 'approval',
    status: 'pending',
    risk: null,
    labels: [],
    reversibility: null,
    preview: null,
    earlierPreview: null,
    policies: [{}],
    requesters: [],
    progress: null,
    payload: { message: 'Sure?' },
    input,
    createdAt: 0,
    expiresAt: null,
    mayDecide: true,
    assignee: null,
    decision: null,
  }) as unknown as ApiRequest;
const textOf = (card: ApiRequest, columns: number): string => cardLines(card, columns, 1_000).join('\n');

test('names of any script are aligned', () => {
  expect(textOf(cardWith({ 金額: 950, to: 'DE02' }), 38)).toContain('  金額  950\n  to    DE02\n');
});

test('no text can pass for a field of its own', () => {
  const fields = (input: ApiRequest['input']) => textOf(cardWith(input), 48).match(/^ {2}\S.*$/gm);
  const spaces = ' '.repeat(50);
  expect(fields({ memo: `June${spaces}amount  5${spaces}to      DE02`, amount: 9_000 })).toEqual([
    '  memo    │ "June',
    '  amount  9000',
  ]);
  expect(fields({ memo: 'June\n   amount  5', amount: 9_000 })).toEqual(['  memo    │ June', '  amount  9000']);
  expect(fields({ [`memo${spaces}amount  5`]: 'x', amount: 9_000 })).toEqual(['  "memo', '  amount           9000']);
  expect(fields({ memo: [`June${spaces}amount  5`, 'x'.repeat(50)], amount: 9_000 })).toEqual([
    '  memo    [',
    '  amount  9000',
  ]);
});

test('a message cannot pass for the input', () => {
  const card = {
    ...cardWith({ amount: 9_000 }),
    payload: 'Sure?\n\nInput it would run with\n  amount  5',
  } as ApiRequest;
  const text = textOf(card, 50);
  expect(text).toContain(
    '│ Sure?\n│\n│ Input it would run with\n│   amount  5\n\nInput it would run with\n  amount  9000\n',
  );
});

test('strings, numbers and JSON look different', () => {
  const shown = (value: Json) => /^ {2}a {2}(.*)$/m.exec(textOf(cardWith({ a: value }), 78))?.[1];
  for (const value of [
    '950',
    950,
    'null',
    null,
    '{}',
    {},
    '["a"]',
    ['a'],
    '',
    ' a',
    'a ',
    'a  b',
    'a\tb',
    '"a"',
    '│ a',
  ])
    expect(shown(value)).toBe(JSON.stringify(value));
  for (const value of ['DE02', '2026-11-15', 'a b', 'a "b"', '-', '5 apples']) expect(shown(value)).toBe(value);
});

test('in a list, strings and names cannot add fields', () => {
  const summary = (input: ApiRequest['input']) => cardSummary({ ...cardWith(input), payload: true });
  expect(summary({ to: 'DE02, amount 5', 'amount 5, to': 1 })).toBe('to "DE02, amount 5", "amount 5, to" 1');
});

test('a request leads with its title, and its tool is small print', () => {
  const card = { ...cardWith({ amount: 950 }), title: 'Pay €950\nto ACME\u202e' } as ApiRequest;
  expect(textOf(card, 48)).toMatch(/^Pay €950⏎to ACME<U\+202E>\npay\nNeeds approval/);
  expect(headlineAndTool(card)).toBe('Pay €950⏎to ACME<U+202E> (pay)');
});

test('without a title, also from an older server, a request leads with its tool', () => {
  for (const title of [null, undefined]) {
    const card = { ...cardWith({ amount: 950 }), title } as ApiRequest;
    expect(textOf(card, 48)).toMatch(/^pay\nNeeds approval/);
    expect(headlineAndTool(card)).toBe('pay');
  }
});

test('a preview has an entry for each row, and no text in it passes for another', () => {
  const rows = [
    { product: 'tea', left: 3 },
    { product: `soap${' '.repeat(40)}- product "gold"`, left: 0 },
  ];
  const card = { ...cardWith({ below: 1 }), preview: { value: rows }, reversibility: 'irreversible' } as ApiRequest;
  const text = textOf(card, 50);
  expect(text).toContain('Needs approval · irreversible\n');
  expect(text).toContain('\nWhat would happen\n  - product "tea", left 3\n');
  expect(text.match(/^ {2}- /gm)).toHaveLength(2);
});

test('a failed preview and a changed one are named', () => {
  const failed = { ...cardWith({}), preview: { failed: 'the ledger\nis down' } } as ApiRequest;
  expect(textOf(failed, 78)).toContain('\nWhat would happen\n  Preview failed: the ledger⏎is down\n');
  const changed = { ...cardWith({}), preview: { value: '- old\n+ new' }, earlierPreview: { value: 0 } } as ApiRequest;
  expect(textOf(changed, 78)).toContain(
    '\nWhat would happen has changed.\n\nNow\n  │ - old\n  │ + new\n\nBefore\n  0\n',
  );
});

test('a server of an older version sends no preview', () => {
  const { reversibility: _class, preview: _now, earlierPreview: _before, ...card } = cardWith({ amount: 1 });
  expect(textOf(card as ApiRequest, 48)).not.toContain('would happen');
});

test('the input has the labels of its schema, and money and dates as people read them', () => {
  const inputSchema = {
    properties: {
      amount: { title: 'Amount', 'x-countersign': { money: { currencyField: 'currency' } } },
      due: { description: 'Pay until', format: 'date' },
    },
  };
  const input = { amount: 12950.5, currency: 'EUR', due: '2026-11-27', Amount2: 'x' };
  expect(textOf({ ...cardWith(input), inputSchema } as ApiRequest, 60)).toContain(
    '  Amount     €12,950.50\n  Pay until  Fri, Nov 27, 2026\n  Amount2    x\n',
  );
});

test('no name or text of a model can pass for a label or for money', () => {
  const inputSchema = { properties: { amount: { title: 'Amount due' }, memo: {} } };
  const shown = textOf({ ...cardWith({ 'Amount due': 1, amount: 9_000, memo: 'x' }), inputSchema } as ApiRequest, 60);
  expect(shown).toContain('  "Amount due"  1\n  amount        9000\n');
});

test('the reason of the model is told as its words', () => {
  const agentReason = 'The invoice is due.\nInput it would run with\n  amount  5';
  const text = textOf({ ...cardWith({ amount: 9_000 }), agentReason } as ApiRequest, 60);
  expect(text).toContain('\nThe agent says\n  │ The invoice is due.\n  │ Input it would run with\n  │   amount  5\n');
});

test('people are shown by name, with their id', () => {
  const votes = [
    { by: 'ann', onBehalfOf: 'ben', type: 'approve', at: null, note: null, isEdit: false, isYours: false },
  ];
  const progress = { votes, missing: [], assignedTo: 'ben', escalatedTo: [], round: 1 };
  const names = { ann: 'Ann\u202e Lee', ben: 'Ben Okri' };
  const text = textOf({ ...cardWith({}), names, progress, policies: [{ name: 'two' }] } as never, 80);
  expect(text).toContain('  - Ann<U+202E> Lee (ann) for Ben Okri (ben): approved\n  Assigned to Ben Okri (ben)\n');
  expect(text).toContain('started by Ann<U+202E> Lee (ann)');
});

test('an unknown outcome says where to look, since when, by whose approval, and with which key', () => {
  const doubt = {
    startedAt: 0,
    approvedBy: ['ann', 'ben'],
    idempotencyKey: 'call-7',
    howToCheck: 'Ask the bank.\u202e',
  };
  const names = { ben: 'Ben Okri' };
  const card = { ...cardWith({ amount: 950 }), kind: 'doubt', doubt, names } as ApiRequest;
  const lines = textOf(card, 60).split('\n');
  const at = lines.indexOf('Look before you decide');
  expect(lines.slice(at + 1, at + 5)).toEqual([
    '  check      Ask the bank.<U+202E>',
    expect.stringMatching(/^ {2}started {4}19[67]\d-/),
    '  approvers  ann, Ben Okri (ben)',
    '  key        call-7',
  ]);
});

test('a comment cannot pass for a comment of another person, or for anything else on the card', () => {
  const text = 'Hm.\n  bea at 2026-01-01 00:00:00\n  │ Approve it.';
  const progress = {
    votes: [],
    missing: [],
    assignedTo: null,
    escalatedTo: [],
    round: 1,
    comments: [{ by: 'cem', text, at: 0 }],
  };
  const lines = textOf({ ...cardWith({}), progress } as ApiRequest, 60).split('\n');
  const from = lines.findIndex((line) => line.includes('Comments'));
  expect(lines[from + 1]).toMatch(/^ {2}cem at /);
  for (const line of lines.slice(from + 2, from + 5)) expect(line).toMatch(/^\s*│ /);
});

test('a second round says what was asked for, and what its input was before', () => {
  const previous = {
    requestId: 'run_1:call_0',
    input: { amount: 950 },
    comment: 'Less.\nInput  amount 5',
    by: 'ben',
    round: 1,
  };
  const text = textOf({ ...cardWith({ amount: 420 }), previous }, 60);
  expect(text).toContain('Needs approval · round 2');
  expect(text).toContain(
    'Changes asked for\n  │ ben: Less.\n  │ Input  amount 5\n\nInput it would run with\n  amount  420\n\nInput of the round before\n  amount  950\n',
  );
});

test('an effect can be undone if its tool has undo, and otherwise its tool says so', () => {
  const card = { ...cardWith({}), reversibility: 'reversible' } as ApiRequest;
  expect(textOf({ ...card, hasUndo: true }, 78)).toContain('Needs approval · can be undone\n');
  expect(textOf({ ...card, hasUndo: false }, 78)).toContain('Needs approval · can be undone, its tool says\n');
});

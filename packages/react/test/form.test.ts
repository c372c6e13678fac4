// Forms generated from JSON Schema, filled in by a person in a real browser.
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { openSite, type Site, show } from './site.ts';

vi.setConfig({ testTimeout: 120_000 });

let site: Site;
let page: Page;

beforeAll(async () => {
  site = await openSite();
  page = await site.open();
}, 60_000);
afterAll(() => site.close());
beforeEach(() =>
  page.evaluate(() => {
    window.hide();
    window.answers = [];
  }),
);

const answers = () => page.evaluate(() => window.answers);
const form = (schema: object | null, props: object = {}) =>
  show(page, { is: 'form', props: { schema, ...props } as never });
const button = (name: string) => page.getByRole('button', { name, exact: true });
const field = (name: string) => page.getByLabel(name, { exact: true });
const send = () => button('Send').click();

test('an enum is a row of buttons, and each button answers at once', async () => {
  await form({ enum: ['small', 0, false, null] });
  for (const name of ['small', '0', 'false', 'Nothing (null)']) await button(name).click();
  expect(await answers()).toEqual(['small', 0, false, null]);
});

test('choices with equal labels are distinguished, and the proposed value keeps its type', async () => {
  const choice = { enum: ['true', true, 'null', null] };
  const schema = { type: 'object', properties: { amount: { type: 'number' }, choice }, required: ['amount', 'choice'] };
  await form(schema, { initial: { amount: 1, choice: true } });
  expect(await page.getByRole('radiogroup').locator('label bdi').allInnerTexts()).toEqual([
    '"true"',
    'true',
    '"null"',
    'Nothing (null)',
  ]);
  await field('amount').fill('2');
  await send();
  expect(await answers()).toEqual([{ amount: 2, choice: true }]);
});

test('a union of constants with titles is a row of buttons', async () => {
  await form({
    oneOf: [
      { const: 'a', title: 'The first' },
      { const: 'b', title: 'The second' },
    ],
  });
  await button('The second').click();
  expect(await answers()).toEqual(['b']);
});

test('a boolean is two buttons, and No is an answer', async () => {
  await form({ type: 'boolean' });
  await button('No').click();
  expect(await answers()).toEqual([false]);
});

test('the choices of a question are buttons, with another answer only if it is allowed', async () => {
  await form({ type: 'string' }, { choices: ['6', '12'] });
  expect(await page.getByRole('textbox').count()).toBe(0);
  await form({ type: 'string' }, { choices: ['6', '12'], allowOther: true });
  await button('12').click();
  await field('Another answer').fill('15');
  await button('Send this answer').click();
  expect(await answers()).toEqual(['12', '15']);
});

test('an empty string is an answer, unless the schema requires more', async () => {
  await form({ type: 'string' });
  await send();
  expect(await answers()).toEqual(['']);
  await page.evaluate(() => window.hide());
  await form({ type: 'string', minLength: 1 });
  await send();
  expect(await answers()).toEqual(['']);
  expect(await field('Answer').getAttribute('aria-invalid')).toBe('true');
});

test('a form without a schema asks for text', async () => {
  await form(null, { label: 'Why?' });
  await field('Why?').fill('because');
  await page.keyboard.press('Enter');
  expect(await answers()).toEqual(['because']);
});

test.for([
  [{ type: 'number' }, '0', 0],
  [{ type: 'number' }, '-1.5e3', -1500],
  [{ type: 'number' }, 'ten', 'Enter a number.'],
  [{ type: 'number' }, '1,5', 'Enter a number.'],
  [{ type: 'number' }, '', 'Required'],
  [{ type: 'integer' }, '1.5', 'Enter a whole number.'],
  [{ type: 'integer' }, '12345678901234567890', 'This number has too many digits.'],
  [{ type: 'number', minimum: 2 }, '1', 'At least 2.'],
  [{ type: 'number', maximum: 2 }, '3', 'At most 2.'],
  [{ type: 'number', exclusiveMinimum: 0 }, '0', 'More than 0.'],
  [{ type: 'number', exclusiveMaximum: 1 }, '1', 'Less than 1.'],
  [{ type: 'number', multipleOf: 0.1 }, '0.3', 0.3],
  [{ type: 'number', multipleOf: 5 }, '7', 'A multiple of 5.'],
  [{ type: 'string', minLength: 3 }, 'ab', 'At least 3 characters.'],
  [{ type: 'string', maxLength: 3 }, 'abcd', 'At most 3 characters.'],
  [{ type: 'string', pattern: '^[A-Z]{2}$' }, 'de', 'Expected the format ^[A-Z]{2}$.'],
  [{ type: 'string', pattern: '^[A-Z]{2}$' }, 'DE', 'DE'],
  [{ type: 'string', format: 'email' }, 'nobody', 'Expected the format email.'],
  [{ type: 'string', format: 'email' }, 'ann@example.org', 'ann@example.org'],
  [{ type: 'string', format: 'date' }, '2026-11-15', '2026-11-15'],
  [{ type: 'string', format: 'time' }, '08:30', '08:30'],
] as const)('%j parses %j as %j', async ([schema, typed, expected]) => {
  await form(schema);
  await field('Answer').fill(typed);
  await send();
  if (typeof expected === 'string' && expected !== typed) {
    expect(await answers()).toEqual([]);
    const described = await field('Answer').getAttribute('aria-describedby');
    expect(await page.locator(`[id="${described}"]`).textContent()).toBe(expected);
    expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('INPUT');
  } else expect(await answers()).toEqual([expected]);
});

test('a date and time is entered in local time and answered in UTC', async () => {
  await form({ type: 'string', format: 'date-time' });
  await field('Answer').fill('2026-11-15T09:30:00');
  expect(await page.getByText('Europe/Berlin').count()).toBe(1);
  await send();
  expect(await answers()).toEqual(['2026-11-15T08:30:00.000Z']);
});

test.for([
  ['date', '2026-02-30'],
  ['time', '25:61'],
  ['date-time', '2026-02-30T10:00:00Z'],
  // The second of two: the clocks were set back in between.
  ['date-time', '2026-10-25T01:30:00Z'],
] as const)('%s %s, which the browser control would change, is shown unchanged', async ([format, initial]) => {
  await form({ type: 'string', format }, { initial });
  expect(await field('Answer').inputValue()).toBe(initial);
  await send();
  expect(await answers()).toEqual([initial]);
});

test('an address in another script is answered unchanged', async () => {
  await form({ type: 'string', format: 'email' });
  await field('Answer').pressSequentially('ann@пример.рф');
  expect(await field('Answer').inputValue()).toBe('ann@пример.рф');
  await send();
  expect(await answers()).toEqual(['ann@пример.рф']);
});

test.for([
  ['{ "amount": 9007199254740993 }', 'This number has too many digits.'],
  ['[1e400]', 'This number has too many digits.'],
  ['{ "amount": 1, "am\\u006Funt": 100 }', 'This name is used twice.'],
] as const)('JSON %s, which would lose information, is rejected', async ([typed, problem]) => {
  await form({});
  await field('Answer (As JSON)').fill(typed);
  await send();
  expect(await answers()).toEqual([]);
  await page.getByRole('alert').getByText(problem).waitFor();
});

test('JSON that loses no information is an answer', async () => {
  const value = {
    a: [
      { b: 1.5, c: -2e-7 },
      { b: '9007199254740993', 'x":': 'a": 1e400' },
    ],
    b: { a: 1.1e21 },
  };
  await form({});
  await field('Answer (As JSON)').fill(JSON.stringify(value, null, 1).replace('1.5', '1.50'));
  await send();
  expect(await answers()).toEqual([value]);
});

const ORDER = {
  type: 'object',
  properties: {
    name: { type: 'string', title: 'Name', description: 'As on the card.' },
    guests: { type: 'integer', default: 4 },
    meat: { type: 'boolean' },
    size: { enum: ['small', 'large'] },
    note: { type: 'string' },
    address: {
      type: 'object',
      properties: { street: { type: 'string' }, floor: { type: 'integer' } },
      required: ['street'],
    },
    dishes: { type: 'array', items: { type: 'string', minLength: 1 }, minItems: 1 },
  },
  required: ['name', 'guests', 'meat', 'size', 'address', 'dishes'],
};

test('objects, nested objects and lists can be filled in, and untouched optional fields are left out', async () => {
  await form(ORDER);
  await field('Name').fill('Ann');
  expect(await field('Name').getAttribute('aria-describedby')).toMatch(/description/);
  await page.getByRole('radiogroup', { name: 'meat' }).getByLabel('No').check();
  await page.getByRole('radiogroup', { name: 'size' }).getByLabel('large').check();
  await field('street').fill('Main Street 1');
  await field('dishes 1').fill('bread');
  await button('Add dishes').click();
  await page.keyboard.type('salad');
  await button('Add dishes').click();
  await button('Remove dishes 3').click();
  expect(await button('Add dishes').evaluate((element) => element === document.activeElement)).toBe(true);
  await send();
  expect(await answers()).toEqual([
    {
      name: 'Ann',
      guests: 4,
      meat: false,
      size: 'large',
      address: { street: 'Main Street 1' },
      dishes: ['bread', 'salad'],
    },
  ]);
});

test('missing required fields are listed in a summary that links to each field', async () => {
  await form(ORDER);
  await send();
  const summary = page.getByRole('alert');
  expect(await summary.getByRole('button').allTextContents()).toEqual([
    'meat: Required',
    'size: Required',
    'dishes.0: Required',
  ]);
  await summary.getByRole('button', { name: /dishes/ }).click();
  await page.keyboard.type('soup');
  expect(await summary.getByRole('button').count()).toBe(2);
  expect(await answers()).toEqual([]);
});

test('an emptied optional number is left out, and a string by its button', async () => {
  await form({ type: 'object', properties: { floor: { type: 'integer' }, note: { type: 'string' } } });
  await field('floor (optional)').fill('3');
  await field('floor (optional)').fill('');
  await field('note (optional)').fill('x');
  await field('note (optional)').fill('');
  await send();
  await button('Leave out note').click();
  await send();
  expect(await answers()).toEqual([{ note: '' }, {}]);
});

test('a nullable value is null when nothing is chosen', async () => {
  await form({
    type: 'object',
    properties: { until: { anyOf: [{ type: 'string' }, { type: 'null' }] }, seats: { type: ['integer', 'null'] } },
    required: ['until', 'seats'],
  });
  await field('until: Value type').selectOption('Nothing (null)');
  await field('seats').fill('0');
  await send();
  expect(await answers()).toEqual([{ until: null, seats: 0 }]);
});

test('a union is chosen by its constant and then filled in', async () => {
  const branch = (kind: string, name: string) => ({
    type: 'object',
    properties: { kind: { type: 'string', const: kind }, [name]: { type: 'string' } },
    required: ['kind', name],
  });
  await form({ oneOf: [branch('card', 'number'), branch('transfer', 'iban')] });
  await field('Answer: Value type').selectOption('transfer');
  await field('iban').fill('DE02');
  await send();
  expect(await answers()).toEqual([{ kind: 'transfer', iban: 'DE02' }]);
});

test('references are followed, and a schema may contain itself', async () => {
  await form({
    $ref: '#/$defs/person',
    $defs: {
      person: {
        type: 'object',
        properties: { name: { type: 'string' }, boss: { $ref: '#/$defs/person' } },
        required: ['name'],
      },
    },
  });
  await field('name').fill('Ann');
  await button('Add boss').click();
  await field('name').last().fill('Bob');
  await send();
  expect(await answers()).toEqual([{ name: 'Ann', boss: { name: 'Bob' } }]);
});

test('an endlessly recursive schema is asked for as JSON', async () => {
  await form({ type: 'object', properties: { again: { $ref: '#' } }, required: ['again'] });
  expect(await page.getByRole('textbox').count()).toBe(1);
  await form({ $ref: '#' }, { label: 'Loop' });
  expect(await field('Loop (As JSON)').count()).toBe(1);
});

test('the parts of an intersection are one form', async () => {
  const part = (name: string) => ({ type: 'object', properties: { [name]: { type: 'string' } }, required: [name] });
  await form({ allOf: [part('first'), part('second')] });
  await field('first').fill('1');
  await field('second').fill('2');
  await send();
  expect(await answers()).toEqual([{ first: '1', second: '2' }]);
});

test('a map takes entries with custom names, each once', async () => {
  await form({ type: 'object', additionalProperties: { type: 'number' } });
  await button('Add entry').click();
  await field('Name').fill('__proto__');
  await field('__proto__').fill('1');
  await send();
  const given = (await page.evaluate(() => window.answers.map((answer) => Object.entries(answer as object)))).at(0);
  expect(given).toEqual([['__proto__', 1]]);
});

test('an unsupported schema is asked for as JSON and checked', async () => {
  await form({ type: 'array', prefixItems: [{ type: 'number' }] });
  await field('Answer (As JSON)').fill('[1');
  await send();
  expect(await page.getByText('Enter valid JSON.').count()).toBeGreaterThan(0);
  await field('Answer (As JSON)').fill('[1, null]');
  await send();
  expect(await answers()).toEqual([[1, null]]);
});

test('an initial value can be edited, and one that does not match its field is shown as JSON', async () => {
  await form(
    {
      type: 'object',
      properties: { amount: { type: 'number' }, note: { type: 'string' }, when: { type: 'string', format: 'date' } },
    },
    { initial: { amount: 'much', note: '', when: 'soon', extra: false } },
  );
  expect(await field('amount (As JSON) (optional)').inputValue()).toBe('"much"');
  expect(await field('when (optional)').inputValue()).toBe('soon');
  await field('amount (As JSON) (optional)').fill('0');
  await field('when (optional)').fill('2026-01-01');
  await send();
  expect(await answers()).toEqual([{ amount: 0, note: '', when: '2026-01-01', extra: false }]);
});

test('a server problem is shown at its field until the field changes', async () => {
  await form(ORDER, {
    initial: { name: 'Ann', guests: 4, meat: true, size: 'small', address: { street: 'x' }, dishes: ['a', 'b'] },
    problems: [
      { path: ['dishes', '1'], message: 'We have no b.' },
      { path: ['address', 'street'], message: 'Unknown street.' },
      { path: ['nowhere'], message: 'Something else.' },
    ],
  });
  const dish = field('dishes 2');
  expect(await dish.getAttribute('aria-invalid')).toBe('true');
  expect(await page.locator(`[id="${await dish.getAttribute('aria-describedby')}"]`).textContent()).toBe(
    'We have no b.',
  );
  expect(await page.getByRole('alert').getByRole('listitem').count()).toBe(3);
  await dish.fill('c');
  expect(await dish.getAttribute('aria-invalid')).toBe(null);
  expect(await field('street').getAttribute('aria-invalid')).toBe('true');
});

test('a text with CRLF line ends keeps them when it is edited', async () => {
  await form({ type: 'string', maxLength: 5_000 }, { initial: 'one\r\ntwo' });
  await page.getByRole('textbox').click();
  await page.keyboard.press('ControlOrMeta+Home');
  await page.keyboard.type('1 ');
  await page.keyboard.press('ControlOrMeta+End');
  await page.keyboard.type('\n3');
  await send();
  expect(await answers()).toEqual(['1 one\r\ntwo\r\n3']);
});

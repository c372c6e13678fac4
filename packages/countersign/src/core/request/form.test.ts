import { expect, test } from 'vitest';
import type { Json } from '../json.ts';
import { type Form, type FormField, formOf, readForm } from './form.ts';

type Schema = { readonly [key: string]: unknown };

const object = (properties: object, required: readonly string[] = Object.keys(properties)) => ({
  type: 'object',
  properties,
  required,
});

/** The form of one property, and the property as it is read; `absent` if it is left out, a problem as text. */
function read(schema: object, text: string | undefined, required = true) {
  const form = formOf(object({ field: schema }, required ? ['field'] : [])) as Form;
  const result = readForm(form, { field: text });
  if ('problems' in result) return result.problems.map(({ field, message }) => `${field}: ${message}`).join();
  return Object.hasOwn(result.value as object, 'field') ? (result.value as { field: Json }).field : 'absent';
}

test.for<[schema: Schema, type: FormField['type']]>([
  [{ type: 'string' }, 'text'],
  [{ type: 'string', format: 'email' }, 'text'],
  [{ type: 'string', format: 'date' }, 'date'],
  [{ type: 'number' }, 'number'],
  [{ type: 'integer' }, 'number'],
  [{ type: 'boolean' }, 'boolean'],
  [{ enum: ['a', 1, false, null] }, 'choice'],
  [{ const: 0 }, 'choice'],
  [{ oneOf: [{ const: 'a', title: 'First' }, { const: 'b' }] }, 'choice'],
  [{ type: ['string', 'null'] }, 'text'],
  [{ anyOf: [{ type: 'number' }, { type: 'null' }] }, 'number'],
])('%j is a field of type %s, alone and in an object', ([schema, type]) => {
  expect(formOf(schema)).toMatchObject({ single: true, fields: [{ name: 'value', type }] });
  expect(formOf(object({ own: schema }))).toMatchObject({ single: false, fields: [{ name: 'own', type }] });
});

test.for<[why: string, schema: Schema]>([
  ['a list', { type: 'array', items: { type: 'string' } }],
  ['an object inside an object', object({ inner: object({ a: { type: 'string' } }) })],
  ['a list inside an object', object({ list: { type: 'array' } })],
  ['a map', { type: 'object', additionalProperties: { type: 'string' } }],
  ['any value', {}],
  ['a property of any value', object({ any: true })],
  ['a union', { anyOf: [{ type: 'string' }, { type: 'number' }] }],
  ['several types', { type: ['string', 'number'] }],
  ['a reference', object({ a: { $ref: '#/$defs/a' } })],
  ['merged schemas', { type: 'object', allOf: [], properties: { a: { type: 'string' } } }],
  ['the name __proto__', object(JSON.parse('{"__proto__":{"type":"string"}}'))],
  [
    '51 fields',
    object(Object.fromEntries(Array.from({ length: 51 }, (_, index) => [`f${index}`, { type: 'string' }]))),
  ],
])('%s is not a plain form', ([, schema]) => {
  expect(formOf(schema)).toBeUndefined();
});

test('without a schema the answer is a text of several lines', () => {
  const form = formOf(null) as Form;
  expect(form.fields).toMatchObject([{ type: 'text', multiline: true, required: false }]);
  expect(readForm(form, { value: 'yes\r\nreally' })).toEqual({ value: 'yes\nreally' });
});

test('a field has the texts of its schema, and the text that it starts with', () => {
  const schema = object({
    to: { type: 'string', title: 'Recipient', description: 'Whom to pay.', minLength: 1, maxLength: 40 },
    why: { type: 'string', maxLength: 2000, default: '' },
    limit: { type: 'integer', minimum: 0, exclusiveMaximum: 10, default: 0 },
    fast: { type: 'boolean', default: false },
    level: { enum: ['low', 'high'], default: 'high' },
  });
  expect(formOf(schema)?.fields).toEqual([
    {
      name: 'to',
      label: 'Recipient',
      description: 'Whom to pay.',
      required: true,
      blank: 'empty',
      type: 'text',
      multiline: false,
      minLength: 1,
      maxLength: 40,
    },
    {
      name: 'why',
      label: 'why',
      required: false,
      blank: 'empty',
      start: '',
      type: 'text',
      multiline: true,
      maxLength: 2000,
    },
    {
      name: 'limit',
      label: 'limit',
      required: true,
      blank: 'refused',
      start: '0',
      type: 'number',
      integer: true,
      minimum: 0,
      exclusiveMaximum: 10,
    },
    { name: 'fast', label: 'fast', required: true, blank: 'refused', start: 'false', type: 'boolean' },
    {
      name: 'level',
      label: 'level',
      required: true,
      blank: 'refused',
      start: '1',
      type: 'choice',
      options: [
        { id: '0', label: 'low', value: 'low' },
        { id: '1', label: 'high', value: 'high' },
      ],
    },
  ]);
});

test.for<[schema: object, text: string | undefined, value: Json]>([
  [{ type: 'string' }, '', ''],
  [{ type: 'string' }, ' a ', ' a '],
  [{ type: 'string' }, undefined, 'field: Required.'],
  [{ type: 'string', minLength: 1 }, '', 'field: Required.'],
  [{ type: 'string', minLength: 3 }, 'ab', 'field: Enter at least 3 characters.'],
  [{ type: 'string', maxLength: 2 }, '😀😀', '😀😀'],
  [{ type: 'string', maxLength: 2 }, 'abc', 'field: Enter at most 2 characters.'],
  [{ type: 'number' }, '0', 0],
  [{ type: 'number' }, ' -0 ', 0],
  [{ type: 'number' }, '1250.50', 1250.5],
  [{ type: 'number' }, '5e-324', 5e-324],
  [{ type: 'number' }, '0.30000000000000004', 0.1 + 0.2],
  [{ type: 'number' }, '', 'field: Required.'],
  [{ type: 'number' }, '1.250,50', 'field: Enter a number, such as 1250.5.'],
  [{ type: 'number' }, '1,5', 'field: Enter a number, such as 1250.5.'],
  [{ type: 'number' }, '0x10', 'field: Enter a number, such as 1250.5.'],
  [{ type: 'number' }, 'Infinity', 'field: Enter a number, such as 1250.5.'],
  [{ type: 'number' }, '1e999', 'field: Enter a number, such as 1250.5.'],
  [{ type: 'number' }, '1e-999', 'field: The number has more digits than can be kept.'],
  [{ type: 'number' }, '9007199254740993', 'field: The number has more digits than can be kept.'],
  [{ type: 'integer' }, '1.5', 'field: Enter a whole number.'],
  [{ type: 'integer' }, '2.0', 2],
  [{ type: 'number', minimum: 0 }, '-1', 'field: Must be at least 0.'],
  [{ type: 'number', maximum: 0 }, '1', 'field: Must be at most 0.'],
  [{ type: 'number', exclusiveMinimum: 0 }, '0', 'field: Must be more than 0.'],
  [{ type: 'number', exclusiveMaximum: 0 }, '0', 'field: Must be less than 0.'],
  [{ type: 'boolean' }, 'false', false],
  [{ type: 'boolean' }, 'true', true],
  [{ type: 'boolean' }, '', 'field: Required.'],
  [{ type: 'boolean' }, 'on', 'field: Choose yes or no.'],
  [{ type: 'string', format: 'date' }, '2024-02-29', '2024-02-29'],
  [{ type: 'string', format: 'date' }, '2026-02-29', 'field: Enter a date, such as 2026-11-18.'],
  [{ type: 'string', format: 'date' }, '18.11.2026', 'field: Enter a date, such as 2026-11-18.'],
  [{ enum: ['', 0, false, null] }, '0', ''],
  [{ enum: ['', 0, false, null] }, '1', 0],
  [{ enum: ['', 0, false, null] }, '2', false],
  [{ enum: ['', 0, false, null] }, '3', null],
  [{ enum: ['a'] }, '1', 'field: Choose one of the options.'],
  [{ type: ['string', 'null'] }, '', null],
  [{ anyOf: [{ type: 'number' }, { type: 'null' }] }, '', null],
  [{ type: 'number', default: 5 }, '', 'field: Required.'],
  [{ type: 'string', default: 'x' }, '', ''],
])('%j reads %j as %j', ([schema, text, value]) => {
  expect(read(schema, text)).toEqual(value);
});

test.for<[schema: object, value: Json]>([
  [{ type: 'string' }, 'absent'],
  [{ type: 'number' }, 'absent'],
  [{ type: 'boolean' }, 'absent'],
  [{ enum: ['a'] }, 'absent'],
  [{ type: ['string', 'null'] }, 'absent'],
  [{ type: 'string', default: 'x' }, ''],
  [{ type: 'number', default: 5 }, 'field: Required.'],
])('an optional %j that is left empty is %j: a default does not come back unseen', ([schema, value]) => {
  expect(read(schema, '', false)).toEqual(value);
});

test.for<[schema: object, field: Json]>([
  [{ type: 'string' }, ''],
  [{ type: 'number' }, 0],
  [{ type: 'boolean' }, false],
  [{ type: ['number', 'null'] }, null],
  [{ type: 'number' }, 1e21],
  [{ type: 'number' }, 12345678901234567000],
  [{ enum: ['1', 1] }, 1],
  [{ type: 'string' }, 'two\nlines'],
])('a form for %j starts with %j and reads it back, required or not', ([schema, field]) => {
  for (const required of [[], ['field']]) {
    const form = formOf(object({ field: schema }, required), { field }) as Form;
    expect(readForm(form, { field: form.fields[0]?.start })).toEqual({ value: { field } });
  }
});

test.for<[why: string, schema: object, start: Json]>([
  ['has another type', { type: 'number' }, { field: '5' }],
  ['is null', { type: 'string' }, { field: null }],
  ['is not among the options', { enum: ['a'] }, { field: 'b' }],
  ['has properties beside the fields', { type: 'string' }, { field: 'a', other: 1 }],
  ['has line breaks that a browser changes', { type: 'string' }, { field: 'a\r\nb' }],
  ['has characters that a browser drops', { type: 'string' }, { field: 'a\0b' }],
  ['is not an object', { type: 'string' }, 'text'],
  ['lacks a required property', { type: 'number' }, {}],
])('a start that %s is not a plain form, because the form would change it', ([, schema, start]) => {
  expect(formOf(object({ field: schema }), start)).toBeUndefined();
});

test('each problem names its field, and names of built-in properties are ordinary names', () => {
  const form = formOf(object({ toString: { type: 'string' }, amount: { type: 'number' } })) as Form;
  expect(readForm(form, { amount: 'many' })).toEqual({
    problems: [
      { field: 'toString', message: 'Required.' },
      { field: 'amount', message: 'Enter a number, such as 1250.5.' },
    ],
  });
  expect(readForm(form, { toString: 'a', amount: '1' } as never)).toEqual({ value: { toString: 'a', amount: 1 } });
});

test('options that read alike are shown as JSON', () => {
  const [field] = formOf({ enum: ['1', 1] })?.fields ?? [];
  expect(field).toMatchObject({ options: [{ label: '"1"' }, { label: '1' }] });
});

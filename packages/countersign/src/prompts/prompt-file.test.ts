// The text of a .prompt file becomes a definition, or an error that knows its line.
import { describe, expect, test } from 'vitest';
import { parsePrompt } from './prompt-file.ts';
import { renderPrompt } from './render.ts';

const parse = (text: string) => parsePrompt(text, { name: 'test', file: 'prompts/test.prompt' });

const SEED = `---
tools: [askQuestion]
input:
  schema:
    partyType: string
---
{% verbatim %}{{role "system"}}{% endverbatim %}
Use the askQuestion tool if you need to clarify something.

{% verbatim %}{{role "user"}}{% endverbatim %}
Help me plan a {% verbatim %}{{partyType}}{% endverbatim %} party next week.
`;

describe('what a file says', () => {
  test.each([
    ['word for word', SEED],
    ['without the tags of the documentation site', SEED.replaceAll(/\{% \w+ %\}/g, '')],
    ['with Windows line ends and a byte order mark', `\uFEFF${SEED.replaceAll('\n', '\r\n')}`],
  ])('the file of the first seed, %s', async (_, text) => {
    const definition = await parse(text);
    expect(definition).toMatchObject({
      name: 'test',
      defaults: { tools: ['askQuestion'] },
      inputSchema: {
        type: 'object',
        properties: { partyType: { type: 'string' } },
        required: ['partyType'],
        additionalProperties: false,
      },
      source: { file: 'prompts/test.prompt', line: 7 },
    });
    expect(await renderPrompt(definition, { input: { partyType: 'birthday' } })).toEqual([
      { role: 'system', content: [{ text: 'Use the askQuestion tool if you need to clarify something.' }] },
      { role: 'user', content: [{ text: 'Help me plan a birthday party next week.' }] },
    ]);
  });

  test('every key is read, those of others are ignored', async () => {
    const definition = await parse(`---
name: ignored
variant: ignored
model: openai/gpt-5
description: Plans a party.
tools: [a, b]
config:
  temperature: 0
  stopSequences: [END]
toolChoice: required
maxTurns: 3
input:
  schema:
    guests?: integer, how many come
    tags(array, words): string
    size(enum): [small, big]
    place(object):
      city: string
    (*): any
  default:
    guests: 0
output:
  format: json
  schema:
    type: object
    properties:
      plan: { type: string }
myextension.key: 1
somethingElse: 2
---
Plan`);
    expect(definition).toEqual({
      name: 'test',
      defaults: {
        model: 'openai/gpt-5',
        tools: ['a', 'b'],
        config: { temperature: 0, stopSequences: ['END'] },
        toolChoice: 'required',
        maxTurns: 3,
        output: { schema: { type: 'object', properties: { plan: { type: 'string' } } } },
      },
      inputSchema: {
        type: 'object',
        properties: {
          guests: { type: ['integer', 'null'], description: 'how many come' },
          tags: { type: 'array', items: { type: 'string' }, description: 'words' },
          size: { enum: ['small', 'big'] },
          place: {
            type: 'object',
            properties: { city: { type: 'string' } },
            required: ['city'],
            additionalProperties: false,
          },
        },
        required: ['tags', 'size', 'place'],
        additionalProperties: {},
      },
      inputDefault: { guests: 0 },
      template: 'Plan',
      source: { file: 'prompts/test.prompt', line: 31 },
    });
  });

  test.each([
    ['no front matter', 'Hi {{name}}', 1],
    ['empty front matter', '---\n---\nHi {{name}}', 3],
    ['front matter of comments only', '---\n# nothing\n---\nHi {{name}}', 4],
    ['keys without values', '---\ntools:\ninput:\noutput:\n---\nHi {{name}}', 6],
  ])('%s is not an error', async (_, text, line) => {
    const definition = await parse(text);
    expect(definition).toEqual({
      name: 'test',
      defaults: {},
      template: 'Hi {{name}}',
      source: { file: 'prompts/test.prompt', line },
    });
    expect(await renderPrompt(definition, { input: { name: 'Ann' } })).toHaveLength(1);
  });

  test('a schema without required keys is plain JSON', async () => {
    const { inputSchema } = await parse('---\ninput:\n  schema:\n    a?: string\n---\n');
    expect(Object.keys(inputSchema as object)).toEqual(['type', 'properties', 'additionalProperties']);
  });

  test.each([
    ['integer, how many', { type: 'integer', description: 'how many' }],
    ['any', {}],
    ['{ type: array, items: { type: string } }', { type: 'array', items: { type: 'string' } }],
  ])('a schema may be as short as %s', async (schema, expected) => {
    expect((await parse(`---\ninput:\n  schema: ${schema}\n---\n`)).inputSchema).toEqual(expected);
  });

  test('a line --- in the template is text', async () => {
    expect((await parse('---\nmodel: m\n---\nabove\n---\nbelow')).template).toBe('above\n---\nbelow');
  });

  test('a tool may be chosen by name', async () => {
    expect((await parse('---\ntoolChoice: { tool: ask }\n---\n')).defaults?.toolChoice).toEqual({ tool: 'ask' });
  });
});

describe('a broken file is an error at its line', () => {
  const schema = (line: string) => `---\ninput:\n  schema:\n    a: string\n    ${line}\n---\n`;

  test.each([
    ['front matter that is not YAML', '---\nmodel: m\ntools: [a\n---\nHi', 3, /front matter is not valid YAML/],
    ['an alias without its anchor', '---\nmodel: *m\n---\nHi', 1, /front matter is not valid YAML/],
    ['a key twice', '---\nmodel: m\nmodel: n\n---\nHi', 3, /front matter is not valid YAML/],
    ['front matter without end', '---\nmodel: m\nHi', 1, /not closed/],
    ['front matter that is a list', '---\n- a\n- b\n---\nHi', 2, /keys and values/],
    ['front matter that is text', '---\n\nhello\n---\nHi', 3, /keys and values/],
    ['tools that are not a list', '---\nmodel: m\ntools: askQuestion\n---\nHi', 3, /`tools` must be a list/],
    [
      'a tool that is not a name',
      '---\ntools:\n  - a\n  - { name: b }\n---\nHi',
      4,
      /`tools.1` must be the name of a tool/,
    ],
    ['a model that is not a name', '---\nmodel: 5\n---\nHi', 2, /`model` must be/],
    ['a config that is not a mapping', '---\nconfig: hot\n---\nHi', 2, /`config` must be/],
    ['an unknown tool choice', '---\ntoolChoice: maybe\n---\nHi', 2, /`toolChoice` must be auto/],
    ['no turns', '---\nmaxTurns: 0\n---\nHi', 2, /`maxTurns` must be a whole number/],
    ['an input that is not a mapping', '---\ninput: string\n---\nHi', 2, /`input` must be/],
    ['an output that is not a mapping', '---\noutput: [json]\n---\nHi', 2, /`output` must be/],
    ['an unknown type', schema('b: strng, a word'), 4, /schema cannot be read: .*strng/],
    ['an unknown word in parentheses', schema('b(tuple): string'), 4, /schema cannot be read: .*tuple/],
    ['a broken type deep down', schema('b(array):\n      c:\n        d: text'), 4, /schema cannot be read: .*text/],
    ['a broken template', '---\nmodel: m\n---\n\nHi\n{{#if a}}\n', 7, /template is broken/],
    ['an unknown helper', '---\nmodel: m\n---\n\nHi {{shout "a"}}', 5, /Unknown helper shout/],
    ['a broken template without front matter', 'Hi\n{{name', 2, /template is broken/],
  ])('%s', async (_, text, line, message) => {
    const error = await parse(text).catch((error: unknown) => error);
    expect(error).toMatchObject({
      name: 'UsageError',
      code: 'invalid-prompt',
      details: { prompt: 'test', file: 'prompts/test.prompt', line },
    });
    expect((error as Error).message).toMatch(message);
    expect((error as Error).message).toMatch(new RegExp(`^prompts/test\\.prompt:${line}:`));
  });

  test('the column is there too', async () => {
    await expect(parse('---\ninput:\n  schema: strng\n---\n')).rejects.toMatchObject({
      details: { line: 3, column: 11 },
    });
    await expect(parse('---\n---\nHi {{shout "a"}}')).rejects.toMatchObject({ details: { line: 3, column: 4 } });
  });

  test('what fails while the template is filled names the file', async () => {
    const definition = await parse('{{role "assistant"}}Hi');
    await expect(renderPrompt(definition)).rejects.toThrow(/^prompts\/test\.prompt: {{role}} must be/);
  });
});

// Prompts found by name in a folder: variants, subfolders, partials, changes on the disk, and names that lead astray.
import { mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { PromptDefinition } from './definition.ts';
import { createPromptFolder } from './prompt-folder.ts';
import { renderPrompt } from './render.ts';

const FIXTURES = fileURLToPath(new URL('../../test/fixtures/prompts/', import.meta.url));

async function textOf(definition: PromptDefinition, input?: unknown): Promise<string> {
  const [message] = await renderPrompt(definition, { input });
  return JSON.stringify(message?.content);
}

describe('the folder of fixtures', () => {
  const folder = createPromptFolder(FIXTURES);

  test('a prompt is found by its name', async () => {
    const definition = await folder.load('partyPlanner');
    expect(definition).toMatchObject({ name: 'partyPlanner', defaults: { tools: ['askQuestion'] } });
    expect(await renderPrompt(definition, { input: { partyType: 'birthday' } })).toEqual([
      { role: 'system', content: [{ text: 'Use the askQuestion tool if you need to clarify something.' }] },
      { role: 'user', content: [{ text: 'Help me plan a birthday party next week.' }] },
    ]);
  });

  test('defaults and partials inside partials are used', async () => {
    const definition = await folder.load('greet');
    expect(definition).toMatchObject({ defaults: { model: 'openai/gpt-5', config: { temperature: 0.4 } } });
    expect(await renderPrompt(definition, { input: { name: 'Ann' } })).toEqual([
      { role: 'user', content: [{ text: 'Greet Ann in a cheerful way.\nSign as the desk.' }] },
    ]);
  });

  test('a variant is a separate prompt', async () => {
    const definition = await folder.load('greet', { variant: 'formal' });
    expect(definition).toMatchObject({ name: 'greet.formal' });
    expect(await textOf(definition, { name: 'Ann' })).toContain('with all honours');
    expect(await folder.load('greet.formal')).toBe(definition);
  });

  test('subfolders are part of the name, and the nearest partial is taken', async () => {
    expect(await textOf(await folder.load('travel/visit'), { place: 'Rome' })).toContain('the place Rome');
    const walk = await folder.load('travel/city/walk');
    expect(walk.name).toBe('travel/city/walk');
    expect(await textOf(walk, { place: 'Rome' })).toContain('the city Rome and the place Rome');
  });

  test('an unknown prompt is an error that lists what there is', async () => {
    const error = await folder.load('partyPlaner').catch((error: unknown) => error);
    expect(error).toMatchObject({ name: 'UsageError', code: 'unknown-prompt', details: { prompt: 'partyPlaner' } });
    expect((error as Error).message).toMatch(/There are: .*partyPlanner, travel\/city\/walk/);
    await expect(folder.load('greet', { variant: 'rude' })).rejects.toThrow(/Prompt greet\.rude not found/);
  });

  test.each([
    '../prompts/greet',
    'travel/../greet',
    'travel/./visit',
    '/etc/passwd',
    '..\\greet',
    'C:greet',
    'greet\0',
    '',
    'travel//visit',
    'travel/',
    '.hidden',
    '_signature',
    'travel/_place',
  ])('the name %j leads nowhere', async (name) => {
    await expect(folder.load(name)).rejects.toMatchObject({ name: 'UsageError', code: 'unknown-prompt' });
  });

  test('a variant leads nowhere either', async () => {
    await expect(folder.load('greet', { variant: '/../greet' })).rejects.toThrow(/not found/);
    await expect(folder.load('greet', { variant: 'a/b' })).rejects.toThrow(/not found/);
  });
});

describe('a folder that changes', () => {
  let directory: string;
  let time = 1_000;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'countersign-prompts-'));
  });
  afterEach(() => rm(directory, { recursive: true }));

  /** Each write is later than the one before, whatever the clock of the file system does. */
  async function write(file: string, text: string): Promise<void> {
    const path = join(directory, file);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
    time += 1;
    await utimes(path, time, time);
  }

  test('the definition stays the same object until its file changes', async () => {
    await write('a.prompt', 'one');
    const folder = createPromptFolder(directory);
    const first = await folder.load('a');
    expect(await folder.load('a')).toBe(first);
    await write('a.prompt', 'two');
    const second = await folder.load('a');
    expect(await textOf(second)).toContain('two');
    expect(await folder.load('a')).toBe(second);
  });

  test('a change of a partial is noticed', async () => {
    await write('a.prompt', '{{> p}}');
    await write('_p.prompt', 'one');
    const folder = createPromptFolder(directory);
    expect(await textOf(await folder.load('a'))).toContain('one');
    await write('_p.prompt', 'two');
    expect(await textOf(await folder.load('a'))).toContain('two');
  });

  test('a prompt that was repaired, came or went is noticed', async () => {
    const folder = createPromptFolder(directory);
    await expect(folder.load('a')).rejects.toThrow(/holds no prompts/);
    await write('a.prompt', '{{#if');
    await expect(folder.load('a')).rejects.toMatchObject({ code: 'invalid-prompt' });
    await write('a.prompt', 'fine');
    expect(await textOf(await folder.load('a'))).toContain('fine');
    await rm(join(directory, 'a.prompt'));
    await expect(folder.load('a')).rejects.toMatchObject({ code: 'unknown-prompt' });
  });

  test('a partial may have front matter, be empty, be chosen by the input, or have a stand-in', async () => {
    await write('a.prompt', '{{> (lookup this "which")}}{{> empty}}{{#> missing}} else{{/missing}}');
    await write('_one.prompt', '---\ndescription: first\n---\nONE');
    await write('_two.prompt', 'TWO');
    await write('_empty.prompt', '');
    const definition = await createPromptFolder(directory).load('a');
    expect(await textOf(definition, { which: 'one' })).toContain('ONE else');
    expect(await textOf(definition, { which: 'two' })).toContain('TWO else');
    await expect(renderPrompt(definition, { input: { which: 'three' } })).rejects.toThrow(/three/);
  });

  test('an inline partial needs no file', async () => {
    await write('a.prompt', '{{#*inline "own"}}mine {{x}}{{/inline}}{{> own}}');
    expect(await textOf(await createPromptFolder(directory).load('a'), { x: 1 })).toContain('mine 1');
  });

  test('partials of two folders do not mix', async () => {
    await write('one/a.prompt', '{{> p}}');
    await write('one/_p.prompt', 'ONE');
    await write('two/a.prompt', '{{> p}}');
    await write('two/_p.prompt', 'TWO');
    const one = await createPromptFolder(join(directory, 'one')).load('a');
    const two = await createPromptFolder(join(directory, 'two')).load('a');
    expect([await textOf(one), await textOf(two)]).toEqual(['[{"text":"ONE"}]', '[{"text":"TWO"}]']);
  });

  test('a broken partial is an error in its own file', async () => {
    await write('a.prompt', '\n{{> p}}');
    await write('_p.prompt', 'x\ny {{shout "a"}}');
    const definition = await createPromptFolder(directory).load('a');
    await expect(renderPrompt(definition)).rejects.toMatchObject({
      code: 'invalid-prompt',
      details: { prompt: 'a', file: `${directory}/_p.prompt`, line: 2, column: 3 },
    });
  });

  test('a missing partial is an error that names the prompt and the partial', async () => {
    await write('a.prompt', '{{> q}}');
    const definition = await createPromptFolder(`${directory}/`).load('a');
    await expect(renderPrompt(definition)).rejects.toMatchObject({ details: { file: `${directory}/a.prompt` } });
    await expect(renderPrompt(definition)).rejects.toThrow(/partial q could not be found/);
    await write('_q.prompt', 'Q');
  });

  test('a partial in another folder can be named with its folder', async () => {
    await write('a.prompt', '{{> two/p}}');
    await write('one/_p.prompt', 'ONE');
    await write('two/_p.prompt', 'TWO');
    expect(await textOf(await createPromptFolder(directory).load('a'))).toContain('TWO');
  });

  test('a folder that does not exist is an error that names it', async () => {
    const folder = createPromptFolder(join(directory, 'nowhere'));
    await expect(folder.load('a')).rejects.toMatchObject({ code: 'unknown-prompt' });
    await expect(folder.load('a')).rejects.toThrow(/nowhere cannot be read/);
  });
});

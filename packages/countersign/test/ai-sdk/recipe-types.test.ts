// The recipe's own files compile against `countersign/ai-sdk`, with version 6 and 7 of the AI SDK, as strictly as Next does.
import { spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { entryTypes } from '../entry-types.ts';
import { recipeFiles, root, writeRecipe } from './recipe-app.ts';

/** For packages without types; compiled with the sources here. */
const declarations = join(root, 'packages/countersign/src/**/*.d.ts');

/** Time limit for a compiler on a machine that is busy with other tests. */
const COMPILES_MS = 120_000;

const VERSIONS = [
  { version: 6, folder: 'ai-v6' },
  { version: 7, folder: 'ai' },
];

test('the recipe has all its files', () => {
  expect([...recipeFiles().keys()]).toEqual([
    'app/api/chat/tools.ts',
    'app/api/chat/types.ts',
    'app/api/chat/utils.ts',
    'app/api/chat/route.ts',
    'app/chat/page.tsx',
  ]);
});

/** Three mistakes, in the last three lines. */
const WRONG = `
import { type UIMessage, type UIMessageStreamWriter, tool } from 'ai';
import { processToolCalls } from 'countersign/ai-sdk';
import { z } from 'zod';
import { tools } from './tools';
import type { HumanInTheLoopUIMessage } from './types';

declare const writer: UIMessageStreamWriter;
declare const messages: UIMessage[];
declare const own: HumanInTheLoopUIMessage[];

const all = { ...tools, pay: tool({ inputSchema: z.object({ amount: z.number() }), outputSchema: z.object({ id: z.string() }) }) };

export const same: Promise<HumanInTheLoopUIMessage[]> = processToolCalls({ tools, writer, messages: own }, {});
await processToolCalls(
  { tools: all, writer, messages },
  {
    getWeatherInformation: ({ city }, { toolCallId, messages, context }) => [city.length, toolCallId, messages.length, context],
    pay: async ({ amount }) => ({ id: amount.toFixed() }),
  },
);
await processToolCalls({ tools, writer, messages }, { getWeatherInformation: ({ town }) => town });
await processToolCalls({ tools, writer, messages }, { getWeather: () => 'sunny' });
await processToolCalls({ tools, writer, messages }, { getLocalTime: () => '10am' });
`;

const GATED = `
import { convertToModelMessages, createUIMessageStream, createUIMessageStreamResponse, stepCountIs, streamText, tool, ToolLoopAgent } from 'ai';
import { gateTools, processToolCalls } from 'countersign/ai-sdk';
import { z } from 'zod';
import { tools } from './tools';
import type { HumanInTheLoopUIMessage } from './types';

declare const secret: string;
const all = { ...tools, pay: tool({ inputSchema: z.object({ amount: z.number() }), needsApproval: ({ amount }) => amount > 10, execute: ({ amount }) => ({ paid: amount }) }) };

export async function approved(chatId: string, messages: HumanInTheLoopUIMessage[]) {
  const gated = gateTools(all, { secret, key: chatId, by: 'ann', approve: ['getLocalTime'] });
  const same: typeof all = gated.tools;
  const received: HumanInTheLoopUIMessage[] = await gated.receive(messages);
  const result = streamText({ model: 'openai/gpt-4o', messages: await convertToModelMessages(received), tools: same, stopWhen: stepCountIs(5) });
  const agent = new ToolLoopAgent({ model: 'openai/gpt-4o', tools: gated.tools });
  const stream = result.toUIMessageStream({ originalMessages: received });
  return [createUIMessageStreamResponse({ stream: gated.send(stream) }), agent];
}

export async function confirmed(chatId: string, messages: HumanInTheLoopUIMessage[]) {
  const gated = gateTools(tools, { secret: [{ kid: '1', secret }], key: chatId, by: 'ann' });
  return createUIMessageStream({
    execute: async ({ writer }) => {
      const processed = await processToolCalls({ tools, writer, messages, gate: gated }, { getWeatherInformation: ({ city }) => city });
      const result = streamText({ model: 'openai/gpt-4o', messages: await convertToModelMessages(processed), tools: gated.tools });
      writer.merge(gated.send(result.toUIMessageStream<HumanInTheLoopUIMessage>({ originalMessages: processed })));
    },
  });
}
`;

test.each(VERSIONS)(
  'with version $version, the recipe and gated tools compile, inputs are inferred, and names are checked',
  ({ version, folder }) => {
    const complaints = compile(folder, { 'app/api/chat/wrong.ts': WRONG, 'app/api/chat/gated.ts': GATED });
    const places = complaints.map((line) => /(\w+\.tsx?)\((\d+),.*?error (TS\d+)/.exec(line)?.slice(1).join(' '));
    // Version 6 has no type for a tool with execute, so it cannot see the last mistake.
    expect(places).toEqual([
      'wrong.ts 22 TS2339',
      'wrong.ts 23 TS2353',
      ...(version === 6 ? [] : ['wrong.ts 24 TS2353']),
    ]);
  },
  COMPILES_MS,
);

/** The compiler's errors, one per line. */
function compile(ai: string, more: Readonly<Record<string, string>>): readonly string[] {
  const folder = writeRecipe();
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [file, text] of Object.entries(more)) writeFileSync(join(folder, file), text);
  const compilerOptions = {
    target: 'es2024',
    lib: ['dom', 'dom.iterable', 'esnext'],
    module: 'esnext',
    moduleResolution: 'bundler',
    jsx: 'react-jsx',
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    isolatedModules: true,
    allowImportingTsExtensions: true,
    types: ['node', 'react'],
    typeRoots: [join(root, 'node_modules/@types')],
    paths: {
      ai: [join(root, 'node_modules', ai)],
      'countersign/ai-sdk': [entryTypes('countersign', 'gates/ai-sdk/index')],
    },
  };
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ compilerOptions, include: ['app/**/*', declarations] }),
  );
  const { stdout, stderr } = spawnSync(
    process.execPath,
    [join(root, 'node_modules/typescript/bin/tsc'), '--project', folder, '--pretty', 'false'],
    { cwd: folder, encoding: 'utf8' },
  );
  return `${stdout}${stderr}`.split('\n').filter((line) => /^\S/.test(line));
}

// Prompts and chats of the first seed resume themselves: the caller does not need their options.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { countersign, z } from 'countersign';
import { type ScriptStep, scriptedModel } from 'countersign/testing';
import { expect, onTestFinished, test } from 'vitest';

const PROMPT_FILE = `---
tools: [askQuestion]
input:
  schema:
    partyType: string
---
{{role "system"}}
Use the askQuestion tool if you need to clarify something.

{{role "user"}}
Help me plan a {{partyType}} party next week.
`;

function setUp(script: readonly ScriptStep[]) {
  const promptDir = mkdtempSync(join(tmpdir(), 'countersign-seed-'));
  onTestFinished(() => rmSync(promptDir, { recursive: true }));
  writeFileSync(join(promptDir, 'partyPlanner.prompt'), PROMPT_FILE);
  const model = scriptedModel(script);
  const ai = countersign({ model, promptDir });
  const askQuestion = ai.defineInterrupt({
    name: 'askQuestion',
    description: 'use this to ask the user a clarifying question',
    inputSchema: z.object({ choices: z.array(z.string()), allowOther: z.boolean().optional() }),
    outputSchema: z.string(),
  });
  return { ai, askQuestion, model };
}

const asks = (...choices: readonly string[]) => ({ calls: [{ name: 'askQuestion', input: { choices } }] });

const SCRIPT = [asks('Saturday', 'Sunday'), asks('noon', 'evening'), 'Sunday evening, then.'] as const;

/** The last of the choices, every time. */
const pick = (input: { choices: string[] }): string => input.choices.at(-1) ?? '';

test('a defined prompt resumes itself', async () => {
  const { ai, askQuestion, model } = setUp(SCRIPT);
  const trivia = ai.definePrompt({
    name: 'trivia',
    tools: [askQuestion],
    input: { schema: z.object({ subject: z.string() }) },
    prompt: 'Ask me a trivia question about {{subject}}.',
  });
  const input = { subject: 'computer history' };

  let response = await trivia(input);
  while (response.interrupts.length > 0)
    response = await trivia(input, {
      messages: response.messages,
      resume: {
        respond: response.interrupts.map((question) => askQuestion.respond(question, pick(question.toolRequest.input))),
      },
    });

  expect(response.text).toBe('Sunday evening, then.');
  expect(response.messages.map(({ role }) => role)).toEqual(['user', 'model', 'tool', 'model', 'tool', 'model']);
  expect(model.remaining).toBe(0);
});

test('a prompt file resumes itself', async () => {
  const { ai, askQuestion, model } = setUp(SCRIPT);
  const partyPlanner = ai.prompt('partyPlanner');
  const input = { partyType: 'birthday' };

  let response = await partyPlanner(input);
  while (response.interrupts.length > 0)
    response = await partyPlanner(input, {
      messages: response.messages,
      resume: {
        respond: response.interrupts.map((question) => askQuestion.respond(question, pick(question.toolRequest.input))),
      },
    });

  expect(response.text).toBe('Sunday evening, then.');
  expect(response.messages.map(({ role }) => role)).toEqual([
    'system',
    'user',
    ...['model', 'tool', 'model', 'tool', 'model'],
  ]);
  expect(model.requests.every(({ tools }) => tools[0]?.name === 'askQuestion')).toBe(true);
});

test('a chat resumes itself and then continues with the next user message', async () => {
  const { ai, askQuestion, model } = setUp([...SCRIPT, 'You are welcome.']);
  const chat = ai.chat({
    system: 'Use the askQuestion tool if you need to clarify something.',
    tools: [askQuestion],
  });

  let response = await chat.send('make a plan for my birthday party');
  while (response.interrupts.length > 0)
    response = await chat.send({
      resume: {
        respond: chat.interrupts.map((question) => askQuestion.respond(question, pick(question.toolRequest.input))),
      },
    });
  expect(response.text).toBe('Sunday evening, then.');

  response = await chat.send('Thank you!');
  expect(response.text).toBe('You are welcome.');
  expect(chat.messages).toEqual(response.messages);
  expect(model.requests.at(-1)?.messages.filter(({ role }) => role === 'system')).toHaveLength(1);
});

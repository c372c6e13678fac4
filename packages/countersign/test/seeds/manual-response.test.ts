// The first seed, "Define manual-response interrupts": only its import, its model and `for … in` are changed.
// biome-ignore-all format: the snippets stand here as the first seed has them
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { countersign, z } from 'countersign';
import { type ScriptedModel, type ScriptStep, scriptedModel } from 'countersign/testing';
import { describe, expect, onTestFinished, test } from 'vitest';

function setUp(script: readonly ScriptStep[], promptFile = '') {
  const model = scriptedModel(script);
  const promptDir = mkdtempSync(join(tmpdir(), 'countersign-seed-'));
  onTestFinished(() => rmSync(promptDir, { recursive: true }));
  writeFileSync(join(promptDir, 'partyPlanner.prompt'), promptFile);

const ai = countersign({
  promptDir,
  model,
});

const askQuestion = ai.defineInterrupt({
  name: 'askQuestion',
  description: 'use this to ask the user a clarifying question',
  inputSchema: z.object({
    choices: z.array(z.string()).describe('the choices to display to the user'),
    allowOther: z.boolean().optional().describe('when true, allow write-ins')
  }),
  outputSchema: z.string()
});

  return { ai, askQuestion, model };
}

const asks = (choices: readonly string[], allowOther?: boolean) => ({
  calls: [{ name: 'askQuestion', input: { choices, ...(allowOther !== undefined && { allowOther }) } }],
});

type Question = { choices: string[]; allowOther?: boolean | undefined };

/** The answers in the last request, in their order. */
const answersSeenBy = ({ requests }: ScriptedModel) =>
  requests
    .at(-1)
    ?.messages.flatMap(({ content }) =>
      content.flatMap((part) => ('toolResponse' in part ? [part.toolResponse.output] : [])),
    );

/** Who said what before the first reply, without the blank lines around it. */
const spoken = ({ requests }: ScriptedModel) =>
  requests[0]?.messages.map(({ role, content }) => [
    role,
    content.map((part) => ('text' in part ? part.text : '')).join('').trim(),
  ]);

describe('use interrupts', () => {
  test('generate', async () => {
    const { ai, askQuestion, model } = setUp([asks(['Alien', 'Heat'])]);

    const response = await ai.generate({
      prompt: 'Ask me a movie trivia question.',
      tools: [askQuestion],
    });

    expect(response.finishReason === 'interrupted').toBe(true);
    expect(response.interrupts.length > 0).toBe(true);
    expect(response.interrupts[0]?.toolRequest).toMatchObject({
      name: 'askQuestion',
      input: { choices: ['Alien', 'Heat'] },
    });
    expect(model.requests[0]?.messages).toEqual([
      { role: 'user', content: [{ text: 'Ask me a movie trivia question.' }] },
    ]);
    expect(model.requests[0]?.tools).toMatchObject([
      {
        name: 'askQuestion',
        description: 'use this to ask the user a clarifying question',
        inputSchema: {
          type: 'object',
          properties: {
            choices: { type: 'array', items: { type: 'string' }, description: 'the choices to display to the user' },
            allowOther: { type: 'boolean', description: 'when true, allow write-ins' },
          },
          required: ['choices'],
        },
      },
    ]);
  });

  test('definePrompt, with the verbatim tags that the page has', async () => {
    const { ai, askQuestion, model } = setUp([asks(['ENIAC', 'Z3'])]);

    const triviaPrompt = ai.definePrompt(
      {
        name: 'triviaPrompt',
        tools: [askQuestion],
        input: {
          schema: z.object({subject: z.string()})
        },
        prompt: 'Ask me a trivia question about {% verbatim %}{{subject}}{% endverbatim %}.',
      }
    );

    const response = await triviaPrompt({ subject: 'computer history' });

    expect(response.interrupts[0]?.toolRequest.input).toEqual({ choices: ['ENIAC', 'Z3'] });
    expect(spoken(model)).toEqual([['user', 'Ask me a trivia question about computer history.']]);
  });

  test('definePrompt, without them', async () => {
    const { ai, askQuestion, model } = setUp([asks(['ENIAC', 'Z3'])]);

    const triviaPrompt = ai.definePrompt(
      {
        name: 'triviaPrompt',
        tools: [askQuestion],
        input: {
          schema: z.object({subject: z.string()})
        },
        prompt: 'Ask me a trivia question about {{subject}}.',
      }
    );

    const response = await triviaPrompt({ subject: 'computer history' });

    expect(response.interrupts[0]?.toolRequest.input).toEqual({ choices: ['ENIAC', 'Z3'] });
    expect(spoken(model)).toEqual([['user', 'Ask me a trivia question about computer history.']]);
  });

  const PROMPT_FILE = `---
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

  test.each([
    ['with the verbatim tags that the page has', PROMPT_FILE],
    ['without them', PROMPT_FILE.replaceAll(/\{% (end)?verbatim %\}/g, '')],
  ])('prompt file, %s', async (_title, file) => {
    const { ai, model } = setUp([asks(['At home', 'In the park'])], file);

    // assuming prompt file is named partyPlanner.prompt
    const partyPlanner = ai.prompt('partyPlanner');

    const response = await partyPlanner({ partyType: 'birthday' });

    expect(response.interrupts[0]?.toolRequest.input).toEqual({ choices: ['At home', 'In the park'] });
    expect(model.requests[0]?.tools.map(({ name }) => name)).toEqual(['askQuestion']);
    expect(spoken(model)).toEqual([
      ['system', 'Use the askQuestion tool if you need to clarify something.'],
      ['user', 'Help me plan a birthday party next week.'],
    ]);
  });

  test('chat', async () => {
    const { ai, askQuestion, model } = setUp([asks(['Cake', 'Pie'])]);

    const chat = ai.chat({
      system: 'Use the askQuestion tool if you need to clarify something.',
      tools: [askQuestion],
    });

    const response = await chat.send('make a plan for my birthday party');

    expect(response.interrupts[0]?.toolRequest.input).toEqual({ choices: ['Cake', 'Pie'] });
    expect(chat.interrupts).toEqual(response.interrupts);
    expect(model.requests[0]?.messages).toEqual([
      { role: 'system', content: [{ text: 'Use the askQuestion tool if you need to clarify something.' }] },
      { role: 'user', content: [{ text: 'make a plan for my birthday party' }] },
    ]);
  });
});

describe('respond to interrupts', () => {
  test('the loop answers every question and ends with the final response', async () => {
    const { ai, askQuestion, model } = setUp([
      { calls: [...asks(['6', '12']).calls, ...asks(['meat', 'no meat'], true).calls] },
      asks(['noon', 'evening']),
      'A barbecue for 12 without meat, at noon.',
    ]);
    const asked: Question[] = [];
    const askUser = async (input: Question): Promise<string> => {
      asked.push(input);
      return input.choices.at(-1) ?? '';
    };
    const console = { log: (text: string) => logged.push(text) };
    const logged: string[] = [];

let response = await ai.generate({
  tools: [askQuestion],
  system: 'ask clarifying questions until you have a complete solution',
  prompt: 'help me plan a backyard BBQ',
});

// you can check the 'finishReason' of the response
expect(response.finishReason === 'interrupted').toBe(true);
// or you can check to see if any interrupt requests are on the response
expect(response.interrupts.length > 0).toBe(true);

while (response.interrupts.length) {
  const answers = [];
  // multiple interrupts can be called at once, so we handle them all
  for (const question of response.interrupts) {
    answers.push(
      // use the `respond` method on our tool to populate answers
      askQuestion.respond(
        question,
        // send the tool request input to the user to respond
        await askUser(question.toolRequest.input)
      )
    );
  }

  response = await ai.generate({
    tools: [askQuestion],
    messages: response.messages,
    resume: {
      respond: answers
    }
  })
}

// no more interrupts, we can see the final response
console.log(response.text);

    expect(logged).toEqual(['A barbecue for 12 without meat, at noon.']);
    expect(asked).toEqual([
      { choices: ['6', '12'] },
      { choices: ['meat', 'no meat'], allowOther: true },
      { choices: ['noon', 'evening'] },
    ]);
    expect(answersSeenBy(model)).toEqual(['12', 'no meat', 'evening']);
    expect(response.finishReason).toBe('stop');
    expect(response.interrupts).toEqual([]);
  });
});

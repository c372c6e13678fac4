// The second seed in TypeScript: an ordinary tool that just interrupts, tools by name, and `toolResponses`.
import { countersign, toolResponse, z } from 'countersign';
import { type ScriptStep, scriptedModel } from 'countersign/testing';
import { describe, expect, test } from 'vitest';

function setUp(script: readonly ScriptStep[]) {
  const model = scriptedModel(script);
  const ai = countersign({ model });

  const Questions = z.object({
    choices: z.array(z.string()).describe('the choices to display to the user'),
    allow_other: z.boolean().describe('when true, allow write-ins'),
  });

  ai.defineTool(
    {
      name: 'ask_question',
      description: 'Use this to ask the user a clarifying question',
      inputSchema: Questions,
      outputSchema: z.string(),
    },
    (_input, ctx) => {
      ctx.interrupt();
    },
  );

  return { ai, model };
}

const asks = (...choices: readonly string[]) => ({
  calls: [{ name: 'ask_question', input: { choices, allow_other: true } }],
});

describe('tool interrupts', () => {
  test('a tool named by string pauses, and toolResponses answers it', async () => {
    const { ai, model } = setUp([asks('Alien', 'Heat'), 'Heat it is.']);

    const interruptedResponse = await ai.generate({
      prompt: 'Ask me a movie trivia question.',
      tools: ['ask_question'],
    });

    expect(interruptedResponse.finishReason === 'interrupted').toBe(true);
    expect(interruptedResponse.interrupts.length > 0).toBe(true);

    const response = await ai.generate({
      messages: interruptedResponse.messages,
      toolResponses: interruptedResponse.interrupts.map((interrupt) => toolResponse(interrupt, 'Heat')),
      tools: ['ask_question'],
    });

    expect(response.text).toBe('Heat it is.');
    expect(response.finishReason).toBe('stop');
    expect(model.requests.at(-1)?.messages.at(-1)).toMatchObject({
      role: 'tool',
      content: [{ toolResponse: { name: 'ask_question', output: 'Heat' } }],
    });
  });

  test('the loop continues until no question is left', async () => {
    const { ai } = setUp([asks('6', '12'), asks('noon', 'evening'), 'Twelve at noon.']);
    const asked: string[][] = [];

    let response = await ai.generate({ prompt: 'help me plan a backyard BBQ', tools: ['ask_question'] });
    while (response.finishReason === 'interrupted') {
      const [interrupt] = response.interrupts;
      if (!interrupt) break;
      asked.push(interrupt.toolRequest.input.choices);
      response = await ai.generate({
        messages: response.messages,
        toolResponses: [toolResponse(interrupt, interrupt.toolRequest.input.choices[0])],
        tools: ['ask_question'],
      });
    }

    expect(asked).toEqual([
      ['6', '12'],
      ['noon', 'evening'],
    ]);
    expect(response.text).toBe('Twelve at noon.');
  });

  test('a single response needs no array', async () => {
    const { ai } = setUp([asks('Alien', 'Heat'), 'Alien it is.']);
    const { messages, interrupts } = await ai.generate({ prompt: 'Ask me.', tools: ['ask_question'] });
    const [interrupt] = interrupts;
    if (!interrupt) return expect.unreachable('the tool interrupts');
    const response = await ai.generate({
      messages,
      toolResponses: toolResponse(interrupt, 'Alien'),
      tools: ['ask_question'],
    });
    expect(response.text).toBe('Alien it is.');
  });
});

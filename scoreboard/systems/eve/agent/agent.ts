// The agent, with eve's own model for fixtures: it reads whom to pay from the prompt, makes the one call, and repeats the result.
import { defineAgent } from 'eve';
import { mockModel } from 'eve/evals';

export default defineAgent({
  // Without the tools for a shell and files, so that it needs no sandbox.
  defaultTools: false,
  model: mockModel(({ userMessages, toolResults }) => {
    const result = toolResults[0];
    if (result) return String(result.output);
    const [, to, amount] = /^Pay (\S+) (\d+)$/.exec(userMessages[0]) ?? [];
    return { toolCalls: [{ name: 'pay', input: { to, amount: Number(amount) } }] };
  }),
});

// What users write must infer from the schemas, end to end. The compiler is the test.
import { openai } from '@ai-sdk/openai';
import {
  approve,
  countersign,
  type Message,
  memoryStore,
  type Store,
  type ToolRequestPart,
  type ToolResponsePart,
  tool,
  z,
} from 'countersign';
import { sqliteStore } from 'countersign/sqlite';
import { scriptedModel } from 'countersign/testing';
import { openai as openaiV2 } from 'openai-v2';
import { openai as openaiV3 } from 'openai-v3';

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const holds = <_Claim extends true>(): void => undefined;

const ai = countersign({ model: scriptedModel([]) });
declare const interrupt: ToolRequestPart;

const transfer = ai.defineTool(
  {
    name: 'transfer',
    description: 'Transfers money.',
    inputSchema: z.object({ to: z.string(), amount: z.number(), note: z.string().default('') }),
    outputSchema: z.object({ status: z.string(), message: z.string().optional() }),
    title: (input) => {
      holds<Equal<typeof input, { to: string; amount: number; note: string }>>();
      return `Transfer ${input.amount}`;
    },
    needsApproval: (input, { context }) => {
      holds<Equal<typeof input, { to: string; amount: number; note: string }>>();
      return input.amount > context.limit;
    },
    verify: async (input, { idempotencyKey }) => {
      holds<Equal<typeof idempotencyKey, string>>();
      return input.amount > 0 ? { output: { status: 'DONE' } } : undefined;
    },
  },
  async (input, ctx) => {
    holds<Equal<typeof input, { to: string; amount: number; note: string }>>();
    holds<Equal<typeof ctx.callId, string>>();
    const balance = await ctx.step('balance', () => 5);
    holds<Equal<typeof balance, number>>();
    if (ctx.resumed?.status !== 'APPROVED') ctx.interrupt({ message: 'Sure?' });
    return { status: 'DONE' };
  },
);

const answer = transfer.respond(interrupt, { status: 'DONE' });
holds<Equal<typeof answer, ToolResponsePart<{ status: string; message?: string | undefined }>>>();
// @ts-expect-error the answer must fit the output schema
transfer.respond(interrupt, { status: 5 });
transfer.restart(interrupt, { any: 'thing' }, { replaceInput: { to: 'a', amount: 1 } });
// @ts-expect-error the new input must fit the input schema
transfer.restart(interrupt, true, { replaceInput: { to: 'a' } });
transfer.approve(interrupt, { edit: { to: 'a', amount: 1 }, by: 'ann' });
// @ts-expect-error the edit must fit the input schema
transfer.approve(interrupt, { edit: { amount: '1' } });
approve(interrupt, { by: 'ann' });

ai.defineTool(
  { name: 'wrong', description: '', inputSchema: z.object({}), outputSchema: z.string() },
  // @ts-expect-error a body must return what the output schema takes
  async () => 5,
);
ai.defineTool({ name: 'titled', description: '', title: 'A text' }, () => 1);
// @ts-expect-error a title is a text
ai.defineTool({ name: 'wrong', description: '', title: () => 5 }, () => 1);
// @ts-expect-error a title is not a promise
ai.defineTool({ name: 'wrong', description: '', title: async () => 'later' }, () => 1);
ai.defineInterrupt({
  name: 'choose',
  description: '',
  inputSchema: z.object({ colours: z.array(z.string()) }),
  title: ({ colours }) => `Choose one of ${colours.join(', ')}`,
});
ai.defineTool({ name: 'asks', description: '', needsApproval: () => ({ title: 'A text' }) }, (_, { interrupt }) =>
  interrupt('Well?', { title: 'A text' }),
);

ai.defineTool(
  { name: 'justAsks', description: '', inputSchema: z.object({}), outputSchema: z.string() },
  async (_, { interrupt }) => {
    interrupt();
  },
);
ai.defineTool(
  { name: 'asksByValue', description: '', inputSchema: z.object({}), outputSchema: z.string() },
  (_, { interrupt }) => interrupt.ask({ why: 1 }),
);

const ask = ai.defineInterrupt({
  name: 'ask',
  description: '',
  inputSchema: z.object({ choices: z.array(z.string()) }),
  outputSchema: z.string(),
  requestMetadata: (input) => ({ count: input.choices.length }),
});
ask.respond(interrupt, 'yes');
// @ts-expect-error the answer must be a text
ask.respond(interrupt, 5);

const called = transfer({ to: 'a', amount: 1 }, { approved: true });
holds<Equal<Awaited<typeof called>, { status: string; message?: string | undefined }>>();
// @ts-expect-error the input of a direct call must fit
void transfer({ to: 'a' });

const structured = await ai.generate({ prompt: 'x', output: { schema: z.object({ name: z.string() }) } });
holds<Equal<typeof structured.output, { name: string } | null>>();
const streamed = ai.generateStream({ prompt: 'x', output: { schema: z.object({ name: z.string() }) } });
holds<Equal<Awaited<typeof streamed.response>['output'], { name: string } | null>>();
for await (const chunk of streamed.stream) {
  holds<Equal<typeof chunk.text, string>>();
  if (chunk.type === 'interrupt') holds<Equal<typeof chunk.interrupt, ToolRequestPart>>();
}

const prompt = ai.definePrompt({
  name: 'p',
  input: { schema: z.object({ subject: z.string() }) },
  prompt: '{{subject}}',
  output: { schema: z.array(z.string()) },
});
const listed = await prompt({ subject: 'x' });
holds<Equal<typeof listed.output, string[] | null>>();
// @ts-expect-error the input of a prompt must fit
await prompt({ subject: 5 });
ai.definePrompt(
  { name: 'q', input: { schema: z.object({ subject: z.string() }) } },
  (input) => `About ${input.subject.toUpperCase()}`,
);

const messages: Message[] = structured.messages;
await ai.generate({
  messages: [...messages, { role: 'user', content: [{ text: 'more' }] }],
  tools: [transfer, ask, 'named'],
});
// @ts-expect-error an unknown role
await ai.generate({ messages: [{ role: 'assistant', content: [] }] });

const free = tool({ name: 'free', description: '', inputSchema: { type: 'object' } }, (input) => input.anything);
void free({ anything: 1 });

countersign({ model: openai('gpt-5') });
countersign({ model: openaiV2('gpt-5') });
countersign({ model: openaiV3('gpt-5') });
countersign({ model: 'openai/gpt-5', providers: { openai, openaiV2, openaiV3 } });
// @ts-expect-error no model
countersign({ model: 5 });

const { items: cards } = await ai.runs.requests({ settled: true });
for (const { settlement } of cards) {
  const who: string | null | undefined = settlement?.by;
  const when: number | undefined = settlement?.at;
  // @ts-expect-error a question that waits has no settlement
  void settlement.by;
  void [who, when];
}

// Both forms of `resume`, with decisions of different tools.
await ai.generate({ messages, resume: [transfer.approve(interrupt), ask.respond(interrupt, 'x')] });
await ai.generate({
  messages,
  resume: { approve: transfer.approve(interrupt), respond: [ask.respond(interrupt, 'x')] },
});
// @ts-expect-error an unknown kind
await ai.generate({ messages, resume: { aprove: [interrupt] } });
// @ts-expect-error not a decision
await ai.generate({ messages, resume: ['approve'] });

// An app can name the type of the store that it opens.
const openStore = (path?: string): Store => (path === undefined ? memoryStore() : sqliteStore(path));
countersign({ store: openStore() });

// Interrupts are typed by the tools that raise them, decisions by the tool they decide, and context by the instance.
import {
  type Countersign,
  countersign,
  type GenerateResponse,
  memoryStore,
  type RunRequest,
  type Runs,
  type ToolRequestPart,
  z,
} from 'countersign';
import type { RequestKind } from 'countersign/request';
import { scriptedModel } from 'countersign/testing';
import { expectTypeOf } from 'vitest';

const ai = countersign({ model: scriptedModel([]), store: memoryStore() });

type Payment = { to: string; amount: number; note?: string | undefined };
const pay = ai.defineTool(
  {
    name: 'pay',
    description: 'Pays.',
    inputSchema: z.object({ to: z.string(), amount: z.number(), note: z.string().default('') }),
    needsApproval: true,
  },
  () => undefined,
);
const ask = ai.defineInterrupt({
  name: 'ask',
  description: 'Asks.',
  inputSchema: z.object({ question: z.string() }),
  outputSchema: z.string(),
});
const helper = ai.defineAgent({ name: 'helper', tools: [pay] });

// One tool, several tools, names and agents.
const one = await ai.generate({ prompt: 'go', tools: [pay] });
for (const { toolRequest } of one.interrupts) expectTypeOf(toolRequest.input).toEqualTypeOf<Payment>();
const two = await ai.generate({ prompt: 'go', tools: [pay, ask] });
for (const { toolRequest } of two.interrupts)
  expectTypeOf(toolRequest.input).toEqualTypeOf<Payment | { question: string }>();
const named = await ai.generate({ prompt: 'go', tools: [pay, 'ask'] });
for (const { toolRequest } of named.interrupts) expectTypeOf(toolRequest.input).toBeAny();
const withAgent = await ai.generate({ prompt: 'go', tools: [pay, helper] });
for (const { toolRequest } of withAgent.interrupts) expectTypeOf(toolRequest.input).toBeAny();
const none = await ai.generate('go');
for (const { toolRequest } of none.interrupts) expectTypeOf(toolRequest.input).toBeAny();
const empty = await ai.generate({ prompt: 'go', tools: [] });
for (const { toolRequest } of empty.interrupts) expectTypeOf(toolRequest.input).toBeAny();

// The same for streams, agents and chats.
const { response: streamed } = ai.generateStream({ prompt: 'go', tools: [pay] });
for (const { toolRequest } of (await streamed).interrupts) expectTypeOf(toolRequest.input).toEqualTypeOf<Payment>();
for (const { toolRequest } of (await helper.generate('go')).interrupts)
  expectTypeOf(toolRequest.input).toEqualTypeOf<Payment>();
const chat = ai.chat({ tools: [ask] });
for (const { toolRequest } of chat.interrupts) expectTypeOf(toolRequest.input).toEqualTypeOf<{ question: string }>();
for (const { toolRequest } of (await chat.send('go')).interrupts)
  expectTypeOf(toolRequest.input).toEqualTypeOf<{ question: string }>();

// A typed response is still a response.
expectTypeOf(two).toExtend<GenerateResponse>();
let response = await ai.generate({ prompt: 'go', tools: [pay] });
response = await ai.generate({
  messages: response.messages,
  resume: response.interrupts.map((part) => pay.approve(part)),
});

// `tool.is` narrows an interrupt, typed or not.
for (const interrupt of two.interrupts) {
  if (pay.is(interrupt)) expectTypeOf(interrupt.toolRequest.input).toEqualTypeOf<Payment>();
  else expectTypeOf(interrupt.toolRequest.input).toEqualTypeOf<{ question: string }>();
}
expectTypeOf(two.interrupts.find(ask.is)).toEqualTypeOf<ToolRequestPart<{ question: string }> | undefined>();
declare const untyped: ToolRequestPart;
if (pay.is(untyped)) expectTypeOf(untyped.toolRequest.input).toEqualTypeOf<Payment>();

// And a stored question, whose decision is then checked.
const { items } = await ai.runs.requests();
for (const question of items) {
  expectTypeOf(question.kind).toEqualTypeOf<RequestKind>();
  if (pay.is(question)) {
    expectTypeOf(question).toExtend<RunRequest>();
    expectTypeOf(question.input.amount).toEqualTypeOf<number>();
    await ai.runs.decide(question, 'approve', { by: 'ann' });
    await ai.runs.decide(question, { type: 'approve', edit: { to: 'ann', amount: 5 } });
    await ai.runs.decide(question, { type: 'restart', replaceInput: { to: 'ann', amount: 5 } });
    // @ts-expect-error the edit must fit the input schema
    await ai.runs.decide(question, { type: 'approve', edit: { amount: '5' } });
    // @ts-expect-error and so must a replaced input
    await ai.runs.decide(question, { type: 'restart', replaceInput: { to: 'ann' } });
  } else if (ask.is(question)) {
    await ai.runs.decide(question, { type: 'respond', output: 'yes' });
    // @ts-expect-error the answer must fit the output schema
    await ai.runs.decide(question, { type: 'respond', output: 5 });
  } else await ai.runs.decide(question, { type: 'approve', edit: { anything: 1 } });
}
await ai.runs.decide('id', { type: 'approve', edit: { anything: 1 } }, { digest: 'd' });

// A list of the questions of one tool is typed by the tool, and so are the decisions on them.
for (const question of (await ai.runs.requestsOf(pay, { kind: 'approval' })).items) {
  expectTypeOf(question).toExtend<RunRequest>();
  expectTypeOf(question.input.amount).toEqualTypeOf<number>();
  await ai.runs.decide(question, { type: 'approve', edit: { ...question.input, amount: 5 } }, { by: 'ann' });
  // @ts-expect-error the edit must fit the input schema
  await ai.runs.decide(question, { type: 'approve', edit: { amount: '5' } });
}
for (const question of (await ai.runs.requestsOf(ask)).items) {
  await ai.runs.decide(question, { type: 'respond', output: 'yes' });
  // @ts-expect-error the answer must fit the output schema
  await ai.runs.decide(question, { type: 'respond', output: 5 });
}
for (const question of (await ai.runs.requests({ tool: 'pay' })).items)
  await ai.runs.decide(question, { type: 'approve', edit: { anything: 1 } });
// @ts-expect-error a name instead of a tool
await ai.runs.requestsOf('pay');
// @ts-expect-error an unknown decision
await ai.runs.decide('id', 'aprove');

// One type argument types `context` everywhere.
type Caller = { readonly userId: string; readonly limit: number };
const typed = countersign<Caller>({
  model: scriptedModel([]),
  store: memoryStore(),
  contextFor: ({ startedBy }) => (startedBy === null ? undefined : { userId: startedBy, limit: 1 }),
});
const transfer = typed.defineTool(
  {
    name: 'transfer',
    description: 'Transfers.',
    inputSchema: z.object({ amount: z.number() }),
    needsApproval: ({ amount }, { context }) => {
      expectTypeOf(context).toEqualTypeOf<Caller>();
      return amount > context.limit;
    },
    verify: (_input, { context }) => {
      expectTypeOf(context).toEqualTypeOf<Caller>();
      return undefined;
    },
  },
  (_input, { context }) => {
    expectTypeOf(context).toEqualTypeOf<Caller>();
    // @ts-expect-error not in the context
    return context.user;
  },
);
const context: Caller = { userId: 'ann', limit: 1 };
await typed.generate({ prompt: 'go', tools: [transfer], context });
const clerk = typed.defineAgent({ name: 'clerk', tools: [transfer], context });
await clerk.generate({ prompt: 'go', context });
await clerk.start('go', { context });
await typed.chat({ context }).send({ prompt: 'go', context });
await typed.runs.decide('id', 'approve', { context });
// @ts-expect-error
await typed.generate({ prompt: 'go', context: { userId: 1 } });
// @ts-expect-error
typed.generateStream({ prompt: 'go', context: { user: 'ann' } });
// @ts-expect-error
await clerk.generate({ prompt: 'go', context: {} });
// @ts-expect-error
await clerk.start('go', { context: {} });
// @ts-expect-error
typed.chat({ context: {} });
// @ts-expect-error
await typed.runs.decide('id', 'approve', { context: {} });
// @ts-expect-error
countersign<Caller>({ context: {} });

// Code that takes any instance takes a typed one.
expectTypeOf(typed).toExtend<Countersign>();
expectTypeOf(typed.runs).toExtend<Runs>();
// Without a type argument, context stays loose.
await ai.generate({ prompt: 'go', context: { anything: 1 } });

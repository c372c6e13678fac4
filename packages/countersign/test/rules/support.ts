// Shared by the tests of the rules: a scripted instance, round trips through JSON, frozen values, and latches for order.
import {
  type Countersign,
  CountersignError,
  type CountersignOptions,
  countersign,
  type GenerateResponse,
  type Message,
  type Tool,
  type ToolConfig,
  type ToolRequestPart,
  type ToolResponsePart,
  tool,
  z,
} from 'countersign';
import { type ScriptedModel, type ScriptedTurn, type ScriptStep, scriptedModel } from 'countersign/testing';

export const FALSY = [0, '', false, null] as const;

/** An instance with a model that follows the script and is never called twice for one turn. */
export function scripted(
  script: readonly ScriptStep[],
  options: CountersignOptions = {},
): { readonly ai: Countersign; readonly model: ScriptedModel } {
  const model = scriptedModel(script);
  return { ai: countersign({ model, retry: false, ...options }), model };
}

/** A turn that asks for these calls. */
export function calls(...asked: NonNullable<ScriptedTurn['calls']>): ScriptedTurn {
  return { calls: asked };
}

/** A gated tool that writes every execution to `log`. */
export function payTool(log: string[], config: Partial<ToolConfig<typeof AMOUNT>> = {}): Tool<{ amount: number }, any> {
  return tool(
    { name: 'pay', description: 'Pays.', inputSchema: AMOUNT, needsApproval: true, ...config },
    ({ amount }) => {
      log.push(`paid ${amount}`);
      return { paid: amount };
    },
  );
}

export const AMOUNT = z.object({ amount: z.number() });

/** Returns the value after a trip through JSON. */
export function travelled<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const item of Object.values(value)) deepFreeze(item);
  return Object.freeze(value);
}

/** The one item; fails when there are more or fewer. */
export function only<T>(items: readonly T[]): T {
  if (items.length !== 1) throw new Error(`Expected one item, not ${items.length}: ${JSON.stringify(items)}`);
  return items[0] as T;
}

export function nth<T>(items: readonly T[], index: number): T {
  const item = items[index];
  if (item === undefined) throw new Error(`Item ${index} does not exist in ${JSON.stringify(items)}`);
  return item;
}

export function pendingOf(response: GenerateResponse, name: string): ToolRequestPart {
  return only(response.interrupts.filter((part) => part.toolRequest.name === name));
}

/** The answers in the last tool message. */
export function results(messages: readonly Message[]): readonly ToolResponsePart[] {
  const last = messages.findLast((message) => message.role === 'tool');
  return (last?.content ?? []).filter((part) => 'toolResponse' in part);
}

export function outputs(messages: readonly Message[]): readonly unknown[] {
  return results(messages).map((part) => part.toolResponse.output);
}

/** The calls in the last message of the model that asks for any. */
export function requests(messages: readonly Message[]): readonly ToolRequestPart[] {
  const last = messages.findLast(({ role, content }) => role === 'model' && content.some((p) => 'toolRequest' in p));
  return (last?.content ?? []).filter((part) => 'toolRequest' in part);
}

/** The error that the work rejects with. */
export async function failureOf(work: Promise<unknown>): Promise<CountersignError> {
  try {
    await work;
  } catch (error) {
    if (error instanceof CountersignError) return error;
    throw new Error(`It failed with something else than a CountersignError: ${String(error)}`, { cause: error });
  }
  throw new Error('It did not fail.');
}

export function messagesOf(error: CountersignError): readonly Message[] {
  if (!error.messages)
    throw new Error(`The error carries no messages to continue from: ${error.name} ${error.message}`);
  return error.messages;
}

export function faultsOf(error: CountersignError): readonly { where: string; problem: string }[] {
  return error.details.faults as readonly { where: string; problem: string }[];
}

/** A promise that the test resolves. */
export function latch<T = void>(): { readonly opened: Promise<T>; open(value: T): void } {
  const { promise, resolve } = Promise.withResolvers<T>();
  return { opened: promise, open: resolve };
}

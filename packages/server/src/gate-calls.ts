// Calls of programs outside: asked for by a person, each under a key of theirs.
import {
  ConflictError,
  type Context,
  type Countersign,
  type Gate,
  type GateResult,
  type ToolDescription,
} from 'countersign';
import { defined } from './defined.ts';

/** A call to ask for, with what its caller says about it. Times are in seconds. */
export type AskedCall = Pick<
  ToolDescription,
  'description' | 'title' | 'message' | 'risk' | 'reversibility' | 'policy' | 'notice'
> & {
  readonly tool: string;
  readonly input: unknown;
  readonly key: string;
  /** The call that this one revises, because a person asked for changes. */
  readonly revises?: string;
  readonly labels?: readonly string[];
  readonly schema?: { readonly [keyword: string]: unknown };
  readonly outputSchema?: { readonly [keyword: string]: unknown };
  readonly expiresIn?: number | string;
  /** It is a plan for calls of these tools. */
  readonly tools?: readonly PlannedTool[] | undefined;
};

type PlannedTool = Undefined<
  Pick<AskedCall, 'description' | 'title' | 'risk' | 'reversibility' | 'labels' | 'policy' | 'schema'>
> & {
  readonly name: string;
};

type Undefined<T> = { readonly [name in keyof T]: T[name] | undefined };

/** Asks for the call, or finds it: the same key of the same person and tool asks once. Nothing runs here. */
export async function askForCall(
  ai: Countersign,
  by: { readonly id: string; readonly context?: Context },
  asked: Undefined<AskedCall>,
): Promise<GateResult> {
  const { tool: name = '', input, key = '', revises, schema, outputSchema, expiresIn, tools, ...rest } = asked;
  const description = defined({
    name,
    ...rest,
    inputSchema: schema,
    outputSchema,
    plan: tools && { tools: tools.map(({ schema: inputSchema, ...tool }) => defined({ ...tool, inputSchema })) },
    expiresIn: typeof expiresIn === 'number' ? expiresIn * 1_000 : expiresIn,
  });
  const gate = ai.gate(description as ToolDescription);
  try {
    // The ids of people have no control characters, so no key of one person is a key of another.
    return await gate.request(input, {
      key: `${by.id}\n${key}`,
      by: by.id,
      ...defined({ revises }),
      ...(by.context && { context: by.context }),
    });
  } catch (error) {
    if (!(error instanceof ConflictError && error.code === 'gate-conflict')) throw error;
    const message = `The key ${JSON.stringify(key)} was used for a call of ${name} with another input. Nothing was asked.`;
    throw new ConflictError('gate-conflict', { ...error.details, key }, message);
  }
}

/** For reading, starting and reporting calls by the ids of their runs. The record says which tool a call is of. */
export const recordedCalls = (ai: Countersign): Gate => ai.gate({ name: 'recorded' });

/** Waits for the decision on a call, at most for so long; undefined: without end. */
export async function decidedWithin(
  gate: Pick<Gate, 'wait'>,
  first: GateResult,
  ms: number | undefined,
  signal?: AbortSignal,
): Promise<GateResult> {
  const until = performance.now() + (ms ?? Number.POSITIVE_INFINITY);
  let result = first;
  while (result.status === 'pending') {
    const left = Math.ceil(until - performance.now());
    if (left <= 0) break;
    result = await gate.wait(result.id, defined({ signal, timeout: ms === undefined ? undefined : left }));
  }
  return result;
}

// AI SDK tools behind a gate: the same tools, except that what a person has to decide goes through the ledger.
import type { ToolSet } from 'ai';
import { UsageError } from '../core/errors.ts';
import { type Json, sameJson, toJson } from '../core/json.ts';
import { type Asks, type CallOptions, ownTool } from './asks.ts';
import { type Ledger, Refused } from './ledger.ts';

type ToolOf = ToolSet[string];

/** A call that the model made in this request, as the AI SDK announced it; `said` is its input as it was then. */
type LiveCall = {
  readonly tool: string;
  readonly input: unknown;
  readonly said: ReturnType<typeof toJson>;
  readonly isAsked: boolean;
};

export function gateTools<Tools extends ToolSet>(tools: Tools, ledger: Ledger, asks: Asks): Tools {
  const announced = new Map<string, Promise<LiveCall>>();
  const live = new Map<string, LiveCall>();

  async function announce(tool: string, input: unknown, options: CallOptions): Promise<LiveCall> {
    const id = options.toolCallId;
    const said = toJson(input);
    const call = { tool, input, said, isAsked: await asks.person(tool, input, options) };
    if (call.isAsked) await ledger.ask({ id, tool, input: jsonIn(said, tool) });
    live.set(id, call);
    return call;
  }

  function gateTool(name: string, tool: ToolOf): ToolOf {
    const { execute } = tool;
    return {
      ...tool,
      // Called for what the model just said, and never for what a client says that it said.
      async onInputAvailable(options: CallOptions & { readonly input: unknown }) {
        const announcing = announce(name, options.input, options);
        announced.set(options.toolCallId, announcing);
        await announcing;
        await tool.onInputAvailable?.(options as never);
      },
      ...(execute &&
        asks.ever(name) && {
          async needsApproval(input: unknown, options: CallOptions) {
            // In a stream, version 7 asks this while it announces the call: nobody is asked before it is on record.
            await nextTask();
            const call = await announced.get(options.toolCallId);
            return call ? call.isAsked : asks.person(name, input, options);
          },
        }),
      ...(execute && {
        execute(input: unknown, options: CallOptions) {
          const id = options.toolCallId;
          const call = live.get(id);
          // At once, so that a tool that streams its results still does.
          const isIt = call?.tool === name && isSaid(call, input);
          if (call && !call.isAsked && isIt) return execute.call(tool, input as never, options as never);
          if (call && isIt) throw new Refused(`The call of ${name} waits for a person. It was not run.`);
          // What was asked under an id counts, and this may be what nobody was asked about.
          if (call) throw new Refused(`The model gave the id of this call of ${name} to another. It was not run.`);
          return ledger.run({ id, tool: name, input: jsonIn(toJson(input), name) }, (recorded) =>
            lastResult(execute.call(tool, recorded as never, options as never)),
          );
        },
      }),
    } as unknown as ToolOf;
  }

  const gated = Object.keys(tools).map((name) => {
    const tool = ownTool(tools, name) as ToolOf;
    return [name, asks.elsewhere(name) ? tool : gateTool(name, tool)] as const;
  });
  return Object.fromEntries(gated) as Tools;
}

/** The result of a tool, or the last of those that it streams. */
export async function lastResult(result: unknown): Promise<unknown> {
  if (typeof result !== 'object' || result === null || !(Symbol.asyncIterator in result)) return result;
  let last: unknown;
  for await (const item of result as AsyncIterable<unknown>) last = item;
  return last;
}

/** What is asked of nobody need not be JSON: a schema may make a `Map` of it. */
function isSaid({ said, input: announced }: LiveCall, input: unknown): boolean {
  if (!said.ok) return announced === input;
  const json = toJson(input);
  return json.ok && sameJson(said.value, json.value);
}

function jsonIn(said: ReturnType<typeof toJson>, tool: string): Json {
  if (said.ok) return said.value;
  throw new UsageError('not-json', { tool }, `The input of ${tool} is not JSON: ${said.problem}.`);
}

const nextTask = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));

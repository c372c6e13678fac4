// AI SDK tools behind a gate: the same tools, but calls that need approval go through the ledger.
import type { ToolSet } from 'ai';
import { UsageError } from '../../core/errors.ts';
import { type Json, sameJson, toJson } from '../../core/json.ts';
import type { ApprovalRules, CallOptions } from './approval-rules.ts';
import { type Ledger, Refused } from './ledger.ts';

type ToolOf = ToolSet[string];

/** A call that the model made in this request, as the AI SDK announced it. `json` is its input at that time. */
type LiveCall = {
  readonly tool: string;
  readonly input: unknown;
  readonly json: ReturnType<typeof toJson>;
  readonly isAsked: boolean;
};

export function wrapTools<Tools extends ToolSet>(tools: Tools, ledger: Ledger, rules: ApprovalRules): Tools {
  const announced = new Map<string, Promise<LiveCall>>();
  const live = new Map<string, LiveCall>();

  async function announce(tool: string, input: unknown, options: CallOptions): Promise<LiveCall> {
    const id = options.toolCallId;
    const json = toJson(input);
    const call = { tool, input, json, isAsked: await rules.needsApproval(tool, input, options) };
    if (call.isAsked) await ledger.ask({ id, tool, input: jsonIn(json, tool) });
    live.set(id, call);
    return call;
  }

  function gateTool(name: string, tool: ToolOf): ToolOf {
    const { execute } = tool;
    return {
      ...tool,
      // The AI SDK calls this only for calls that the model just made, never for calls in posted messages.
      async onInputAvailable(options: CallOptions & { readonly input: unknown }) {
        const announcing = announce(name, options.input, options);
        announced.set(options.toolCallId, announcing);
        await announcing;
        await tool.onInputAvailable?.(options as never);
      },
      ...(execute &&
        rules.mayNeedApproval(name) && {
          async needsApproval(_input: unknown, { toolCallId }: CallOptions) {
            // In a stream, version 7 asks this while it announces the call. The request must be recorded first.
            await nextTask();
            // Only the record of a posted call can run it, whatever the rule says about an edited input.
            return (await announced.get(toolCallId))?.isAsked ?? true;
          },
        }),
      ...(execute && {
        execute(input: unknown, options: CallOptions) {
          const id = options.toolCallId;
          const call = live.get(id);
          // Synchronously, so that a tool can still stream its results.
          const isSame = call?.tool === name && hasInput(call, input);
          if (call && !call.isAsked && isSame) return execute.call(tool, input as never, options as never);
          if (call && isSame) throw new Refused(`${name} is waiting for approval. It was not run.`);
          // The announced call owns the id; this one was not approved.
          if (call)
            throw new Refused(`The model used the id of this call of ${name} for another call. It was not run.`);
          return ledger.run({ id, tool: name, input: jsonIn(toJson(input), name) }, (recorded) =>
            lastResult(execute.call(tool, recorded as never, options as never)),
          );
        },
      }),
    } as unknown as ToolOf;
  }

  const gated = Object.entries(tools).map(([name, tool]) => [
    name,
    rules.runsAtProvider(name) ? tool : gateTool(name, tool),
  ]);
  return Object.fromEntries(gated) as Tools;
}

/** The result of a tool, or the last one that it streams. */
export async function lastResult(result: unknown): Promise<unknown> {
  if (typeof result !== 'object' || result === null || !(Symbol.asyncIterator in result)) return result;
  let last: unknown;
  for await (const item of result as AsyncIterable<unknown>) last = item;
  return last;
}

/** An input that needs no approval may not be JSON: a schema may turn it into a `Map`. */
function hasInput({ json: announcedJson, input: announced }: LiveCall, input: unknown): boolean {
  if (!announcedJson.ok) return announced === input;
  const json = toJson(input);
  return json.ok && sameJson(announcedJson.value, json.value);
}

function jsonIn(json: ReturnType<typeof toJson>, tool: string): Json {
  if (json.ok) return json.value;
  throw new UsageError('not-json', { tool }, `The input of ${tool} is not JSON: ${json.problem}.`);
}

const nextTask = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));

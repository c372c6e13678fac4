// The calls of AI SDK tools at the gate: how each tool asks, and the run that each call is.
import type { ToolSet } from 'ai';
import { NotPerformed } from '../../core/errors.ts';
import type { Json } from '../../core/json.ts';
import { countersign } from '../../countersign.ts';
import type { Caller } from '../../loop/run.ts';
import { askProblem } from '../../loop/tool/ask-options.ts';
import type { Tool, ToolConfig, ToolDefinition } from '../../loop/tool/definition.ts';
import type { StandardSchema } from '../../loop/tool/schema.ts';
import { tool } from '../../loop/tool/tool.ts';
import type { CallGate } from '../../runs/gates/call-gate.ts';
import { shortHash } from '../../runs/port/chain.ts';
import type { Store } from '../../runs/port/store.ts';
import type { Runs } from '../../runs/runs.ts';
import { type CheckedInput, checkInput, checkOutput } from './input.ts';
import { type AskedCall, callKey, type Place } from './ledger.ts';
import { type Previews, type Titles, titleFor } from './titles.ts';

export type Body = (input: Json, toolCallId: string) => unknown;

export type SdkCalls = {
  readonly runs: Runs;
  readonly gate: CallGate;
  readonly label: string;
  /** Accepts the input of this call: the AI SDK has just validated it, and may have transformed it. */
  vouch(call: AskedCall): void;
};

/** `bodies` are looked up by tool name when a call runs that brings no body of its own. */
export function sdkCalls(
  name: string,
  store: Store,
  tools: ToolSet,
  bodies: ReadonlyMap<string, Body>,
  asking: {
    readonly chatId: string;
    readonly expiresIn?: number | undefined;
    readonly titles: Titles<any>;
    readonly previews: Previews<any>;
  },
): SdkCalls {
  const ai = countersign({ store });
  // A call that is approved outside of its chat runs at once.
  const definitions = new Map<string, ToolDefinition>();
  const gate = ai.callGate(name, definitions);
  const { chatId, expiresIn, titles, previews } = asking;
  const label = labelOf(chatId);
  const asks = { labels: [label], ...(expiresIn !== undefined && { expiresIn }) };
  const vouched = new Set<string>();
  for (const [name, sdkTool] of Object.entries(tools)) {
    const isVouched = (input: unknown) => vouched.has(callKey({ tool: name, input }));
    const title = titleFor(titles, name, sdkTool);
    const preview = Object.hasOwn(previews, name) ? previews[name] : undefined;
    const { definition } = gatedTool(name, sdkTool, isVouched, () => bodies.get(name), {
      ...asks,
      ...(title !== undefined && { title }),
      // The AI SDK cannot ask twice about one call.
      ...(preview !== undefined && { preview, onPreviewChange: 'reject' as const }),
    });
    definitions.set(name, definition);
  }
  return { runs: ai.runs, gate, label, vouch: (call) => void vouched.add(callKey(call)) };
}

/** Approvers see it in the inbox, so it is the chat id itself if that is a valid label. */
function labelOf(chatId: string): string {
  const label = `chat ${chatId}`;
  return askProblem({ labels: [label] }) === undefined ? label : `chat ${shortHash(chatId)}`;
}

/** The first message of the run of a call: the call, and the person to ask. */
export type Opening = {
  readonly chatId: string;
  readonly askedBy: string;
  readonly call: AskedCall;
  readonly place?: Place;
};

function gatedTool(
  name: string,
  sdkTool: ToolSet[string],
  isVouched: (input: unknown) => boolean,
  body: () => Body | undefined,
  asks: Pick<ToolConfig, 'labels' | 'expiresIn' | 'title' | 'preview' | 'onPreviewChange'>,
): Tool {
  const config = {
    name,
    description: '',
    needsApproval: true,
    inputSchema: checking(async (input) => isVouched(input) || checkInput(name, sdkTool, input)),
    outputSchema: checking(async (output) => output instanceof Returned || checkOutput(name, sdkTool, output)),
    // No model sees this tool.
    inputJsonSchema: {},
    ...asks,
  };
  return tool(config, async (input, { metadata }) => {
    const run = body();
    if (!run) throw new NotPerformed(`${name} has no function in this process.`);
    return new Returned(await run(input, String(metadata.toolCallId)));
  });
}

/** Runs the body of a request of the AI SDK. */
export function callerWith(body: Body | undefined): Caller {
  if (!body) return {};
  return { body: async (input, { metadata }) => new Returned(await body(input, String(metadata.toolCallId))) };
}

/** The output of a body. The AI SDK does not validate it; an output that a person enters is validated. */
class Returned {
  readonly output: unknown;

  constructor(output: unknown) {
    this.output = output;
  }
}

/** A schema that validates but does not transform: an input runs as recorded. */
function checking(check: (value: unknown) => Promise<true | CheckedInput>): StandardSchema {
  return {
    '~standard': {
      version: 1,
      vendor: 'ai-sdk',
      async validate(value) {
        const checked = await check(value);
        if (checked !== true && !checked.ok) return { issues: checked.problems.map((message) => ({ message })) };
        return { value: value instanceof Returned ? value.output : value };
      },
    },
  };
}

// `gateTools`: puts a gate in front of AI SDK tools, for apps that keep `streamText` and `useChat`.
import type { FlexibleSchema, ToolSet, UIMessage } from 'ai';
import { UsageError } from '../../core/errors.ts';
import { aFunction, anything, checkOptions, type OptionTable } from '../../core/options.ts';
import { aDurationMs } from '../../loop/tool/ask-options.ts';
import { createSealer, type SealKeys } from '../../ui/seal.ts';
import { aKey, checkNames, type GateToolsOptions } from '../gated-calls.ts';
import { bindRequests } from './approval-ids.ts';
import { type ApprovalRules, type Approve, createApprovalRules } from './approval-rules.ts';
import { type GateInternals, INTERNALS } from './gate-internals.ts';
import type { Ledger } from './ledger.ts';
import { receive } from './receive.ts';
import { type Body, SdkTools } from './sdk-tools.ts';
import { sealStream } from './seal-stream.ts';
import { type SealedLedger, sealedLedger } from './sealed-ledger.ts';
import { StoredLedger } from './stored-ledger.ts';
import { lastResult, wrapTools } from './wrapped-tools.ts';

/** The AI SDK's own `InferToolInput` does not take every tool of a `ToolSet`. */
type InputOf<Tool> = Tool extends { readonly inputSchema: FlexibleSchema<infer Input> } ? Input : any;

type InputsOf<Tools extends ToolSet> = { readonly [Name in keyof Tools]: InputOf<Tools[Name]> };

/** Options of `gateTools`. `title` is that of the AI SDK tool by default. */
export type SdkGateOptions<Tools extends ToolSet = ToolSet> = Omit<
  GateToolsOptions<InputsOf<Tools>>,
  'by' | 'approve'
> & {
  /** The signed-in user of this request. Without a `policy`, only they decide the calls of their requests. */
  readonly by: string;
  /** Which calls ask, beside those of tools with `needsApproval`. */
  readonly approve?: Approve;
};

/** Options without a store: only calls that the model asked for can run. To run each at most once, use an instance with a store. */
export type SealGateOptions = Pick<SdkGateOptions, 'key' | 'by' | 'approve'> & {
  /** At least 32 bytes; or several with key ids, of which the first one seals and any opens. */
  readonly secret: SealKeys;
  /** How long a call can be approved, in milliseconds; one hour by default. */
  readonly expiresIn?: number;
  /** The time in milliseconds; `Date.now` by default. */
  readonly clock?: () => number;
};

/** AI SDK tools behind a gate, for one request. */
export type Gated<Tools extends ToolSet> = {
  /** Pass these to `streamText`, `generateText` or an agent instead of the original tools. */
  readonly tools: Tools;
  /** Verifies the messages of the client. Use only its result, never the original messages. */
  receive<Message extends UIMessage>(messages: readonly Message[]): Promise<Message[]>;
  /** Passes the UI message stream on to the client, and records under which id each request leaves. With a secret it adds seals. */
  send<Stream extends ReadableStream>(stream: Stream): Stream;
  /** For `processToolCalls`. */
  readonly [INTERNALS]: GateInternals;
};

/**
 * Puts AI SDK tools behind the gate, for one request. Forged, altered or foreign approvals run nothing, and with an instance that has
 * a store no call runs twice.
 * @example
 * const title = { pay: ({ amount, to }) => `Pay €${amount} to ${to}` };
 * const gated = gateTools(tools, { ai, key: id, by: user.id, approve: ['pay'], title });
 * const result = streamText({ model, tools: gated.tools, messages: await convertToModelMessages(await gated.receive(messages)) });
 * return createUIMessageStreamResponse({ stream: gated.send(result.toUIMessageStream()) });
 */
export function gateTools<Tools extends ToolSet>(
  tools: Tools,
  options: SdkGateOptions<Tools> | SealGateOptions,
): Gated<Tools> {
  checkOptions('`gateTools`', options, OPTIONS);
  checkNames(options, new Set(Object.keys(tools)));
  const rules = createApprovalRules(tools, options.approve);
  if ('secret' in options && options.secret !== undefined) {
    const { key, by, secret, expiresIn = HOUR_MS, clock = Date.now } = options;
    const ledger = sealedLedger({ sealer: createSealer(secret), key, by, expiresIn, clock });
    return withLedger(tools, rules, ledger, new Map(), ledger);
  }
  if (!('ai' in options))
    throw new UsageError('invalid-options', {}, '`gateTools` needs `ai`, or a `secret` of at least 32 bytes.');
  const bodies = bodiesOf(tools);
  const asking = { policy: { deciders: { people: [options.by] } }, ...options, approve: [] };
  const sdkTools = new SdkTools(tools, bodies, asking);
  // Refuses names and options that the engine does not accept, before anything is asked.
  for (const [name, tool] of Object.entries(tools))
    if (rules.mayNeedApproval(name) && !rules.runsAtProvider(name)) sdkTools.define(name, tool);
  return withLedger(tools, rules, new StoredLedger(sdkTools, asking), bodies);
}

const HOUR_MS = 60 * 60 * 1000;

const OPTIONS: OptionTable<SdkGateOptions & SealGateOptions> = {
  key: aKey,
  by: aKey,
  approve: anything,
  ai: anything,
  name: anything,
  title: anything,
  preview: anything,
  policy: anything,
  asks: anything,
  secret: anything,
  expiresIn: aDurationMs,
  clock: aFunction,
};

function withLedger<Tools extends ToolSet>(
  tools: Tools,
  rules: ApprovalRules,
  ledger: Ledger,
  bodies: Map<string, Body>,
  sealed?: SealedLedger,
): Gated<Tools> {
  return {
    tools: wrapTools(tools, ledger, rules),
    receive: (messages) => receive(messages, ledger, rules),
    send(stream) {
      const bound = bindRequests(stream, ledger);
      return sealed ? sealStream(bound, sealed) : bound;
    },
    [INTERNALS]: {
      confirm(functions) {
        rules.requireConfirmation([...functions.keys()]);
        for (const [name, body] of functions) if (!bodies.has(name)) bodies.set(name, body);
      },
      run: (call, body) => ledger.run(call, body),
      chunksFor: (id, outcome) => sealed?.sealOutcome(id, outcome) ?? [],
    },
  };
}

/** The bodies of calls that run outside of an AI SDK request. */
function bodiesOf(tools: ToolSet): Map<string, Body> {
  const bodies = new Map<string, Body>();
  for (const [name, tool] of Object.entries(tools)) {
    const { execute } = tool;
    if (execute)
      bodies.set(name, (input, toolCallId) =>
        lastResult(execute.call(tool, input as never, { toolCallId, messages: [] } as never)),
      );
  }
  return bodies;
}

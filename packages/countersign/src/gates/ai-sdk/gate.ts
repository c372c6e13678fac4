// `gate`: puts a gate in front of AI SDK tools, for apps that keep `streamText` and `useChat`.
import type { ToolSet, UIMessage } from 'ai';
import { UsageError } from '../../core/errors.ts';
import { aFunction, anything, checkOptions, type OptionKind, type OptionTable } from '../../core/options.ts';
import { aDurationMs } from '../../loop/tool/ask-options.ts';
import type { Store } from '../../runs/port/store.ts';
import type { Runs } from '../../runs/runs.ts';
import { createSealer, type SealKeys } from '../../ui/seal.ts';
import { bindQuestions } from './approval-ids.ts';
import { type ApprovalRules, type Approve, createApprovalRules } from './approval-rules.ts';
import { type GateInternals, INTERNALS } from './gate-internals.ts';
import { gateTools, lastResult } from './gated-tools.ts';
import type { Ledger } from './ledger.ts';
import { receive } from './receive.ts';
import type { MayDecide } from './recorded-calls.ts';
import { type Body, sdkCalls } from './sdk-calls.ts';
import { sealStream } from './seal-stream.ts';
import { type SealedLedger, sealedLedger } from './sealed-ledger.ts';
import { StoredLedger } from './stored-ledger.ts';
import { checkByTool, type Previews, type Titles } from './titles.ts';

/** The options of every gate. */
export type GateOptions = {
  /** The conversation. A call of one chat cannot be approved in another. */
  readonly chatId: string;
  /** The signed-in user of this request. A call of one user cannot be approved by another. */
  readonly person: string;
  /** Which calls need approval, beside those of tools with `needsApproval`. */
  readonly approve?: Approve;
  /** How long a call can be approved, in milliseconds. Default: one hour with a secret, no limit with a store. */
  readonly expiresIn?: number;
};

/** With a store, each call is decided once and runs at most once, across all processes. */
export type StoreGateOptions<Tools extends ToolSet = ToolSet> = GateOptions & {
  readonly store: Store;
  /** Whether a user may decide a call of another user. Default: no. */
  readonly mayDecide?: MayDecide;
  /** The headlines of requests, by tool: a text, or a function of the input. Default: the `title` of the AI SDK tool. */
  readonly titles?: Titles<Tools>;
  /**
   * What a call would do, by tool: shown on the request in the inbox, the command line and the API. It is computed again before an
   * approved call runs; if it differs, the call is rejected and the model learns why.
   */
  readonly previews?: Previews<Tools>;
  /** The agent name of its runs in the store; each set of tools should have its own. Default: `ai-sdk`. */
  readonly name?: string;
};

/** With a secret, only calls that the model asked for can run. To run each at most once, use a store. */
export type SecretGateOptions = GateOptions & {
  /** At least 32 bytes; or several with key ids, of which the first one seals and any opens. */
  readonly secret: SealKeys;
  /** The time in milliseconds. Default: `Date.now`. */
  readonly clock?: () => number;
};

/** AI SDK tools behind a gate, for one request. */
export type Gated<Tools extends ToolSet> = {
  /** Pass these to `streamText`, `generateText` or an agent instead of the original tools. */
  readonly tools: Tools;
  /** Verifies the messages of the client. Use only its result, never the original messages. */
  receive<Message extends UIMessage>(messages: readonly Message[]): Promise<Message[]>;
  /** Passes the UI message stream on to the client, and records under which id each question leaves. With a secret it adds seals. */
  send<Stream extends ReadableStream>(stream: Stream): Stream;
  /** For `processToolCalls`. */
  readonly [INTERNALS]: GateInternals;
};

/** With a store: `runs` lists pending calls, and settles calls with an unknown outcome after a crash. */
export type StoreGated<Tools extends ToolSet> = Gated<Tools> & { readonly runs: Runs };

/**
 * Puts a gate in front of AI SDK tools, for one request. Forged, altered or foreign approvals run nothing, and with a store
 * no call runs twice.
 * @example
 * const titles = { pay: ({ amount, to }) => `Pay €${amount} to ${to}` };
 * const gated = gate(tools, { store, chatId: id, person: user.id, approve: ['pay'], titles });
 * const result = streamText({ model, tools: gated.tools, messages: await convertToModelMessages(await gated.receive(messages)) });
 * return createUIMessageStreamResponse({ stream: gated.send(result.toUIMessageStream()) });
 */
export function gate<Tools extends ToolSet>(tools: Tools, options: StoreGateOptions<Tools>): StoreGated<Tools>;
export function gate<Tools extends ToolSet>(tools: Tools, options: SecretGateOptions): Gated<Tools>;
export function gate<Tools extends ToolSet>(
  tools: Tools,
  options: StoreGateOptions<Tools> | SecretGateOptions,
): Gated<Tools> & { readonly runs?: Runs } {
  checkOptions('`gate`', options, GATE_OPTIONS);
  const rules = createApprovalRules(tools, options.approve);
  if ('store' in options) {
    const { chatId, person, expiresIn, titles = {}, previews = {}, name = 'ai-sdk', mayDecide = () => false } = options;
    checkByTool('titles', titles, tools);
    checkByTool('previews', previews, tools);
    const asking = { chatId, expiresIn, titles, previews };
    const bodies = bodiesOf(tools);
    const calls = sdkCalls(name, options.store, storable(tools, rules), bodies, asking);
    const ledger = new StoredLedger(calls, { chatId, person, mayDecide });
    return { ...withLedger(tools, rules, ledger, bodies), runs: calls.runs };
  }
  if (options.secret === undefined)
    throw new UsageError('invalid-options', {}, 'A gate needs a `store`, or a `secret` of at least 32 bytes.');
  const { chatId, person, secret, expiresIn = HOUR_MS, clock = Date.now } = options;
  const ledger = sealedLedger({ sealer: createSealer(secret), chatId, person, expiresIn, clock });
  return withLedger(tools, rules, ledger, new Map(), ledger);
}

const HOUR_MS = 60 * 60 * 1000;

const anId: OptionKind = {
  is: 'a string that is not empty',
  fits: (value) => typeof value === 'string' && value !== '',
  required: true,
};

const GATE_OPTIONS: OptionTable<StoreGateOptions & SecretGateOptions> = {
  chatId: anId,
  person: anId,
  approve: anything,
  expiresIn: aDurationMs,
  store: anything,
  mayDecide: aFunction,
  titles: anything,
  previews: anything,
  name: anything,
  secret: anything,
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
    tools: gateTools(tools, ledger, rules),
    receive: (messages) => receive(messages, ledger, rules),
    send(stream) {
      const bound = bindQuestions(stream, ledger);
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

/** The tools whose calls can be runs. A tool that may need approval is always included: the engine rejects invalid names. */
function storable(tools: ToolSet, rules: ApprovalRules): ToolSet {
  const isNamed = (name: string) =>
    /^[\w-]{1,128}$/.test(name) || (rules.mayNeedApproval(name) && !rules.runsAtProvider(name));
  return Object.fromEntries(Object.entries(tools).filter(([name]) => isNamed(name)));
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

// `gate`: our gate in front of AI SDK tools as they are, for apps that keep `streamText` and `useChat`.
import type { ToolSet, UIMessage } from 'ai';
import { UsageError } from '../core/errors.ts';
import { checkType, keysOf, refuseUnknownKeys } from '../core/known-keys.ts';
import { isDuration } from '../loop/tool/ask-options.ts';
import type { Store } from '../runs/port/store.ts';
import type { Runs } from '../runs/runs.ts';
import { createSealer, type SealKeys } from '../ui/chats/seal.ts';
import { type Approve, type Asks, createAsks, ownTool } from './asks.ts';
import { gateTools, lastResult } from './gated-tools.ts';
import { INSIDE, type Inside } from './inside.ts';
import type { Ledger } from './ledger.ts';
import { type Body, oneCallAgent } from './one-call-agent.ts';
import { receive } from './receive.ts';
import { sealStream } from './seal-stream.ts';
import { type SealedLedger, sealedLedger } from './sealed-ledger.ts';
import { type MayDecide, storedLedger } from './stored-ledger.ts';

/** Who is asked, in which chat, and about which calls. */
export type GateOptions = {
  /** The conversation; what is asked in one cannot be approved in another. */
  readonly chatId: string;
  /** Who sends this request, as your server knows them; what is asked of one cannot be approved by another. */
  readonly person: string;
  /** Which calls a person decides, beside those of tools with `needsApproval`. */
  readonly approve?: Approve;
  /** How long a question may be decided, in milliseconds; one hour with a secret, for ever with a store, unless given. */
  readonly expiresIn?: number;
};

/** With a store, each call is decided once and runs at most once, in however many processes. */
export type StoreGateOptions = GateOptions & {
  readonly store: Store;
  /** Whether a person may decide what was asked of another; nobody may unless given. */
  readonly mayDecide?: MayDecide;
  /** The name that its runs have in the store; `ai-sdk` unless given. Each set of tools should have its own. */
  readonly name?: string;
};

/** With a secret, what is run is what was asked; that it runs only once takes a store. */
export type SecretGateOptions = GateOptions & {
  /** At least 32 bytes; or several with their names, of which the first seals and all open. */
  readonly secret: SealKeys;
  /** The time in milliseconds; the machine's unless given. */
  readonly clock?: () => number;
};

/** AI SDK tools behind a gate, for one request. */
export type Gated<Tools extends ToolSet> = {
  /** For `streamText`, `generateText` or an agent, in place of the tools themselves. */
  readonly tools: Tools;
  /** What the client sent, made true. Pass its result on, and nothing else that came from the client. */
  receive<Message extends UIMessage>(messages: readonly Message[]): Promise<Message[]>;
  /** The UI message stream on its way to the client. With a secret, it carries the seals; with a store, it stays as it is. */
  send<Stream extends ReadableStream>(stream: Stream): Stream;
  /** For `processToolCalls`. */
  readonly [INSIDE]: Inside;
};

/** With a store: the calls as stored runs, to list what waits, and to settle what nobody knows after a crash. */
export type StoreGated<Tools extends ToolSet> = Gated<Tools> & { readonly runs: Runs };

/**
 * Puts a gate in front of AI SDK tools, for one request: forged, altered and foreign approvals run nothing, and with a
 * store no call runs twice.
 * @example
 * const gated = gate(tools, { store, chatId: id, person: user.id, approve: ['pay'] });
 * const result = streamText({ model, tools: gated.tools, messages: await convertToModelMessages(await gated.receive(messages)) });
 * return createUIMessageStreamResponse({ stream: gated.send(result.toUIMessageStream()) });
 */
export function gate<Tools extends ToolSet>(tools: Tools, options: StoreGateOptions): StoreGated<Tools>;
export function gate<Tools extends ToolSet>(tools: Tools, options: SecretGateOptions): Gated<Tools>;
export function gate<Tools extends ToolSet>(
  tools: Tools,
  options: StoreGateOptions | SecretGateOptions,
): Gated<Tools> & { readonly runs?: Runs } {
  refuseUnknownKeys('gate', options, KEYS);
  for (const name of ['chatId', 'person'] as const)
    if (typeof options[name] !== 'string' || options[name] === '')
      throw new UsageError(
        'invalid-options',
        { [name]: options[name] },
        `\`${name}\` must be a text that is not empty.`,
      );
  if (!isDuration(options.expiresIn))
    throw new UsageError(
      'invalid-options',
      { expiresIn: options.expiresIn },
      '`expiresIn` must be a number of milliseconds.',
    );
  const asks = createAsks(tools, options.approve);
  if ('store' in options) {
    checkType('mayDecide', options.mayDecide, 'function');
    const { chatId, person, expiresIn, name = 'ai-sdk', mayDecide = () => false } = options;
    const bodies = bodiesOf(tools);
    const calls = oneCallAgent(name, options.store, storable(tools, asks), bodies, { chatId, expiresIn });
    const ledger = storedLedger(calls, { chatId, person, mayDecide });
    return { ...withLedger(tools, asks, ledger, bodies), runs: calls.ai.runs };
  }
  if (options.secret === undefined)
    throw new UsageError('invalid-options', {}, 'A gate needs a `store`, or a `secret` of at least 32 bytes.');
  checkType('clock', options.clock, 'function');
  const { chatId, person, secret, expiresIn = HOUR_MS, clock = Date.now } = options;
  const ledger = sealedLedger({ sealer: createSealer(secret), chatId, person, expiresIn, clock });
  return withLedger(tools, asks, ledger, new Map(), ledger);
}

const HOUR_MS = 60 * 60 * 1000;

const KEYS = keysOf<StoreGateOptions & SecretGateOptions>({
  chatId: true,
  person: true,
  approve: true,
  expiresIn: true,
  store: true,
  mayDecide: true,
  name: true,
  secret: true,
  clock: true,
});

function withLedger<Tools extends ToolSet>(
  tools: Tools,
  asks: Asks,
  ledger: Ledger,
  bodies: Map<string, Body>,
  sealed?: SealedLedger,
): Gated<Tools> {
  return {
    tools: gateTools(tools, ledger, asks),
    receive: (messages) => receive(messages, ledger, asks),
    send: (stream) => (sealed ? sealStream(stream, sealed) : stream),
    [INSIDE]: {
      confirm(functions) {
        asks.confirm([...functions.keys()]);
        for (const [name, body] of functions) if (!bodies.has(name)) bodies.set(name, body);
      },
      run: (call, body) => ledger.run(call, body),
      chunksFor: (id, outcome) => sealed?.sealOutcome(id, outcome) ?? [],
    },
  };
}

/** The tools whose calls can be runs. One that may ask must be among them: the engine refuses a name it does not take. */
function storable(tools: ToolSet, asks: Asks): ToolSet {
  const isNamed = (name: string) => /^[\w-]{1,128}$/.test(name) || (asks.ever(name) && !asks.elsewhere(name));
  return Object.fromEntries(Object.entries(tools).filter(([name]) => isNamed(name)));
}

/** What a call does when nobody is there who passes it the options of a request. */
function bodiesOf(tools: ToolSet): Map<string, Body> {
  const bodies = new Map<string, Body>();
  for (const name of Object.keys(tools)) {
    const tool = ownTool(tools, name);
    const execute = tool?.execute;
    if (!execute) continue;
    bodies.set(name, (input, toolCallId) =>
      lastResult(execute.call(tool, input as never, { toolCallId, messages: [] } as never)),
    );
  }
  return bodies;
}

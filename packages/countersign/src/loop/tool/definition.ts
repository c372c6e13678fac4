// What a tool is: its options, what its body gets, and what users and the loop see of it.

import type { Condition } from '../../core/authority/condition.ts';
import type { GrantMaximum } from '../../core/authority/grants/grant-maximum.ts';
import type { Policies, Policy, Who } from '../../core/authority/policy.ts';
import type { RuleMatch, Then } from '../../core/authority/rule.ts';
import type { Json } from '../../core/json.ts';
import type { Metadata, ToolRequestPart, ToolResponsePart } from '../../core/messages/message.ts';
import type { Outer } from '../../core/origin/search.ts';
import type { Finding, RequestKind, Reversibility } from '../../core/request/request.ts';
import type { JsonSchema, ToolSpec } from '../../models/model.ts';
import type { SubAgentRecord } from '../sink.ts';
import type { Chunk } from '../stream/chunk.ts';
import type { WaitOptions } from './ask-options.ts';
import type { DecisionOptions } from './decisions.ts';
import type { Duration } from './duration.ts';
import type { InferInput, InferOutput, Schema, SchemaInput } from './schema.ts';
import type { Asked, AskOptions, InterruptFunction } from './signal.ts';
import type { TimeOptions } from './time-options.ts';

/** The user, tenant and the like: passed with each request, never stored in messages. */
export type Context = { readonly [key: string]: any };

/** What a tool body gets beside its input. */
export type ToolContext<C extends Context = Context> = {
  readonly context: C;
  readonly interrupt: InterruptFunction;
  /** The value the person resumed with; undefined when the body runs for the first time. */
  readonly resumed: any;
  /**
   * Runs `work` once: when the body runs again after an interrupt, a finished step returns its recorded result.
   * Steps with the same name are distinguished by their order.
   */
  readonly step: <T>(name: string, work: () => T | Promise<T>) => Promise<T>;
  /**
   * Call it just before the irreversible request, in a tool with `commits: true`. A crash before it is harmless, and the
   * call runs again; a crash after it leaves the outcome unknown, and a person is asked.
   */
  readonly commitPoint: () => Promise<void>;
  /** Fires when the run is aborted. */
  readonly signal: AbortSignal;
  /** Our id of the call, unique in the run. */
  readonly callId: string;
  /** Stays the same whenever this call runs; pass it to services that refuse duplicates. */
  readonly idempotencyKey: string;
  /** The metadata of the request: from the provider, of the interrupt, of the decision. */
  readonly metadata: Metadata;
};

/** Who must decide, how many of them, and by when. Everything but `deciders` is plain data. */
export type PolicyConfig<Input = any, C extends Context = Context> = Omit<
  Policy,
  'name' | 'deciders' | 'grants' | 'validFor' | 'onExpiry' | 'recallFor' | 'warnings'
> &
  TimeOptions &
  Pick<AskOptions, 'onExpiry'> & {
    /** So long an approved call waits before it starts; until then, the requester and those who decided can recall it. */
    readonly recallFor?: Duration;
    /** These people can vote, and so can those in the groups of `quorum`. A function is called when the call asks. */
    readonly deciders?: Who | ((input: Input, ctx: ApprovalContext<C>) => MaybePromise<Who>);
    /** A second opinion on each call that asks, for the card. It can make the request stricter, and never weaker. */
    readonly review?: Reviewer | ReviewOptions;
    /** How long an approval lets the call start, such as `'2h'`. A call that waited longer, as for a freeze, is asked about again. */
    readonly validFor?: Duration;
    /** How wide a grant may be, such as `{ uses: 10, expiresWithin: '7d' }`. By default none is allowed where there is a quorum. */
    readonly grants?: (Omit<GrantMaximum, 'expiresWithin'> & { readonly expiresWithin: Duration }) | false;
  };

/** A call as a reviewer reads it: data, without the conversation. */
export type ReviewedCall = {
  readonly tool: string;
  readonly input: Json;
  readonly agent: string | null;
  readonly startedBy: string | null;
  readonly labels?: readonly string[];
  readonly risk?: 'low' | 'medium' | 'high';
  readonly reversibility?: Reversibility;
};

/** What a reviewer returns. `stricter` joins the policies of the request, as one more. */
export type ReviewResult = { readonly findings: readonly Finding[]; readonly stricter?: string | PolicyConfig };

/** Reads a call, and says what stands out in it. */
export type Reviewer = (
  call: ReviewedCall,
  ctx: { readonly signal: AbortSignal },
) => MaybePromise<readonly Finding[] | ReviewResult>;

export type ReviewOptions = {
  /** A function, such as `ai.reviewer({ … })`. */
  readonly by: Reviewer;
  /** How long it may take; `'20s'` by default. Then the card says that it failed. */
  readonly within?: Duration;
  /** Nobody can approve without it. An edit, or applying the policy again, asks it again. */
  readonly required?: boolean;
};

/** Carries the input that a policy reads; exists for the compiler only. */
declare const policyInput: unique symbol;
/** The name of a policy, as `definePolicy` returns it. Tools whose input the policy cannot read do not take it. */
export type PolicyHandle<Input = any> = string & { readonly [policyInput]?: (input: Input) => void };

/** How many calls of a rule may start in any stretch of time, in all processes together. Calls that people approved count too. */
export type RuleLimit = {
  /** How many calls; 1,000 at most. */
  readonly calls?: number;
  /** The numeric field whose sum may not exceed `most`. A call without such a number is beyond the limit. */
  readonly sum?: Condition['field'];
  readonly most?: number;
  /** Counted from each call backwards, such as `'1h'`. */
  readonly per: Duration;
  /** Counts for each of them on its own; by default all calls of the rule count together. `person`: who started the run. */
  readonly each?: 'tool' | 'agent' | 'person';
};

/** Says which calls are allowed, ask, or are denied. Every rule that fits a call counts: `deny` beats `ask`, `ask` beats `allow`. */
export type Rule = RuleMatch & {
  /**
   * `ask`, the default: people decide. `allow`: a call through a gate runs without a request, unless its tool or another rule asks.
   * `deny`: the call never runs. `observe`: the call runs as without the rule, and the record says whom the rule would have asked.
   * `freeze`, only with `limit`: the tool is frozen until someone lifts that.
   */
  readonly then?: Then | 'freeze';
  /**
   * The rule says nothing about calls within this limit; `then` is for calls beyond it.
   * @example
   * { tool: 'pay', limit: { sum: 'amount', most: 5_000, per: '1d', each: 'person' }, then: 'deny' }
   */
  readonly limit?: RuleLimit;
  /** Who must decide: the name of a policy, or the policy itself. By default any one person. */
  readonly policy?: string | PolicyConfig;
  /** Why it is denied, for the model; or observed, for people. */
  readonly reason?: string;
};

/** A request that is about to be made, for `policyFor`. */
export type PolicyRequest = {
  readonly tool: string;
  readonly kind: RequestKind;
  /** The input that would run. */
  readonly input: Json;
  /** Null where the run is not stored. */
  readonly agent: string | null;
  readonly runId?: string;
  readonly startedBy: string | null;
  /** Who took part: the starter of the run, the author of the message that led to the call, and editors. */
  readonly requesters: readonly string[];
  readonly labels?: readonly string[];
  readonly risk?: 'low' | 'medium' | 'high';
  readonly reversibility?: Reversibility;
  readonly context: Context;
};

/** Adds a policy to a request: its name, or the policy itself. It is called once, when the request is made or its input edited. */
export type PolicyFor = (request: PolicyRequest) => MaybePromise<string | PolicyConfig | undefined>;

/** The request that a person sees before a gated call runs, and how long it waits. */
export type Approval<Input = any, C extends Context = Context> = AskOptions & {
  readonly message?: string;
  /** Who must decide: what `definePolicy` returned, the name of a policy, or the policy itself. */
  readonly policy?: PolicyHandle<Input> | PolicyConfig<Input, C>;
  readonly [key: string]: unknown;
};

/** What `needsApproval` gets beside the input. */
export type ApprovalContext<C extends Context = Context> = Pick<
  ToolContext<C>,
  'context' | 'callId' | 'metadata' | 'signal'
>;

/** What `verify` found: `{ output }` if the call took effect, undefined if it found nothing. */
export type Verified = { readonly output: NonNullable<unknown> | null } | undefined;

type MaybePromise<T> = T | Promise<T>;

/** A title, or a function of the input; undefined stands for none. */
export type Title<Input> = string | ((input: Input) => string | undefined);

/** Where to look, or a function that says it for one call. */
type HowToCheck<Input> = string | ((input: Input, ctx: { readonly idempotencyKey: string }) => string | undefined);

/** The options of `defineTool` and `tool`. */
export type ToolConfig<
  I extends SchemaInput = SchemaInput,
  O extends SchemaInput = SchemaInput,
  C extends Context = Context,
> = WaitOptions & {
  readonly name: string;
  readonly description: string;
  readonly inputSchema?: I;
  readonly outputSchema?: O;
  /** The JSON Schema that models get, for an `inputSchema` that cannot produce its own; alone, it is the schema. */
  readonly inputJsonSchema?: JsonSchema;
  readonly outputJsonSchema?: JsonSchema;
  /**
   * The headline of its requests: one line of at most 200 characters that says what would happen, such as `Pay €950 to ACME`.
   * A function gets the input that would run; if it returns more, the line is cut. If it throws or returns no text, the request
   * has no title.
   */
  readonly title?: Title<InferOutput<I>>;
  /**
   * What came of a call, in one line for the people who decided, such as `Paid, reference 4711`. By default, the plain fields of
   * the output. If it throws or returns no text, the default is shown.
   */
  readonly outcome?: (output: InferOutput<O>, input: InferOutput<I>) => string | undefined;
  /** `title-only`: mail, chat messages and the like show the title of its requests and a link, but no input. */
  readonly notice?: 'title-only';
  /**
   * Asks a person before the body runs, or several, as `{ policy }` says. Options such as `{ message, risk }` always ask, and show
   * them. Only `false` lets a call run unasked; a function that throws means: ask.
   */
  readonly needsApproval?:
    | boolean
    | Approval<InferOutput<I>, C>
    | ((input: InferOutput<I>, ctx: ApprovalContext<C>) => MaybePromise<boolean | Approval<InferOutput<I>, C>>);
  /**
   * So long an approved call waits before it starts, such as `'10m'`; until then, the requester and those who decided can recall it.
   * It counts in stored runs.
   */
  readonly recallFor?: Duration;
  /**
   * Takes back what a call did, from its output and its input. People ask for it, and those who decided the call decide about it; it
   * starts at most once. A tool with it is `reversible`.
   */
  readonly undo?: (output: InferOutput<O>, input: InferOutput<I>, ctx: ToolContext<C>) => unknown;
  /** Running twice is harmless: a call with an unknown outcome runs again without asking. */
  readonly idempotent?: boolean;
  /** The body does nothing irreversible before it calls `ctx.commitPoint()`. */
  readonly commits?: boolean;
  /** Looks up whether a call with an unknown outcome took effect. */
  readonly verify?: (
    input: InferOutput<I>,
    ctx: { readonly idempotencyKey: string; readonly context: C },
  ) => MaybePromise<Verified>;
  /**
   * Tells a person where to look whether a call with an unknown outcome took effect: a text such as `Search the bank for the key`, or a
   * link alone. A function gets the input that ran.
   */
  readonly howToCheck?: HowToCheck<InferOutput<I>>;
  /** A call takes effect within so many milliseconds of its start, or never. Then a `verify` that finds nothing is believed. */
  readonly settlesWithin?: number;
  /**
   * Says what would happen, such as the rows that would change: any JSON. It is computed when a person is asked and shown on
   * the card. It is computed again before an approved call starts; it must have no effect and no part that always changes.
   * Its `files`, such as `[{ name: 'invoice.pdf', mediaType: 'application/pdf', data }]` with bytes or base64, are shown as
   * images, tables and downloads: PDF, CSV, plain text, PNG, JPEG, GIF and WebP, together 20 MB at most; 300 kB without a store.
   */
  readonly preview?: (input: InferOutput<I>, ctx: ApprovalContext<C>) => unknown;
  /** Milliseconds that a preview may take; 10,000 by default. Then its `ctx.signal` fires, and the card says that it failed. */
  readonly previewWithin?: number;
  /**
   * What happens to an approved call whose preview has changed: `ask` again with the old and the new one (default), `run`
   * anyway, or `reject`.
   */
  readonly onPreviewChange?: 'ask' | 'run' | 'reject';
  /**
   * Asks the model for the reason of each call, in a field `reason` that the tool itself does not get. The card shows it as the
   * model's words.
   */
  readonly reason?: boolean;
  /**
   * The model reads what people commented on a request that they reject or send back. By default it reads only their reason. Whoever
   * comments is told so.
   */
  readonly commentsForModel?: boolean;
  /**
   * `untrusted`: what it returns is written by anybody, as mails and web pages are. Requests then say where their values came from, and
   * warn if one of a sensitive field came from here.
   */
  readonly trust?: Trust;
  /** The fields in which an untrusted value does harm; by default, those that name a recipient, such as `to`, `iban` and `url`. */
  readonly sensitive?: readonly Condition['field'][];
  readonly metadata?: Metadata;
};

/** Whether what a source says may be believed. */
export type Trust = 'trusted' | 'untrusted';

/** The options of `defineInterrupt` and `interrupt`; `outputSchema` describes the person's answer. */
export type InterruptConfig<I extends SchemaInput = SchemaInput, O extends SchemaInput = SchemaInput> = Omit<
  ToolConfig<I, O>,
  | 'needsApproval'
  | 'recallFor'
  | 'undo'
  | 'idempotent'
  | 'commits'
  | 'verify'
  | 'howToCheck'
  | 'settlesWithin'
  | 'reason'
  | 'commentsForModel'
  | 'preview'
  | 'previewWithin'
  | 'onPreviewChange'
  | 'outcome'
  | 'trust'
  | 'sensitive'
> & {
  /** What the person is shown beside the input. */
  readonly requestMetadata?: Metadata | string | number | boolean | ((input: InferOutput<I>) => unknown);
};

/** What a tool does. If it stops at `interrupt()`, it later runs again from its top. */
export type ToolBody<I extends SchemaInput, O extends SchemaInput, C extends Context = Context> = (
  input: InferOutput<I>,
  ctx: ToolContext<C>,
) => MaybePromise<InferInput<O> | Asked | void>;

/** Options of a direct call, as in a test. */
export type DirectCallOptions = {
  readonly context?: Context;
  readonly resumed?: unknown;
  /** A person has approved: the gate lets the call through. */
  readonly approved?: boolean;
  readonly signal?: AbortSignal;
};

/** A stored request, as `runs.requests()` lists them. */
type StoredRequest = { readonly id: string; readonly tool: string; readonly input: unknown };

/** Carries the types of the tool that asks; exists for the compiler only. */
declare const types: unique symbol;
export type AskedBy<Input, Output> = { readonly [types]?: { readonly input: Input; readonly output: Output } };

/** A tool. Called directly, it validates, asks its gate and runs its body. */
export interface Tool<Input = any, Output = any> {
  (input: Input, options?: DirectCallOptions): Promise<Output>;
  readonly name: string;
  readonly definition: ToolDefinition;
  /** Tells whether this tool asks, and types the input of the interrupt accordingly. */
  is<Q extends StoredRequest>(question: Q): question is Q & { readonly input: Input } & AskedBy<Input, Output>;
  is(interrupt: ToolRequestPart): interrupt is ToolRequestPart<Input>;
  /** Answers this tool's interrupt; the output must fit the output schema. */
  respond(interrupt: ToolRequestPart, output: Output, options?: DecisionOptions): ToolResponsePart<Output>;
  /** Runs the tool (again) with `resumed`; a replaced input must fit the input schema. */
  restart(
    interrupt: ToolRequestPart,
    resumed?: unknown,
    options?: DecisionOptions & { readonly replaceInput?: Input },
  ): ToolRequestPart<Input>;
  /** Lets the call run as proposed, or with an edited input. */
  approve(interrupt: ToolRequestPart, options?: DecisionOptions & { readonly edit?: Input }): ToolRequestPart<Input>;
  /** Refuses the call and tells the model, with the reason. */
  reject(interrupt: ToolRequestPart, reason?: string, options?: DecisionOptions): ToolResponsePart;
  /** Withdraws the request and tells the model. */
  cancel(interrupt: ToolRequestPart, reason?: string, options?: DecisionOptions): ToolResponsePart;
}

/** What the loop knows about a tool. */
export type ToolDefinition = Pick<
  ToolConfig<any, any>,
  | 'verify'
  | 'howToCheck'
  | 'settlesWithin'
  | 'preview'
  | 'previewWithin'
  | 'onPreviewChange'
  | 'notice'
  | 'outcome'
  | 'trust'
  | 'sensitive'
  | 'undo'
> & {
  readonly name: string;
  readonly input: Schema;
  readonly output: Schema;
  readonly spec: () => ToolSpec;
  /** Without a body the call is a request, and the answer is its result. */
  readonly body?: (input: any, ctx: ToolContext, subAgent: SubAgentContext) => unknown;
  readonly needsApproval: boolean | Approval | ((input: any, ctx: ApprovalContext) => MaybePromise<boolean | Approval>);
  /** The model says why it makes a call. */
  readonly asksReason?: true;
  readonly commentsForModel?: true;
  /** It asks because it is behind a gate, not because it says so. */
  readonly asksByDefault?: true;
  /** Its description is that of an untrusted server. */
  readonly isForeign?: true;
  /** A caller outside has described it, and nobody has verified its labels, risk and reversibility. */
  readonly isDescribed?: true;
  /** Another process has the function that is its gate, so nothing can be said here about another input. */
  readonly gateIsElsewhere?: true;
  /** What its gate says about its calls, beside the rules of the operator. None of them allows. */
  readonly rules?: readonly Rule[];
  /** In milliseconds. */
  readonly recallFor?: number;
  /** Those of the call that it undoes, which decide its calls. */
  readonly policies?: Policies;
  readonly idempotent: boolean;
  readonly commits: boolean;
  /** Whether its body only continues if it runs again after these steps, or a sentence for the person who is asked instead. */
  readonly continues?: (steps: ReadonlyMap<string, Json>) => boolean | string;
  readonly requestMetadata?: unknown;
  /** How its requests wait, unless the request itself says. */
  readonly asks: WaitOptions;
  readonly title?: Title<any>;
  readonly metadata: Metadata;
  /**
   * It proposes calls of these tools, which people approve as one request. What was approved holds for so long. `isOutside`: for the
   * calls of a program outside, which are runs of their own.
   */
  readonly plan?: {
    readonly tools: () => ReadonlyMap<string, ToolDefinition>;
    readonly validForMs: number;
    readonly isOutside?: true;
  };
  /** The tools of the agent behind this tool, by name; leaves unknown names out unless told otherwise. */
  readonly innerTools?: (unknown?: UnknownNames) => ReadonlyMap<string, ToolDefinition>;
};

/** What to do with tool names that are not defined. */
export type UnknownNames = 'refuse' | 'leave-out';

/** How the conversation of a sub-agent is aborted, streamed and recorded. */
export type SubAgentContext = {
  readonly ref: string;
  /** Absent where the run is not stored. */
  readonly record?: SubAgentRecord;
  /** The conversation that calls it; absent in a direct call. */
  readonly outer?: Outer;
  readonly signal?: AbortSignal;
  readonly emit?: (chunk: Chunk) => void;
};

// The gate for calls of programs outside: asked once per key, decided in the record, run at most once.
import { randomUUID } from 'node:crypto';
import type { PlanStep } from '../../core/authority/grants/plan.ts';
import { ConflictError, UsageError } from '../../core/errors.ts';
import { copyOf, defined, hasTooManyValues, type Json, MOST_VALUES, sameJson, toJson } from '../../core/json.ts';
import {
  aContext,
  aSignal,
  aString,
  aTimerMs,
  checkOptions,
  type OptionKind,
  type OptionTable,
} from '../../core/options.ts';
import type { Result } from '../../core/run/event.ts';
import { bodyResult, failed, failedInBody, mayHaveStartedBefore } from '../../loop/call/result.ts';
import type { Caller } from '../../loop/run.ts';
import type { Context, Tool, ToolContext, ToolDefinition } from '../../loop/tool/definition.ts';
import type { Duration } from '../../loop/tool/duration.ts';
import { CANCEL_OPTIONS, type CancelOptions } from '../run-options.ts';
import type { CallGate, CallOptions, CallRecord } from './call-gate.ts';
import { describedTool, descriptionOf, gatedTool, planOf, type ToolDescription } from './described-tool.ts';
import { type GateResult, resultOf } from './gate-result.ts';

/** Options of `ai.gate`. */
export type GateOptions = {
  /** The agent name of its runs, as people see it in the inbox; `gate` by default. Keys are unique within it. */
  readonly name?: string;
};

/** A call that was asked for: the id of its request or of its run, or its key. A string is never read as a key. */
export type GateCallId = string | { readonly key: string };

/** What runs instead of the body of the tool. */
export type GateBody<Input = any, Output = any> = (input: Input, ctx: ToolContext) => Output | Promise<Output>;

/** Options of `request`. */
export type GateRequestOptions<Input = any, Output = any> = {
  /** Identifies the call: the same key asks once and runs once, in any process. */
  readonly key: string;
  /** The person or program that asks. */
  readonly by?: string;
  /** The earlier call that this one revises, because a person asked for changes. A person decides about this one, whatever allows it. */
  readonly revises?: GateCallId;
  /** The conversation of the caller. The next call of the tool in it, after one that a person sent back, revises that one. */
  readonly conversation?: string;
  /** The context of the tool. It is not stored. */
  readonly context?: Context;
  /** Runs the call once it is approved: `true` for the body of the tool, or another body. Without it, nothing runs. */
  readonly run?: boolean | GateBody<Input, Output>;
};

/** Options of `wait` and `run`. */
export type GateWaitOptions = {
  /** How long to wait in milliseconds; without end by default. Then the result says how far the call is. */
  readonly timeout?: number;
  readonly signal?: AbortSignal;
};

/** Options of `start`. */
export type GateStartOptions = {
  /** How long the program may take to report, in milliseconds; ten minutes by default. After that the outcome is unknown. */
  readonly lease?: number;
  /** A secret of the program, such as a UUID. If the answer is lost, the same token gets it again. */
  readonly token?: string;
};

/** A granted start. Pass the token to `finish`. */
export type GrantedStart<Input = any> = {
  readonly status: 'granted';
  readonly runId: string;
  readonly token: string;
  readonly input: Input;
  readonly until: number;
};

/** What a program outside reports: an output, or an error. `notPerformed`: nothing was done. */
export type GateReport = { readonly output: unknown } | { readonly error: string; readonly notPerformed?: boolean };

/** A step of `plan`; a call of the tool of the gate, unless it names another. */
export type GateStep = Omit<PlanStep, 'tool' | 'input'> & {
  readonly tool?: Tool | ToolDescription;
  readonly input: unknown;
};

/** Options of `plan`. The plan is for the next calls of the person who asks. */
export type GatePlanOptions = Omit<GateRequestOptions, 'run'> & { readonly by: string; readonly validFor?: Duration };

type PlanInput = { readonly steps: readonly PlanStep[] };

const definitionOf = (tool: Tool | ToolDescription): ToolDefinition =>
  typeof tool === 'function' ? tool.definition : describedTool(tool);

/** People decide about an input, and every list of requests shows it. */
const LONGEST_INPUT = 1_000_000;
const TEN_MINUTES_MS = 600_000;
const DAY_MS = 86_400_000;

/**
 * A gate in front of one tool, for calls that are not part of a run: of another framework, a script, a job.
 * *Owning*: with `run`, the gate runs the body, which starts at most once. *Permitting*: with `start` and `finish`, the caller runs
 * it, and is allowed to at most once.
 */
export class Gate<Input = any, Output = any> {
  readonly #calls: CallGate;
  readonly #tool: ToolDefinition;
  readonly #isDefined: boolean;
  #description: ToolDescription | undefined;

  constructor(calls: CallGate, tool: ToolDefinition | ToolDescription) {
    this.#calls = calls;
    this.#isDefined = 'asks' in tool;
    this.#description = 'asks' in tool ? undefined : tool;
    this.#tool = 'asks' in tool ? tool : describedTool(tool);
  }

  /**
   * Asks for the call, or finds it: the same key asks once. With `run` an approved call runs, at most once in any process; a second
   * caller waits and gets the same result. Throws `gate-conflict` if the key was used with another input.
   */
  async request(input: Input, options: GateRequestOptions<Input, Output>): Promise<GateResult<Output, Input>> {
    checkOptions('`request`', options, REQUEST_OPTIONS);
    const { key, by, context, revises, conversation, run = false } = options;
    const runId = this.runId(key);
    const json = this.#json(input);
    if (this.#isDefined) this.#calls.bring(key, this.#tool);
    await this.#ask(runId, key, json, { by, context, revises, conversation });
    const caller = callerOf(run);
    return this.#result(await this.#calls.settled(runId, { context, ...(caller && { caller }) }));
  }

  /**
   * Proposes several calls as one request: of this tool, and of others that a step names. Once it is approved, these calls run without
   * another request if the same person asks for them with exactly these inputs. `ai.grants.plan(id)` tells what came of each.
   */
  async plan(
    steps: readonly GateStep[],
    { validFor, ...options }: GatePlanOptions,
  ): Promise<GateResult<PlanInput, PlanInput>> {
    const all = [this.#tool, ...steps.flatMap(({ tool }) => (tool === undefined ? [] : definitionOf(tool)))];
    const tools = [...new Map(all.map((tool) => [tool.name, gatedTool(tool)])).values()];
    const plan = planOf({ name: 'plan', plan: { tools: [], ...defined({ validFor }) } }, tools);
    const named = steps.map(({ tool, ...step }) => ({ tool: (tool ? definitionOf(tool) : this.#tool).name, ...step }));
    return new Gate<PlanInput, PlanInput>(this.#calls, plan).request({ steps: named } as PlanInput, options);
  }

  /** Requests the call, waits for the decision, and runs it at most once. After `timeout` it may still be pending. */
  async run(
    input: Input,
    { timeout, signal, ...options }: GateRequestOptions<Input, Output> & GateWaitOptions,
  ): Promise<GateResult<Output, Input>> {
    checkOptions('`run`', { timeout, signal }, WAIT_OPTIONS);
    const until = timeout === undefined ? undefined : performance.now() + timeout;
    for (;;) {
      const result = await this.request(input, { ...options, run: options.run || true });
      const left = until === undefined ? undefined : Math.max(0, Math.ceil(until - performance.now()));
      const waits = result.status === 'pending' || (result.status === 'approved' && result.frozen !== undefined);
      if (!waits || left === 0) return result;
      await this.wait(result.runId, { ...(left !== undefined && { timeout: left }), ...(signal && { signal }) });
    }
  }

  /** Resolves once the call changes, or at once if it may run or is over. */
  async wait(call: GateCallId, options: GateWaitOptions = {}): Promise<GateResult<Output, Input>> {
    checkOptions('`wait`', options, WAIT_OPTIONS);
    const { timeout, signal } = options;
    const waiting = { ...(timeout !== undefined && { timeoutMs: timeout }), ...(signal && { signal }) };
    return this.#result(await this.#calls.waited(this.#find(call), waiting));
  }

  /** The call as it is now. Throws `unknown-run` if it was never asked for. */
  async read(call: GateCallId): Promise<GateResult<Output, Input>> {
    return this.#result(await this.#calls.settled(this.#find(call)));
  }

  /** Withdraws the call: a pending request is closed, and an approved call will not run. A call that has started stays as it is. */
  async withdraw(call: GateCallId, options: CancelOptions = {}): Promise<GateResult<Output, Input>> {
    checkOptions('`withdraw`', options, CANCEL_OPTIONS);
    return this.#result(await this.#calls.withdraw(this.#find(call), options));
  }

  /** Grants the start of an approved call, once. The caller runs it and reports the result with `finish` until the lease ends. */
  async start(
    call: GateCallId,
    options: GateStartOptions = {},
  ): Promise<GrantedStart<Input> | GateResult<Output, Input>> {
    checkOptions('`start`', options, START_OPTIONS);
    const { lease = TEN_MINUTES_MS, token = randomUUID() } = options;
    const runId = this.#find(call);
    const granted = await this.#calls.grantStart(runId, token, Math.min(lease, DAY_MS));
    return granted
      ? { status: 'granted', runId, token, ...(granted as { input: Input; until: number }) }
      : this.read(runId);
  }

  /**
   * Extends the lease of a granted start while the caller runs it: only with its token, and never once the lease has ended. If it is
   * not extended, the answer is the call as it is.
   */
  async renew(
    call: GateCallId,
    token: string,
    options: Pick<GateStartOptions, 'lease'> = {},
  ): Promise<GrantedStart<Input> | GateResult<Output, Input>> {
    checkOptions('`renew`', options, RENEW_OPTIONS);
    const runId = this.#find(call);
    const renewed = await this.#calls.renew(runId, token, Math.min(options.lease ?? TEN_MINUTES_MS, DAY_MS));
    return renewed
      ? { status: 'granted', runId, token, ...(renewed as { input: Input; until: number }) }
      : this.read(runId);
  }

  /** Reports the result of a granted start. The same report again changes nothing. */
  async finish(call: GateCallId, token: string, report: GateReport): Promise<GateResult<Output, Input>> {
    const runId = this.#find(call);
    return this.#result(await this.#calls.report(runId, token, (tool, started) => resultIn(report, tool, started)));
  }

  /** The id of the run of a key. */
  runId(key: string): string {
    return this.#calls.runIdOf(this.#tool.name, key);
  }

  #find(call: GateCallId): string {
    if (typeof call === 'object' && call !== null && aKey.fits(call.key)) return this.runId(call.key);
    const [runId = ''] = typeof call === 'string' ? call.split(':') : [];
    if (/^gate\.[\w-]{22}$/.test(runId)) return runId;
    const message = `${JSON.stringify(call)} is not the id of a call. Pass \`{ key }\` to find a call by its key.`;
    throw new UsageError('invalid-options', { call }, message);
  }

  #json(input: unknown): Json {
    const json = toJson(input);
    const { name: tool } = this.#tool;
    if (json.ok) {
      const { length } = JSON.stringify(json.value);
      if (length <= LONGEST_INPUT && !hasTooManyValues(json.value)) return json.value;
      const limit = `${LONGEST_INPUT} characters of JSON and ${MOST_VALUES} values`;
      const message = `The input of ${tool} is too large for a request: the limit is ${limit}. Nothing was asked.`;
      throw new UsageError('too-large', { status: 413, tool }, message);
    }
    throw new UsageError('not-json', { tool }, `The input of ${tool} is not JSON: ${json.problem}.`);
  }

  async #ask(
    runId: string,
    key: string,
    input: Json,
    {
      revises,
      conversation,
      ...options
    }: Pick<CallOptions, 'context'> & {
      by?: string | undefined;
      revises?: GateCallId | undefined;
      conversation?: string | undefined;
    },
  ): Promise<void> {
    const { name: tool } = this.#tool;
    const found = await this.#calls.read(runId);
    if (found) return this.#checkSame(found, key, input);
    const checked = await this.#tool.input.validate(copyOf(input));
    if (!checked.ok) {
      const message = `The input does not fit the schema of ${tool}: ${checked.problems.join('; ')}. Nothing was asked.`;
      throw new UsageError('invalid-request', { tool, key }, message);
    }
    this.#description ??= descriptionOf(this.#tool);
    const opening = { key, tool: this.#description as unknown as Json, ...defined({ conversation }) };
    const sentBack = revises === undefined ? undefined : await this.#calls.sentBack(this.#find(revises), tool);
    try {
      await this.#calls.start(runId, opening, { tool, input }, { ...options, revises: sentBack });
    } catch (error) {
      if (!(error instanceof ConflictError && error.code === 'run-exists')) throw error;
      const first = await this.#calls.read(runId);
      if (!first) throw error;
      this.#checkSame(first, key, input);
    }
  }

  #checkSame({ tool, input: first, run }: CallRecord, key: string, input: Json): void {
    if (tool === this.#tool.name && sameJson(first, input)) return;
    const message = `The key ${JSON.stringify(key)} was used for a call of ${tool} with another input. Nothing was asked.`;
    throw new ConflictError('gate-conflict', { key, runId: run.id, tool }, message);
  }

  #result(found: CallRecord): GateResult<Output, Input> {
    return resultOf(found) as GateResult<Output, Input>;
  }
}

function callerOf(run: boolean | GateBody): Caller | undefined {
  if (typeof run === 'function') return { body: run };
  return run ? {} : undefined;
}

function resultIn(
  report: GateReport,
  tool: ToolDefinition,
  call: Parameters<typeof bodyResult>[1],
): Result | Promise<Result> {
  if ('output' in report) return bodyResult(tool, call, report.output);
  const text = `The tool ${call.name} failed: ${report.error}`;
  const isSure = report.notPerformed && !mayHaveStartedBefore(tool, call);
  return isSure ? failed(text) : failedInBody(tool, call, text);
}

const aKey: OptionKind = {
  is: 'a string that is not empty, with at most 1,000 characters',
  fits: (value) => typeof value === 'string' && value !== '' && value.length <= 1_000,
  required: true,
};

const aCall: OptionKind = {
  is: 'the id of a call, or `{ key }`',
  fits: (value) => typeof value === 'string' || (typeof value === 'object' && value !== null && 'key' in value),
};

const REQUEST_OPTIONS: OptionTable<GateRequestOptions> = {
  key: aKey,
  by: aString,
  revises: aCall,
  conversation: aString,
  context: aContext,
  run: { is: 'true or a function', fits: (value) => typeof value === 'boolean' || typeof value === 'function' },
};

const WAIT_OPTIONS: OptionTable<GateWaitOptions> = { timeout: aTimerMs, signal: aSignal };
const START_OPTIONS: OptionTable<GateStartOptions> = { lease: aTimerMs, token: aString };
const RENEW_OPTIONS: OptionTable<Pick<GateStartOptions, 'lease'>> = { lease: aTimerMs };

// The runs of one call each, for programs outside: asked for, decided and recorded by the engine, run by their callers.

import { ProviderError, UsageError } from '../../core/errors.ts';
import { defined, isObject, type Json } from '../../core/json.ts';
import { newState } from '../../core/messages/load-messages.ts';
import { isToolRequest, type Message, type Metadata } from '../../core/messages/message.ts';
import type { SentBack } from '../../core/request/request.ts';
import { type Call, callOf } from '../../core/run/call.ts';
import { event, type Result, type RunEvent } from '../../core/run/event.ts';
import { GrowSet } from '../../core/run/grow.ts';
import { replyEvents } from '../../core/run/reply.ts';
import { fold } from '../../core/run/state.ts';
import type { Caller, Driver } from '../../loop/run.ts';
import type { Context, ToolDefinition } from '../../loop/tool/definition.ts';
import { unlessAborted } from '../../models/abort.ts';
import { silentModel } from '../../models/silent.ts';
import { cancelled } from '../cancelling.ts';
import { changesOf } from '../driving/changes.ts';
import type { Drives } from '../driving/driving.ts';
import type { AgentPort } from '../driving/open-run.ts';
import { thaw } from '../freezes/thaw.ts';
import { chainStart, checkChain, linkAll, shortHash } from '../port/chain.ts';
import { readRun } from '../port/read-run.ts';
import { checkRunId, checkStarter, unknownRun } from '../port/run-id.ts';
import { refuseLarge } from '../port/run-limit.ts';
import type { LoadedRun, RunRecord } from '../port/store.ts';
import { errorIn } from '../requests/view.ts';
import type { CancelOptions } from '../run-options.ts';
import { type CallStatus, callStatus, decisionsIn } from './call-status.ts';
import { describedTool, descriptionIn, gatedTool, type Opening } from './described-tool.ts';
import { extended, wasGranted } from './lease.ts';
import { SentBackNotes } from './sent-back-notes.ts';

/** A call to ask about. `ref` and `metadata` are kept with it. */
export type OutsideCall = {
  readonly tool: string;
  readonly input: Json;
  readonly ref?: string;
  readonly metadata?: Metadata;
};

/** A call as recorded. `input` is what was asked for, `edited` what runs. */
export type CallRecord = {
  readonly run: RunRecord;
  readonly opening: Opening;
  readonly tool: string;
  readonly ref: string;
  readonly input: Json;
  readonly edited: Json;
  readonly status: CallStatus;
  /** The people who asked for it, voted or decided. */
  readonly people: ReadonlySet<string | null>;
};

export type CallOptions = { readonly context?: Context | undefined; readonly caller?: Caller | undefined };

export type StartOptions = Pick<CallOptions, 'context'> & {
  readonly by?: string | undefined;
  /** The request that the call revises. By default the last one of its tool that was sent back in the conversation of its opening. */
  readonly revises?: SentBack | undefined;
  /** More events of the same append, for a call that is over when it is recorded. */
  readonly ends?: (callId: string) => readonly RunEvent[];
};

/** How long another process may drive a run before we check whether it still does. */
const RECHECK_MS = 1_000;

const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The most calls whose tools a process keeps while they are open. */
const MOST_CALL_TOOLS = 10_000;

/** Makes no call: the run of a call begins with it. */
export const ONE_CALL_MODEL = silentModel('Done.');

export class CallGate {
  readonly port: AgentPort;
  readonly #drives: Drives;
  readonly #sentBack: SentBackNotes;
  /** The tools of calls that callers in this process have asked about, by call. */
  readonly #callTools = new Map<string, ToolDefinition>();

  /** `port`: of calls that workers run once they are approved, unlike those of programs outside. */
  constructor(name: string, drives: Drives, port: AgentPort | ((context: Context | undefined) => Driver)) {
    this.#drives = drives;
    this.#sentBack = new SentBackNotes(drives.store.notes, name);
    this.port = typeof port === 'function' ? portOf(name, (call) => this.#callTools.get(call), port) : port;
  }

  get name(): string {
    return this.port.name;
  }

  /** The run of the call that these names identify. */
  runIdOf(...names: readonly string[]): string {
    return `gate.${shortHash(JSON.stringify([this.name, ...names]))}`;
  }

  /** The caller of a call passes its tool with it. Calls of other keys are not affected, whatever the names of their tools. */
  bring(key: string, definition: ToolDefinition): void {
    const call = callId(definition.name, key);
    this.#callTools.delete(call);
    this.#callTools.set(call, gatedTool(definition));
    // A call that is forgotten here is decided by its recorded description.
    const [oldest] = this.#callTools.keys();
    if (oldest !== undefined && this.#callTools.size > MOST_CALL_TOOLS) this.#callTools.delete(oldest);
  }

  /** Records the call. Resolves once the request is asked, or the call may run. Throws `run-exists` if it was recorded before. */
  async start(
    runId: string,
    opening: Opening,
    { tool: name, ref, input, metadata }: OutsideCall,
    { by, context, revises: given, ends }: StartOptions = {},
  ): Promise<void> {
    const drives = this.#drives;
    await drives.time.tell();
    const create = { id: checkRunId(runId), agent: this.name, startedBy: checkStarter(by) };
    const asks = { toolRequest: defined({ name, ref, input }), ...(metadata && { metadata }) };
    const earlier = given ? undefined : await this.#sentBack.next(opening.conversation, name);
    const revises = earlier === undefined ? given : await this.sentBack(earlier, name).catch(() => undefined);
    const newId = () => drives.newRunId().replace(/^run_/, 'call_');
    const calls = [
      event({ type: 'user-spoke', messages: [openingMessage(name, opening)], outside: true, ...defined({ revises }) }),
      ...replyEvents({ content: [asks], finishReason: 'tool-calls' }, GrowSet.of(), newId),
    ];
    const callIds = calls.flatMap((fact) => (fact.type === 'model-replied' ? fact.calls : []));
    const facts = ends ? [...calls, ...callIds.flatMap(({ id }) => ends(id))] : calls;
    refuseLarge(drives.runLimit, { run: { id: runId, version: 0 }, size: 0 }, facts, 'message');
    const port = this.port.forRun?.(facts.reduce(fold, newState())) ?? this.port;
    const record = { ...create, version: 0, hash: chainStart(create) };
    const open = drives.open(record, newState(), port, { ...(context && { context }), claim: 'enter' });
    open.run.record(...facts);
    await drives.begin(open);
    await drives.rested(runId);
    if (earlier !== undefined) await this.#sentBack.revised(opening.conversation, name, earlier);
  }

  /** The request of an earlier call of this tool that a person sent back. Throws if nobody asked for changes to it. */
  async sentBack(runId: string, tool: string): Promise<SentBack> {
    const loaded = await this.#load(runId);
    if (!loaded) throw unknownRun(runId);
    const sentBack = loaded.events.reduce(fold, newState()).sentBack?.find((one) => one.tool === tool);
    if (sentBack) return sentBack;
    const message = `Nobody asked for changes to a call of ${tool} in ${runId}, so no call can revise it. Nothing was asked.`;
    throw new UsageError('invalid-request', { runId, tool }, message);
  }

  /** Undefined if the call was never asked for. */
  async read(runId: string): Promise<CallRecord | undefined> {
    const loaded = await this.#load(runId);
    const found = loaded && recordOf(loaded);
    if (found?.status.at === 'settled') {
      this.#callTools.delete(callId(found.tool, found.opening.key));
      await this.#sentBack.learned(found);
    }
    return found;
  }

  /**
   * The call once nothing happens to it without a person or its caller: it waits for a decision, may run, or is over. With a caller,
   * an approved call runs here, at most once; if another caller runs it, this waits for its result.
   */
  async settled(runId: string, { context, caller }: CallOptions = {}): Promise<CallRecord> {
    for (;;) {
      const found = await this.read(runId);
      if (!found) throw unknownRun(runId);
      // Its freeze may have ended where nobody could continue it.
      if ('frozen' in found.status && (await thaw(this.#drives, runId)) === 'thawed') continue;
      const options = isPlan(found) ? { context } : { context, caller };
      if (this.#rests(found, options)) return found;
      const isTaken = await this.#drives.take(runId, defined(options));
      await this.#drives.rested(runId);
      const after = await this.read(runId);
      if (!after) throw unknownRun(runId);
      if (isTaken && after.run.status === 'failed') throw failure(after.run);
      if (this.#rests(after, options)) return after;
      if (after.run.version === found.run.version) await this.#changed(runId, RECHECK_MS);
    }
  }

  /** Resolves with the call once it has changed, may run or has a result, or after `timeoutMs`. */
  async waited(
    runId: string,
    { timeoutMs, signal }: { timeoutMs?: number; signal?: AbortSignal },
  ): Promise<CallRecord> {
    const late = timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs);
    const either = late && signal ? AbortSignal.any([late, signal]) : (late ?? signal);
    const changes = changesOf(this.#drives.store, runId, either);
    try {
      // Another process may run the body for longer than the caller wants to wait.
      const look = async () => (await unlessAborted(this.settled(runId), either)) ?? (await this.read(runId));
      const first = await look();
      for (let found = first; ; found = await look()) {
        if (!first || !found) throw unknownRun(runId);
        const isSame = first.status.at === found.status.at && idOf(first) === idOf(found);
        signal?.throwIfAborted();
        if (!isSame || !waits(found) || late?.aborted) return found;
        await unlessAborted(changes.next(), this.#atDeadline(found));
      }
    } finally {
      changes.stop();
    }
  }

  /** Grants the start of an approved call to a program outside, once. Undefined if it is not granted, or was granted to another. */
  async grantStart(
    runId: string,
    token: string,
    leaseMs: number,
    options: CallOptions = {},
  ): Promise<{ readonly input: Json; readonly until: number } | undefined> {
    await this.#drives.time.tell();
    const start = shortHash(token);
    const host = { until: this.#drives.clock() + leaseMs, start };
    const { status, edited } = await this.settled(runId, { ...options, caller: { host } });
    // The same token again: the answer to the first request was lost.
    if (status.at !== 'approved' || status.host?.start !== start) return undefined;
    return { input: edited, until: status.host.until };
  }

  /** Extends the lease of a start that was granted with this token. Undefined once it has ended, or the call has a result. */
  async renew(
    runId: string,
    token: string,
    leaseMs: number,
  ): Promise<{ readonly input: Json; readonly until: number } | undefined> {
    const start = shortHash(token);
    await this.#drives.time.tell();
    for (;;) {
      const loaded = await this.#load(runId);
      const found = loaded && recordOf(loaded);
      if (!found) throw unknownRun(runId);
      if (!wasGranted(loaded, start)) throw notGranted(runId);
      const until = await extended(this.#drives, loaded, start, leaseMs);
      if (until === 'ended') return undefined;
      if (until !== 'changed') return { input: found.edited, until };
    }
  }

  /** Records the result of a call whose start was granted with this token. It settles the call, or a doubt about it. */
  async report(
    runId: string,
    token: string,
    resultOf: (tool: ToolDefinition, call: Call) => Result | Promise<Result>,
  ): Promise<CallRecord> {
    const loaded = await this.#load(runId);
    if (!loaded) throw unknownRun(runId);
    const start = shortHash(token);
    const at = loaded.events.findLastIndex((told) => told.type === 'call-started' && told.host?.start === start);
    const started = loaded.events[at];
    if (started?.type !== 'call-started') throw notGranted(runId);
    const events = loaded.events.slice(0, at + 1);
    const state = events.reduce(fold, newState());
    const port = this.port.forRun?.(state) ?? this.port;
    const call = callOf(state, started.callId);
    const tool = call && port.tools().get(call.name);
    if (!call || !tool) throw notGranted(runId);
    const result = await resultOf(tool, call);
    const own = { version: events.length, hash: linkAll(chainStart(loaded.run), events), state };
    await this.#drives.report(port, runId, own, event({ type: 'call-settled', callId: call.id, result }));
    return this.settled(runId);
  }

  /** Withdraws the call unless it was started: the version that is read here must be the one that the withdrawal is recorded on. */
  async withdraw(runId: string, options: CancelOptions): Promise<CallRecord> {
    for (;;) {
      await this.settled(runId);
      const loaded = await this.#load(runId);
      if (!loaded) throw unknownRun(runId);
      const isOver = mayHaveStarted(callStatus(loaded.events)) || (await cancelled(this.#drives, loaded, options));
      if (isOver) return this.settled(runId);
    }
  }

  #rests(found: CallRecord, { caller }: CallOptions): boolean {
    const { status, run } = found;
    switch (status.at) {
      case 'begun':
        return false;
      case 'waiting':
        return status.expiresAt === undefined || status.expiresAt > this.#drives.clock();
      case 'approved':
        if (status.frozen) return true;
        if (status.host) return status.host.until > this.#drives.clock();
        return !status.isStarted && !caller && !isPlan(found);
      case 'stuck':
        return true;
      case 'settled':
        return run.status !== 'running' || !this.#drives.driven(run.id);
    }
  }

  /** Where no worker keeps the time, a caller that waits does. */
  #atDeadline({ status }: CallRecord): AbortSignal | undefined {
    if (status.at !== 'waiting' || !status.isApproved || status.expiresAt === undefined) return undefined;
    return AbortSignal.timeout(Math.min(Math.max(1, status.expiresAt - this.#drives.clock()), LONGEST_TIMER_MS));
  }

  async #load(runId: string): Promise<LoadedRun | undefined> {
    const loaded = await readRun(this.#drives.store, runId);
    if (!loaded || loaded.run.agent !== this.name) return undefined;
    await checkChain(loaded);
    return loaded;
  }

  async #changed(runId: string, ms: number): Promise<void> {
    const changes = changesOf(this.#drives.store, runId);
    try {
      await unlessAborted(changes.next(), AbortSignal.timeout(ms));
    } finally {
      changes.stop();
    }
  }
}

/** The engine gives its grants: its caller has nothing to run. */
const isPlan = ({ opening }: CallRecord): boolean => descriptionIn(opening)?.plan !== undefined;

function mayHaveStarted(status: CallStatus): boolean {
  if (status.at === 'approved') return status.isStarted;
  return status.at === 'settled' || (status.at === 'stuck' && status.isDoubt);
}

/** Another process or a person does the next thing. */
function waits({ status }: CallRecord): boolean {
  if (status.at === 'approved') return status.isStarted || status.frozen !== undefined;
  return status.at === 'waiting' || status.at === 'stuck';
}

function idOf({ status }: CallRecord): string | undefined {
  return 'requestId' in status ? status.requestId : undefined;
}

/** The tool of a run is the one that its caller passed with the call, or the one that the record describes. */
function portOf(
  name: string,
  toolOf: (call: string) => ToolDefinition | undefined,
  driver: (context: Context | undefined) => Driver,
): AgentPort {
  const withTools = (own: ReadonlyMap<string, ToolDefinition>): AgentPort => ({
    name,
    limits: { maxTurns: 2, awaitCaller: ![...own.values()].some(({ plan }) => plan) },
    driver: (context) => ({ ...driver(context), tools: own }),
    tools: () => own,
    defined: () => own,
  });
  return {
    ...withTools(new Map()),
    forRun({ history, turn }) {
      const opening = readOpening(history.toArray()[0]);
      const { name: tool = '' } = turn?.calls[0] ?? {};
      const own = toolOf(callId(tool, opening?.key)) ?? describedTool(descriptionIn(opening) ?? { name: tool });
      return withTools(new Map([[own.name, own]]));
    },
  };
}

const callId = (tool: string, key: Json | undefined): string => JSON.stringify([tool, key]);

/** People read the text; the rest is for programs. */
function openingMessage(tool: string, opening: Opening): Message {
  return { role: 'user', content: [{ text: `A program asks for a call of ${tool}.` }], metadata: { opening } };
}

function readOpening(message: Message | undefined): Opening | undefined {
  const opening = message?.metadata?.opening;
  return isObject(opening) ? (opening as Opening) : undefined;
}

function recordOf({ run, events }: LoadedRun): CallRecord | undefined {
  const [said, replied] = events;
  if (said?.type !== 'user-spoke' || replied?.type !== 'model-replied') return undefined;
  const opening = readOpening(said.messages[0]);
  const request = replied.content.find(isToolRequest)?.toolRequest;
  if (!request || !opening) return undefined;
  const { name: tool, ref, input } = request;
  const { edited = input, people } = decisionsIn(events);
  people.add(run.startedBy);
  return { run, opening, tool, ref, input, edited, people, status: callStatus(events) };
}

const notGranted = (runId: string): UsageError =>
  new UsageError(
    'not-granted',
    { runId },
    `No start of ${runId} was granted with this token. Ask for the start first.`,
  );

function failure(run: RunRecord): ProviderError {
  const { message = 'it failed', retryable = false } = errorIn(run) ?? {};
  return new ProviderError('provider-failed', { runId: run.id }, `The call ${run.id} could not go on: ${message}`, {
    retryable,
  });
}

// Durable runs: start, read, decide, follow, verify. A decision is recorded first; then a worker drives the run.

import type { Voter } from '../core/authority/policy.ts';
import { copyOf, isObject } from '../core/json.ts';
import { newState } from '../core/messages/load-messages.ts';
import type { Message } from '../core/messages/message.ts';
import { aContext, aString, checkOptions, without } from '../core/options.ts';
import type { Resume } from '../core/run/decide.ts';
import { event } from '../core/run/event.ts';
import type { StartOptions } from '../loop/agent.ts';
import { decisionsOf, type GenerateOptions } from '../loop/options.ts';
import type { AskedBy, Context } from '../loop/tool/definition.ts';
import { unlessAborted } from '../models/abort.ts';
import { cancelled } from './cancelling.ts';
import { DRILL_OPTIONS, type DrillOptions, type DrillRequest, type DrillsOptions } from './drills/drill-options.ts';
import { startDrill } from './drills/drills.ts';
import { changesOf } from './driving/changes.ts';
import type { Drives } from './driving/driving.ts';
import type { LiveChunk } from './driving/live-chunks.ts';
import type { AgentPort, DriveOptions } from './driving/open-run.ts';
import type { Stopped } from './driving/record-late-result.ts';
import type { RunSummary } from './driving/run-summary.ts';
import { ENDED, takeAbandoned } from './driving/wait.ts';
import { untilPausedOrLate } from './driving/wait-timeout.ts';
import { startWorker, type Worker, type WorkerOptions } from './driving/worker.ts';
import { collectEvidence, type Evidence } from './evidence/evidence.ts';
import { ruleProblem } from './evidence/verify-evidence.ts';
import { prepareGrant } from './grants/give.ts';
import type { Notices } from './notices/notices.ts';
import { Passkeys } from './passkeys/passkeys.ts';
import { votersFor } from './people.ts';
import { CANNOT_BE_READ, chainStart, inspectChain, tamperedRun, UNREADABLE } from './port/chain.ts';
import type { Notes } from './port/notes.ts';
import { readRun } from './port/read-run.ts';
import { checkRunId, checkStarter, runNotEnded, unknownInterrupt, unknownRun } from './port/run-id.ts';
import { refuseLarge } from './port/run-limit.ts';
import { mapValid } from './port/skip-invalid.ts';
import { type Stats, type StatsOptions, statsQuery } from './port/stats.ts';
import type { LoadedRun, Page, Store, StoredEvent } from './port/store.ts';
import { ASSIGN_OPTIONS, type AssignOptions, assign } from './requests/assigning.ts';
import { runIdOf } from './requests/card.ts';
import { type DecideResult, decideOne, decideSeveral, type Say } from './requests/deciding.ts';
import { copyDecision, type DecisionInput } from './requests/decision.ts';
import { type ReapplyOptions, reapplyPolicy } from './requests/reapplying.ts';
import { RunQueue } from './requests/serialize-decisions.ts';
import { interruptView, type ListedRun, listedRun, type RunInterrupt, type RunView, viewOf } from './requests/view.ts';
import {
  CANCEL_OPTIONS,
  type CancelOptions,
  checkAfter,
  checkId,
  DECIDE_OPTIONS,
  type DecideOptions,
  FOLLOW_OPTIONS,
  type FollowOptions,
  type InterruptListOptions,
  interruptQuery,
  type RunListOptions,
  runQuery,
  WAIT_OPTIONS,
  type WaitOptions,
} from './run-options.ts';
import { type SpeakOptions, speak } from './speaking.ts';
import { startMessages } from './start-messages.ts';

/** The runs of a store; `ai.runs`. */
export class Runs<C extends Context = Context> {
  readonly #drives: Drives;
  readonly #drilling: DrillsOptions | undefined;
  readonly #notices: Notices | undefined;
  readonly #decisions = new RunQueue();

  constructor(drives: Drives, drilling?: DrillsOptions, notices?: Notices) {
    this.#drives = drives;
    this.#drilling = drilling;
    this.#notices = notices;
  }

  /** Records a new run and drives it in this process. Resolves once the start is durable. */
  async start(
    agent: AgentPort,
    messages: readonly Message[],
    options: StartOptions & DriveOptions = {},
  ): Promise<{ readonly id: string }> {
    const says = startMessages(messages);
    await this.#drives.time.tell();
    const { runId: own = this.#drives.newRunId() } = options;
    const runId = checkRunId(checkId('runId', own));
    const create = { id: runId, agent: agent.name, startedBy: checkStarter(options.by) };
    const said = event({ type: 'user-spoke', messages: says });
    refuseLarge(this.#drives.runLimit, { run: { id: runId, version: 0 }, size: 0 }, [said], 'message');
    const record = { ...create, version: 0, hash: chainStart(create) };
    const open = this.#drives.open(record, newState(), agent, { ...options, claim: 'enter' });
    open.run.record(said);
    await this.#drives.begin(open);
    return { id: runId };
  }

  /**
   * Starts a drill: a request that must be rejected, and that people see like any other until it is settled. Its tool never
   * runs, whatever they decide.
   */
  async drill(request: DrillRequest, options: DrillOptions = {}): Promise<{ readonly id: string }> {
    checkOptions('`drill`', options, DRILL_OPTIONS);
    const id = checkRunId(options.runId ?? this.#drives.newRunId());
    await startDrill(this.#drives, request, id);
    return { id };
  }

  /** Reads a run. Throws `unknown-run` if it does not exist. */
  async get(runId: string): Promise<RunView> {
    return viewOf(await this.#load(runId));
  }

  /** Lists runs without their events, newest first by default. */
  async list(options: RunListOptions = {}): Promise<Page<ListedRun>> {
    const page = await this.store.listRuns(runQuery(options));
    return { ...page, items: page.items.map(listedRun) };
  }

  /**
   * Lists pending questions, oldest first by default. A question whose card was changed in the store is skipped with a
   * process warning; `interrupt` gives the reason.
   */
  async interrupts(options: InterruptListOptions = {}): Promise<Page<RunInterrupt>> {
    const page = await this.store.listInterrupts(interruptQuery(options));
    return { ...page, items: mapValid(page.items, interruptView) };
  }

  /** The person as they would vote, with the roles that the sign-in and `people` know. For `voteRights` of `countersign/ui`. */
  votersFor(by: string, roles: readonly string[] = []): Promise<readonly Voter[]> {
    return votersFor(this.#drives.people, by, roles);
  }

  /** Reads one question, pending or settled. Throws `unknown-interrupt` if it does not exist. */
  async interrupt(interruptId: string): Promise<RunInterrupt> {
    const record = await this.store.interrupt(checkId('interruptId', interruptId));
    if (!record) throw unknownInterrupt(interruptId);
    return interruptView(record);
  }

  /**
   * Records the decision on one question, once and for all, then drives the run. The same decision again returns the
   * recorded one; a different one is a `ConflictError` that says who decided first. If the question has a policy that asks
   * for more votes, the decision is recorded as a vote, and the result is `waiting`. A person's later vote replaces their
   * earlier one, and an edit asks everyone again. After the deadline, the deadline's decision is recorded and counts. Pass
   * the question itself instead of its id to decide on exactly its contents; if `tool.is(question)` holds, the edit or
   * answer is typed. `read` is the run as the caller has just read it.
   */
  async decide<Input = unknown, Output = unknown>(
    question: string | (Pick<RunInterrupt, 'id' | 'digest'> & AskedBy<Input, Output>),
    decision: DecisionInput<NoInfer<Input>, NoInfer<Output>>,
    options: DecideOptions<C> = {},
    read?: LoadedRun,
  ): Promise<DecideResult> {
    checkOptions('`decide`', options, DECIDE_OPTIONS);
    const { id, digest } = isObject(question) ? question : { id: question, digest: undefined };
    const interruptId = checkId('interruptId', id);
    const said = copyDecision(decision);
    const { grant, ...rest } = { ...(digest !== undefined && { digest }), ...options };
    const giving = grant && (await prepareGrant(this.store, interruptId, said, grant, rest));
    const decided = await this.#decisions.run(runIdOf(interruptId), () =>
      decideOne(this.#drives, interruptId, said, { ...rest, ...(giving && { onRecorded: giving.onRecorded }) }, read),
    );
    // Neither a vote that settles nothing nor a drill, which has no effect, gives a grant.
    const gives = giving && decided.status === 'settled' && !decided.drill;
    return gives ? { ...decided, grant: await giving.give() } : decided;
  }

  /**
   * Applies the policy that is defined now to a pending question, and records who did. Its votes stay unchanged and
   * count by the new policy, which may settle it. Check first that the person may do this.
   */
  async reapplyPolicy(interruptId: string, options: ReapplyOptions = {}): Promise<RunInterrupt> {
    checkOptions('`reapplyPolicy`', options, { by: aString });
    const id = checkId('interruptId', interruptId);
    await this.#decisions.run(runIdOf(id), () => reapplyPolicy(this.#drives, id, options));
    return this.interrupt(id);
  }

  /**
   * Decides several questions of one run, all or nothing, and drives it. For chats. `say` adds a message of the user in the
   * same append, so that the model sees both at once. Returns false if the message could not be added, for example because
   * a worker drives the run: then the caller still has to send it.
   */
  async resume(
    runId: string,
    resume: Resume,
    options: Omit<DecideOptions<C>, 'grant'> & Pick<GenerateOptions, 'toolResponses'> & { readonly say?: Say } = {},
  ): Promise<boolean> {
    const { say, toolResponses, ...decides } = options;
    checkOptions('`resume`', decides, without(DECIDE_OPTIONS, 'grant'));
    const id = checkId('runId', runId);
    const decisions = copyOf(decisionsOf({ resume, toolResponses }));
    return this.#decisions.run(id, () =>
      decideSeveral(this.#drives, id, decisions, { ...decides, ...(say && { say }) }),
    );
  }

  /**
   * Assigns a pending question to a person; null removes the assignment. Others may still decide it. Throws `not-allowed`
   * for a person whose decision would be refused.
   */
  async assign(interruptId: string, options: AssignOptions): Promise<RunInterrupt> {
    checkOptions('`assign`', options, ASSIGN_OPTIONS);
    await assign(this.#drives, checkId('interruptId', interruptId), options);
    return this.interrupt(interruptId);
  }

  /**
   * Adds a message of the user to a stored conversation and continues the run. If a worker drives the run, the message waits
   * until it pauses or ends. Resolves once the message is recorded, with the number of events before it.
   */
  speak(runId: string, say: Say, options: SpeakOptions = {}): Promise<number> {
    return speak(this.#drives, runId, say, options);
  }

  /**
   * Cancels a run that has not ended, or that failed. Running tools are aborted, pending questions withdrawn. Throws `call-started` if
   * a program outside has started its call.
   */
  async cancel(runId: string, options: CancelOptions = {}): Promise<RunView> {
    checkOptions('`cancel`', options, CANCEL_OPTIONS);
    await this.#drives.time.tell();
    while (!(await cancelled(this.#drives, await this.#load(runId), options)));
    return this.get(runId);
  }

  /**
   * Deletes a run that is `done` or `cancelled`, with its messages, questions and decisions, for good. Its id cannot be
   * reused. Throws `run-not-ended` if it has not ended, and `unknown-run` if it does not exist.
   */
  async delete(runId: string): Promise<void> {
    if (await this.store.delete(checkId('runId', runId))) return;
    await this.#load(runId, Number.MAX_SAFE_INTEGER);
    throw runNotEnded(runId);
  }

  /** Drives a run that stopped with an error, or that no worker drives. */
  async drive(runId: string, options: { readonly context?: C } = {}): Promise<void> {
    checkOptions('`drive`', options, { context: aContext });
    if (await this.#drives.take(checkId('runId', runId), options)) return;
    const { run } = await this.#load(runId, Number.MAX_SAFE_INTEGER);
    this.#drives.agent(run.agent);
  }

  /** The events recorded so far. */
  async recorded(runId: string): Promise<readonly StoredEvent[]> {
    return (await this.#load(runId)).events;
  }

  /** The store of the runs, for code that builds on it: a server watches it for changes. */
  get store(): Store {
    return this.#drives.store;
  }

  /** Small records in the store beside the runs: tokens, holds, sessions. */
  get notes(): Notes {
    return this.store.notes;
  }

  /** The passkeys with which people sign decisions. */
  get passkeys(): Passkeys {
    return new Passkeys(this.notes, () => this.store.now());
  }

  /** Counts the decisions of the last `days` days in UTC, including today; 30 by default. */
  async stats(options: StatsOptions = {}): Promise<Stats> {
    return this.store.stats(statsQuery(options, await this.store.now()));
  }

  /** Starts a worker for abandoned runs, deadlines and notices. */
  work(options?: WorkerOptions): Worker {
    return startWorker(this.#drives, options, this.#drilling, this.#notices);
  }

  /**
   * Resolves when this process no longer drives the run, with its status; usually without reading the store. If another
   * worker took the run over, the status is the recorded one: it may be `running`.
   */
  async rested(runId: string): Promise<RunSummary> {
    let isLost = false;
    for (let resting = this.#drives.rested(runId); resting !== undefined; resting = this.#drives.driven(runId)) {
      const rest = await resting;
      if (rest) return rest;
      isLost = true;
    }
    const { id, status, text, pending } = await (isLost ? this.get(runId) : this.wait(runId));
    return { id, status, text, pending };
  }

  /** Resolves once this process does not drive the run. */
  async left(runId: string): Promise<void> {
    await this.#drives.rested(runId);
  }

  /** Resolves when this process drives no run. */
  settled(): Promise<void> {
    return this.#drives.settled();
  }

  /** Stops cleanly: each run continues to its next pause and is handed over to another worker. */
  stop(): Promise<Stopped> {
    return this.#drives.stop();
  }

  /** Yields the events of a run as they happen, from any point, until the run has ended. */
  async *events(runId: string, options: FollowOptions = {}): AsyncGenerator<StoredEvent & { readonly seq: number }> {
    for await (const { run, events } of this.follow(runId, options)) {
      let seq = run.version - events.length;
      for (const stored of events) yield { ...stored, seq: ++seq };
      if (ENDED.has(run.status)) return;
    }
  }

  /**
   * Yields the run with its new events, now and whenever it may have changed, until `signal` aborts. With `driving`, this
   * process drives the run if no other worker does.
   */
  async *follow(
    runId: string,
    options: FollowOptions = {},
    driving?: { readonly context?: Context },
  ): AsyncGenerator<LoadedRun> {
    checkOptions('following a run', options, FOLLOW_OPTIONS);
    const { after = 0, signal } = options;
    let seen = checkAfter(after);
    const changes = changesOf(this.store, checkId('runId', runId), signal);
    try {
      while (!signal?.aborted) {
        const loaded = await unlessAborted(readRun(this.store, runId, seen), signal);
        if (signal?.aborted) return;
        if (!loaded) throw unknownRun(runId);
        const { version } = loaded.run;
        if (loaded.events === UNREADABLE) throw tamperedRun(runId, CANNOT_BE_READ);
        if (seen < version && seen + loaded.events.length !== version)
          throw tamperedRun(runId, `Of its ${version} events, ${loaded.events.length} came after the first ${seen}.`);
        seen += loaded.events.length;
        yield loaded;
        if (driving && loaded.events.length === 0) await takeAbandoned(this.#drives, loaded.run, driving, signal);
        await changes.next();
      }
    } finally {
      changes.stop();
    }
  }

  /** Streams the model's reply while this process drives the run. Returns a function that stops it. */
  listen(runId: string, listener: (heard: LiveChunk) => void): () => void {
    return this.#drives.live.listen(runId, listener);
  }

  /** Reads the run and its events after `after`; undefined if it does not exist. */
  async find(runId: string, { after = 0 }: FollowOptions = {}): Promise<LoadedRun | undefined> {
    return readRun(this.store, checkId('runId', runId), checkAfter(after));
  }

  /**
   * Resolves when the run waits for a person or has ended; with `until: 'end'`, when it has ended. Also waits for a failed
   * run that this process drives again. After `timeoutMs` it rejects with `wait-timeout`, and the run continues unchanged.
   */
  async wait(runId: string, options: WaitOptions = {}): Promise<RunView> {
    return viewOf(await this.waited(runId, options));
  }

  /** As `wait`, but returns the events. With `driving`, this process drives the run if no other worker does. */
  async waited(runId: string, options: WaitOptions = {}, driving?: { readonly context?: Context }): Promise<LoadedRun> {
    checkOptions('`wait`', options, WAIT_OPTIONS);
    return untilPausedOrLate(this.#drives, checkId('runId', runId), options, driving);
  }

  /**
   * Checks the hash chain of a run, and that its events follow the rules: decisions as votes and deadlines say, signatures, and
   * starts after decisions. To check the cards and grants too, verify its `evidence`.
   */
  async verify(
    runId: string,
  ): Promise<{ readonly ok: boolean; readonly events: number; readonly problem: string | null }> {
    const loaded = await this.#load(runId);
    const problem = (await inspectChain(loaded)).problem ?? (await ruleProblem(loaded)) ?? null;
    return { ok: problem === null, events: loaded.events.length, problem };
  }

  /**
   * Collects the evidence of a run: events, chain, cards as shown, decisions. `evidenceText` makes a file of it, and
   * `verifyEvidence` checks that file without this store.
   */
  async evidence(runId: string): Promise<Evidence> {
    return collectEvidence(this.store, await this.#load(runId));
  }

  async #load(runId: string, after = 0): Promise<LoadedRun> {
    const loaded = await readRun(this.store, checkId('runId', runId), after);
    if (!loaded) throw unknownRun(runId);
    return loaded;
  }
}

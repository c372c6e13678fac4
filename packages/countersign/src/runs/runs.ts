// Durable runs: start, read, decide, follow, verify. A decision is recorded first; then a worker drives the run.

import { INTERNALS } from '../core/internals.ts';
import { defined } from '../core/json.ts';
import { aContext, aString, checkOptions } from '../core/options.ts';
import type { AskedBy, Context, Tool } from '../loop/tool/definition.ts';
import { cancelled } from './cancelling.ts';
import { DRILL_OPTIONS, type DrillOptions, type DrillRequest, type DrillsOptions } from './drills/drill-options.ts';
import { startDrill } from './drills/drills.ts';
import type { Drives } from './driving/driving.ts';
import type { Stopped } from './driving/record-late-result.ts';
import { ENDED } from './driving/wait.ts';
import { startWorker, type Worker, type WorkerOptions } from './driving/worker.ts';
import { collectEvidence, type Evidence } from './evidence/evidence.ts';
import { ruleProblem } from './evidence/verify-evidence.ts';
import { readFile, removeFiles } from './files.ts';
import { LiveRuns, readKnown } from './live-runs.ts';
import type { Notices } from './notices/notices.ts';
import { Passkeys } from './passkeys/passkeys.ts';
import { inspectChain } from './port/chain.ts';
import type { Notes } from './port/notes.ts';
import { checkRunId, runNotEnded, unknownRequest } from './port/run-id.ts';
import { mapValid } from './port/skip-invalid.ts';
import { type Stats, type StatsOptions, statsQuery } from './port/stats.ts';
import type { LoadedRun, Page, Store, StoredEvent } from './port/store.ts';
import { runIdOf } from './requests/card.ts';
import type { DecideResult } from './requests/deciding.ts';
import type { DecisionInput } from './requests/decision.ts';
import { type ReapplyOptions, reapplyPolicy } from './requests/reapplying.ts';
import {
  type ListedRun,
  listedRun,
  type RunRequest,
  type RunRequestOf,
  type RunView,
  requestView,
  viewOf,
} from './requests/view.ts';
import { ASSIGN_OPTIONS, type AssignOptions, assign } from './requests/waiting/assigning.ts';
import { COMMENT_OPTIONS, type CommentOptions, comment } from './requests/waiting/commenting.ts';
import { recallOf } from './requests/waiting/recalling.ts';
import {
  CANCEL_OPTIONS,
  type CancelOptions,
  checkId,
  type DecideOptions,
  type FollowOptions,
  type RecallOptions,
  type RequestListOptions,
  type RunListOptions,
  requestQuery,
  runQuery,
  type WaitOptions,
} from './run-options.ts';
import { UNDO_OPTIONS, type Undoing, type UndoOptions, undo } from './undo/undoing.ts';

/** The runs of a store; `ai.runs`. */
export class Runs<C extends Context = Context> {
  readonly #drives: Drives;
  readonly #drilling: DrillsOptions | undefined;
  readonly #notices: Notices | undefined;
  readonly #live: LiveRuns;

  constructor(drives: Drives, drilling?: DrillsOptions, notices?: Notices) {
    this.#drives = drives;
    this.#live = new LiveRuns(drives);
    this.#drilling = drilling;
    this.#notices = notices;
  }

  /** @internal */
  get [INTERNALS](): LiveRuns {
    return this.#live;
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
   * Lists pending requests, oldest first by default. A request whose card was changed in the store is skipped with a
   * process warning; `request` gives the reason.
   */
  async requests(options: RequestListOptions = {}): Promise<Page<RunRequest>> {
    const page = await this.store.listRequests(requestQuery(options));
    return { ...page, items: mapValid(page.items, requestView) };
  }

  /** Lists the requests of one tool, which types their inputs, and the edits and answers that `decide` takes. */
  async requestsOf<Input, Output>(
    { definition: { name: tool } }: Tool<Input, Output>,
    options: Omit<RequestListOptions, 'tool'> = {},
  ): Promise<Page<RunRequestOf<Input, Output>>> {
    return (await this.requests({ ...options, tool })) as Page<RunRequest & RunRequestOf<Input, Output>>;
  }

  /** Reads one request, pending or settled. Throws `unknown-request` if it does not exist. */
  async request(requestId: string): Promise<RunRequest> {
    const record = await this.store.request(checkId('requestId', requestId));
    if (!record) throw unknownRequest(requestId);
    return requestView(record);
  }

  /** The bytes of a file that the preview of a request shows; undefined if there is none with this SHA-256. */
  async file(requestId: string, sha256: string): Promise<Uint8Array | undefined> {
    const { runId, preview, earlierPreview } = await this.request(requestId);
    const shown = [preview, earlierPreview].flatMap((one) => (one && 'files' in one ? (one.files ?? []) : []));
    const file = shown.find((one) => one.sha256 === sha256);
    if (file?.data !== undefined) return Buffer.from(file.data, 'base64');
    return file && readFile(this.store.notes, runId, file);
  }

  /**
   * Records the decision on one request, once and for all, then drives the run. The same decision again returns the
   * recorded one; a different one is a `ConflictError` that says who decided first. If the request has a policy that asks
   * for more votes, the decision is recorded as a vote, and the result is `waiting`. A person's later vote replaces their
   * earlier one, and an edit asks everyone again. After the deadline, the deadline's decision is recorded and counts. Pass
   * the request itself instead of its id to decide on exactly its contents; if `tool.is(request)` holds, the edit or
   * answer is typed.
   */
  decide<Input = unknown, Output = unknown>(
    question: string | (Pick<RunRequest, 'id' | 'digest'> & AskedBy<Input, Output>),
    decision: DecisionInput<NoInfer<Input>, NoInfer<Output>>,
    options: DecideOptions<C> = {},
  ): Promise<DecideResult> {
    return this.#live.decide(question, decision, options as DecideOptions);
  }

  /**
   * Recalls an approved call that waits to start: it does not run, and the record says who recalled it. Takes the id of any
   * request about the call. Throws `already-decided` if it has started or was recalled by another, `not-allowed` for a person who
   * neither asked for it nor decided, and `not-recallable` if it does not wait.
   */
  async recall(requestId: string, { reason, ...options }: RecallOptions = {}): Promise<DecideResult> {
    const wait = await recallOf(this.store, checkId('requestId', requestId));
    return this.#live.decide(wait, { type: 'reject', ...defined({ reason }) }, options);
  }

  /**
   * Undoes the call of a request, or the calls of a run that has ended, the newest first. Each undo is a call of its own that people
   * approve, at most one per call, whoever asks and however often. It stops at the first call that is not undone, and says why; call it
   * again to continue. Throws `not-allowed` for a person who neither asked for the call nor may decide about it.
   */
  async undo(id: string, options: UndoOptions = {}): Promise<Undoing> {
    checkOptions('`undo`', options, UNDO_OPTIONS);
    return undo(this.#drives, checkId(id.includes(':') ? 'requestId' : 'runId', id), options);
  }

  /**
   * Applies the policy that is defined now to a pending request, and records who did. Its votes stay unchanged and
   * count by the new policy, which may settle it. Check first that the person may do this.
   */
  async reapplyPolicy(requestId: string, options: ReapplyOptions = {}): Promise<RunRequest> {
    checkOptions('`reapplyPolicy`', options, { by: aString });
    const id = checkId('requestId', requestId);
    await this.#live.decisions.run(runIdOf(id), () => reapplyPolicy(this.#drives, id, options));
    return this.request(id);
  }

  /**
   * Assigns a pending request to a person; null removes the assignment. Others may still decide it. Throws `not-allowed`
   * for a person whose decision would be refused.
   */
  async assign(requestId: string, options: AssignOptions): Promise<RunRequest> {
    checkOptions('`assign`', options, ASSIGN_OPTIONS);
    await assign(this.#drives, checkId('requestId', requestId), options);
    return this.request(requestId);
  }

  /**
   * Records a comment on a pending request. It decides nothing, and the model does not see it. Check first that the person may
   * read the request. People whom it names with `@`, and those who take part, are told.
   */
  async comment(requestId: string, options: CommentOptions): Promise<RunRequest> {
    checkOptions('`comment`', options, COMMENT_OPTIONS);
    await comment(this.#drives, checkId('requestId', requestId), options);
    return this.request(requestId);
  }

  /**
   * Cancels a run that has not ended, or that failed. Running tools are aborted, pending requests withdrawn. Throws `call-started` if
   * a program outside has started its call.
   */
  async cancel(runId: string, options: CancelOptions = {}): Promise<RunView> {
    checkOptions('`cancel`', options, CANCEL_OPTIONS);
    await this.#drives.time.tell();
    while (!(await cancelled(this.#drives, await this.#load(runId), options)));
    return this.get(runId);
  }

  /**
   * Deletes a run that is `done` or `cancelled`, with its messages, requests and decisions, for good. Its id cannot be
   * reused. Throws `run-not-ended` if it has not ended, and `unknown-run` if it does not exist.
   */
  async delete(runId: string): Promise<void> {
    if (await this.store.delete(checkId('runId', runId))) return removeFiles(this.store.notes, runId);
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

  /** Yields the run with its new events, now and whenever it may have changed, until `signal` aborts. */
  follow(runId: string, options: FollowOptions = {}): AsyncGenerator<LoadedRun> {
    return this.#live.follow(runId, options);
  }

  /**
   * Resolves when the run waits for a person or has ended; with `until: 'end'`, when it has ended. Also waits for a failed
   * run that this process drives again. After `timeoutMs` it rejects with `wait-timeout`, and the run continues unchanged.
   */
  async wait(runId: string, options: WaitOptions = {}): Promise<RunView> {
    return viewOf(await this.#live.waited(runId, options));
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

  #load(runId: string, after?: number): Promise<LoadedRun> {
    return readKnown(this.store, runId, after);
  }
}

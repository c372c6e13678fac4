// Runs as our chat route, adapters and server use them: beside deciding, they start, speak, listen, and wait until a run rests.

import type { Voter } from '../core/authority/may-decide.ts';
import type { Missing } from '../core/authority/tally.ts';
import { isObject } from '../core/json.ts';
import { newState } from '../core/messages/load-messages.ts';
import type { Message } from '../core/messages/message.ts';
import { checkOptions, without } from '../core/options.ts';
import { event } from '../core/run/event.ts';
import type { Resume } from '../core/run/read-resume.ts';
import type { StartOptions } from '../loop/agent.ts';
import { decisionsOf } from '../loop/options.ts';
import type { Context } from '../loop/tool/definition.ts';
import { unlessAborted } from '../models/abort.ts';
import { changesOf } from './driving/changes.ts';
import type { Drives } from './driving/driving.ts';
import type { LiveChunk } from './driving/live-chunks.ts';
import type { AgentPort, DriveOptions } from './driving/open-run.ts';
import type { RunSummary } from './driving/run-summary.ts';
import { takeAbandoned } from './driving/wait.ts';
import { untilPausedOrLate } from './driving/wait-timeout.ts';
import { prepareGrant } from './grants/give.ts';
import { votersFor } from './people.ts';
import { CANNOT_BE_READ, chainStart, tamperedRun, UNREADABLE } from './port/chain.ts';
import { readRun } from './port/read-run.ts';
import { checkRunId, checkStarter, unknownRun } from './port/run-id.ts';
import { refuseLarge } from './port/run-limit.ts';
import { mapValid } from './port/skip-invalid.ts';
import type { LoadedRun, Page, RequestQuery, Store } from './port/store.ts';
import { runIdOf } from './requests/card.ts';
import { type DecideResult, decideOne, decideSeveral, type Say } from './requests/deciding.ts';
import { type DecisionInput, decisionFrom } from './requests/decision.ts';
import type { Speaker } from './requests/left-to-others.ts';
import { requestOutOfReach } from './requests/reach.ts';
import { RunQueue } from './requests/serialize-decisions.ts';
import { type RunRequest, type SettledFacts, settledFacts, viewOf } from './requests/view.ts';
import { type RemovedVoter, withdrawVotes } from './requests/waiting/removed-voter.ts';
import {
  checkAfter,
  checkId,
  DECIDE_OPTIONS,
  type DecideOptions,
  FOLLOW_OPTIONS,
  type FollowOptions,
  WAIT_OPTIONS,
  type WaitOptions,
} from './run-options.ts';
import { type SpeakOptions, speak } from './speaking.ts';
import { startMessages } from './start-messages.ts';

export class LiveRuns {
  readonly #drives: Drives;
  /** Serializes what is recorded about the requests of one run. */
  readonly decisions = new RunQueue();

  constructor(drives: Drives) {
    this.#drives = drives;
  }

  get store(): Store {
    return this.#drives.store;
  }

  /** Settled requests with what figures count of them, the newest settlement first. Their cards are not verified. */
  async settledRequests(query: Omit<RequestQuery, 'settled' | 'order'>): Promise<Page<SettledFacts>> {
    const { items, cursor } = await this.store.listRequests({ ...query, settled: true, order: 'newest' });
    // A wait that has passed is no decision of a person.
    return {
      items: mapValid(
        items.filter(({ kind }) => kind !== 'recall'),
        settledFacts,
      ),
      cursor,
    };
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

  /** The person as they would vote, with the roles that the sign-in and `people` know. For `voteRights` of `countersign/ui`. */
  votersFor(by: string, roles: readonly string[] = []): Promise<readonly Voter[]> {
    return votersFor(this.#drives.people, by, roles);
  }

  /** Withdraws the votes of a person who was removed. Resolves with false if the request has none. */
  withdrawVotes(requestId: string, removed: RemovedVoter): Promise<boolean> {
    return this.decisions.run(runIdOf(requestId), () => withdrawVotes(this.#drives, requestId, removed));
  }

  /** The votes that a pending request needs and that nobody who is known can give. */
  outOfReach(request: RunRequest): Promise<readonly Missing[]> {
    return requestOutOfReach(request, this.#drives.people);
  }

  /** As `decide` of the runs. `read` is the run as the caller has just read it. */
  async decide(
    question: string | Pick<RunRequest, 'id' | 'digest'>,
    decision: DecisionInput,
    options: DecideOptions = {},
    read?: LoadedRun,
  ): Promise<DecideResult> {
    checkOptions('`decide`', options, DECIDE_OPTIONS);
    const { id, digest } = isObject(question) ? question : { id: question, digest: undefined };
    const requestId = checkId('requestId', id);
    const said = decisionFrom(decision, options);
    const { grant, ...rest } = { ...(digest !== undefined && { digest }), ...options };
    const giving = grant && (await prepareGrant(this.store, requestId, said, grant, rest));
    const decided = await this.decisions.run(runIdOf(requestId), () =>
      decideOne(this.#drives, requestId, said, { ...rest, ...(giving && { onRecorded: giving.onRecorded }) }, read),
    );
    // Neither a vote that settles nothing nor a drill, which has no effect, gives a grant.
    const gives = giving && decided.status === 'settled' && !decided.drill;
    return gives ? { ...decided, grant: await giving.give() } : decided;
  }

  /**
   * Decides several requests of one run, all or nothing, and drives it. For chats. `say` adds a message of the user in the
   * same append, so that the model sees both at once. Returns false if the message could not be added, for example because
   * a worker drives the run: then the caller still has to send it.
   */
  async resume(
    runId: string,
    resume: Resume,
    options: Omit<DecideOptions, 'grant'> & { readonly say?: Say; readonly speaker?: Speaker | undefined } = {},
  ): Promise<boolean> {
    const { say, speaker, ...decides } = options;
    checkOptions('`resume`', decides, without(DECIDE_OPTIONS, 'grant'));
    const id = checkId('runId', runId);
    const decisions = decisionsOf({ resume });
    return this.decisions.run(id, () =>
      decideSeveral(this.#drives, id, decisions, { ...decides, ...(say && { say, speaker }) }),
    );
  }

  /**
   * Adds a message of the user to a stored conversation and continues the run. If a worker drives the run, the message waits
   * until it pauses or ends. Resolves once the message is recorded, with the number of events before it.
   */
  speak(runId: string, say: Say, options: SpeakOptions = {}): Promise<number> {
    return speak(this.#drives, runId, say, options);
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
    const loaded = isLost ? await readKnown(this.store, runId) : await this.waited(runId);
    const { id, status, text, pending } = await viewOf(loaded);
    return { id, status, text, pending };
  }

  /** Resolves once this process does not drive the run. */
  async left(runId: string): Promise<void> {
    await this.#drives.rested(runId);
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

  /** As `wait`, but returns the events. With `driving`, this process drives the run if no other worker does. */
  async waited(runId: string, options: WaitOptions = {}, driving?: { readonly context?: Context }): Promise<LoadedRun> {
    checkOptions('`wait`', options, WAIT_OPTIONS);
    return untilPausedOrLate(this.#drives, checkId('runId', runId), options, driving);
  }
}

/** Reads a run. Throws `unknown-run` if it does not exist. */
export async function readKnown(store: Store, runId: string, after = 0): Promise<LoadedRun> {
  const loaded = await readRun(store, checkId('runId', runId), after);
  if (!loaded) throw unknownRun(runId);
  return loaded;
}

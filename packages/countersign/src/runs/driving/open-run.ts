// A run that is open for writing in this process, with the agent and the options to drive it on.
import type { Policies } from '../../core/authority/policy.ts';
import type { RunEvent } from '../../core/run/event.ts';
import type { Limits } from '../../core/run/next.ts';
import type { State } from '../../core/run/state.ts';
import type { WhilePending } from '../../loop/options.ts';
import type { Caller, Driver, Run } from '../../loop/run.ts';
import type { Chunk } from '../../loop/stream/chunk.ts';
import type { Context, ToolDefinition } from '../../loop/tool/definition.ts';
import type { JournalOptions } from '../journal/appending.ts';
import type { ClaimOption } from '../journal/claim.ts';
import type { Journal } from '../journal/journal.ts';
import type { Directory } from '../people.ts';
import type { RunLimit } from '../port/run-limit.ts';
import type { RunRecord, Store } from '../port/store.ts';
import type { StoreTime } from '../port/store-time.ts';

/** The call that a run undoes, as its first message says. `tools`: the calls whose sub-agents it is in, the outermost first. */
export type UndoneCall = { readonly tool: string; readonly tools: readonly string[]; readonly policies?: Policies };

/** The part of an agent that drives its runs. */
export type AgentPort = {
  readonly name: string;
  readonly limits: Limits;
  /** For messages of users, if the agent says it. */
  readonly whilePending?: WhilePending | undefined;
  /** Called with each event that this process records. */
  readonly onEvent?: ((event: RunEvent) => void) | undefined;
  driver(context: Context | undefined): Driver;
  tools(): ReadonlyMap<string, ToolDefinition>;
  /** The same agent with the tools that this run itself describes. */
  forRun?(state: State): AgentPort;
  defined(): ReadonlyMap<string, ToolDefinition>;
  /** The tool of a call that its runs undo. */
  undone?(call: UndoneCall): ToolDefinition | undefined;
  /** It is not defined here, so no value can be checked against its tools. */
  readonly isAbsent?: true;
};

/** What driving a run in this process takes. */
export type DriveOptions = {
  readonly context?: Context;
  readonly onChunk?: (chunk: Chunk) => void;
  /** The program whose call the run is, while it asks for the call to run. */
  readonly caller?: Caller;
};

/** A run with the journal for its next events. `isLookedUp`: its context was looked up, even if there is none. */
export type OpenRun = {
  readonly agent: AgentPort;
  readonly run: Run;
  readonly journal: Journal;
  readonly options: DriveOptions & { readonly isLookedUp?: true };
};

/** `claim` is `take` unless given. */
export type OpenOptions = DriveOptions & { readonly claim?: ClaimOption };

/** The fields of a run that its context is looked up by. */
export type StartedRun = Pick<RunRecord, 'id' | 'agent' | 'startedBy'>;

export type DrivesOptions = Pick<JournalOptions, 'store' | 'newId' | 'clock' | 'sleep' | 'leaseMs' | 'onAppended'> & {
  readonly agents: ReadonlyMap<string, AgentPort>;
  /** Looks up the context of a run that no caller drives. */
  readonly contextFor: (run: StartedRun) => Context | undefined | Promise<Context | undefined>;
  /** How long a stop waits for a model to reply. */
  readonly graceMs: number;
  readonly runLimit: RunLimit;
  readonly people: Directory;
};

/** Opens runs and drives them: `Drives`, as its parts see it. */
export type Driving = {
  readonly store: Store;
  readonly time: Pick<StoreTime, 'now' | 'tell' | 'ask'>;
  /** The time of the store, as last known. */
  readonly clock: () => number;
  readonly isStopping: boolean;
  open(record: JournalOptions['run'], state: State, agent: AgentPort, options: OpenOptions): OpenRun;
  go(open: OpenRun): void;
  driveOrLeave(open: OpenRun): Promise<void>;
};

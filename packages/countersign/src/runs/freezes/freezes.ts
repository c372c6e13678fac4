// The door to freezes: freeze calls, lift a freeze, and list what is frozen.
import {
  type Freeze,
  type FreezeMatch,
  type FreezeState,
  foldFreeze,
  isCovered,
  liftProblem,
} from '../../core/authority/freeze.ts';
import { mayDecide } from '../../core/authority/may-decide.ts';
import { ANYONE, type Policies, type Policy, type Vote } from '../../core/authority/policy.ts';
import type { Missing } from '../../core/authority/tally.ts';
import { UsageError } from '../../core/errors.ts';
import { defined, type Json, sameJson } from '../../core/json.ts';
import { aString, aStringOrNull, checkOptions, type OptionTable, someStrings } from '../../core/options.ts';
import type { Drives } from '../driving/driving.ts';
import { bookOf, type FreezeBook, freezeId, recorded } from './book.ts';
import { withdrawLiftVotes } from './removed-lifter.ts';
import { type RunningCall, runningCalls, thawAll } from './thaw.ts';

/** Who may freeze, and who may lift a freeze; anyone by default. To freeze, one of the people whom its policy names is enough. */
export type FreezesOptions = { readonly freeze?: Policy; readonly lift?: Policy };

/** What to freeze, and why. All that is given must hold; without `tools`, `agents` and `people`, every call is frozen. */
export type FreezeRequest = FreezeMatch & { readonly reason: string };

/** Who freezes or lifts a freeze. */
export type FreezeActor = {
  readonly by: string | null;
  readonly roles?: readonly string[];
  readonly channel?: string;
  readonly note?: string;
};

/** A freeze, the votes to lift it so far, and those that are missing. `lifted` is null while it stands. */
export type FreezeView = Freeze & {
  readonly votes: readonly Vote[];
  readonly missing: readonly Missing[];
  readonly lifted: { readonly at: number; readonly by: string | null } | null;
  /** Who must agree that it ends. */
  readonly lift: Policies;
};

/** `running`: the covered calls that had started before. Nothing stops them. */
export type MadeFreeze = FreezeView & { readonly running: readonly RunningCall[] };

const ACTOR: OptionTable<FreezeActor> = {
  by: { ...aStringOrNull, required: true },
  roles: someStrings,
  channel: aString,
  note: aString,
};

const REQUEST: OptionTable<FreezeRequest> = {
  tools: someStrings,
  agents: someStrings,
  people: someStrings,
  reason: { ...aString, required: true },
};

/** The longest reason, and the most names of a kind: every process keeps them. */
const LONGEST_REASON = 2_000;
const MOST_NAMES = 100;

/** The freezes of a store; `ai.freezes`. */
export class Freezes {
  readonly #drives: Drives;
  readonly #book: FreezeBook;
  readonly #may: FreezesOptions;

  constructor(drives: Drives, may: FreezesOptions) {
    this.#drives = drives;
    this.#book = bookOf(drives.store);
    this.#may = may;
  }

  /** Who may freeze, and who may lift a freeze. */
  get policies(): FreezesOptions {
    return this.#may;
  }

  /** Once this resolves, no call that it covers starts in any process, until the freeze is lifted. Calls that run go on. */
  async freeze(request: FreezeRequest, actor: FreezeActor): Promise<MadeFreeze> {
    checkOptions('`freeze`', request, REQUEST);
    checkOptions('`freeze`', actor, ACTOR);
    checkMatch(request);
    const vote = await this.#vote(actor);
    const { freeze: may, lift = {} } = this.#may;
    const verdict = mayDecide(may ? [may] : ANYONE, { votes: [], requesters: [] }, vote);
    if (!verdict.ok) throw notAllowed('frozen', verdict.why);
    const { tools, agents, people, reason } = request;
    const at = await this.#drives.store.now();
    const id = freezeId(at, this.#drives.newRunId());
    const freeze: Freeze = { id, at, by: actor.by, reason, ...defined({ tools, agents, people }) };
    const record = recorded({ type: 'frozen', freeze, lift: [lift] });
    await this.#book.change(({ records }) => [...records, record]);
    const covers: Parameters<typeof runningCalls>[1] = (call) => isCovered(freeze, call);
    return { ...viewOf(foldFreeze(record.events)), running: await runningCalls(this.#drives.store, covers) };
  }

  /**
   * Votes to lift a freeze. Once its policy is satisfied, it ends, and the calls that waited for it go on: those that may still run.
   * Lifting it again changes nothing. With `drive: false`, other processes continue the runs.
   */
  async lift(id: string, { drive, ...actor }: FreezeActor & { readonly drive?: boolean }): Promise<FreezeView> {
    checkOptions('`lift`', actor, ACTOR);
    const vote = { ...(await this.#vote(actor)), at: await this.#drives.store.now() };
    let state: FreezeState | undefined;
    await this.#book.change(async ({ records }) => {
      const index = records.findIndex(({ events }) => foldFreeze(events).freeze.id === id);
      const before = records[index];
      if (!before) return undefined;
      const standing = foldFreeze(before.events);
      const { lift: own } = this.#may;
      const joins = own && !standing.lift.some((policy) => sameJson(policy as Json, own as Json)) ? [own] : [];
      const problem = liftProblem({ ...standing, lift: [...standing.lift, ...joins] }, vote);
      if (problem !== undefined) throw notAllowed('lifted', problem);
      const joined = joins.length > 0 ? { joins } : {};
      const record = recorded({ type: 'vote-cast', at: vote.at, vote, ...joined }, before);
      state = foldFreeze(record.events);
      if (!state.lifted) return records.with(index, record);
      await this.#book.keep(id, record);
      return records.toSpliced(index, 1);
    });
    const found = state ?? (await this.#book.findLifted(id));
    if (!found) throw new UsageError('unknown-freeze', { freezeId: id }, `Freeze ${id} not found. Check the id.`);
    if (found.lifted) await thawAll(this.#drives, drive);
    else if (vote.by !== null) await this.#refuseRemoved(vote.by);
    return viewOf(found);
  }

  /** What is frozen now, the oldest first; with `lifted`, the freezes that have ended, the newest first. */
  async list({ lifted = false }: { readonly lifted?: boolean } = {}): Promise<readonly FreezeView[]> {
    if (lifted) return (await this.#book.lifted(MOST_NAMES)).items.map(viewOf);
    return (await this.#book.read()).records.map(({ events }) => viewOf(foldFreeze(events)));
  }

  /** Someone may have removed the person while the vote was recorded. */
  async #refuseRemoved(person: string): Promise<void> {
    try {
      await this.#drives.people.refuseRemoved(person);
    } catch (error) {
      await withdrawLiftVotes(this.#drives.store, person);
      throw error;
    }
  }

  async #vote({ by, roles = [], channel, note }: FreezeActor): Promise<Vote> {
    if (by !== null) await this.#drives.people.refuseRemoved(by);
    const known = by === null ? [] : ((await this.#drives.people.rolesOf?.(by)) ?? []);
    const all = [...new Set([...roles, ...known])];
    return { by, ...(all.length > 0 && { roles: all }), ...defined({ channel, note }), decision: { type: 'approve' } };
  }
}

const viewOf = ({ freeze, votes, missing, lifted, lift }: FreezeState): FreezeView => {
  return { ...freeze, votes, missing, lifted: lifted ?? null, lift };
};

function checkMatch({ tools = [], agents = [], people = [], reason, ...given }: FreezeRequest): void {
  const problem =
    reason.trim() === '' || reason.length > LONGEST_REASON
      ? `say why, in at most ${LONGEST_REASON} characters: \`reason\``
      : [tools, agents, people].some((names) => names.length > MOST_NAMES)
        ? `at most ${MOST_NAMES} names of a kind`
        : undefined;
  if (problem !== undefined) throw new UsageError('invalid-options', given, `Nothing was frozen: ${problem}.`);
}

function notAllowed(what: string, why: string): UsageError {
  return new UsageError('not-allowed', { status: 403 }, `Nothing was ${what}: ${why}`);
}

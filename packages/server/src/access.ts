// Access: who can read, steer and decide what. To a person without access, a run does not exist.
import { type Countersign, type RunRequest, UsageError } from 'countersign';
import { EVERYTHING, type Missing, type Who } from 'countersign/request';
import { type Deciders, internalsOf, type RequestListOptions, type RunRecord, shownAgent } from 'countersign/store';
import { namesDeciders, requestCard, type VoteRights, type Voter, voteRights } from 'countersign/ui';
import { PeopleNames, peopleOn } from './identity/names.ts';
import type { Person } from './identity/person.ts';
import type { Log } from './log.ts';
import { withoutBytes } from './preview-files.ts';
import type { ApiRequest, Assignee } from './schemas/request.ts';

/** Identifies a run and its owner without reading the run. */
export type RunReference = Pick<RunRecord, 'id' | 'agent' | 'startedBy'>;

/** Decides access; each policy defaults to the person who started the run. Anything but `true`, also an error, is a no. */
export type Policies = {
  /** Allows reading a run with its requests and messages. Default: its starter, and everyone who can decide in it. */
  readonly mayRead?: (run: RunReference, person: Person) => boolean | Promise<boolean>;
  /** Allows sending messages to a run, cancelling and resuming it. Default: its starter. */
  readonly maySteer?: (run: RunReference, person: Person) => boolean | Promise<boolean>;
};

/** How many requests are read at once. */
const PAGE_SIZE = 200;
/** How many owners of runs are cached. */
const MAX_REFERENCES = 10_000;
/** How long a read is shared with other streams. */
const SHARED_MS = 100;
/** Greater than any event's number, so that only the record of the run is read. */
const NO_EVENTS = 2_147_483_647;

export class Access {
  readonly #ai: Countersign;
  readonly #policies: Policies;
  readonly #log: Log;
  readonly names: PeopleNames;
  /** The owner of a run never changes, so it is cached. */
  readonly #references = new Map<string, RunReference>();
  /** By the person of a request. */
  readonly #voters = new WeakMap<Person, Promise<readonly Voter[]>>();
  readonly #questionReads: SharedReads<readonly RunRequest[]> = new Map();
  readonly #referenceReads: SharedReads<RunReference | undefined> = new Map();

  constructor(ai: Countersign, policies: Policies, log: Log) {
    this.#ai = ai;
    this.#policies = policies;
    this.#log = log;
    this.names = new PeopleNames(ai, log);
  }

  /** The `startedBy` filter of runs for this person, if the store can filter by it. */
  ownRuns(person: Person): string | undefined {
    return person.reach === 'all' || this.#policies.mayRead ? undefined : person.id;
  }

  /**
   * Selects the requests that this person can see: of their runs, and those that name them or a person whom they stand in for.
   * Undefined if only a function knows. A superset: each request is still checked.
   */
  async mine(person: Person): Promise<RequestListOptions['deciders']> {
    if (person.reach === 'all' || this.#policies.mayRead) return undefined;
    return { ...(await this.named(person)), startedBy: person.id };
  }

  /** The names by which a request asks this person: their id, those of the people whom they stand in for, and their roles. */
  async named(person: Person): Promise<Deciders> {
    const voters = person.scopes.includes('decide') ? await this.#votersFor(person) : [];
    const people = voters.flatMap(({ by, onBehalfOf }) => [by, onBehalfOf]).filter((id) => typeof id === 'string');
    const roles = voters.flatMap((voter) => voter.roles ?? []);
    return { people: [...new Set(people)], roles: [...new Set(roles)] };
  }

  /** The person, with the roles of their sign-in and of the directory, and those whom they stand in for. Asked once per request. */
  #votersFor(person: Person): Promise<readonly Voter[]> {
    const known = this.#voters.get(person);
    if (known !== undefined) return known;
    const asked = internalsOf(this.#ai.runs)
      .votersFor(person.id, rolesOf(person))
      .catch((error: unknown): readonly Voter[] => {
        // The person was removed.
        if (error instanceof UsageError && error.code === 'not-allowed') return [];
        this.#log('error', 'people', { error });
        return [{ by: person.id, roles: rolesOf(person) }];
      });
    this.#voters.set(person, asked);
    return asked;
  }

  /** What the policy of a request lets this person do. */
  async #rights({ policies, progress, requesters }: ApiRequest, person: Person): Promise<VoteRights> {
    return voteRights(policies, ballotOf(progress, requesters), await this.#votersFor(person));
  }

  mayRead(run: RunReference, person: Person): Promise<boolean> {
    return this.#says('mayRead', () => (this.#policies.mayRead ?? isOwn)(run, person));
  }

  async maySteer(run: RunReference, person: Person): Promise<boolean> {
    if (!person.scopes.includes('start')) return false;
    return this.#says('maySteer', () => (this.#policies.maySteer ?? isOwn)(run, person));
  }

  async mayDecide(request: ApiRequest, person: Person): Promise<boolean> {
    if (!person.scopes.includes('decide')) return false;
    if (!(await this.#rights(request, person)).mayVote) return false;
    const { mayRead } = this.#policies;
    const { runId: id, agent, startedBy, policies } = request;
    // A process without this server may have made the request, so that its policies name nobody. What `mayRead` hides cannot be decided.
    const isAsked = policies.some(namesDeciders) || isOwn(request, person);
    return isAsked && (mayRead === undefined || this.mayRead({ id, agent, startedBy }, person));
  }

  /** Whether the policies of its requests alone say who decides them; without a run, whether this person may decide at all. */
  async mayDecideIn(run: RunReference | undefined, person: Person): Promise<boolean> {
    if (!person.scopes.includes('decide')) return false;
    if (!run || isOwn(run, person)) return true;
    const { items, cursor } = await this.#ai.runs.requests({ runId: run.id, settled: false, limit: PAGE_SIZE });
    return cursor === null && items.every(({ policies }) => policies.some(namesDeciders));
  }

  async #says(policy: keyof Policies, ask: () => boolean | Promise<boolean>): Promise<boolean> {
    try {
      return (await ask()) === true;
    } catch (error) {
      this.#log('error', 'policy', { policy, error });
      return false;
    }
  }

  /** Throws `unknown-run` if it does not exist or this person cannot read it. */
  async readable(runId: string, person: Person): Promise<RunReference> {
    const run = await this.reference(runId);
    if (run && (await this.sees(run, person))) return run;
    throw new UsageError('unknown-run', { runId }, `Run ${runId} not found.`);
  }

  /** Throws `not-allowed` if this person can read but not steer it, `unknown-run` if they cannot read it. */
  async steerable(runId: string, person: Person): Promise<RunReference> {
    const run = await this.readable(runId, person);
    if (await this.maySteer(run, person)) return run;
    throw new UsageError(
      'not-allowed',
      { status: 403, runId },
      `${person.id} can read run ${runId} but not change it.`,
    );
  }

  /** People who can decide a request of a run can read the run. `revision`: the hub's number, for streams. */
  async sees(run: RunReference, person: Person, revision?: number): Promise<boolean> {
    if (await this.mayRead(run, person)) return true;
    const items = await shared(this.#questionReads, run.id, revision, () => this.#questions(run.id));
    for (const item of items) if (await this.mayDecide(this.#whole(item, null, person), person)) return true;
    return false;
  }

  async #questions(runId: string): Promise<readonly RunRequest[]> {
    const found: RunRequest[] = [];
    for (const settled of [false, true])
      for (let cursor: string | null | undefined; cursor !== null && found.length < 2 * PAGE_SIZE; ) {
        const page = await this.#ai.runs.requests({ runId, settled, limit: PAGE_SIZE, ...(cursor && { cursor }) });
        found.push(...page.items);
        cursor = page.cursor;
      }
    return found;
  }

  /** Reads a request for this person. Throws `unknown-request` if it does not exist or they cannot see it. */
  async request(id: string, person: Person): Promise<ApiRequest> {
    const seen = await this.find(id, person);
    if (seen) return seen;
    throw new UsageError('unknown-request', { requestId: id }, `Interrupt ${id} not found.`);
  }

  /** The request; undefined if it does not exist or this person cannot see it. Its run may have been deleted. */
  async find(id: string, person: Person): Promise<ApiRequest | undefined> {
    const found = await this.#ai.runs.request(id).catch((error: unknown) => {
      if (error instanceof UsageError && error.code === 'unknown-request') return undefined;
      throw error;
    });
    return found && this.seen(found, person, null);
  }

  /** The request as this person sees it; undefined if they cannot. */
  async seen(request: RunRequest, person: Person, assignee: Assignee | null): Promise<ApiRequest | undefined> {
    const card = await this.card(request, person, assignee);
    const { runId: id, agent, startedBy } = request;
    const sees = (await this.mayRead({ id, agent, startedBy }, person)) || (await this.mayDecide(card, person));
    return sees ? card : undefined;
  }

  async card(request: RunRequest, person: Person, assignee: Assignee | null): Promise<ApiRequest> {
    const card = this.#whole(request, assignee, person);
    const mayDecide = card.status === 'pending' && (await this.mayDecide(card, person));
    const { mayApprove } = await this.#rights(card, person);
    const allows = mayApprove ? card.allows : card.allows.filter((verb) => verb !== 'approve');
    const outOfReach = card.progress && card.status === 'pending' ? await this.#outOfReach(request) : [];
    const progress = outOfReach.length > 0 && card.progress ? { ...card.progress, outOfReach } : card.progress;
    return { ...card, progress, allows, mayDecide, names: await this.names.of(peopleOn(card)) };
  }

  #outOfReach(request: RunRequest): Promise<readonly Missing[]> {
    return internalsOf(this.#ai.runs)
      .outOfReach(request)
      .catch((error: unknown) => {
        this.#log('error', 'people', { error });
        return [];
      });
  }

  #whole(request: RunRequest, assignee: Assignee | null, person: Person): ApiRequest {
    return wholeCard(this.#ai, request, { person: person.id, assignee });
  }

  /** Undefined if the run does not exist. `revision`: the hub's number, for streams. */
  async reference(runId: string, revision?: number): Promise<RunReference | undefined> {
    return (
      this.#references.get(runId) ?? shared(this.#referenceReads, runId, revision, () => this.#readReference(runId))
    );
  }

  async #readReference(runId: string): Promise<RunReference | undefined> {
    const loaded = await internalsOf(this.#ai.runs).find(runId, { after: NO_EVENTS });
    if (!loaded) return undefined;
    const { id, startedBy } = loaded.run;
    const agent = shownAgent(loaded.run.agent);
    if (this.#references.size >= MAX_REFERENCES) this.#references.clear();
    const run = { id, agent, startedBy };
    this.#references.set(id, run);
    return run;
  }
}

/** The people with a part in the request, as far as the card names them. Only an editor matters here; the engine counts again. */
function ballotOf(progress: ApiRequest['progress'], requesters: readonly string[]): Parameters<typeof voteRights>[1] {
  const edits = (progress?.votes ?? []).filter(({ isEdit }) => isEdit);
  const votes = edits.map(({ by, onBehalfOf, type }) => ({
    by,
    ...(onBehalfOf !== null && { onBehalfOf }),
    decision: { type, edit: true },
  }));
  return { votes, requesters, escalatedTo: progress?.escalatedTo ?? [] };
}

/** The card of a request, with its run and its assignee. */
export function wholeCard(
  ai: Countersign,
  request: RunRequest,
  { person, assignee = null, mayDecide = false }: CardOptions,
): ApiRequest {
  const card = requestCard(request, ai.agents.get(request.agent), mayDecide, person);
  const [preview, earlierPreview] = [card.preview, card.earlierPreview].map(withoutBytes);
  return { ...card, preview: preview ?? null, earlierPreview: earlierPreview ?? null, assignee };
}

type CardOptions = { readonly person: string; readonly assignee?: Assignee | null; readonly mayDecide?: boolean };

/** The roles with which a person votes. */
export const rolesOf = ({ reach, roles }: Pick<Person, 'reach' | 'roles'>): readonly string[] => [
  ...roles.filter((role) => role !== EVERYTHING),
  ...(reach === 'all' ? [EVERYTHING] : []),
];

/** By default, the one who asked decides. */
export const defaultDeciders = ({ startedBy }: { readonly startedBy: string | null }): Who => ({
  people: startedBy === null ? [] : [startedBy],
  roles: [EVERYTHING],
});

/** Only the default of a server names deciders of the request. */
export const isByDefault = ({ policies }: Pick<RunRequest, 'policies'>): boolean =>
  policies.filter(namesDeciders).every(({ deciders }) => deciders?.roles?.includes(EVERYTHING));

type SharedReads<T> = Map<string, Promise<T>>;

/** All streams ask this at once when a run has changed: they share one read that began after the change. */
function shared<T>(
  reads: SharedReads<T>,
  runId: string,
  revision: number | undefined,
  read: () => Promise<T>,
): Promise<T> {
  if (revision === undefined) return read();
  const key = `${revision}:${runId}`;
  const known = reads.get(key);
  if (known !== undefined) return known;
  const reading = read().finally(() => setTimeout(() => reads.delete(key), SHARED_MS).unref());
  reads.set(key, reading);
  return reading;
}

const isOwn = (run: Pick<RunReference, 'startedBy'>, person: Person): boolean =>
  person.reach === 'all' || run.startedBy === person.id;

// Who may read, steer and decide what. Whoever may not read a thing is told that there is no such thing.
import { type Countersign, type RunInterrupt, type RunRecord, UsageError } from 'countersign';
import { interruptCard } from 'countersign/ui';
import type { Person } from './identity/person.ts';
import type { Claim, Interrupt } from './schemas/interrupt.ts';
import type { Log } from './telemetry/log.ts';

/** Whose run it is; known without reading the run. */
export type RunReference = Pick<RunRecord, 'id' | 'agent' | 'startedBy'>;

/**
 * Who may do what; each has a default that looks at who started the run. Only `true` is a yes, and one that throws has said
 * no.
 */
export type Policies = {
  /** Who may read a run, its questions and its conversation: the one who started it, and those who may decide in it. */
  readonly mayRead?: (run: RunReference, person: Person) => boolean | Promise<boolean>;
  /** Who may speak in a run, cancel it and drive it on: the one who started it. */
  readonly maySteer?: (run: RunReference, person: Person) => boolean | Promise<boolean>;
  /** Who may decide a question: the one who started the run, unless `mayRead` keeps it from them. */
  readonly mayDecide?: (interrupt: Interrupt, person: Person) => boolean | Promise<boolean>;
};

/** How many a policy looks at in one go. */
const LOOK = 200;
/** How long such a look is kept for others who follow. */
const LOOK_MS = 100;
/** How many are looked at for one page; after that a shorter page is given, with its cursor. */
const MOST = 2_000;
/** Beyond every event: only the record of the run is read. */
const NO_EVENTS = 2_147_483_647;

export class Access {
  readonly #ai: Countersign;
  readonly #policies: Policies;
  readonly #log: Log;
  /** Whose run it is never changes, so it is asked for once; the oldest are forgotten. */
  readonly #references = new Map<string, RunReference>();
  readonly #looks: Looks<readonly RunInterrupt[]> = new Map();
  readonly #finds: Looks<RunReference | undefined> = new Map();

  constructor(ai: Countersign, policies: Policies, log: Log) {
    this.#ai = ai;
    this.#policies = policies;
    this.#log = log;
  }

  /** The only runs that this person may see, if that can be said to the store. */
  ownOnly(person: Person, what: 'runs' | 'interrupts'): string | undefined {
    const { mayRead, mayDecide } = this.#policies;
    if (person.reach === 'all' || mayRead) return undefined;
    return what === 'interrupts' && mayDecide ? undefined : person.id;
  }

  mayRead(run: RunReference, person: Person): Promise<boolean> {
    return this.#says('mayRead', () => (this.#policies.mayRead ?? isOwn)(run, person));
  }

  async maySteer(run: RunReference, person: Person): Promise<boolean> {
    if (!person.scopes.includes('start')) return false;
    return this.#says('maySteer', () => (this.#policies.maySteer ?? isOwn)(run, person));
  }

  async mayDecide(interrupt: Interrupt, person: Person): Promise<boolean> {
    if (!person.scopes.includes('decide')) return false;
    const { mayDecide } = this.#policies;
    if (mayDecide) return this.#says('mayDecide', () => mayDecide(interrupt, person));
    const { runId: id, agent, startedBy } = interrupt;
    // Nobody decides what a policy keeps from them.
    return isOwn(interrupt, person) && this.mayRead({ id, agent, startedBy }, person);
  }

  /** Only a plain yes is one, and a policy that throws has not said yes. */
  async #says(policy: keyof Policies, ask: () => boolean | Promise<boolean>): Promise<boolean> {
    try {
      return (await ask()) === true;
    } catch (error) {
      this.#log('error', 'policy', { policy, error });
      return false;
    }
  }

  /** Throws `unknown-run` if there is none that this person may read. */
  async readable(runId: string, person: Person): Promise<RunReference> {
    const run = await this.reference(runId);
    if (run && (await this.sees(run, person))) return run;
    throw new UsageError('unknown-run', { runId }, `There is no run ${runId}.`);
  }

  /** Throws `unknown-run` as well if the person may not even read it. */
  async steerable(runId: string, person: Person): Promise<RunReference> {
    const run = await this.readable(runId, person);
    if (await this.maySteer(run, person)) return run;
    throw new UsageError('not-allowed', { status: 403, runId }, `${person.id} may read ${runId}, but not steer it.`);
  }

  /** Whoever may decide a question of a run may read the run. `news`: of the hub, for those who follow. */
  async sees(run: RunReference, person: Person, news?: number): Promise<boolean> {
    if (await this.mayRead(run, person)) return true;
    if (!this.#policies.mayDecide) return false;
    const items = await shared(this.#looks, run.id, news, () => this.#questions(run.id));
    for (const item of items) if (await this.mayDecide(this.#whole(item, null), person)) return true;
    return false;
  }

  async #questions(runId: string): Promise<readonly RunInterrupt[]> {
    const both = [false, true].map((settled) => this.#ai.runs.interrupts({ runId, settled, limit: LOOK }));
    return (await Promise.all(both)).flatMap(({ items }) => items);
  }

  /** The question as this person sees it, or undefined if they may not. */
  async seen(interrupt: RunInterrupt, person: Person, claim: Claim | null): Promise<Interrupt | undefined> {
    const card = await this.card(interrupt, person, claim);
    const { runId: id, agent, startedBy } = interrupt;
    const sees = (await this.mayRead({ id, agent, startedBy }, person)) || (await this.mayDecide(card, person));
    return sees ? card : undefined;
  }

  async card(interrupt: RunInterrupt, person: Person, claim: Claim | null): Promise<Interrupt> {
    const card = this.#whole(interrupt, claim);
    return { ...card, mayDecide: card.status === 'pending' && (await this.mayDecide(card, person)) };
  }

  #whole(interrupt: RunInterrupt, claim: Claim | null): Interrupt {
    const { runId, agent, startedBy } = interrupt;
    const card = interruptCard(interrupt, this.#ai.agents.get(agent), false);
    return { ...card, runId, agent, startedBy, claim };
  }

  /** Undefined if there is no such run. `news`: of the hub, for those who follow. */
  async reference(runId: string, news?: number): Promise<RunReference | undefined> {
    return this.#references.get(runId) ?? shared(this.#finds, runId, news, () => this.#find(runId));
  }

  async #find(runId: string): Promise<RunReference | undefined> {
    const loaded = await this.#ai.runs.find(runId, { after: NO_EVENTS });
    if (!loaded) return undefined;
    const { id, agent, startedBy } = loaded.run;
    if (this.#references.size >= 10_000) {
      const [oldest] = this.#references.keys();
      if (oldest !== undefined) this.#references.delete(oldest);
    }
    const run = { id, agent, startedBy };
    this.#references.set(id, run);
    return run;
  }
}

type Looks<T> = Map<string, Promise<T>>;

/** Everybody who follows asks this at once when a run has changed: they share one look that began after the change. */
function shared<T>(looks: Looks<T>, runId: string, news: number | undefined, look: () => Promise<T>): Promise<T> {
  if (news === undefined) return look();
  const key = `${news}:${runId}`;
  const known = looks.get(key);
  if (known !== undefined) return known;
  const begun = look().finally(() => setTimeout(() => looks.delete(key), LOOK_MS).unref());
  looks.set(key, begun);
  return begun;
}

const isOwn = (run: Pick<RunReference, 'startedBy'>, person: Person): boolean =>
  person.reach === 'all' || run.startedBy === person.id;

type Page<T> = { readonly items: readonly T[]; readonly cursor: string | null };

/** A page of those that `keep` lets through. It may be short, even empty, and still have a cursor. */
export async function keptPage<T, Kept>(
  load: (options: { readonly cursor?: string; readonly limit: number }) => Promise<Page<T>>,
  { cursor, limit }: { readonly cursor: string | undefined; readonly limit: number },
  keep: (items: readonly T[]) => Promise<readonly (Kept | undefined)[]> | readonly (Kept | undefined)[],
): Promise<Page<Kept>> {
  const kept: Kept[] = [];
  let from = cursor;
  let size = limit;
  for (let looked = 0; looked < MOST; ) {
    const room = limit - kept.length;
    let [page, found] = await look(Math.max(size, room), from);
    // The cursor belongs to the last of a page: of one that has too many, only so many are taken as there is room for.
    if (found.length > room) [page, found] = await look(room, from);
    // Where little is let through, more is looked at in one go.
    size = Math.min(LOOK, size * 2);
    looked += Math.max(1, page.items.length);
    kept.push(...found);
    if (page.cursor === null || kept.length >= limit) return { items: kept, cursor: page.cursor };
    from = page.cursor;
    // SQLite answers at once: without a turn in between, nothing else would happen until thousands were looked at.
    await new Promise(setImmediate);
  }
  return { items: kept, cursor: from ?? null };

  async function look(most: number, after: string | undefined): Promise<readonly [Page<T>, readonly Kept[]]> {
    const page = await load({ limit: most, ...(after !== undefined && { cursor: after }) });
    return [page, (await keep(page.items)).filter((item) => item !== undefined)];
  }
}

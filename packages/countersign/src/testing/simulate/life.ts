// One schedule: the store, the processes that come and go, and the people and programs that call them.
import type { Store } from '../../runs/port/store.ts';
import { Chance } from './chance.ts';
import { type Link, remoteStore } from './network.ts';
import { here, Machine, Timeline } from './timeline.ts';
import { CALM, type Weather, weatherOf } from './weather.ts';
import { World } from './world.ts';

/** A process that runs the program under test. `release`: which version of the program it is. */
export type Node<App> = { readonly link: Link; readonly machine: Machine; readonly app: App; readonly release: number };

/** What came of a call to a process. `silence`: it died, or its answer was lost. */
export type Answer<T> =
  | { readonly status: 'done'; readonly value: T }
  | { readonly status: 'refused'; readonly error: unknown }
  | { readonly status: 'silence' };

export type LifeOptions<App> = {
  readonly seed: number;
  readonly makeStore: (now: () => number, hold: Timeline['hold']) => Store;
  /** Starts the program on a process. */
  readonly open: (life: Life<App>, node: Omit<Node<App>, 'app'> & { readonly store: Store }) => App;
  /** Stops it cleanly. */
  readonly stop: (app: App) => Promise<unknown>;
  readonly processes: number;
  readonly leaseMs: number;
  readonly weather?: Weather;
};

/** How long a process may take to stop. */
const STOP_MS = 60_000;

export class Life<App> {
  readonly options: LifeOptions<App>;
  readonly chance: Chance;
  readonly timeline: Timeline;
  readonly world = new World();
  readonly server: Machine;
  readonly store: Store;
  /** What the program must not do. */
  readonly problems: string[] = [];
  weather: Weather;
  #nodes: Node<App>[] = [];
  /** They have successors already. */
  readonly #stopping = new Set<Machine>();
  readonly #cutUntil = new Map<Machine, number>();
  /** How often a process died. */
  deaths = 0;
  /** From then on, no process is frozen. */
  #awakeAt = 0;
  /** How often a process was asked to stop cleanly. */
  stops = 0;
  #booted = 0;
  #release = 0;

  constructor(options: LifeOptions<App>) {
    this.options = options;
    this.chance = new Chance(options.seed);
    this.timeline = new Timeline(this.chance);
    this.server = new Machine('store', this.timeline);
    this.weather = options.weather ?? weatherOf(this.chance, options.leaseMs);
    this.store = here.run(this.server, () => options.makeStore(() => this.server.wallClock(), this.timeline.hold));
    for (let count = 0; count < options.processes; count += 1) this.#boot();
    this.#disturb();
  }

  get nodes(): readonly Node<App>[] {
    return this.#nodes;
  }

  /** No more faults: what is dead comes back, what is cut off is joined, and an odd release is replaced. Clocks stay wrong. */
  calm(): void {
    this.weather = { ...CALM, skewMs: this.weather.skewMs };
    this.#cutUntil.clear();
    if (this.#release % 2 === 1) this.deploy(this.#release + 1);
  }

  /** Calls a process as a client does: over a network, with limited patience. */
  async ask<T>(what: string, work: (app: App, node: Node<App>) => Promise<T>, patienceMs = 20_000): Promise<Answer<T>> {
    const alive = this.#nodes.filter(({ machine }) => machine.isAlive);
    if (alive.length === 0) return { status: 'silence' };
    const node = this.chance.pick(alive);
    const { timeline } = this;
    const client = here.getStore();
    return new Promise((resolve) => {
      timeline.after(patienceMs, client, '', () => resolve({ status: 'silence' }));
      const answer = (answered: Answer<T>) => {
        if (this.chance.is(this.weather.lostAnswer)) return;
        timeline.after(this.chance.delay(this.weather.networkMs), client, '', () => resolve(answered));
      };
      timeline.after(this.chance.delay(this.weather.networkMs), node.machine, `<- ${what}`, () => {
        work(node.app, node).then(
          (value) => answer({ status: 'done', value }),
          (error: unknown) => answer({ status: 'refused', error }),
        );
      });
    });
  }

  /** Runs the work of a person or a program that never fails. */
  actor(name: string, work: () => Promise<void>): void {
    const machine = new Machine(name, this.timeline);
    this.timeline.after(this.chance.between(0, 50), machine, 'begins', () => {
      work().catch((error: unknown) => this.problems.push(`${name} failed: ${(error as Error)?.stack ?? error}`));
    });
  }

  pause(ms: number): Promise<void> {
    return this.timeline.pause(ms, here.getStore());
  }

  kill(machine: Machine): void {
    if (!machine.isAlive) return;
    this.timeline.note(`${machine.name} DIES`);
    machine.isAlive = false;
    this.deaths += 1;
    if (this.#stopping.has(machine)) return;
    this.timeline.after(this.chance.between(10, 2 * this.options.leaseMs), undefined, '', () => {
      this.#nodes = this.#nodes.filter((node) => node.machine !== machine);
      this.#boot();
    });
  }

  #boot(): void {
    this.#booted += 1;
    const machine = new Machine(`p${this.#booted}`, this.timeline);
    const { skewMs } = this.weather;
    if (skewMs > 0) machine.skew = Math.round(this.chance.between(-skewMs, skewMs));
    const link: Link = {
      machine,
      server: this.server,
      weather: () => this.weather,
      isCut: () => (this.#cutUntil.get(machine) ?? 0) > this.timeline.now,
      die: () => this.kill(machine),
      freeze: () => this.#freeze(machine),
    };
    this.timeline.note(`${machine.name} STARTS with release ${this.#release}`);
    const store = remoteStore(this.store, link);
    const node = { link, machine, release: this.#release };
    const app = here.run(machine, () => this.options.open(this, { ...node, store }));
    this.#nodes.push({ ...node, app });
  }

  #freeze(machine: Machine): void {
    const ms = this.chance.delay(this.weather.freezeMs);
    const until = this.timeline.now + ms;
    if (machine.frozenUntil >= until) return;
    this.timeline.note(`${machine.name} FREEZES for ${ms.toFixed(0)} ms`);
    machine.frozenUntil = until;
    this.#awakeAt = Math.max(this.#awakeAt, until);
    // The monotonic clock of a computer that sleeps stops; that of a process that is stopped does not.
    if (!this.chance.is(0.3) || machine.clocks === 'jumps') return;
    machine.clocks = 'sleeps';
    this.timeline.after(ms - 0.001, undefined, '', () => {
      machine.slept += ms;
    });
  }

  /** So long no process has been frozen, in milliseconds. */
  get awakeMs(): number {
    return this.timeline.now - this.#awakeAt;
  }

  /** Faults that come by themselves. */
  #disturb(): void {
    const { chance } = this;
    const everyMs = 1_000;
    const look = () => {
      const { jump, partition, deploy, freeze, crash } = this.weather;
      for (const { machine } of this.#nodes) {
        if (chance.is(jump) && machine.clocks !== 'sleeps') {
          machine.skew += Math.round(chance.between(-60_000, 60_000));
          machine.clocks = 'jumps';
        }
        if (chance.is(partition)) this.#cut(machine);
        if (chance.is(freeze)) this.#freeze(machine);
        if (chance.is(crash)) this.kill(machine);
      }
      if (chance.is(deploy)) this.deploy(this.#release + 1);
      this.timeline.after(everyMs, undefined, '', look);
    };
    this.timeline.after(everyMs, undefined, '', look);
  }

  /** Replaces all processes, one after the other. Some stop cleanly, some are killed. */
  deploy(release: number): void {
    this.#release = release;
    this.timeline.note(`DEPLOY of release ${release}`);
    for (const node of this.#nodes)
      this.timeline.after(this.chance.between(0, this.options.leaseMs), undefined, '', () => {
        if (this.chance.is(0.6)) this.#replace(node);
        else this.kill(node.machine);
      });
  }

  /** A new process takes over while the old one stops cleanly, as in a rolling deploy. One that takes too long is killed. */
  #replace({ machine, app }: Node<App>): void {
    if (!machine.isAlive || this.#stopping.has(machine)) return;
    this.timeline.note(`${machine.name} STOPS`);
    this.stops += 1;
    this.#stopping.add(machine);
    this.#nodes = this.#nodes.filter((node) => node.machine !== machine);
    this.#boot();
    const end = (what: string) => {
      if (!machine.isAlive) return;
      this.timeline.note(`${machine.name} ${what}`);
      machine.isAlive = false;
    };
    this.timeline.after(STOP_MS, undefined, '', () => end('IS KILLED'));
    here
      .run(machine, () => this.options.stop(app))
      .then(
        () => end('HAS STOPPED'),
        () => end('FAILED TO STOP'),
      );
  }

  #cut(machine: Machine): void {
    const ms = this.chance.delay(this.options.leaseMs);
    this.timeline.note(`${machine.name} IS CUT OFF for ${ms.toFixed(0)} ms`);
    this.#cutUntil.set(machine, this.timeline.now + ms);
  }
}

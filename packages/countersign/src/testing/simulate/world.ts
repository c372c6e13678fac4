// The outside world: what tools did there, which cannot be undone, and what is still under way.
import type { Json } from '../../core/json.ts';
import { type Link, never } from './network.ts';

/** Something that happened outside and cannot be undone. */
export type SimulatedEffect = {
  readonly name: string;
  /** The `idempotencyKey` of the call that did it. */
  readonly key: string;
  readonly input: Json;
  readonly output: Json;
  /** When it happened, in milliseconds since the schedule began. */
  readonly at: number;
  /** The process that did it. */
  readonly process: string;
  /** The receiver ignores repeated keys, so a second time is harmless. */
  readonly repeatable: boolean;
};

export type EffectOptions = {
  readonly repeatable?: boolean;
  readonly input?: Json;
  /** The receiver refuses it after this time since the schedule began. */
  readonly until?: number;
  /** How long it may be on its way at the most, if that is long. */
  readonly slowMs?: number;
};

/** Around an effect, a crash or a freeze tells most, so there are more of them. */
const AROUND_EFFECTS = 20;

export class World {
  readonly effects: SimulatedEffect[] = [];
  /** The effects that are on their way, by their keys. */
  readonly #underWay = new Map<string, number>();
  /** The bodies that still may act, by the keys of their calls. */
  readonly #bodies = new Map<string, Set<() => boolean>>();

  /** Sends an effect. It may happen after its process has died. */
  send(link: Link, name: string, key: string, output: Json, options: EffectOptions = {}): Promise<Json> {
    const { machine, weather, die, freeze, server } = link;
    if (!machine.isAlive) return never();
    const { timeline } = machine;
    const { chance } = timeline;
    const dies = chance.is(AROUND_EFFECTS * weather().crash) ? chance.pick(['before', 'after'] as const) : undefined;
    if (dies === 'before') {
      die();
      return never();
    }
    const { repeatable = false, input = null, until = Number.POSITIVE_INFINITY, slowMs = 0 } = options;
    const onItsWayMs = slowMs > 0 && chance.is(0.3) ? chance.between(0, slowMs) : chance.delay(5);
    this.#count(key, 1);
    return new Promise((resolve, reject) => {
      timeline.after(onItsWayMs, server, `EFFECT ${name} ${key}`, () => {
        this.#count(key, -1);
        const isKnown = repeatable && this.effects.some((effect) => effect.name === name && effect.key === key);
        const isLate = timeline.now > until;
        if (!isKnown && !isLate)
          this.effects.push({ name, key, input, output, at: timeline.now, process: machine.name, repeatable });
        timeline.after(chance.delay(5), machine, `knows of ${name}`, () => {
          if (chance.is(AROUND_EFFECTS * weather().freeze)) freeze();
          if (isLate) reject(new Error(`${name} came too late.`));
          else resolve(output);
        });
      });
      if (dies === 'after') die();
    });
  }

  /** Remembers that a body runs until it returns or its process dies. Its process may freeze as it begins. */
  async during<T>({ machine, weather, freeze }: Link, key: string, body: () => Promise<T>): Promise<T> {
    const mayAct = () => machine.isAlive;
    if (machine.timeline.chance.is(AROUND_EFFECTS * weather().freeze)) freeze();
    const bodies = this.#bodies.get(key) ?? new Set();
    this.#bodies.set(key, bodies.add(mayAct));
    try {
      return await body();
    } finally {
      bodies.delete(mayAct);
    }
  }

  /** Whether something of this call may still happen: its body runs, or its effect is on its way. */
  isUnderWay(key: string): boolean {
    if ((this.#underWay.get(key) ?? 0) > 0) return true;
    return [...(this.#bodies.get(key) ?? [])].some((mayAct) => mayAct());
  }

  #count(key: string, by: number): void {
    this.#underWay.set(key, (this.#underWay.get(key) ?? 0) + by);
  }
}

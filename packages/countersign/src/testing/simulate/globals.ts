// Replaces the timers, clocks and random numbers of this process for code that runs on a simulated machine. Other code keeps the real
// ones: test runners, and whatever else runs in this process.
import { AsyncLocalStorage } from 'node:async_hooks';
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers';
import timersPromises from 'node:timers/promises';
import { type Event, here, type Machine } from './timeline.ts';

type Callback = (...given: unknown[]) => void;

/** What `setTimeout` and the like return on a simulated machine. */
class SimulatedTimer {
  readonly #machine: Machine;
  readonly #ms: number;
  readonly #work: () => void;
  readonly #repeats: boolean;
  #event: Event;

  constructor(machine: Machine, kind: string, ms: number, work: () => void, repeats: boolean) {
    this.#machine = machine;
    this.#ms = ms;
    this.#work = AsyncLocalStorage.bind(work);
    this.#repeats = repeats;
    this.#event = this.#wait(kind);
  }

  #wait(kind: string): Event {
    return this.#machine.timeline.after(this.#ms, this.#machine, kind, () => {
      if (this.#repeats) this.#event = this.#wait(kind);
      this.#work();
    });
  }

  stop(): void {
    this.#event.isCancelled = true;
  }

  close(): this {
    this.stop();
    return this;
  }

  refresh(): this {
    this.stop();
    this.#event = this.#wait('timer');
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  hasRef(): boolean {
    return true;
  }

  [Symbol.dispose](): void {
    this.stop();
  }
}

const real = {
  setTimeout: globalThis.setTimeout,
  setInterval: globalThis.setInterval,
  setImmediate: globalThis.setImmediate,
  clearTimeout: globalThis.clearTimeout,
  clearInterval: globalThis.clearInterval,
  clearImmediate: globalThis.clearImmediate,
  Date: globalThis.Date,
  now: performance.now.bind(performance),
  random: Math.random,
  timeout: AbortSignal.timeout.bind(AbortSignal),
  delay: timersPromises.setTimeout,
  immediate: timersPromises.setImmediate,
  randomUUID: crypto.randomUUID,
  webUUID: globalThis.crypto.randomUUID.bind(globalThis.crypto),
  getRandomValues: globalThis.crypto.getRandomValues.bind(globalThis.crypto),
  randomFillSync: crypto.randomFillSync,
  randomBytes: crypto.randomBytes,
};

const timer = (kind: 'setTimeout' | 'setInterval') =>
  function later(work: Callback, ms = 1, ...given: unknown[]): unknown {
    const machine = here.getStore();
    if (!machine) return real[kind](work, ms, ...given);
    const call = () => work(...given);
    return new SimulatedTimer(machine, 'timer', Math.max(1, Number(ms) || 0), call, kind === 'setInterval');
  };

function immediate(work: Callback, ...given: unknown[]): unknown {
  const machine = here.getStore();
  return machine
    ? new SimulatedTimer(machine, 'immediate', 0, () => work(...given), false)
    : real.setImmediate(work, ...given);
}

const clear = (kind: 'clearTimeout' | 'clearInterval' | 'clearImmediate') =>
  function stop(given: unknown): void {
    if (given instanceof SimulatedTimer) given.stop();
    else real[kind](given as never);
  };

/** `setTimeout` and `setImmediate` of `node:timers/promises`. */
function waiting(machine: Machine, ms: number, value: unknown, signal?: AbortSignal): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const aborted = () => {
      waits.stop();
      reject(new DOMException('The operation was aborted', 'AbortError'));
    };
    const work = () => {
      signal?.removeEventListener('abort', aborted);
      resolve(value);
    };
    const waits = new SimulatedTimer(machine, ms === 0 ? 'immediate' : 'timer', ms, work, false);
    if (signal?.aborted) aborted();
    else signal?.addEventListener('abort', aborted, { once: true });
  });
}

type Waiting = { readonly signal?: AbortSignal };

const delay = (ms = 1, value?: unknown, options: Waiting = {}): Promise<unknown> => {
  const machine = here.getStore();
  return machine ? waiting(machine, Math.max(1, ms), value, options.signal) : real.delay(ms, value, options);
};
const immediateLater = (value?: unknown, options: Waiting = {}): Promise<unknown> => {
  const machine = here.getStore();
  return machine ? waiting(machine, 0, value, options.signal) : real.immediate(value, options);
};

const wallClock = (): number => here.getStore()?.wallClock() ?? real.Date.now();

const SimulatedDate: DateConstructor = new Proxy(real.Date, {
  apply: () => new real.Date(wallClock()).toString(),
  construct: (target, given, newTarget) =>
    Reflect.construct(
      target,
      given.length === 0 ? [wallClock()] : given,
      newTarget === SimulatedDate ? target : newTarget,
    ),
  get: (target, name) => (name === 'now' ? wallClock : Reflect.get(target, name)),
});

function timeout(ms: number): AbortSignal {
  const machine = here.getStore();
  if (!machine) return real.timeout(ms);
  const stopping = new AbortController();
  const abort = () => stopping.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError'));
  new SimulatedTimer(machine, 'timer', ms, abort, false);
  return stopping.signal;
}

function fill<T extends NodeJS.ArrayBufferView>(machine: Machine, view: T): T {
  machine.timeline.chance.fill(new Uint8Array(view.buffer, view.byteOffset, view.byteLength));
  return view;
}

function uuid(machine: Machine): string {
  const hex = Buffer.from(fill(machine, new Uint8Array(16))).toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`;
}

const drawn = {
  random: () => here.getStore()?.timeline.chance.next() ?? real.random(),
  randomUUID: (...given: []) => {
    const machine = here.getStore();
    return machine ? uuid(machine) : real.randomUUID(...given);
  },
  webUUID: () => {
    const machine = here.getStore();
    return machine ? uuid(machine) : real.webUUID();
  },
  getRandomValues: <T extends NodeJS.ArrayBufferView>(view: T): T => {
    const machine = here.getStore();
    return machine ? fill(machine, view) : (real.getRandomValues(view as never) as T);
  },
  randomFillSync: (view: NodeJS.ArrayBufferView, ...given: []) => {
    const machine = here.getStore();
    return machine ? fill(machine, view) : real.randomFillSync(view, ...given);
  },
  randomBytes: (size: number, ...given: []) => {
    const machine = here.getStore();
    return machine ? Buffer.from(fill(machine, new Uint8Array(size))) : real.randomBytes(size, ...given);
  },
};

/** What is replaced: where, under which name, by what. */
function replacements(): readonly (readonly [object, string, unknown])[] {
  const simulated = {
    setTimeout: timer('setTimeout'),
    setInterval: timer('setInterval'),
    setImmediate: immediate,
    clearTimeout: clear('clearTimeout'),
    clearInterval: clear('clearInterval'),
    clearImmediate: clear('clearImmediate'),
  };
  const ofTimers = [globalThis, timers].flatMap((place) =>
    Object.entries(simulated).map(([name, value]) => [place, name, value] as const),
  );
  return [
    ...ofTimers,
    [timersPromises, 'setTimeout', delay],
    [timersPromises, 'setImmediate', immediateLater],
    [globalThis, 'Date', SimulatedDate],
    [performance, 'now', () => here.getStore()?.steadyClock() ?? real.now()],
    [Math, 'random', drawn.random],
    [AbortSignal, 'timeout', timeout],
    [globalThis.crypto, 'randomUUID', drawn.webUUID],
    [globalThis.crypto, 'getRandomValues', drawn.getRandomValues],
    [crypto, 'randomUUID', drawn.randomUUID],
    [crypto, 'randomFillSync', drawn.randomFillSync],
    [crypto, 'randomBytes', drawn.randomBytes],
  ];
}

let inUse = 0;
let restore: readonly (() => void)[] = [];

/** Replaces them until the returned function is called. */
export function replaceGlobals(): () => void {
  inUse += 1;
  if (inUse === 1) {
    restore = replacements().map(([place, name, value]) => {
      const before = Object.getOwnPropertyDescriptor(place, name);
      Object.defineProperty(place, name, { value, configurable: true, writable: true });
      return () => {
        if (before) Object.defineProperty(place, name, before);
        else delete (place as Record<string, unknown>)[name];
      };
    });
    syncBuiltinESMExports();
  }
  return () => {
    inUse -= 1;
    if (inUse > 0) return;
    for (const undo of restore) undo();
    syncBuiltinESMExports();
  };
}

// Who works on what, across processes. The store tells of runs, not of claims: while somebody follows, one look at all
// claims each second finds what others took, gave up, or let lapse. Everybody who follows here shares it.
import type { Notes } from 'countersign';
import { claimVersions } from '../api/holds.ts';

export type ClaimWatchOptions = {
  readonly notes: Notes;
  /** Told of the question whose claim is another one now. */
  readonly changed: (interruptId: string) => void;
  readonly lookMs?: number;
};

const LOOK_MS = 1_000;
/** A look costs this part of the time at most, however many claims there are. */
const SHARE = 20;

export class ClaimWatch {
  readonly #options: ClaimWatchOptions;
  #followers = 0;
  #stopping: AbortController | undefined;
  #wake: (() => void) | undefined;
  #hurry = false;

  constructor(options: ClaimWatchOptions) {
    this.#options = options;
  }

  /** Claims are looked at until the returned function is called. */
  follow(): () => void {
    this.#followers += 1;
    if (!this.#stopping) {
      this.#stopping = new AbortController();
      void this.#watch(this.#stopping.signal);
    }
    return () => {
      this.#followers -= 1;
      if (this.#followers > 0) return;
      this.#stopping?.abort();
      this.#stopping = undefined;
      this.#wake?.();
    };
  }

  /** A claim was changed here: those who follow hear of it now, not with the next look. */
  look(): void {
    this.#hurry = true;
    this.#wake?.();
  }

  async #watch(stop: AbortSignal): Promise<void> {
    const { notes, changed, lookMs = LOOK_MS } = this.#options;
    // At first all there are count as news: who began to follow just now may have looked before they were taken.
    let known: ReadonlyMap<string, number> = new Map();
    while (!stop.aborted) {
      this.#hurry = false;
      const startedAt = performance.now();
      const found = await claimVersions(notes).catch(() => undefined);
      // A store that is away is asked again.
      if (found && !stop.aborted) {
        for (const interruptId of differences(known, found)) changed(interruptId);
        known = found;
      }
      await this.#pause(Math.max(lookMs, SHARE * (performance.now() - startedAt)), stop);
    }
  }

  /** Over when the time is up, or when somebody is in a hurry, or when nobody follows any more. */
  async #pause(ms: number, stop: AbortSignal): Promise<void> {
    if (this.#hurry || stop.aborted) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      timer.unref();
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = undefined;
  }
}

function differences(before: ReadonlyMap<string, number>, now: ReadonlyMap<string, number>): ReadonlySet<string> {
  const keys = new Set([...before.keys(), ...now.keys()]);
  return new Set([...keys].filter((key) => before.get(key) !== now.get(key)));
}

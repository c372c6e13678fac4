// News that are kept back until what they tell of is on record.
import { guarded } from '../../loop/call/guarded.ts';

export type HeldNews<T> = {
  readonly hear: (news: T) => void;
  /** Tells what was kept back, and from now on everything at once. */
  readonly release: () => void;
};

/** If they are never released, nobody hears of them. A listener that throws is not called again. */
export function holdNews<T>(listen: (news: T) => void): HeldNews<T> {
  const tell = guarded(listen);
  let held: T[] | undefined = [];
  const hear = (news: T): void => {
    if (held) held.push(news);
    else tell(news);
  };
  const release = (): void => {
    const waiting = held ?? [];
    held = undefined;
    for (const news of waiting) tell(news);
  };
  return { hear, release };
}

/** What others may refuse is heard of once it has `begun` to be on record. */
export function listening<T>(listen: (news: T) => void, begun: Promise<unknown> | undefined): (news: T) => void {
  if (!begun) return guarded(listen);
  const { hear, release } = holdNews(listen);
  begun.then(release, () => undefined);
  return hear;
}

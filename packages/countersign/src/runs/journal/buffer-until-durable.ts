// Buffers what listeners receive until the events behind it are durable.
import { guarded } from '../../loop/call/guarded.ts';

export type Buffer<T> = {
  readonly hear: (item: T) => void;
  /** Sends the buffered items, and from now on each item at once. */
  readonly release: () => void;
};

/** If the buffer is never released, the listener receives nothing. A listener that throws is not called again. */
export function bufferUntilDurable<T>(listener: (item: T) => void): Buffer<T> {
  const send = guarded(listener);
  let buffered: T[] | undefined = [];
  const hear = (item: T): void => {
    if (buffered) buffered.push(item);
    else send(item);
  };
  const release = (): void => {
    const items = buffered ?? [];
    buffered = undefined;
    for (const item of items) send(item);
  };
  return { hear, release };
}

/** Buffers the items until `begun` resolves, because the store may still refuse the events. */
export function onceDurable<T>(listener: (item: T) => void, begun: Promise<unknown> | undefined): (item: T) => void {
  if (!begun) return guarded(listener);
  const { hear, release } = bufferUntilDurable(listener);
  begun.then(release, () => undefined);
  return hear;
}

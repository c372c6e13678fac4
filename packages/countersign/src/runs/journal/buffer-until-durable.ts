// Buffers what listeners receive until the events behind it are durable.
import { guarded } from '../../loop/call/guarded.ts';

/** Sends nothing unless `begun` resolves: the store may still refuse the events. A listener that throws is not called again. */
export function onceDurable<T>(listener: (item: T) => void, begun: Promise<unknown>): (item: T) => void {
  const send = guarded(listener);
  let buffered: T[] | undefined = [];
  const release = (): void => {
    const items = buffered ?? [];
    buffered = undefined;
    for (const item of items) send(item);
  };
  begun.then(release, () => undefined);
  return (item) => {
    if (buffered) buffered.push(item);
    else send(item);
  };
}

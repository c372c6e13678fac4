// Two servers on one store: the assignee of a request is visible through both.
import { expect, onTestFinished, test } from 'vitest';
import { serverProcess } from './children.ts';
import { freshPlaces } from './places.ts';

for (const [name, freshPlace] of await freshPlaces())
  test(`a request that is taken, released or expires is reported by the other server: ${name}`, async () => {
    const place = await freshPlace();
    const here = await serverProcess(place);
    const there = await serverProcess(place);
    const { id: runId } = await here.client.runs.start({ agent: 'teller', prompt: 'Ask.' });
    for await (const event of here.client.runs.follow(runId)) if (event.type === 'call-interrupted') break;
    const [card] = (await here.client.requests.list({ runId })).items;
    if (!card) throw new Error('The card is missing.');
    const stop = new AbortController();
    onTestFinished(() => stop.abort());
    const changes = there.client.changes({ signal: stop.signal });
    // Connected, and nobody has it yet.
    expect((await changes.next()).value).toBeNull();
    const holder = async () => (await there.client.requests.get(card.id)).assignee?.person ?? 'nobody';
    expect(await holder()).toBe('nobody');

    /** Reads changes of the other server until it reports this holder. */
    const hearsOf = async (wanted: string) => {
      for (;;) {
        expect((await changes.next()).value).toBe(runId);
        if ((await holder()) === wanted) return;
      }
    };
    await here.client.requests.take(card.id);
    await hearsOf('ann');
    await here.client.requests.release(card.id);
    await hearsOf('nobody');
    await here.client.requests.take(card.id, { forMs: 3_000 });
    await hearsOf('ann');
    // It expires, and that is reported too.
    await hearsOf('nobody');
  }, 60_000);

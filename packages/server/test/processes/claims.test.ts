// Two servers on one store: who works on a question is seen through both.
import { expect, onTestFinished, test } from 'vitest';
import { serverProcess } from './children.ts';
import { freshPlaces } from './places.ts';

for (const [name, freshPlace] of await freshPlaces())
  test(`a claim that is taken, given up or lapses is told by the other server as well: ${name}`, async () => {
    const place = await freshPlace();
    const here = await serverProcess(place);
    const there = await serverProcess(place);
    const { id: runId } = await here.client.runs.start({ agent: 'teller', prompt: 'Ask.' });
    for await (const event of here.client.runs.follow(runId)) if (event.type === 'call-interrupted') break;
    const [card] = (await here.client.interrupts.list({ runId })).items;
    if (!card) throw new Error('There is no question.');
    const stop = new AbortController();
    onTestFinished(() => stop.abort());
    const changes = there.client.changes({ signal: stop.signal });
    // Connected: look at everything. Nobody has it yet.
    expect((await changes.next()).value).toBeNull();
    const holder = async () => (await there.client.interrupts.get(card.id)).claim?.by ?? 'nobody';
    expect(await holder()).toBe('nobody');

    /** Follows what the other server tells, until it has told that this one works on it. */
    const hearsOf = async (wanted: string) => {
      for (;;) {
        expect((await changes.next()).value).toBe(runId);
        if ((await holder()) === wanted) return;
      }
    };
    await here.client.interrupts.claim(card.id);
    await hearsOf('ann');
    await here.client.interrupts.release(card.id);
    await hearsOf('nobody');
    await here.client.interrupts.claim(card.id, { forMs: 3_000 });
    await hearsOf('ann');
    // It lapses by itself, and that is told too.
    await hearsOf('nobody');
  }, 60_000);

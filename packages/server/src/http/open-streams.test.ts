import { expect, test } from 'vitest';
import { Measures } from '../telemetry/measures.ts';
import { OpenStreams } from './open-streams.ts';

const HEADERS = { 'content-type': 'text/event-stream' };

function held(body: ReadableStream<Uint8Array>) {
  const failures: unknown[] = [];
  const streams = new OpenStreams({
    measures: new Measures(),
    limit: 9,
    limitPerPerson: 9,
    checkMs: 60_000,
    lifetimeMs: 60_000,
    closed: new AbortController().signal,
  });
  const response = streams.track(new Response(body, { headers: HEADERS }), {
    person: 'ann',
    isLimited: true,
    stillKnown: undefined,
    failed: (error) => failures.push(error),
  });
  return { reader: response.body?.getReader(), failures };
}

test('a client that leaves is not a failure, and its source is cancelled', async () => {
  let told: unknown;
  const { reader, failures } = held(
    new ReadableStream({
      cancel(reason) {
        told = reason;
      },
    }),
  );
  const waiting = reader?.read();
  await new Promise(setImmediate);
  await reader?.cancel('left');
  await waiting;
  await new Promise(setImmediate);
  expect(told).toBe('left');
  expect(failures).toEqual([]);
});

test('a stream that breaks off is reported as a failure', async () => {
  const { reader, failures } = held(
    new ReadableStream({
      pull() {
        throw new Error('gone');
      },
    }),
  );
  await expect(reader?.read()).rejects.toThrow('The stream broke off.');
  expect(failures).toEqual([new Error('gone')]);
});

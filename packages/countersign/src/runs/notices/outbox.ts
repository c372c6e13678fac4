// The outbox of a worker: tells people about requests through the channels of this process.
import { randomUUID } from 'node:crypto';
import { UsageError } from '../../core/errors.ts';
import type { StoreTime } from '../port/store-time.ts';
import type { Channel } from './channel.ts';
import { ChannelLoop } from './channel-loop.ts';
import { Deliverer, type DelivererOptions } from './delivering.ts';
import type { Attempted } from './delivery-log.ts';
import { FanOut, type TellingStore } from './fan-out.ts';
import { tellNews } from './person-news.ts';
import { Repeating } from './repeating.ts';

export type OutboxOptions = Pick<DelivererOptions, 'people' | 'everyone' | 'host'> & {
  readonly store: TellingStore;
  readonly time: StoreTime;
  readonly channels: readonly Channel[];
};

/** How long the same error of a channel is not reported again. */
const REPORT_AGAIN_MS = 60_000;

/** Options from the worker. */
type Work = {
  readonly pollMs: number;
  /** Must not throw. */
  readonly onError: (error: unknown) => void;
};

export class Outbox {
  readonly #options: OutboxOptions;
  readonly #work: Work;
  readonly #fanOut: Repeating;
  readonly #news: Repeating;
  readonly #loops: ReadonlyMap<string, ChannelLoop>;
  readonly #reported = new Map<string, { readonly error: string | null; readonly at: number }>();
  #isStopping = false;
  #lookAgainAt = 0;

  constructor(options: OutboxOptions, work: Work) {
    const { store, time, channels } = options;
    this.#options = options;
    this.#work = work;
    const fanOut = new FanOut({
      store,
      channels,
      now: time.now,
      isStopping: () => this.#isStopping,
      onHints: (name) => this.#loops.get(name)?.wake(),
    });
    this.#fanOut = new Repeating(() => fanOut.pass(), work.onError);
    const isStopping = () => this.#isStopping;
    const telling = { notes: store.notes, channels, people: options.people, now: time.now, isStopping };
    this.#news = new Repeating(() => tellNews({ ...telling, onError: work.onError }), work.onError);
    this.#loops = new Map(channels.map((channel) => [channel.name, this.#loopOf(channel)]));
  }

  /** Begins to deliver due notices, without waiting for it. Every append wakes the worker, so this skips most looks. */
  async look(): Promise<void> {
    const now = performance.now();
    if (this.#isStopping || now < this.#lookAgainAt) return;
    // Half, because a timer may fire slightly early and would then be a whole interval late.
    this.#lookAgainAt = now + this.#work.pollMs / 2;
    await this.#options.time.tell();
    this.#fanOut.wake();
    this.#news.wake();
    for (const loop of this.#loops.values()) loop.wake();
  }

  /** Waits briefly for deliveries. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await Promise.all([
      this.#fanOut.rested(),
      this.#news.rested(),
      ...[...this.#loops.values()].map((loop) => loop.stop()),
    ]);
  }

  #loopOf(channel: Channel): ChannelLoop {
    const { store, time, people, everyone, host } = this.#options;
    const deliverer = new Deliverer(channel, {
      store,
      people,
      everyone,
      host,
      now: time.now,
      random: Math.random,
      newToken: () => randomUUID().slice(0, 13),
      onFailed: (delivery, cause) => this.#report(delivery, cause),
    });
    return new ChannelLoop(channel, deliverer, { store, now: time.now, onError: this.#work.onError });
  }

  /** A channel that is away fails for every notice: the same error is reported once in a while. */
  #report(delivery: Attempted, cause: unknown): void {
    const { channel, error } = delivery;
    const now = performance.now();
    const reported = this.#reported.get(channel);
    if (reported?.error === error && now - reported.at < REPORT_AGAIN_MS) return;
    this.#reported.set(channel, { error, at: now });
    this.#work.onError(failedNotice(delivery, cause));
  }
}

function failedNotice({ channel, requestId, person, attempt, error, outcome }: Attempted, cause: unknown): UsageError {
  const then = outcome === 'given-up' ? 'and was given up' : 'and is tried again later';
  const to = person === null ? '' : ` to ${person}`;
  const message = `Telling${to} about ${requestId} through ${channel} failed, ${then}: ${error}`;
  return new UsageError('notice-failed', { channel, requestId, attempt }, message, { cause });
}

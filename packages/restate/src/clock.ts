// The time of the services, which is the time of the store.
import type { Ingress } from './ingress.ts';
import { clockName } from './wire.ts';

/** How far the clocks of two processes may differ. A change that was given up must not happen after that. */
const CLOCK_MS = 500;

/** The time of the services, between two answers estimated by the clock of this process. */
export class StoreClock {
  readonly #nodes: Ingress;
  readonly #name: string;
  readonly #timeoutMs: number;
  /** How far the clock of the services is ahead; undefined before their first answer. */
  #aheadMs: number | undefined;

  constructor(nodes: Ingress, name: string, timeoutMs: number) {
    this.#nodes = nodes;
    this.#name = name;
    this.#timeoutMs = timeoutMs;
  }

  async ask(): Promise<number> {
    const sentAt = Date.now();
    const now: number = JSON.parse(
      await this.#nodes.call({ service: clockName(this.#name), handler: 'now', changes: false }),
    );
    this.heard(now, sentAt);
    return now;
  }

  heard(now: number, sentAt: number): void {
    this.#aheadMs = now - (sentAt + Date.now()) / 2;
  }

  /** The time of the services at which a call that begins now is given up. */
  async notAfter(): Promise<number> {
    if (this.#aheadMs === undefined) await this.ask();
    return Math.round(Date.now() + (this.#aheadMs ?? 0) + this.#timeoutMs - CLOCK_MS);
  }
}

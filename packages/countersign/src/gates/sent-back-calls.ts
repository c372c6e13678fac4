// The calls of one conversation that people sent back, so that the next call of their tool revises them. Kept in this process only.
import type { GateResult } from '../runs/gates/gate.ts';

/** Of more, the oldest are forgotten: their next call is a request of its own. */
const MOST = 10_000;

export class SentBackCalls {
  /** The keys of calls that were asked about. They revise nothing. */
  readonly #asked = new Set<string>();
  /** The run of the call that was sent back last, by conversation and tool. */
  readonly #waiting = new Map<string, string>();
  /** The runs that a call has revised. */
  readonly #revised = new Set<string>();

  /** Asks for a call. A new one revises the call of this place that was sent back. */
  async ask(
    place: string,
    key: string,
    request: (revises: { readonly revises?: string }) => Promise<GateResult>,
  ): Promise<GateResult> {
    const revises = this.#asked.has(key) ? undefined : this.#waiting.get(place);
    remember(this.#asked, key);
    if (revises !== undefined) this.#waiting.delete(place);
    try {
      const result = await request(revises === undefined ? {} : { revises });
      if (revises !== undefined) remember(this.#revised, revises);
      if (result.status === 'rejected' && result.revise && !this.#revised.has(result.runId)) {
        this.#waiting.delete(place);
        this.#waiting.set(place, result.runId);
        forgetOldest(this.#waiting);
      }
      return result;
    } catch (error) {
      // Nothing was asked, so the next call revises it.
      if (revises !== undefined) {
        this.#asked.delete(key);
        this.#waiting.set(place, revises);
      }
      throw error;
    }
  }
}

function remember(all: Set<string>, one: string): void {
  all.add(one);
  forgetOldest(all);
}

function forgetOldest(all: Set<string> | Map<string, string>): void {
  const [oldest] = all.keys();
  if (oldest !== undefined && all.size > MOST) all.delete(oldest);
}

// What the admin API of the cluster knows: which runs there are, and which changes the lists do not have yet.
import { ProviderError } from 'countersign';
import type { Projection } from 'countersign/store';
import type { Ingress } from './ingress.ts';
import { listsName, noteName, runName } from './wire.ts';

/** How many runs are rebuilt at the same time. */
const AT_ONCE = 8;

export class Admin implements Projection {
  readonly #address: string;
  readonly #name: string;
  readonly #nodes: Ingress;

  constructor(address: string, name: string, nodes: Ingress) {
    this.#address = address.replace(/\/+$/, '');
    this.#name = name;
    this.#nodes = nodes;
  }

  async lagMs(): Promise<number> {
    const waiting = `target_service_name = '${listsName(this.#name)}' AND status <> 'completed'`;
    const [row] = await this.#query<{ readonly oldest: string | null }>(
      `SELECT min(created_at) AS oldest FROM sys_invocation WHERE ${waiting}`,
    );
    return row?.oldest == null ? 0 : Math.max(0, Date.now() - Date.parse(asUtc(row.oldest)));
  }

  async rebuild(each: (runs: number) => void = () => {}): Promise<number> {
    for (const key of await this.#keys(noteName(this.#name), 'note'))
      await this.#nodes.call({ service: noteName(this.#name), key, handler: 'copy', changes: true });
    const runIds = await this.#keys(runName(this.#name), 'run');
    let done = 0;
    const waiting = runIds.values();
    const lane = async (): Promise<void> => {
      for (const key of waiting) {
        await this.#nodes.call({ service: listsName(this.#name), key, handler: 'rebuild', changes: true });
        done += 1;
        each(done);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, lane));
    return runIds.length;
  }

  /** The keys of the objects that have this state. */
  async #keys(service: string, state: string): Promise<readonly string[]> {
    const rows = await this.#query<{ readonly service_key: string }>(
      `SELECT service_key FROM state WHERE service_name = '${service}' AND key = '${state}' ORDER BY service_key`,
    );
    return rows.map((row) => row.service_key);
  }

  async #query<Row>(query: string): Promise<readonly Row[]> {
    try {
      const response = await fetch(`${this.#address}/query`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json' },
        body: JSON.stringify({ query }),
      });
      if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
      const { rows } = (await response.json()) as { readonly rows: readonly Row[] };
      return rows;
    } catch (cause) {
      const message = `The admin API of Restate at ${this.#address} did not answer (${cause instanceof Error ? cause.message : cause}).`;
      throw new ProviderError('store-failed', { address: this.#address }, message, { cause, retryable: true });
    }
  }
}

/** Times come without a time zone, and mean UTC. */
function asUtc(time: string): string {
  return /Z|[+-]\d\d:?\d\d$/.test(time) ? time : `${time}Z`;
}

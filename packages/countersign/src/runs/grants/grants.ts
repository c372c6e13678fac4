// The door to grants: give, list, read, revoke, verify, simulate.

import type { GrantRequest, GrantStatus } from '../../core/authority/grants/grant.ts';
import { grantProblem } from '../../core/authority/grants/grant-problem.ts';
import { UsageError } from '../../core/errors.ts';
import {
  aString,
  aStringOrNull,
  aWholeNumber,
  checkOptions,
  checkValue,
  type OptionTable,
  oneOf,
  someStrings,
} from '../../core/options.ts';
import { dataSchemaProblem } from '../../loop/tool/data-schema.ts';
import type { Page } from '../port/page.ts';
import type { Store } from '../port/store.ts';
import { type Giver, giveGrant } from './give.ts';
import { reconcile } from './outcomes.ts';
import { type PlanProgress, planProgress } from './plans.ts';
import { GrantRecords } from './records.ts';
import {
  type GrantSimulation,
  type GrantSuggestion,
  type HistoryOptions,
  type SimulatedGrant,
  simulate,
  suggest,
} from './simulate.ts';
import { isApproved } from './use.ts';
import { type GrantDetails, type GrantView, grantDetails, grantView } from './view.ts';

/** Selects grants, the newest first. `cursor` comes from the page before; `limit` is 50 by default. */
export type GrantListOptions = {
  readonly tool?: string;
  readonly status?: GrantStatus;
  readonly cursor?: string;
  readonly limit?: number;
};

const LIST_OPTIONS: OptionTable<GrantListOptions> = {
  tool: aString,
  status: oneOf('active', 'used-up', 'expired', 'revoked'),
  cursor: aString,
  limit: aWholeNumber,
};

/** Who revokes a grant, and why. */
export type RevokeOptions = { readonly by?: string | null; readonly reason?: string };

const REVOKE_OPTIONS: OptionTable<RevokeOptions> = { by: aStringOrNull, reason: aStringOrNull };

const GIVER: OptionTable<Giver> = { by: { ...aString, required: true }, roles: someStrings };

/** The grants of a store; `ai.grants`. */
export class Grants {
  readonly #store: Store;
  readonly #records: GrantRecords;

  constructor(store: Store) {
    this.#store = store;
    this.#records = new GrantRecords(store.notes);
  }

  /**
   * Gives a grant with a request that was approved. The giver is the person who settled it. The same grant again
   * returns the first; `runs.decide(id, 'approve', { grant })` decides and gives in one call.
   */
  async give(requestId: string, request: GrantRequest, giver: Giver): Promise<GrantView> {
    checkValue('requestId', requestId, aString);
    checkOptions('`give`', giver, GIVER);
    const now = await this.#store.now();
    return grantView((await giveGrant(this.#store, requestId, request, giver, now)).state, now);
  }

  /** Lists grants. With a filter, a page may be short although more pages follow. */
  async list(options: GrantListOptions = {}): Promise<Page<GrantView>> {
    checkOptions('`list`', options, LIST_OPTIONS);
    const { tool, status, cursor, limit = 50 } = options;
    const now = await this.#store.now();
    const page = await this.#records.list(limit, cursor);
    const views = page.items.map(({ state }) => grantView(state, now));
    const isWanted = (view: GrantView) =>
      (tool === undefined || view.tool === tool) && (status === undefined || view.status === status);
    return { ...page, items: views.filter(isWanted) };
  }

  /** Reads a grant with its calls. Uses of calls that did not run are released first. */
  async get(grantId: string): Promise<GrantDetails> {
    const now = await this.#store.now();
    const { state } = await this.#records.read(checkedId(grantId));
    await isApproved(this.#store, this.#records, state.grant, now);
    const record = await this.#records.read(grantId);
    return grantDetails((await reconcile(this.#store, this.#records, record, now)).state, now);
  }

  /**
   * Ends a grant. Each call reads the grant once more right before its start is recorded: a call that reads it after this
   * resolves does not run under it. Revoking it again changes nothing.
   */
  async revoke(grantId: string, options: RevokeOptions = {}): Promise<GrantView> {
    checkOptions('`revoke`', options, REVOKE_OPTIONS);
    const { by = null, reason } = options;
    const at = await this.#store.now();
    const { state } = await this.#records.change(checkedId(grantId), ({ revoked }) =>
      revoked ? undefined : { type: 'revoked', by, at, ...(typeof reason === 'string' && { reason }) },
    );
    await this.#records.close(state);
    return grantView(state, at);
  }

  /** The steps of a plan, with what came of each. Undefined if the request is not a plan. */
  plan(requestId: string): Promise<PlanProgress | undefined> {
    checkValue('requestId', requestId, aString);
    return planProgress(this.#store, requestId);
  }

  /** Checks the hash chain of a grant: whether its record was changed after it was written. */
  async verify(grantId: string): Promise<{ readonly ok: boolean; readonly problem: string | null }> {
    try {
      await this.#records.read(checkedId(grantId));
      return { ok: true, problem: null };
    } catch (error) {
      if (!(error instanceof Error) || (error as { code?: unknown }).code !== 'tampered-grant') throw error;
      return { ok: false, problem: error.message };
    }
  }

  /** Counts the requests of the past that such a grant would have let run, and how people had decided them. */
  async simulate(grant: SimulatedGrant, options: HistoryOptions = {}): Promise<GrantSimulation> {
    const { tool, ...request } = grant ?? {};
    checkValue('tool', tool, aString);
    const now = await this.#store.now();
    const limits = { ...request, expiresAt: now + 1 };
    const fault = grantProblem(limits, [{ uses: 1_000, expiresWithin: 1 }], now);
    const problem = fault ?? (request.schema && dataSchemaProblem(request.schema));
    if (problem !== undefined)
      throw new UsageError('invalid-grant', { tool }, `This grant cannot be given: ${problem}.`);
    return simulate(this.#store, { tool, ...request }, options);
  }

  /** Suggests a grant from the approved requests of a tool, with its simulation. */
  async suggest(tool: string, options: HistoryOptions = {}): Promise<GrantSuggestion> {
    checkValue('tool', tool, aString);
    return suggest(this.#store, tool, await this.#store.now(), options);
  }
}

/** The grants with these ids, without those that do not exist. Uses of calls that did not run are not released first. */
export async function grantsNamed(store: Store, ids: readonly string[]): Promise<readonly GrantView[]> {
  const [found, now] = await Promise.all([new GrantRecords(store.notes).several(ids), store.now()]);
  return found.map(({ state }) => grantView(state, now));
}

function checkedId(grantId: string): string {
  checkValue('grantId', grantId, aString);
  return grantId;
}

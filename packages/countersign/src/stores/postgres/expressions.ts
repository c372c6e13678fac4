// SQL expressions that several PostgreSQL statements use. Some are written so that the planner has only one choice.
import { isFree } from '../sql/rows.ts';

/** The database's time, in milliseconds. */
export const NOW = "(date_part('epoch', statement_timestamp()) * 1000)::bigint";

/** True if no worker holds the run `r`. */
export const IS_FREE = isFree(NOW, 'r.');

/** True if `token` may take the claim of the run `r`. */
export const mayTake = (token: string): string => `(${IS_FREE} OR r.claim_token = ${token})`;

/** True if a process other than `me` watches. */
export const isWatchedByOthers = (watcher: string, me: string): string =>
  `EXISTS (SELECT FROM ${watcher} WHERE until > ${NOW} AND id <> ${me})`;

/** True if the request `i` belongs to the run. Hidden from the planner, so that it finds `i` by its id. */
export const isOf = (runId: string): string => `coalesce(i.run_id = ${runId}, false)`;

/** True if the request `i` belongs to the run and is pending. Hidden from the planner as well. */
export const isPendingIn = (runId: string): string => `${isOf(runId)} AND coalesce(i.settled_at IS NULL, false)`;

/**
 * True for every number that is not negative. The planner expects one row to pass, and so looks up each item of a list
 * by an index, even when it plans while the tables are still small.
 */
export const asOneRow = (number: string): string => `${number} >= 0 AND ${number} < 2147483647`;

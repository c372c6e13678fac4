// Conditions that the statements on PostgreSQL share. Some are said in a way that leaves the planner one choice.
import { isFree } from '../sql/rows.ts';

/** The time of the database, in milliseconds. */
export const NOW = "(date_part('epoch', statement_timestamp()) * 1000)::bigint";

/** True when nobody holds the run `r`. */
export const IS_FREE = isFree(NOW, 'r.');

/** True when the token `token` may take the claim of the run `r`. */
export const mayTake = (token: string): string => `(${IS_FREE} OR r.claim_token = ${token})`;

/** True when another process than that of the number `me` wants to hear of changes. */
export const watchedBy = (watcher: string, me: string): string =>
  `EXISTS (SELECT FROM ${watcher} WHERE until > ${NOW} AND id <> ${me})`;

/**
 * True when the interrupt `i` is one of the run, whatever the events of the run say that they opened. Said so that the
 * planner finds no other way to `i` than by its id: not through all there are while it believes them to be few.
 */
export const isOf = (runId: string): string => `coalesce(i.run_id = ${runId}, false)`;

/** The same, and it waits; nor is it looked for through all those that wait. */
export const waitsIn = (runId: string): string => `${isOf(runId)} AND coalesce(i.settled_at IS NULL, false)`;

/** True for a JSON array of texts as we write it. What somebody changed may be no JSON, which no statement survives. */
export const isListOfIds = (column: string): string => `${column} ~ '^\\[${ID}(, *${ID})*\\]$'`;

const ID = '"([^"\\\\\\x01-\\x1f]|\\\\(["\\\\bfnrt]|u00(0[1-9a-f]|1[0-9a-f])))*"';

/**
 * True for every number that is not negative. The planner believes that it leaves one row of any list that is given as
 * an array, and so looks up each of them by an index, also when it makes its plan while the tables are still small.
 */
export const asOneRow = (number: string): string => `${number} >= 0 AND ${number} < 2147483647`;

// The rows of the results, and what is counted in them.
import { SYSTEMS } from '../systems.mjs';

export const COLUMNS = {
  doubled: 'paid twice',
  lost: 'not paid, though approved',
  undecided: 'paid without this decision',
  wrong: 'told wrongly',
  stuck: 'stuck',
};
const WAYS = { '': '', secret: ', with its experimental secret', gated: ' behind our gate' };

/** Rows in the order of `systems.mjs`. */
export const rowsOf = ({ rows }) =>
  Object.entries(SYSTEMS).flatMap(([system, { ways = [] }]) =>
    ways.flatMap((way) => rows[way === '' ? system : `${system} ${way}`] ?? []),
  );
export const labelOf = ({ name, way }) => `${name}${WAYS[way]}`;

/** How many payments of all faults went wrong in this way, and how many were tried. */
export const sumOf = ({ faults }, column) =>
  Object.values(faults).reduce((sum, fault) => sum + (fault[column] ?? 0), 0);

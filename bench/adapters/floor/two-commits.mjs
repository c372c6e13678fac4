// The floor of case F: INSERT + UPDATE, two commits, nothing read back.
import { create as base, meta as m } from './adapter.mjs';
export const meta = {
  ...m,
  id: 'floor:two-commits',
  label: 'floor (2 commits, no read)',
  durable: { mode: 'two-commits' },
};
export const create = base;

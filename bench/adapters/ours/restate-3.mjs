// Ours on three nodes of Restate, with every change on two of them.
import { meta as m, onNodes } from './restate.mjs';

export const meta = { ...m, id: 'ours:restate-3', label: 'Countersign on Restate (3 nodes)' };
export const create = (options) => onNodes(3, options);

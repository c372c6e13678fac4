// The planted faults: small changes of the sources that break one rule each. The simulation must find every one of them.
import { AUTHORITY } from './authority.ts';
import { CLAIMS } from './claims.ts';
import { CONTROLS } from './controls.ts';
import { DECISIONS } from './decisions.ts';
import { ENDS } from './ends.ts';
import type { Planted } from './planted.ts';
import { RULES } from './rules.ts';
import { STARTS } from './starts.ts';

const ALL: readonly Planted[] = [...STARTS, ...CLAIMS, ...DECISIONS, ...AUTHORITY, ...ENDS, ...RULES, ...CONTROLS];

/** Those that were found. */
export const FAULTS: readonly Planted[] = ALL.filter(({ isOpen }) => !isOpen);

/** Those that are still to be found. */
export const OPEN: readonly Planted[] = ALL.filter(({ isOpen }) => isOpen);

// The options of drills, and their checks.
import { anything, aString, checkOptions, type OptionTable } from '../../core/options.ts';

/** A request that must be rejected, such as a payment to an unknown account. */
export type DrillRequest = {
  /** The agent that seems to ask. */
  readonly agent: string;
  /** One of its tools with a body. The body never runs. */
  readonly tool: string;
  readonly input: unknown;
  /** What the user seems to have said. */
  readonly prompt: string;
  /** Who seems to have started the run; no one by default. */
  readonly by?: string;
};

/** Options of `drill`. `runId`: chosen by the caller, so that a repeated start does not start twice; random by default. */
export type DrillOptions = { readonly runId?: string };

export const DRILL_OPTIONS: OptionTable<DrillOptions> = { runId: aString };

/** Drills that workers start now and then. */
export type DrillsOptions = {
  /** Decides when a drill comes, and which. Keep it secret. All workers need the same. */
  readonly seed: string;
  /** How many there are in a day on average: above 0, at most 24. */
  readonly perDay: number;
  /** The requests to choose from. */
  readonly requests: readonly DrillRequest[];
};

const REQUIRED_STRING = { ...aString, required: true } as const;

const REQUEST_OPTIONS: OptionTable<DrillRequest> = {
  agent: REQUIRED_STRING,
  tool: REQUIRED_STRING,
  input: { ...anything, is: 'the input of the call', required: true },
  prompt: REQUIRED_STRING,
  by: aString,
};

const DRILLS_OPTIONS: OptionTable<DrillsOptions> = {
  seed: { is: 'a string that is not empty', fits: (seed) => aString.fits(seed) && seed !== '', required: true },
  perDay: {
    is: 'a number above 0, at most 24',
    fits: (perDay) => typeof perDay === 'number' && perDay > 0 && perDay <= 24,
    required: true,
  },
  requests: { is: 'an array of requests', fits: (all) => Array.isArray(all) && all.length > 0, required: true },
};

export function checkDrill(request: DrillRequest): void {
  checkOptions('a drill', request, REQUEST_OPTIONS);
}

export function checkDrills(options: DrillsOptions): void {
  checkOptions('`drills`', options, DRILLS_OPTIONS);
  for (const request of options.requests) checkDrill(request);
}

// The options of a request: its title, its deadline, its reminder, its labels, its risk and its reversibility.
import { messageOf } from '../../core/errors.ts';
import { defined } from '../../core/json.ts';
import { anything, type OptionKind, type OptionTable, oneOf, optionProblem } from '../../core/options.ts';
import { ENDINGS } from '../../core/request/request.ts';
import { asSchema } from './schema.ts';
import type { AskOptions, InterruptOptions } from './signal.ts';
import { TIME_OPTIONS } from './time-options.ts';

/** How the request waits. Its title is read on its own, because an invalid one must not fail the call. */
export type WaitOptions = Omit<AskOptions, 'title'>;

export function askOptionsOf(options: WaitOptions): WaitOptions {
  const { expiresIn, onExpiry, remindAfter, labels, risk, remind, escalate, expireAfter, businessHours } = options;
  const { reversibility } = options;
  const times = { expiresIn, onExpiry, remindAfter, remind, escalate, expireAfter, businessHours };
  return defined({ ...times, labels, risk, reversibility });
}

/** The options of a request over those of its tool. A deadline or reminder replaces the other, in whichever form. */
export function mergedWait(general: WaitOptions | undefined, own: WaitOptions): WaitOptions {
  const { expiresIn, expireAfter, remindAfter, remind, ...rest } = general ?? {};
  const hasDeadline = own.expiresIn !== undefined || own.expireAfter !== undefined;
  const hasReminders = own.remindAfter !== undefined || own.remind !== undefined;
  return {
    ...rest,
    ...(!hasDeadline && defined({ expiresIn, expireAfter })),
    ...(!hasReminders && defined({ remindAfter, remind })),
    ...own,
  };
}

/** Indexed names are limited: PostgreSQL indexes about 2,700 bytes of one. */
export const LONGEST_NAME = 512;

/** Dates end there. */
const LONGEST_MS = 8_640_000_000_000_000;

export const aDurationMs: OptionKind = {
  is: 'a number of milliseconds',
  fits: (value) => typeof value === 'number' && value >= 0 && value <= LONGEST_MS / 2,
};

const someLabels: OptionKind = {
  is: `an array of strings of at most ${LONGEST_NAME} characters that a database can store`,
  fits: (value) => Array.isArray(value) && value.every(isLabel),
};

export const ASK_OPTIONS: OptionTable<AskOptions> = {
  expiresIn: aDurationMs,
  onExpiry: oneOf(...ENDINGS),
  remindAfter: aDurationMs,
  labels: someLabels,
  risk: oneOf('low', 'medium', 'high'),
  reversibility: oneOf('read-only', 'reversible', 'irreversible'),
  title: anything,
  ...TIME_OPTIONS,
};

export const INTERRUPT_OPTIONS: OptionTable<InterruptOptions> = {
  ...ASK_OPTIONS,
  answerSchema: anything,
  onReject: oneOf('resume'),
};

/** Returns the problem with the answer that a body asks for. */
export function answerProblem({ answerSchema, onReject }: InterruptOptions): string | undefined {
  if (answerSchema === undefined) return onReject === undefined ? undefined : 'it has onReject, but no answerSchema';
  try {
    asSchema(answerSchema, 'answerSchema').json();
    return optionProblem(defined({ onReject }), INTERRUPT_OPTIONS);
  } catch (error) {
    return messageOf(error).replace(/\.$/, '');
  }
}

/** Returns which option has an invalid value. */
export function askProblem(options: WaitOptions): string | undefined {
  for (const [one, other] of SAME) {
    if (options[one] !== undefined && options[other] !== undefined)
      return `it has ${one} and ${other}; give one of them`;
  }
  return optionProblem(options, ASK_OPTIONS);
}

const SAME = [
  ['expiresIn', 'expireAfter'],
  ['remindAfter', 'remind'],
] as const;

function isLabel(value: unknown): boolean {
  return typeof value === 'string' && value.length <= LONGEST_NAME && value.isWellFormed() && !value.includes('\0');
}

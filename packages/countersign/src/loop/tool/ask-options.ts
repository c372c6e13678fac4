// How a question may wait: what a tool says about it is looked at before anybody is asked.
import { ENDINGS } from '../../core/event.ts';
import { keysOf } from '../../core/known-keys.ts';
import type { AskOptions } from './signal.ts';

/** Only what is about waiting. */
export function askOptionsOf({ expiresIn, onExpiry, remindAfter, labels, risk }: AskOptions): AskOptions {
  return {
    ...(expiresIn !== undefined && { expiresIn }),
    ...(onExpiry !== undefined && { onExpiry }),
    ...(remindAfter !== undefined && { remindAfter }),
    ...(labels !== undefined && { labels }),
    ...(risk !== undefined && { risk }),
  };
}

/** What nobody would read of the options of `interrupt()`, such as a misspelt deadline; undefined if there is nothing. */
export function unreadOption(options: object): string | undefined {
  const [odd] = Object.keys(options).filter((key) => !KEYS.includes(key));
  return odd === undefined ? undefined : `there is no option ${odd}; there are ${KEYS.join(', ')}`;
}

const KEYS = keysOf<AskOptions>({ expiresIn: true, onExpiry: true, remindAfter: true, labels: true, risk: true });

/** What keeps a question from waiting like that; undefined if nothing does. */
export function askProblem(options: AskOptions): string | undefined {
  const { expiresIn, onExpiry, remindAfter, labels, risk } = options;
  if (!isDuration(expiresIn)) return `expiresIn must be a number of milliseconds, not ${String(expiresIn)}`;
  if (!isDuration(remindAfter)) return `remindAfter must be a number of milliseconds, not ${String(remindAfter)}`;
  const endings = Object.keys(ENDINGS);
  if (!isOneOf(onExpiry, endings)) return `onExpiry must be one of ${endings.join(', ')}, not ${String(onExpiry)}`;
  if (!isOneOf(risk, RISKS)) return `risk must be one of ${RISKS.join(', ')}, not ${String(risk)}`;
  if (labels === undefined) return undefined;
  if (!Array.isArray(labels) || !labels.every(isLabel))
    return `labels must be a list of texts of at most ${LONGEST_NAME} characters, without any that no database keeps`;
  return undefined;
}

/** What is looked up by a name has an index, and in PostgreSQL that takes no more than some 2,700 bytes of it. */
export const LONGEST_NAME = 512;

const RISKS = ['low', 'medium', 'high'] as const;
/** As far as dates go. */
const LONGEST_MS = 8_640_000_000_000_000;

export function isDuration(value: unknown): boolean {
  return value === undefined || (typeof value === 'number' && value >= 0 && value <= LONGEST_MS / 2);
}

function isOneOf(value: unknown, known: readonly string[]): boolean {
  return value === undefined || known.includes(value as string);
}

function isLabel(value: unknown): boolean {
  return typeof value === 'string' && value.length <= LONGEST_NAME && value.isWellFormed() && !value.includes('\0');
}

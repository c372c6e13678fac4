// Where each value of an input came from, as data of a request, and what conditions say about it.

/**
 * `user`: typed by the user in this message. `answer`: a person answered this question. `editor`: the person who edited the input wrote
 * it. `instructions`: of the agent. `tool`: the result of this tool. `untrusted`: a source that is marked untrusted. `model`: found
 * nowhere, so it is the model's own. `not-searched`: the conversation or the input was too long to look.
 */
export type OriginKind =
  | 'user'
  | 'answer'
  | 'editor'
  | 'instructions'
  | 'tool'
  | 'untrusted'
  | 'model'
  | 'not-searched';

/** Where a value was found. */
export type Origin = {
  readonly from: OriginKind;
  /** The place of the message in the conversation, from 1. */
  readonly message?: number;
  readonly tool?: string;
  /** The `ref` of the call whose result it is. Without it, `tool` described itself with the value. */
  readonly call?: string;
};

/** The origin of one value of an input; an empty path stands for all values that no other entry names. */
export type FieldOrigin = Origin & {
  readonly field: readonly string[];
  /** Its tool or a rule marks the field, or it says who gets something. */
  readonly sensitive?: true;
};

/** The values that were looked for. Others, such as booleans and values that the schema lists, say nothing about their origin. */
export type Origins = readonly FieldOrigin[];

/** What a condition can ask. `trusted`: of a person, the agent or a trusted tool. `user`: typed or answered by a person. */
export const ORIGINS = ['user', 'trusted', 'model', 'untrusted'] as const;
export type OriginCondition = (typeof ORIGINS)[number];

/**
 * Whether all values in the field have such an origin; for `untrusted` and `model`, whether one has. Undefined if that cannot be known:
 * it was not looked for, or could not be searched.
 */
export function hasOrigin(wanted: OriginCondition, path: readonly string[], origins?: Origins): boolean | undefined {
  const found = (origins ?? []).filter(({ field }) => startsWith(field, path) || startsWith(path, field));
  if (found.length === 0) return undefined;
  const is = (kinds: readonly OriginKind[]) => found.some(({ from }) => kinds.includes(from));
  const unknown = is(['not-searched']) ? undefined : true;
  switch (wanted) {
    case 'untrusted':
    case 'model':
      return is([wanted]) || (unknown === undefined ? undefined : false);
    case 'trusted':
      return is(['untrusted', 'model']) ? false : unknown;
    case 'user':
      return is(['untrusted', 'model', 'tool', 'instructions', 'editor']) ? false : unknown;
  }
}

/** An untrusted value, or one that could not be searched, reached a sensitive field. */
export const isAlarming = ({ from, sensitive }: FieldOrigin): boolean =>
  sensitive === true && (from === 'untrusted' || from === 'not-searched');

export const startsWith = (path: readonly string[], start: readonly string[]): boolean =>
  start.every((key, index) => path[index] === key);

/** For people, such as `from the result of lookUpCustomer`. */
export function originText({ from, message, tool, call }: Origin): string {
  switch (from) {
    case 'user':
      return `typed by the user in message ${message}`;
    case 'answer':
      return `answered by a person to ${tool}`;
    case 'editor':
      return 'written by the person who edited it';
    case 'instructions':
      return 'from the instructions of the agent';
    case 'tool':
      return `from the result of ${tool}`;
    case 'untrusted': {
      const source =
        tool === undefined
          ? `message ${message}`
          : call === undefined
            ? `the description of ${tool}`
            : `the result of ${tool}`;
      return `from an untrusted source: ${source}`;
    }
    case 'model':
      return 'the model’s own: found nowhere in the conversation';
    case 'not-searched':
      return 'not searched: the conversation or the input is too long';
  }
}

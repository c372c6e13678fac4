// What travels between the store, the objects and the lists. Appends and runs travel as lines of text: JSON has no line
// ends, so events are passed on without parsing them.
import type { Serde } from '@restatedev/restate-sdk';
import type { CountersignError } from 'countersign';
import type { Append, Appended, Claim, LoadedRun, RunRecord } from 'countersign/store';

export const runName = (name: string): string => `${name}-run`;
export const noteName = (name: string): string => `${name}-note`;
export const listsName = (name: string): string => `${name}-lists`;
export const startsName = (name: string): string => `${name}-starts`;
export const clockName = (name: string): string => `${name}-clock`;

/** An append without its events. */
export type AppendHead = Omit<Append, 'events'>;

export function appendText({ events, ...head }: Append): string {
  return [head, ...events].map((line) => JSON.stringify(line)).join('\n');
}

/** `notAfter` is the last time of the store when the append can happen. */
export function appendRequest(append: string, notAfter: number): string {
  return `${notAfter}\n${append}`;
}

/** The same append, judged by this version of the freezes. */
export function judgedRequest(text: string, freezes: number): string {
  return text.replace('\n', ` ${freezes}\n`);
}

/** `freezes`: what is frozen now, if the append came by its lane. */
export function readAppendRequest(text: string): {
  readonly notAfter: number;
  readonly freezes: number | undefined;
  readonly head: AppendHead;
  readonly events: readonly string[];
} {
  const [first = '', head = '', ...events] = text.split('\n');
  const [notAfter, freezes] = first.split(' ').map(Number);
  return { notAfter: notAfter ?? 0, freezes, head: JSON.parse(head), events };
}

export function loadedText(record: RunRecord, events: readonly string[]): string {
  return [JSON.stringify(record), ...events].join('\n');
}

/** Undefined for the empty text, which stands for no run. */
export function readLoaded(text: string): LoadedRun | undefined {
  if (text === '') return undefined;
  const [run, ...events] = JSON.parse(`[${text.replaceAll('\n', ',')}]`);
  return { run, events };
}

/** A refusal is an answer: an error that is thrown would be tried again. */
export type AppendAnswer =
  | (Appended & { readonly at: number })
  | { readonly refused: Refusal; readonly at: number }
  | { readonly tooLate: true; readonly at: number };

/** An error, as it travels. */
export type Refusal = {
  readonly type: 'conflict' | 'invariant';
  readonly code: CountersignError['code'];
  readonly details: CountersignError['details'];
  readonly message: string;
};

export type ClaimRequest = { readonly token: string; readonly leaseMs: number; readonly notAfter: number };

/** A change of a run, for the lists. */
export type Change = {
  readonly append?: Omit<Append, 'events' | 'claim'> & { readonly at: number; readonly added: number };
  /** Who holds the run now. */
  readonly claim: { readonly token: string; readonly leaseMs: number } | null;
  /** Who held it before and no longer does. */
  readonly freed: string | null;
  readonly deleted?: true;
};

/** A run as the lists need it. */
export type RunSummary = {
  readonly record: RunRecord;
  readonly claim: Claim | null;
  readonly requestIds: readonly string[];
};

/** A note, as its object keeps it and the lists have it. */
export type KeptNote = { readonly value: string; readonly version: number; readonly expiresAt: number | null };

/** A change of a note, for the lists. `note` is null if the note of this version was removed. */
export type NoteChange = {
  readonly collection: string;
  readonly key: string;
  readonly version: number;
  readonly note: KeptNote | null;
};

/** A note is written at `version`, or at any if that is null. */
export type PutRequest = {
  readonly value: string;
  readonly version: number | null;
  readonly expiresAt: number | null;
  readonly notAfter: number;
};

/** The key of the object of a note, and back. */
export const noteKey = (collection: string, key: string): string => [collection, key].map(encodeURIComponent).join('/');

/** Plain text, instead of a JSON string with every quotation mark escaped. */
export const lines: Serde<string> = {
  contentType: 'text/plain',
  serialize: (text) => new TextEncoder().encode(text),
  deserialize: (bytes) => new TextDecoder().decode(bytes),
};

export const json: Serde<any> = {
  contentType: 'application/json',
  serialize: (value) => lines.serialize(JSON.stringify(value)),
  deserialize: (bytes) => JSON.parse(lines.deserialize(bytes)),
};

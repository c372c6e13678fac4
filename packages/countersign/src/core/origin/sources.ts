// The texts of a conversation that values may come from.

import { isObject } from '../json.ts';
import { isToolResponse, type Message, type Metadata, type Part } from '../messages/message.ts';
import type { Origin } from './origin.ts';
import type { Source, Sources } from './search.ts';

/** What a conversation says about its sources. */
export type Trust = {
  /** `person`: a person answers the tool. `model`: it repeats what the model said. A tool that is not known here is untrusted. */
  readonly ofTool: (name: string) => 'trusted' | 'untrusted' | 'person' | 'model';
  /** The conversation that called this sub-agent: whoever wrote its prompt had the values from there. */
  readonly outer?: Sources | undefined;
  /** What tools of untrusted servers say about themselves. */
  readonly descriptions: readonly { readonly tool: string; readonly text: unknown }[];
};

/** The most characters that are searched, the newest first. */
export const MOST_TEXT = 1_000_000;
/** No text counts as less, so that many small ones are bounded too. */
const LEAST = 50;

export function sourcesIn(messages: readonly Message[], { ofTool, outer, descriptions }: Trust): Sources {
  const described: Source[] = descriptions.map(({ tool, text }) => ({ from: 'untrusted', tool, text: textIn(text) }));
  const all = [...described];
  let left = MOST_TEXT;
  for (let index = messages.length - 1; index >= 0; index--) {
    const message = messages[index] as Message;
    for (const part of message.content.toReversed()) {
      const origin = originOf(part, message, index + 1, { ofTool, outer });
      if (!origin) continue;
      if (left <= 0) return { all: [...all, ...(outer?.all ?? [])], isCut: true };
      const text = textIn(isToolResponse(part) ? part.toolResponse.output : part).slice(0, left + 1);
      left -= text.length < LEAST ? LEAST : text.length;
      if (text !== '') all.push({ ...origin, text });
    }
  }
  return { all: [...all, ...(outer?.all ?? [])], isCut: left < 0 || outer?.isCut === true };
}

/** Undefined for what is no source: the words of a model, and the prompt that one gave a sub-agent. */
function originOf(
  part: Part,
  { role, metadata }: Message,
  place: number,
  { ofTool, outer }: Pick<Trust, 'ofTool' | 'outer'>,
): Origin | undefined {
  if (isToolResponse(part)) {
    const { name: tool, ref: call } = part.toolResponse;
    const trust = isMarked(metadata) || isMarked(part.metadata) ? 'untrusted' : ofTool(tool);
    if (trust === 'model') return undefined;
    return { from: trust === 'person' ? 'answer' : trust === 'trusted' ? 'tool' : 'untrusted', tool, call };
  }
  if (role === 'system') return { from: 'instructions' };
  if (role !== 'user') return undefined;
  if (isMarked(metadata) || isMarked(part.metadata)) return { from: 'untrusted', message: place };
  return outer ? undefined : { from: 'user', message: place };
}

const isMarked = (metadata?: Metadata): boolean => metadata?.trust === 'untrusted';

/** All texts, numbers and names of fields in a value. Bytes of files are no text. */
function textIn(value: unknown): string {
  const found: string[] = [];
  const add = (part: unknown): void => {
    if (typeof part === 'string') {
      if (!part.startsWith('data:')) found.push(part);
    } else if (typeof part === 'number') found.push(String(part));
    else if (Array.isArray(part)) for (const item of part) add(item);
    else if (isObject(part))
      for (const [key, item] of Object.entries(part)) {
        if (key === 'metadata') continue;
        found.push(key);
        add(item);
      }
  };
  add(value);
  // A value is not put together of two.
  return found.join(' \u0001 ');
}

// A value as JSON text, in which every name stands before its value, in whatever script they are.
import { useMemo } from 'react';
import { endOfString } from './form/json-loss.ts';
import { VisibleText } from './visible-text.tsx';

/** Strings in other scripts are isolated one by one: two that are written from the right would change places. */
export function JsonText({ value }: { readonly value: unknown }) {
  const pieces = useMemo(() => piecesOf(JSON.stringify(value, null, 2) ?? ''), [value]);
  // biome-ignore lint/suspicious/noArrayIndexKey: the pieces of a text have no other identity.
  return pieces.map((piece, index) => <VisibleText key={index} text={piece} />);
}

/** What is plain stays together: there may be very much of it. */
function piecesOf(json: string): readonly string[] {
  const pieces: string[] = [];
  let from = 0;
  for (let open = json.indexOf('"'); open >= 0; ) {
    const end = endOfString(json, open);
    const string = json.slice(open, end);
    if (!/^[\x20-\x7E]*$/.test(string)) {
      pieces.push(json.slice(from, open), string);
      from = end;
    }
    open = json.indexOf('"', end);
  }
  return [...pieces, json.slice(from)];
}

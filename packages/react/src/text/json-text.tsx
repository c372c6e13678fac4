// A value as JSON text. Every name stands before its value, whatever the direction of its script.
import { memo, useMemo } from 'react';
import { endOfString } from '../form/json-loss.ts';
import { useParts } from './long-text.tsx';
import { Block, VisibleText } from './visible-text.tsx';

/** Strings in other scripts are isolated one by one: two that are written from the right would change places. */
export function JsonText({ value }: { readonly value: unknown }) {
  const { shown, rest } = useParts(useMemo(() => JSON.stringify(value, null, 2) ?? '', [value]));
  const blocks = useMemo(() => blocksOf(piecesOf(shown)), [shown]);
  return (
    <>
      {blocks.map((pieces, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the pieces of a text have no other identity.
        <Block key={index} isOnly={blocks.length === 1}>
          <Pieces pieces={pieces} />
        </Block>
      ))}
      {rest}
    </>
  );
}

type PiecesProps = { readonly pieces: readonly string[] };

/** Renders only the blocks that changed. */
const Pieces = memo(
  function Pieces({ pieces }: PiecesProps) {
    // biome-ignore lint/suspicious/noArrayIndexKey: the pieces of a text have no other identity.
    return pieces.map((piece, index) => <VisibleText key={index} text={piece} />);
  },
  (a, b) => a.pieces.join('') === b.pieces.join(''),
);

const PIECES_AT_MOST = 200;

/** Layout time grows with the square of the isolated strings in a block, so blocks are small. A block ends with a line. */
function blocksOf(pieces: readonly string[]): readonly (readonly string[])[] {
  const blocks: string[][] = [[]];
  for (const piece of pieces) {
    const block = blocks.at(-1) as string[];
    const end = block.length >= PIECES_AT_MOST ? piece.indexOf('\n') + 1 : 0;
    if (end === 0) block.push(piece);
    else {
      block.push(piece.slice(0, end));
      blocks.push([piece.slice(end)]);
    }
  }
  return blocks;
}

/** Keeps plain text together, because there may be a lot of it. The last string may be cut. */
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

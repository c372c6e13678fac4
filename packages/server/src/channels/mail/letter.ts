// The content of one mail: a section for each request, and why the person gets it. A large section becomes a sentence.
import type { Block, Section } from './section.ts';

export type Letter = {
  readonly language: string;
  /** What lists of mails show beside the subject. */
  readonly summary: string;
  /** Above the sections of several requests; empty for one. */
  readonly heading: string;
  readonly sections: readonly Section[];
  readonly footer: readonly string[];
  /** Replaces a section that is too large. */
  readonly tooLarge: string;
};

/** Gmail cuts off the HTML of a mail after 102 KB. */
const LARGEST_MAIL = 100_000;

/** Leaves out the largest blocks, whole, until the rendered mail is small enough. */
export function fitting(letter: Letter, render: (letter: Letter) => string): Letter {
  if (Buffer.byteLength(render(letter)) <= LARGEST_MAIL) return letter;
  const largest = letter.sections
    .flatMap(({ blocks }) => blocks)
    .reduce((found: Block | undefined, block) => (sizeOf(block) > sizeOf(found) ? block : found), undefined);
  return largest ? fitting(without(largest, letter), render) : letter;
}

const sizeOf = (block: Block | undefined): number =>
  (block?.rows ?? []).reduce((sum, { name = '', text = '' }) => sum + name.length + text.length, 0);

function without(largest: Block, letter: Letter): Letter {
  const kept = (block: Block): Block => (block === largest ? { ...block, rows: undefined } : block);
  const sections = letter.sections.map((section) => ({ ...section, blocks: section.blocks.map(kept) }));
  return { ...letter, sections };
}

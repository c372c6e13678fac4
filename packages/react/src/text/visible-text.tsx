// Text from a model or a tool, shown literally: never markup, never a link, no hidden characters.
import { type ReactNode, useMemo } from 'react';
import { useNamed, useWords } from '../appearance.tsx';
import { blocksOf, escapeOf, type Stretch, stretchesOf } from './visible.ts';

export type VisibleTextProps = {
  readonly text: string;
  /** It is the name of a value: one with spaces that would not be seen, or none at all, stands in quotes. */
  readonly isName?: boolean;
  readonly className?: string;
};

/**
 * Shows invisible, control and bidirectional characters, and spaces that are not the space, as `⟦U+202E⟧`. Text in any
 * script, and emoji, stay unchanged. It is isolated, so that its direction does not affect the text around it.
 */
export function VisibleText({ text, isName = false, className }: VisibleTextProps) {
  const named = useNamed();
  const isQuoted = isName && ODD_NAME.test(text);
  const blocks = useMemo(() => blocksOf(stretchesOf(isQuoted ? JSON.stringify(text) : text)), [text, isQuoted]);
  return (
    <bdi {...named('text', className)} {...(isQuoted && { style: SPACES_KEPT })}>
      {blocks.map((stretches, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the stretches of a text have no other identity.
        <Block key={index} isOnly={blocks.length === 1}>
          <Stretches stretches={stretches} />
        </Block>
      ))}
    </bdi>
  );
}

function Stretches({ stretches }: { readonly stretches: readonly Stretch[] }) {
  const named = useNamed();
  const words = useWords();
  return stretches.map((stretch, index) => {
    if (stretch.is === 'text') return stretch.text;
    return (
      // biome-ignore lint/suspicious/noArrayIndexKey: the stretches of a text have no other identity.
      <span key={index} {...named('hidden')} title={words.hidden} dir="ltr">
        {escapeOf(stretch.codePoints)}
      </span>
    );
  });
}

/** A block in a text, unless it is all of it. */
export function Block({ isOnly, children }: { readonly isOnly: boolean; readonly children: ReactNode }) {
  return isOnly ? children : <span style={BLOCK}>{children}</span>;
}

const BLOCK = { display: 'block' } as const;

// Nothing; spaces at its ends, beside each other, or other than the space; or a quote, which would look like one of ours.
const ODD_NAME = /^$|^\s|\s$|\s\s|[^\S ]|^"/;
const SPACES_KEPT = { whiteSpace: 'pre-wrap' } as const;

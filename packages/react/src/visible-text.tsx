// Text from a model or a tool, shown as it is: never markup, never a link, and nothing in it hidden.
import { useMemo } from 'react';
import { useNamed, useWords } from './appearance.tsx';
import { escapeOf, stretchesOf } from './visible.ts';

export type VisibleTextProps = { readonly text: string; readonly className?: string };

/**
 * Shows invisible, control and bidirectional characters, and spaces that are not the space, as `⟦U+202E⟧`. Text in any
 * script, and emoji, stay as they are. It is isolated, so that its direction does not reach what stands around it.
 */
export function VisibleText({ text, className }: VisibleTextProps) {
  const named = useNamed();
  const words = useWords();
  const stretches = useMemo(() => stretchesOf(text), [text]);
  return (
    <bdi {...named('text', className)}>
      {stretches.map((stretch, index) => {
        if (stretch.is === 'text') return stretch.text;
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: the stretches of a text have no other identity.
          <span key={index} {...named('hidden')} title={words.hidden} dir="ltr">
            {escapeOf(stretch.codePoints)}
          </span>
        );
      })}
    </bdi>
  );
}

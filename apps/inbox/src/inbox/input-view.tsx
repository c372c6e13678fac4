// The input of a call in readable form, or as it travels, in JSON.
import { ValueView } from '@countersign/react';
import { useState } from 'react';
import { ReadableValue } from '../conversation/readable-value.tsx';

export function InputView({ value }: { readonly value: unknown }) {
  const [isRaw, setRaw] = useState(false);
  const hasNames = typeof value === 'object' && value !== null && Object.keys(value).length > 0;
  return (
    <div data-countersign="input" className="relative">
      {isRaw ? (
        <ValueView value={value} asJson className="pr-16" />
      ) : (
        <div className={hasNames ? 'pr-12' : undefined}>
          <ReadableValue value={value} />
        </div>
      )}
      {hasNames && (
        <button
          type="button"
          aria-pressed={isRaw}
          onClick={() => setRaw(!isRaw)}
          className="absolute top-2 right-2 rounded px-1.5 font-mono text-xs leading-5 text-muted hover:bg-sunken hover:text-ink aria-pressed:bg-sunken aria-pressed:text-ink"
        >
          JSON
        </button>
      )}
    </div>
  );
}

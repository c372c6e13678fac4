// What an element shows until the server has answered: nothing, or that it could not be loaded.
import { useCallback, useEffect, useRef, useState } from 'react';
import { useNamed, useWords } from '../appearance.tsx';
import { VisibleText } from '../text/visible-text.tsx';

/** Loads once, and again when the user asks for it. */
export function Loaded({ load }: { readonly load: () => Promise<void> }) {
  const named = useNamed();
  const words = useWords();
  const [failure, setFailure] = useState<Error>();
  const latest = useRef(load);
  latest.current = load;
  const begin = useCallback(() => {
    setFailure(undefined);
    latest.current().catch((reason: unknown) => setFailure(reason instanceof Error ? reason : new Error(`${reason}`)));
  }, []);
  useEffect(begin, [begin]);
  if (!failure) return null;
  return (
    <div {...named('card')}>
      <p {...named('failure')} role="alert">
        {words.notLoaded} <VisibleText text={failure.message.slice(0, 300)} />
      </p>
      <div {...named('buttons')}>
        <button {...named('try-again')} type="button" onClick={begin}>
          {words.tryAgain}
        </button>
      </div>
    </div>
  );
}

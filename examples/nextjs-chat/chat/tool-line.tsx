// A call without approval: one line that opens to its input and output.
import { ValueView } from '@countersign/react';

type Part = {
  readonly state: string;
  readonly input?: unknown;
  readonly output?: unknown;
  readonly errorText?: string | undefined;
};

export function ToolLine({ name, part }: { readonly name: string; readonly part: Part }) {
  const { state, input, output, errorText } = part;
  const isDone = state === 'output-available' || state === 'output-error' || state === 'output-denied';
  return (
    <details className="line" data-is={errorText === undefined ? 'done' : 'failed'}>
      <summary>
        <span aria-hidden="true" className="line-mark">
          {isDone ? '⚙' : '…'}
        </span>
        <span className="line-title">
          {isDone ? 'Used' : 'Using'} <code>{name}</code>
        </span>
      </summary>
      <div className="line-body">
        {input !== undefined && <ValueView value={input} />}
        {output !== undefined && (
          <>
            <p className="line-label">Result</p>
            <ValueView value={output} />
          </>
        )}
        {errorText !== undefined && <p>{errorText}</p>}
      </div>
    </details>
  );
}

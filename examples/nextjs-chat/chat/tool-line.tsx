// A call without approval: one line that opens to its input and output.
import { ValueView, VisibleText } from '@countersign/react';

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
    <details className="line">
      <summary>
        <span>
          {isDone ? 'Used' : 'Using'} <code>{name}</code>
          {errorText !== undefined && ' (failed)'}
        </span>
      </summary>
      <div className="line-body">
        {input !== undefined && <ValueView value={input} />}
        {output !== undefined && (
          <>
            <p className="text-xs text-muted">Result</p>
            <ValueView value={output} />
          </>
        )}
        {errorText !== undefined && (
          <p className="text-danger">
            <VisibleText text={errorText} />
          </p>
        )}
      </div>
    </details>
  );
}

// What the tool says would happen: rows as a table, text line by line; beside it the preview that was approved before.
import type { RequestCard } from 'countersign/ui';
import { useNamed, useWords } from '../appearance.tsx';
import { LongText } from '../text/long-text.tsx';
import { ValueView } from '../text/value-view.tsx';
import { VisibleText } from '../text/visible-text.tsx';
import { InputDiff } from './input-diff.tsx';
import { PreviewFiles } from './preview-files.tsx';

type Preview = NonNullable<RequestCard['preview']>;

/** Shows everything that the tool has computed, as text. */
export function CardPreview({ request }: { readonly request: RequestCard<string, any> }) {
  const named = useNamed();
  const words = useWords();
  const { preview, earlierPreview } = request;
  if (!preview) return null;
  if (!earlierPreview)
    return (
      <section {...named('preview')}>
        <p {...named('preview-caption')}>{words.preview}</p>
        <PreviewView requestId={request.id} preview={preview} />
      </section>
    );
  return (
    <section {...named('preview')} data-changed="">
      <p {...named('preview-changed')}>{words.previewChanged}</p>
      <Changed before={earlierPreview} after={preview} />
      <div {...named('previews')}>
        <div {...named('preview-before')}>
          <p {...named('preview-caption')}>{words.previewBefore}</p>
          <PreviewView requestId={request.id} preview={earlierPreview} other={preview} />
        </div>
        <div {...named('preview-now')}>
          <p {...named('preview-caption')}>{words.previewNow}</p>
          <PreviewView requestId={request.id} preview={preview} other={earlierPreview} />
        </div>
      </div>
    </section>
  );
}

/** Names the fields that have changed; rows of tables are marked where they stand. */
function Changed({ before, after }: { readonly before: Preview; readonly after: Preview }) {
  if ('failed' in before || 'failed' in after) return null;
  const areFields = [before, after].every(({ value }) => isFields(value));
  return areFields ? <InputDiff before={before.value} after={after.value} /> : null;
}

const isFields = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value);

type PreviewProps = { readonly requestId: string; readonly preview: Preview; readonly other?: Preview };

/** `other`: the preview beside it, whose rows need no mark. */
function PreviewView({ requestId, preview, other }: PreviewProps) {
  const named = useNamed();
  const words = useWords();
  if ('failed' in preview)
    return (
      <p {...named('preview-failed')}>
        <strong>{words.previewFailed}</strong> <LongText text={preview.failed} />
      </p>
    );
  const { value, files = [] } = preview;
  if (files.length === 0) return <PreviewValue value={value} {...(other && { other })} />;
  const isEmpty = typeof value === 'object' && value !== null && Object.keys(value).length === 0;
  return (
    <>
      {!isEmpty && <PreviewValue value={value} {...(other && { other })} />}
      <PreviewFiles requestId={requestId} files={files} />
    </>
  );
}

function PreviewValue({ value, other }: { readonly value: unknown; readonly other?: Preview }) {
  if (typeof value === 'string' && value.includes('\n')) return <Lines text={value} />;
  const columns = columnsOf(value);
  if (!columns) return <ValueView value={value} />;
  const known = other && 'value' in other && Array.isArray(other.value) ? other.value : undefined;
  return <Table rows={value as readonly Row[]} columns={columns} {...(known && { known })} />;
}

/** More lines are shown as one text, part by part. */
const LINES_AT_MOST = 500;

/** Lines that begin with `+` or `-`, as in a diff, are marked. The sign itself says what the colour says. */
function Lines({ text }: { readonly text: string }) {
  const named = useNamed();
  const lines = text.split('\n');
  return (
    <pre {...named('preview-text')} dir="ltr">
      {lines.length > LINES_AT_MOST ? (
        <LongText text={text} />
      ) : (
        lines.map((line, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the lines of a recorded text do not move.
          <span key={index} {...named('preview-line')} {...signOf(line)}>
            <VisibleText text={line} />
            {'\n'}
          </span>
        ))
      )}
    </pre>
  );
}

function signOf(line: string): { readonly 'data-line'?: 'added' | 'removed' } {
  if (line.startsWith('+')) return { 'data-line': 'added' };
  return line.startsWith('-') ? { 'data-line': 'removed' } : {};
}

type Row = { readonly [name: string]: unknown };

const ROWS_AT_MOST = 200;
const COLUMNS_AT_MOST = 12;

/** The names in an array of objects, in the order of their first use; undefined if a table would not help. */
function columnsOf(value: unknown): readonly string[] | undefined {
  if (!Array.isArray(value) || value.length === 0 || value.length > ROWS_AT_MOST) return undefined;
  if (!value.every((row) => typeof row === 'object' && row !== null && !Array.isArray(row))) return undefined;
  const columns = [...new Set(value.flatMap((row) => Object.keys(row)))];
  return columns.length > 0 && columns.length <= COLUMNS_AT_MOST ? columns : undefined;
}

type TableProps = {
  readonly rows: readonly Row[];
  readonly columns: readonly string[];
  /** The rows of the other preview. */
  readonly known?: readonly unknown[];
};

/** A wide table scrolls, so the keyboard must reach it. Rows that the other preview does not have are marked. */
function Table({ rows, columns, known }: TableProps) {
  const named = useNamed();
  const words = useWords();
  const others = known && new Set(known.map((row) => JSON.stringify(row)));
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls.
    <section {...named('preview-scroll')} tabIndex={0} aria-label={words.preview}>
      <table {...named('preview-table')}>
        <thead>
          <tr>
            {columns.map((name) => (
              <th key={name} scope="col">
                <LongText text={name} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the rows of a recorded value do not move.
            <tr key={index} {...(others && !others.has(JSON.stringify(row)) && { 'data-changed': '' })}>
              {columns.map((name) => (
                <td key={name} {...(typeof row[name] === 'number' && { 'data-type': 'number' })}>
                  {Object.hasOwn(row, name) && <ValueView value={row[name]} />}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

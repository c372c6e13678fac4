// A table of texts, with its first row as the header.
import { useNamed } from '../appearance.tsx';
import { LongText } from '../text/long-text.tsx';

type TextTableProps = { readonly rows: readonly (readonly string[])[]; readonly label: string };

/** A wide table scrolls, so the keyboard must reach it. */
export function TextTable({ rows: [head = [], ...rows], label }: TextTableProps) {
  const named = useNamed();
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls.
    <section {...named('preview-scroll')} tabIndex={0} aria-label={label}>
      <table {...named('preview-table')}>
        <thead>
          <tr>
            {head.map((cell, column) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: the cells of a recorded file do not move.
              <th key={column} scope="col">
                <LongText text={cell} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, place) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the rows of a recorded file do not move.
            <tr key={place}>
              {row.map((cell, column) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: the cells of a recorded file do not move.
                <td key={column}>
                  <LongText text={cell} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

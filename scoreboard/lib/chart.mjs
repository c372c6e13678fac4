// The chart of the scoreboard: one bar per system, with a part for each kind of fault. Readable on light and dark pages.
import { COLUMNS, labelOf, rowsOf, sumOf } from './rows.mjs';

const COLOURS = { doubled: '#c4432b', lost: '#8250df', undecided: '#bf8700', wrong: '#4477aa', stuck: '#6e7781' };
const [LABEL, BAR, WIDTH, TOP] = [270, 24, 860, 64];

export function chartOf(results) {
  const rows = rowsOf(results);
  const most = Math.max(1, ...rows.map((row) => total(row)));
  const scale = (WIDTH - LABEL - 110) / most;
  const drawn = rows.map((row, index) => barOf(row, TOP + index * BAR, scale));
  const legend = Object.entries(COLUMNS).map(([column, said], index) => {
    const x = 10 + [0, 105, 320, 530, 645][index];
    return `<rect x="${x}" y="34" width="12" height="12" fill="${COLOURS[column]}"/><text x="${x + 18}" y="45">${said}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${TOP + rows.length * BAR + 12}" font-family="system-ui, sans-serif" font-size="13">
<title>Payments that went wrong under the faults of the scoreboard, by system; shorter is better</title>
<style>text { fill: #1f2328 } .note { fill: #59636e } @media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .note { fill: #9198a1 } }</style>
<text x="10" y="20" font-weight="600">Payments that went wrong, all faults together. Shorter is better.</text>
${legend.join('\n')}
${drawn.join('\n')}
</svg>
`;
}

const total = (row) => Object.keys(COLUMNS).reduce((sum, column) => sum + sumOf(row, column), 0);

function barOf(row, y, scale) {
  let x = LABEL;
  const parts = Object.keys(COLUMNS).map((column) => {
    const width = sumOf(row, column) * scale;
    const part =
      width > 0
        ? `<rect x="${x.toFixed(1)}" y="${y}" width="${width.toFixed(1)}" height="16" fill="${COLOURS[column]}"/>`
        : '';
    x += width;
    return part;
  });
  const note = `<text class="note" x="${(x + 6).toFixed(1)}" y="${y + 13}">${total(row)} of ${sumOf(row, 'of')}</text>`;
  return `<text x="${LABEL - 8}" y="${y + 13}" text-anchor="end">${labelOf(row)}</text>${parts.join('')}${note}`;
}

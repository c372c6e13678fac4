// The figures of a soak as a chart: a panel for each figure, a line for each store. Readable on light and dark pages.
//
//   node scripts/soak/chart.mjs results.json docs/images/soak.svg
import { readFileSync, writeFileSync } from 'node:fs';
import { flatness, median } from './flatness.mjs';

const PANELS = [
  { name: 'heap', title: 'Heap of the process', unit: 'MB', factor: 1e-6 },
  { name: 'handles', title: 'Open handles', unit: '', factor: 1 },
  { name: 'files', title: 'Open files', unit: '', factor: 1 },
  { name: 'bytes', title: 'The store on the disk', unit: 'MB', factor: 1e-6 },
  { name: 'rows', title: 'Rows in all tables', unit: '', factor: 1 },
  { name: 'made', title: 'Payments asked for so far', unit: '', factor: 1 },
];
const NAMES = { sqlite: 'SQLite', postgres: 'PostgreSQL' };
const [WIDTH, HEIGHT, GAP, TOP] = [270, 110, 20, 34];

/** `results`: what `soak.mjs --out` wrote. */
function chart(results) {
  const [columns, height] = [3, TOP + HEIGHT + 28];
  const panels = PANELS.map((panel, index) => {
    const [x, y] = [(index % columns) * (WIDTH + GAP), Math.floor(index / columns) * height];
    return `<g transform="translate(${x} ${y})">${drawn(panel, results)}</g>`;
  });
  const width = columns * (WIDTH + GAP) - GAP;
  const legend = results.map(
    ({ store }, index) =>
      `<line class="${store}" x1="${index * 110}" x2="${index * 110 + 22}" y1="${height * 2 + 8}" y2="${height * 2 + 8}"/><text x="${index * 110 + 28}" y="${height * 2 + 12}">${NAMES[store]}</text>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="-4 0 ${width + 8} ${height * 2 + 24}" font-family="system-ui, sans-serif" font-size="12">
<title>What a server holds during ${results[0].minutes} minutes of load</title>
<style>
text { fill: #1f2328 } .note { fill: #59636e } line, polyline { fill: none; stroke-width: 1.6 } .axis { stroke: #d1d9e0; stroke-width: 1 }
.sqlite { stroke: #1a7f5a } .postgres { stroke: #0969da }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .note { fill: #9198a1 } .axis { stroke: #3d444d } .sqlite { stroke: #3fb68b } .postgres { stroke: #58a6ff }
}
</style>
${panels.join('\n')}
${legend.join('\n')}
</svg>
`;
}

function drawn({ name, title, unit, factor }, results) {
  const most = Math.max(...results.flatMap(({ samples }) => samples.map((sample) => sample[name]))) * 1.15;
  const lines = results.map(({ store, samples }) => {
    const points = samples.map((sample, index) => {
      const x = (index / (samples.length - 1)) * WIDTH;
      return `${x.toFixed(1)},${(TOP + HEIGHT - (sample[name] / most) * HEIGHT).toFixed(1)}`;
    });
    return `<polyline class="${store}" points="${points.join(' ')}"/>`;
  });
  const last = results.map(({ samples }) => shown(samples.at(-1)[name] * factor)).join(' / ');
  return `<text y="14" font-weight="600">${title}</text><text class="note" y="28" font-size="11">${last} ${unit} at the end</text>
<line class="axis" x1="0" x2="${WIDTH}" y1="${TOP + HEIGHT}" y2="${TOP + HEIGHT}"/>
<text class="note" x="0" y="${TOP + HEIGHT + 13}" font-size="10">0 min</text><text class="note" x="${WIDTH}" y="${TOP + HEIGHT + 13}" font-size="10" text-anchor="end">${results[0].minutes} min</text>
${lines.join('')}`;
}

const shown = (value) =>
  value >= 100 ? Math.round(value).toLocaleString('en-US') : String(Number(value.toPrecision(3)));

const [source, target] = process.argv.slice(2);
const results = JSON.parse(readFileSync(source, 'utf8'));
writeFileSync(target, chart(results));
for (const { store, counts, samples, problems } of results) {
  const quarter = Math.floor(samples.length / 4);
  console.log(store, counts, problems, flatness(samples));
  for (const { name } of PANELS)
    console.log(
      `  ${name}: ${median(samples.slice(quarter, 2 * quarter), name)} → ${median(samples.slice(-quarter), name)}`,
    );
}

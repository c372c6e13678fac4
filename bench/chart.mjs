// The chart of the README: four cases, one bar per framework, shorter is better. Readable on light and dark pages.
const PANELS = [
  { title: 'Pause, approve, resume', unit: 'µs of CPU', case: 'A', variant: 'roundtrip', key: 'cpuUs' },
  { title: 'A turn, after 1,600 turns', unit: 'µs of CPU', case: 'B', variant: 'n=1600', key: 'cpuUs' },
  { title: 'Pause and resume with 5,000 messages', unit: 'ms of CPU', case: 'C', variant: 'n=5000', key: 'cpuMs' },
  {
    title: '1,000 text deltas as server-sent events',
    unit: 'ms of CPU',
    case: 'E',
    variant: 'SSE n=10000',
    key: 'cpuUs',
  },
];
const NAMES = {
  floor: 'bare loop, by hand',
  ours: 'Countersign, own model',
  'ours:ai-sdk-model': 'Countersign, AI SDK model',
  'ai-sdk': 'AI SDK',
  genkit: 'Genkit',
  'openai-agents': 'OpenAI Agents',
  langgraph: 'LangGraph',
  mastra: 'Mastra',
};
const [WIDTH, BAR, LABEL, TOP] = [860, 22, 200, 34];

/** The chart as SVG, from a condensed report. */
export function chart({ cases, when }) {
  const panels = PANELS.map((panel) => ({ ...panel, bars: barsOf(cases, panel) })).filter(
    ({ bars }) => bars.length > 1,
  );
  let y = 10;
  const drawn = panels.map((panel) => {
    const svg = drawPanel(panel, y);
    y += TOP + panel.bars.length * BAR + 22;
    return svg;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${y + 10}" font-family="system-ui, sans-serif" font-size="13">
<title>CPU time of Countersign and other frameworks on the same work; shorter is better</title>
<style>
text { fill: #1f2328 } .note { fill: #59636e } .bar { fill: #afb8c1 } .ours { fill: #1a7f5a } .floor { fill: #d1d9e0 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .note { fill: #9198a1 } .bar { fill: #57606a } .ours { fill: #3fb68b } .floor { fill: #3d444d }
}
</style>
${drawn.join('\n')}
<text class="note" x="0" y="${y + 4}" font-size="11">Shorter is better. Same scripted work in one run, ${when.slice(0, 10)}; see bench/README.md.</text>
</svg>
`;
}

function barsOf(cases, { case: id, variant, key }) {
  const rows = cases.find((one) => one.case === id && one.variant === variant)?.rows ?? [];
  return Object.entries(NAMES)
    .map(([name, label]) => ({ name, label, value: rows.find((row) => row.id === name)?.values[key] }))
    .filter(({ value }) => Number.isFinite(value))
    .sort((a, b) => a.value - b.value);
}

function drawPanel({ title, unit, bars }, y) {
  const most = Math.max(...bars.map(({ value }) => value));
  const rows = bars.map(({ name, label, value }, index) => {
    const top = y + TOP + index * BAR;
    const width = Math.max(2, (value / most) * (WIDTH - LABEL - 90));
    const kind = name.startsWith('ours') ? 'ours' : name === 'floor' ? 'floor' : 'bar';
    const weight = kind === 'ours' ? ' font-weight="600"' : '';
    return `<text x="${LABEL - 10}" y="${top + 13}" text-anchor="end"${weight}>${label}</text>
<rect class="${kind}" x="${LABEL}" y="${top}" width="${width.toFixed(1)}" height="${BAR - 6}" rx="2"/>
<text x="${(LABEL + width + 8).toFixed(1)}" y="${top + 13}"${weight}>${shown(value)}</text>`;
  });
  const head = `<text x="0" y="${y + 16}" font-size="15" font-weight="600">${title} <tspan class="note" font-size="12" font-weight="400">${unit}</tspan></text>`;
  return [head, ...rows].join('\n');
}

const shown = (value) =>
  value >= 1000 ? Math.round(value).toLocaleString('en-US') : String(Number(value.toPrecision(value >= 100 ? 3 : 2)));

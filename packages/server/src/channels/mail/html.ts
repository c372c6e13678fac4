// A letter as HTML that mail programs show well: tables, styles on the elements, no scripts, nothing to load.
import { escaped } from '../../pages/html.ts';
import { directionOf } from './direction.ts';
import type { Letter } from './letter.ts';
import { type Block, type Link, linksIn, type Section, type Tone } from './section.ts';
import type { Row } from './value-rows.ts';

export function htmlOf({ language, summary, heading, sections, footer, tooLarge }: Letter): string {
  return `<!doctype html>
<html lang="${escaped(language)}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<meta name="format-detection" content="telephone=no, date=no, address=no, email=no, url=no">
<title>${escaped(summary)}</title>
<style>${STYLE}</style>
</head>
<body class="canvas" style="margin:0;padding:0;background:#f4f4f5">
<div style="display:none;max-height:0;overflow:hidden;opacity:0">${escaped(summary)}${FILL}</div>
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" class="canvas" style="background:#f4f4f5">
<tr><td align="center" class="outer" style="padding:24px 12px">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" style="max-width:600px;text-align:left;${FONT}">
<tr><td class="muted" style="padding:0 4px 12px;color:#5d5d66;font-size:13px;font-weight:600">Countersign</td></tr>
${heading === '' ? '' : `<tr><td class="ink" style="padding:0 4px 16px;color:#18181b;font-size:20px;font-weight:600">${escaped(heading)}</td></tr>`}
${sections.map((section) => sectionHtml(section, tooLarge)).join('\n')}
<tr><td class="muted" style="padding:4px 4px 0;color:#5d5d66;font-size:12px;line-height:18px">${footer.map(lineHtml).join('<br>')}</td></tr>
</table>
</td></tr>
</table>
</body>
</html>
`;
}

/** Keeps the first words of the mail out of the summary that lists show. */
const FILL = '&#847;&zwnj;&nbsp;'.repeat(40);

const FONT = "font-family:-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif";
const MONO = "font-family:ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;font-size:13px";
/** A long word must not make the mail wider than the screen. */
const WRAP = 'word-break:break-word;overflow-wrap:anywhere';

/** The colours are those of the tokens in @countersign/react. */
const COLOURS: Readonly<Record<Tone, readonly [text: string, soft: string]>> = {
  accent: ['#0f5f58', '#e6f4f2'],
  good: ['#15713a', '#e5f6eb'],
  bad: ['#b42318', '#fdecea'],
  warning: ['#8f4f06', '#fdf2db'],
  muted: ['#5d5d66', '#f0f0f2'],
};

const STYLE = `
:root { color-scheme: light dark; supported-color-schemes: light dark; }
@media (max-width: 480px) {
  .outer { padding: 12px 8px !important; }
  .card { padding: 20px 16px !important; }
  .buttons, .button table { width: 100% !important; }
  .button { display: block !important; padding: 0 0 8px !important; }
  .button a { display: block !important; text-align: center !important; }
}
@media (prefers-color-scheme: dark) {
  .canvas { background: #0b0b0c !important; }
  .surface { background: #131315 !important; border-color: #29292e !important; }
  .sunken { background: #1c1c1f !important; }
  .ink { color: #f4f4f5 !important; }
  .muted { color: #a3a3ad !important; }
  .line { border-color: #29292e !important; }
  .accent { color: #2dd4bf !important; } .accent-soft { background: #0f2a27 !important; }
  .good { color: #4ade80 !important; } .good-soft { background: #10291a !important; }
  .bad { color: #fca5a5 !important; } .bad-soft { background: #391818 !important; }
  .warning { color: #fbbf24 !important; } .warning-soft { background: #32250b !important; }
  .muted-soft { background: #232327 !important; }
  .main { background: #2dd4bf !important; border-color: #2dd4bf !important; } .main a { color: #06201d !important; }
  .danger { border-color: #fca5a5 !important; } .danger a { color: #fca5a5 !important; }
  .plain { border-color: #70707a !important; } .plain a { color: #f4f4f5 !important; }
}
`;

function sectionHtml(section: Section, tooLarge: string): string {
  const { lead, tone, title, source, badges, blocks, hint } = section;
  const [colour] = COLOURS[tone];
  return `<tr><td style="padding:0 0 16px">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0"><tr><td class="card surface" style="padding:24px;background:#ffffff;border:1px solid #e6e6e9;border-radius:12px">
${lead === '' ? '' : `<p class="${tone}" style="margin:0;color:${colour};font-size:14px;line-height:20px;font-weight:600">${lineHtml(lead)}</p>`}
<h1 class="ink" dir="${directionOf(title)}" style="margin:6px 0 0;color:#18181b;font-size:21px;line-height:28px;font-weight:600;${WRAP}">${lineHtml(title)}</h1>
${source === '' ? '' : `<p class="muted" style="margin:4px 0 0;color:#5d5d66;font-size:13px;line-height:20px;${WRAP}">${lineHtml(source)}</p>`}
${badges.length === 0 ? '' : `<p style="margin:12px 0 0;line-height:28px">${badges.map(badgeHtml).join(' ')}</p>`}
${blocks.map((block) => blockHtml(block, tooLarge)).join('\n')}
${linksHtml(linksIn(section))}
${hint === '' ? '' : `<p class="muted" style="margin:16px 0 0;color:#5d5d66;font-size:13px;line-height:20px">${lineHtml(hint)}</p>`}
</td></tr></table>
</td></tr>`;
}

const lineHtml = (text: string): string => escaped(text).replaceAll('\n', '<br>');

function badgeHtml({ text, tone }: Section['badges'][number]): string {
  const [colour, soft] = COLOURS[tone];
  return `<span class="${tone} ${tone}-soft" style="display:inline-block;padding:2px 10px;border-radius:6px;background:${soft};color:${colour};font-size:13px;line-height:20px;font-weight:600">${escaped(text)}</span>`;
}

function blockHtml({ caption, rows, look }: Block, tooLarge: string): string {
  if (rows && look === 'message') return rows.map(messageHtml).join('\n');
  const heading = `<p class="muted" style="margin:20px 0 6px;color:#5d5d66;font-size:13px;line-height:20px;font-weight:600">${lineHtml(caption)}</p>`;
  const body = rows
    ? `<table width="100%" cellpadding="0" cellspacing="0" style="border-collapse:collapse;table-layout:fixed">${rows.map((row, index) => rowHtml(row, look, index === 0)).join('\n')}</table>`
    : `<p class="warning warning-soft" style="margin:0;padding:10px 12px;border-radius:8px;background:#fdf2db;color:#8f4f06;font-size:14px;line-height:21px">${lineHtml(tooLarge)}</p>`;
  return `${caption === '' ? '<div style="height:16px"></div>' : heading}${body}`;
}

const messageHtml = ({ text = '' }: Row): string =>
  `<p class="ink" dir="${directionOf(text)}" style="margin:16px 0 0;color:#18181b;font-size:15px;line-height:23px;${WRAP}">${lineHtml(text)}</p>`;

/** Names are beside their values, and above them if these are long. */
function rowHtml({ depth, name, text }: Row, look: Block['look'], isFirst: boolean): string {
  const edge = isFirst ? '' : 'border-top:1px solid #e6e6e9;';
  const start = `padding-left:${depth * INDENT}px`;
  const font = look === 'code' ? MONO : 'font-size:14px';
  const value = (shown: string, style: string): string =>
    `class="ink line" dir="${directionOf(shown)}" style="${style};${CELL};color:#18181b;${font};white-space:pre-wrap">${lineHtml(shown)}</td>`;
  if (name === undefined) return `<tr><td colspan="2" ${value(text ?? '', `${edge}padding:7px 0`)}</tr>`;
  const heading = (more: string, style: string): string =>
    `<th ${more} class="muted line" style="${edge}${style};${start};${CELL};text-align:left;font-size:14px;color:#5d5d66"><bdi>${lineHtml(name)}</bdi></th>`;
  if (text === undefined) return `<tr>${heading('colspan="2"', 'padding:7px 0;font-weight:600')}</tr>`;
  if (text.length <= SHORT && !text.includes('\n'))
    return `<tr>${heading('scope="row" width="36%"', 'padding:7px 12px 7px 0;font-weight:400')}<td ${value(text, `${edge}padding:7px 0`)}</tr>`;
  return `<tr>${heading('scope="row" colspan="2"', 'padding:7px 0 0;font-weight:400')}</tr>
<tr><td colspan="2" ${value(text, `padding:2px 0 7px;${start}`)}</tr>`;
}

const CELL = `vertical-align:top;line-height:21px;${WRAP}`;
const INDENT = 16;
/** Longer values do not fit beside their names on a phone. */
const SHORT = 70;

function linksHtml(links: readonly Link[]): string {
  if (links.length === 0) return '';
  return `<table role="presentation" cellpadding="0" cellspacing="0" class="buttons" style="margin:24px 0 0"><tr>${links.map(buttonHtml).join('')}</tr></table>`;
}

const BUTTONS: Readonly<Record<Link['look'], readonly [background: string, border: string, text: string]>> = {
  main: ['#0f5f58', '#0f5f58', '#ffffff'],
  danger: ['transparent', '#b42318', '#b42318'],
  plain: ['transparent', '#83838c', '#18181b'],
};

function buttonHtml({ label, url, look }: Link): string {
  const [background, border, colour] = BUTTONS[look];
  return `<td class="button" style="padding:0 8px 0 0"><table role="presentation" cellpadding="0" cellspacing="0"><tr><td class="${look}" style="border:1px solid ${border};border-radius:8px;background:${background}"><a href="${escaped(url)}" style="display:inline-block;padding:11px 20px;color:${colour};font-size:15px;line-height:20px;font-weight:600;text-decoration:none">${escaped(label)}</a></td></tr></table></td>`;
}

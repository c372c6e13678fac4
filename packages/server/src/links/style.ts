// The look of the pages of decision links: that of the other small pages, with a card in it.
import { CARD_STYLE } from '../pages/card-page.ts';

export const DECIDE_STYLESHEET = '/decide.css';

export const DECIDE_STYLE = `${CARD_STYLE}
:root { --danger: light-dark(#b42318, #f97066); --on-danger: light-dark(#ffffff, #2a0b08); }
html { scroll-padding-bottom: 5rem; }
body { place-items: start center; }
main { max-width: 42rem; }
h2 { margin: 0 0 0.5rem; font-size: 0.8125rem; color: var(--muted); font-weight: 600; }
section { margin-top: 1rem; padding-top: 1rem; border-top: 1px solid var(--line); }
section p, section ul { color: var(--ink); margin: 0; }
.badges { display: flex; flex-wrap: wrap; gap: 0.375rem; padding: 0; list-style: none; }
.badges li { margin: 0; padding: 0.125rem 0.5rem; border: 1px solid var(--line); border-radius: 1rem; font-size: 0.8125rem; }
.badges.high li { border-color: var(--danger); color: var(--danger); }
.value { margin: 0; }
.value div { display: grid; grid-template-columns: 9rem minmax(0, 1fr); gap: 0.125rem 1rem; padding: 0.375rem 0; }
.value div + div { border-top: 1px solid var(--line); }
dt, dt bdi { color: var(--muted); }
dd { margin: 0; min-width: 0; }
.text { white-space: pre-wrap; }
pre { margin: 0; padding: 0.5rem 0.75rem; border-radius: 0.5rem; background: var(--sunken); color: var(--ink);
  font: 0.8125rem/1.5 ui-monospace, "DejaVu Sans Mono", monospace; white-space: pre-wrap; overflow-wrap: anywhere; }
.aid, .small { color: var(--muted); font-size: 0.8125rem; }
.doing { font-size: 1rem; }
.offer { margin-top: 1rem; }
details.offer { border: 1px solid var(--line); border-radius: 0.5rem; padding: 0 0.875rem; }
details[open].offer { padding-bottom: 0.875rem; }
summary { padding: 0.625rem 0; font-weight: 500; cursor: pointer; }
.offer .button { width: 100%; height: 2.75rem; }
.asks { margin: 0; }
.message { margin-top: 1rem; color: var(--ink); font-size: 1rem; white-space: pre-wrap; }
.came { padding: 0.625rem 0.875rem; border-radius: 0.5rem; background: var(--sunken); color: var(--ink); font-weight: 500; }
.came.failed, .came.unknown { color: var(--danger); }
.more { font-size: 0.8125rem; }
.decide { margin: 1.25rem 0; }
.decide .button { height: 2.75rem; }
.bar { position: sticky; bottom: 0; z-index: 1; display: flex; flex-wrap: wrap; gap: 0.5rem; margin: 1rem -1.5rem -1.5rem;
  padding: 0.75rem 1.5rem max(0.75rem, env(safe-area-inset-bottom)); border-top: 1px solid var(--line);
  border-radius: 0 0 0.75rem 0.75rem; background: var(--surface); }
.bar form { display: contents; }
.bar .button { height: 2.75rem; }
:target { scroll-margin: 4rem; }
.field { display: grid; gap: 0.25rem; margin: 0 0 0.875rem; font-weight: 500; }
.field .small { font-weight: 400; }
input, select, textarea { width: 100%; padding: 0.5rem 0.625rem; border: 1px solid var(--line); border-radius: 0.5rem;
  background: var(--canvas); color: var(--ink); font: inherit; font-size: 1rem; font-weight: 400; }
[aria-invalid] { border-color: var(--danger); }
.problem, section p.problem { color: var(--danger); }
span.problem { font-weight: 400; }
.elsewhere { padding: 0.625rem 0.875rem; border-radius: 0.5rem; background: var(--sunken); color: var(--ink); }
.button-danger { border-color: transparent; background: var(--danger); color: var(--on-danger); }
.button-danger:hover { background: var(--danger); filter: brightness(1.1); }
@media (max-width: 30rem) {
  main { padding: 1rem; }
  .bar { margin: 1rem -1rem -1rem; padding-inline: 1rem; }
  .bar .button { flex: 1 1 30%; padding: 0 0.5rem; }
  .value div { grid-template-columns: minmax(0, 1fr); }
}
`;

// A notice that `countersign channels test` sends: it looks real, and nothing can be decided on it.
import type { Notice } from 'countersign';

export function sampleNotice(type: 'opened' | 'withdrawn'): Notice {
  const at = Date.now();
  return {
    key: `sample|${type}|${at}`,
    type,
    at,
    number: 0,
    requestId: 'sample',
    runId: 'sample',
    agent: 'sample',
    tool: 'sample',
    title: 'Sample: Countersign can reach you here',
    kind: 'approval',
    risk: 'high',
    expiresAt: null,
    card: null,
    settlement: type === 'withdrawn' ? { withdrawn: true, at } : null,
    outcome: null,
    to: [],
    links: null,
    attempt: 1,
  };
}

// The notice that `countersign channels test` sends.
import type { Notice, RunRequest } from 'countersign';
import { sampleNotice } from '../webhook/sample-notice.ts';
import type { MailTexts } from './texts.ts';

/** A request that does not exist, for one address. */
export function sampleMail(to: string, key: string, { sampleTitle, sampleMessage }: MailTexts): Notice {
  const input = { to: 'ACME GmbH', amount: 950, currency: 'EUR', reference: 'INV-1043' };
  const about = { runId: 'sample', agent: 'bookkeeper', tool: 'payInvoice', kind: 'approval', risk: 'high' } as const;
  const card: RunRequest = {
    ...about,
    id: 'sample:1',
    startedBy: null,
    labels: [],
    createdAt: Date.now(),
    expiresAt: null,
    onExpiry: null,
    reminders: [],
    escalate: [],
    answerSchema: null,
    digest: '',
    settledAt: null,
    title: sampleTitle,
    agentReason: null,
    input,
    payload: { message: sampleMessage },
    reversibility: 'irreversible',
    hasUndo: false,
    preview: null,
    earlierPreview: null,
    previous: null,
    reviews: [],
    doubt: null,
    part: {
      toolRequest: { name: about.tool, ref: '1', input },
      metadata: {
        interruptKind: about.kind,
        request: { message: sampleMessage },
        risk: about.risk,
        reversibility: 'irreversible',
      },
    },
    notice: null,
    commentsForModel: false,
    policies: [{}],
    requesters: [],
    progress: null,
    settlement: null,
    outcome: null,
    earlierTitle: null,
  };
  const notice = { ...sampleNotice('opened'), ...about, key, title: sampleTitle, requestId: card.id, card };
  return { ...notice, to: [{ person: to, why: 'everyone', contact: {} }] };
}

// Notices as the server sends them.
import type { MyNotices } from '@countersign/server/client';

export type { ChannelStatus, DeadLetter, Delivery, MyNotices } from '@countersign/server/client';
export type NoticePreferences = MyNotices['preferences'];

/** What a notice said, for people. */
export const TYPES: Readonly<Record<string, string>> = {
  opened: 'New request',
  doubt: 'Unknown outcome',
  reminded: 'Reminder',
  escalated: 'Escalation',
  assigned: 'Assignment',
  commented: 'Comment',
  decided: 'Decision',
  expired: 'Expiry',
  withdrawn: 'Withdrawal',
  done: 'Done',
  failed: 'Failure',
  unknown: 'Unknown outcome',
  'not-run': 'Not run',
};

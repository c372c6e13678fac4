// Notices as the server sends them.

export type NoticePreferences = {
  readonly channels?: Readonly<Record<string, boolean>>;
  readonly quiet?: { readonly from: string; readonly until: string; readonly timeZone: string };
  readonly digest?: 'low-risk' | 'all' | 'off';
};

export type MyNotices = { readonly preferences: NoticePreferences; readonly channels: readonly string[] };

export type ChannelStatus = {
  readonly name: string;
  readonly waiting: number;
  readonly dead: number;
  readonly lastDeliveredAt: number | null;
  readonly lastError: string | null;
};

export type DeadLetter = {
  readonly id: string;
  readonly channel: string;
  readonly requestId: string;
  readonly person: string | null;
  readonly types: readonly string[];
  readonly attempts: number;
  readonly error: string;
  readonly at: number;
};

export type Delivery = {
  readonly id: string;
  readonly channel: string;
  readonly type: string | null;
  readonly requestId: string;
  readonly person: string | null;
  readonly outcome: 'delivered' | 'failed' | 'given-up' | 'refused' | 'off';
  readonly attempt: number;
  readonly error: string | null;
  readonly at: number;
};

/** What a notice said, for people. */
export const TYPES: Readonly<Record<string, string>> = {
  opened: 'New request',
  doubt: 'Unknown outcome',
  reminded: 'Reminder',
  escalated: 'Escalation',
  assigned: 'Assignment',
  decided: 'Decision',
  expired: 'Expiry',
  withdrawn: 'Withdrawal',
};

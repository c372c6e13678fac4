// One mail about several requests: the first ones whole, the others by their titles.
import type { Notice } from 'countersign';
import { headlineOf, type Reader, type Section, sectionOf } from './section.ts';
import { oneLine } from './value-rows.ts';

/** More are not read in a mail, and Gmail would cut them off. */
const MOST_WHOLE = 10;
const MOST_LISTED = 250;

/** What all of them have in common; undefined if nothing. */
export function digestHeading(notices: readonly Notice[], reader: Reader): string | undefined {
  const { texts } = reader;
  if (notices.every(({ settlement }) => settlement === null)) return texts.digestWaiting(notices.length);
  const leads = new Set(notices.map((notice) => (notice.settlement ? headlineOf(notice, reader) : '')));
  const [lead = ''] = leads;
  return leads.size === 1 ? texts.digestSame(notices.length, lead) : undefined;
}

export function digestSections(notices: readonly Notice[], reader: Reader): readonly Section[] {
  const whole = notices.slice(0, MOST_WHOLE).map((notice) => sectionOf(notice, reader));
  const rest = notices.slice(MOST_WHOLE);
  return rest.length === 0 ? whole : [...whole, listOf(rest, reader)];
}

function listOf(notices: readonly Notice[], { texts }: Reader): Section {
  const rows = notices.slice(0, MOST_LISTED).map(({ title }) => ({ depth: 0, text: oneLine(title) }));
  const links = inboxLink(notices[0], texts.openInbox);
  return {
    lead: '',
    tone: 'muted',
    title: texts.digestMore(notices.length),
    source: '',
    badges: [],
    blocks: [{ caption: '', rows, look: 'table' }],
    links: { whole: links, partial: links },
    hint: '',
  };
}

/** The inbox is above the pages of its requests. */
function inboxLink(notice: Notice | undefined, label: string): Section['links']['whole'] {
  const request = notice?.links?.request;
  return request === undefined ? [] : [{ label, url: new URL('../', request).href, look: 'main' }];
}

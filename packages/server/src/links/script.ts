// The script of the pages of decision links. They work without it.

export const DECIDE_SCRIPT = '/decide.js';

/** Writes times in the zone of the browser. After it, a reload asks for the page again instead of sending its form once more. */
export const DECIDE_SCRIPT_TEXT = `const parts = { weekday: 'short', year: 'numeric', month: 'short', day: 'numeric', hour: 'numeric', minute: '2-digit' };
const format = new Intl.DateTimeFormat(undefined, { ...parts, timeZoneName: 'short' });
for (const time of document.querySelectorAll('time')) time.textContent = format.format(new Date(time.dateTime));
history.replaceState(null, '', location.href);
`;

// The words with which the AI SDK's recipe says yes and no.

/** The outputs that the recipe gives a call to confirm or to deny it. */
export const APPROVAL = { YES: 'Yes, confirmed.', NO: 'No, denied.' } as const;

// The outputs that mean yes and no in the AI SDK's recipe.

/** The outputs that confirm or deny a call in the AI SDK's recipe. */
export const APPROVAL = { YES: 'Yes, confirmed.', NO: 'No, denied.' } as const;

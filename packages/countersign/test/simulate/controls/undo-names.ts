// Calls that can be undone.

/** The name of the tool whose calls are undone, and that of its undo, as effects and requests have it. */
export const GIVE = 'give';
export const UNDO = 'undo_give';

// The two answers of the AI SDK's human-in-the-loop recipe, and which tools ask for one. Runs in a browser, too.
import type { ToolSet } from 'ai';

/** What the page sends as the output of a call that the user was asked about: shared by page and server. */
export const APPROVAL = {
  YES: 'Yes, confirmed.',
  NO: 'No, denied.',
} as const;

/** The names of the tools without `execute`: those that a person confirms. */
export function getToolsRequiringConfirmation<T extends ToolSet>(tools: T): string[] {
  return Object.keys(tools).filter((name) => typeof tools[name]?.execute !== 'function');
}

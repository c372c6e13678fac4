// The two answers of the AI SDK's human-in-the-loop recipe, and which tools ask for one. Runs in a browser, too.
import type { ToolSet } from 'ai';

export { APPROVAL } from '../ui/http/recipe.ts';

/** The names of the tools without `execute`: those that a person confirms. */
export function getToolsRequiringConfirmation<T extends ToolSet>(tools: T): string[] {
  return Object.keys(tools).filter((name) => typeof tools[name]?.execute !== 'function');
}

// The two answers of the AI SDK's human-in-the-loop recipe, and the tools that need one. Also runs in a browser.
import type { ToolSet } from 'ai';

export { APPROVAL } from '../../ui/http/recipe.ts';

/** Lists the names of the tools without `execute`: a person confirms their calls. */
export function getToolsRequiringConfirmation<T extends ToolSet>(tools: T): string[] {
  return Object.keys(tools).filter((name) => typeof tools[name]?.execute !== 'function');
}

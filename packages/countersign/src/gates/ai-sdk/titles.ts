// The headlines and previews of gated calls, by tool.
import type { FlexibleSchema, ToolSet } from 'ai';
import { UsageError } from '../../core/errors.ts';
import { aFunction, checkValue } from '../../core/options.ts';
import type { Title } from '../../loop/tool/definition.ts';
import { aTitle, aTitleOption } from '../../loop/tool/title.ts';
import { ownTool } from './approval-rules.ts';

/** For each tool a text, or a function of its input. */
export type Titles<Tools extends ToolSet> = {
  readonly [Name in keyof Tools]?: Title<InputOf<Tools[Name]>>;
};

/** For each tool a function of its input that says what would happen: any JSON. */
export type Previews<Tools extends ToolSet> = {
  readonly [Name in keyof Tools]?: (input: InputOf<Tools[Name]>, ctx: { readonly signal: AbortSignal }) => unknown;
};

/** The AI SDK's own `InferToolInput` does not take every tool of a `ToolSet`. */
type InputOf<Tool> = Tool extends { readonly inputSchema: FlexibleSchema<infer Input> } ? Input : any;

/** A misspelt name would have no effect, so it is refused. */
export function checkByTool(option: 'titles' | 'previews', given: object, tools: ToolSet): void {
  const unknown = Object.keys(given).filter((name) => !ownTool(tools, name));
  if (unknown.length > 0) {
    const message = `\`${option}\` names ${unknown.join(', ')}, which is not a tool. Known tools: ${Object.keys(tools).join(', ')}.`;
    throw new UsageError('invalid-options', { unknown }, message);
  }
  for (const [name, value] of Object.entries(given))
    if (value !== undefined) checkValue(`${option}.${name}`, value, option === 'titles' ? aTitleOption : aFunction);
}

/** The title of a tool: that of the gate, otherwise that of the AI SDK, which may be longer than a headline. */
export function titleFor(titles: Titles<ToolSet>, name: string, { title }: ToolSet[string]): Title<any> | undefined {
  const own = Object.hasOwn(titles, name) ? titles[name] : undefined;
  return own ?? (aTitle.fits(title) ? title : undefined);
}

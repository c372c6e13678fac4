// From prompt and input to messages.
import type { Message, Part, Role } from '../core/messages/message.ts';
import type { PromptTemplate } from './definition.ts';
import { type PromptContent, type PromptContext, type PromptDefinition, promptInput } from './definition.ts';
import { placeHistory } from './history.ts';
import { invalidPrompt, type Place } from './invalid-prompt.ts';
import { type Slot, slotsOf } from './slots.ts';
import { compileTemplate, type Scope } from './template.ts';

export type RenderOptions = {
  readonly input?: unknown;
  /** The conversation so far. It goes where the template says `{{history}}`, else before the final user message. */
  readonly messages?: readonly Message[];
  readonly context?: PromptContext;
};

/**
 * Fills the prompt's templates and puts the history in its place. The input is not checked; `inputDefault` fills what
 * it leaves out. Throws `invalid-prompt` when a template is broken or cannot be filled; what a template function throws
 * passes through.
 */
export async function renderPrompt(definition: PromptDefinition, options: RenderOptions = {}): Promise<Message[]> {
  const history = options.messages ?? [];
  const scope = { input: promptInput(definition, options.input), context: options.context ?? {}, history };
  const slots: Slot[] = [];
  for (const section of await sectionsOf(definition)) slots.push(...(await section(scope)));
  return placeHistory(slots, history);
}

type Section = (scope: Scope) => readonly Slot[] | Promise<readonly Slot[]>;

const compiled = new WeakMap<PromptDefinition, Promise<readonly Section[]>>();

/** The definition's templates, compiled at the first use. */
function sectionsOf(definition: PromptDefinition): Promise<readonly Section[]> {
  const known = compiled.get(definition);
  if (known !== undefined) return known;
  const sections = Promise.all([
    compileSection(definition, definition.system, 'system'),
    compileSection(definition, definition.messages, 'user'),
    compileSection(definition, definition.template, 'user'),
  ]);
  compiled.set(definition, sections);
  return sections;
}

async function compileSection(
  definition: PromptDefinition,
  template: PromptTemplate | undefined,
  role: Role,
): Promise<Section> {
  const place: Place = { prompt: definition.name, ...definition.source };
  if (template === undefined) return () => [];
  if (typeof template === 'string') return compileTemplate(template, role, place, definition.partials);
  if (typeof template !== 'function') return () => messagesOf(template, role, place);
  return async ({ input, context }) => messagesOf(await template(input, { context }), role, place);
}

function messagesOf(content: PromptContent, role: Role, place: Place): readonly Slot[] {
  if (typeof content === 'string') return slotsOf([{ type: 'text', text: content }], role);
  if (typeof content !== 'object' || content === null)
    throw invalidPrompt(place, 'A template function must return text, parts or messages.');
  if (!Array.isArray(content)) return [{ role, content: [content as Part] }];
  if (content.length === 0) return [];
  const messages = content.filter((item) => 'role' in item);
  if (messages.length === content.length) return messages.filter((message) => message.content.length > 0);
  if (messages.length === 0) return [{ role, content }];
  throw invalidPrompt(place, 'A template must be made of parts or of messages, not of both.');
}

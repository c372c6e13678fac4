// One template: compiled once, filled for every call, cut into messages where its helpers say so.
import type Handlebars from 'handlebars';
import { CountersignError } from '../core/errors.ts';
import type { Message, Role } from '../core/messages/message.ts';
import type { PlacedTemplate, PromptContext } from './definition.ts';
import { COMPILE_OPTIONS, type Engine, loadEngine } from './engine.ts';
import { invalidPrompt, type Place } from './invalid-prompt.ts';
import { type Mark, type Slot, slotsOf } from './slots.ts';

export type Scope = {
  readonly input: unknown;
  readonly context: PromptContext;
  readonly history: readonly Message[];
};

export type Template = (scope: Scope) => readonly Slot[];

/** `place` is where the template begins. Throws `invalid-prompt` at the line where the template is broken. */
export async function compileTemplate(
  text: string,
  role: Role,
  place: Place,
  partials: ReadonlyMap<string, PlacedTemplate> = new Map(),
): Promise<Template> {
  const engine = await loadEngine();
  const fill = compile(engine, text, place);
  const fillPartial = Object.fromEntries(
    [...partials].map(([name, partial]) => [name, compiledLater(engine, partial)]),
  );
  return ({ input, context, history }) => {
    const marks = createMarks(place);
    const options = {
      data: { metadata: { prompt: { name: place.prompt }, messages: history }, ...context },
      helpers: marks.helpers,
      partials: fillPartial,
      // The default of Handlebars, set explicitly: otherwise it logs each blocked access.
      allowProtoPropertiesByDefault: false,
      allowProtoMethodsByDefault: false,
    };
    try {
      return slotsOf(marks.cut(fill(input, options)), role);
    } catch (error) {
      if (error instanceof CountersignError) throw error;
      throw invalidPrompt(withoutLine(place), `The template cannot be filled: ${(error as Error).message}`, error);
    }
  };
}

export async function checkTemplate(text: string, place: Place): Promise<void> {
  compile(await loadEngine(), text, place);
}

function compile(engine: Engine, text: string, place: Place): Handlebars.TemplateDelegate {
  return located(place, () => {
    const program = engine.parse(withoutVerbatim(text));
    // `compile` puts off its work until the first use; this finds unknown helpers now.
    engine.precompile(program, { ...COMPILE_OPTIONS });
    return engine.compile(program, COMPILE_OPTIONS);
  });
}

/** A folder may hold broken partials that this prompt does not include. */
function compiledLater(engine: Engine, { text, place }: PlacedTemplate): Handlebars.TemplateDelegate {
  let fill: Handlebars.TemplateDelegate | undefined;
  return (context, options) => {
    fill ??= compile(engine, text, place);
    return fill(context, options);
  };
}

/** Pages that pass through a site generator wrap braces in these tags; templates copied from there bring them along. */
function withoutVerbatim(text: string): string {
  return text.replaceAll(/\{%-?\s*(?:end)?verbatim\s*-?%\}/g, '');
}

/**
 * The helpers that make marks, and the cutting at these marks. A mark carries a secret of this one rendering, so that
 * no text of the input can pass for one and speak as the system.
 */
function createMarks(place: Place) {
  const secret = crypto.randomUUID();
  const marks: Mark[] = [];
  const mark = (mark: Mark) => `<<<${secret}:${marks.push(mark) - 1}>>>`;
  return {
    helpers: {
      role: (role: unknown) => mark({ type: 'role', role: knownRole(role, place) }),
      history: () => mark({ type: 'history' }),
      media: (...given: readonly unknown[]) => mark({ type: 'media', ...mediaOf(given.at(-1), place) }),
    },
    cut: (text: string): readonly Mark[] =>
      text
        .split(new RegExp(`<<<${secret}:(\\d+)>>>`))
        .map((piece, index) => (index % 2 === 1 && marks[Number(piece)]) || { type: 'text', text: piece }),
  };
}

const ROLES: readonly unknown[] = ['system', 'user', 'model'] satisfies readonly Role[];

function knownRole(role: unknown, place: Place): Role {
  if (ROLES.includes(role)) return role as Role;
  const given = typeof role === 'string' ? `"${role}"` : 'none of them';
  throw invalidPrompt(withoutLine(place), `{{role}} must be "system", "user" or "model"; it is ${given}.`);
}

/** Handlebars hands a helper its `name=value` pairs in the last argument. */
function mediaOf(options: unknown, place: Place): { url: string; contentType?: string } {
  const { url, contentType } = (options as Handlebars.HelperOptions).hash;
  if (url === undefined || url === null || url === '')
    throw invalidPrompt(withoutLine(place), '{{media}} has no url. Give it one, or put it inside {{#if}}.');
  return { url: String(url), ...(contentType ? { contentType: String(contentType) } : {}) };
}

/** Handlebars does not report the line of a rendering error. */
function withoutLine({ line: _line, column: _column, ...place }: Place): Place {
  return place;
}

function located<T>(place: Place, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    const { message, lineNumber, column } = error as Handlebars.Exception;
    const line: unknown = lineNumber ?? Number(/ error on line (\d+)/.exec(message)?.[1] ?? Number.NaN);
    const known = typeof line === 'number' && Number.isFinite(line);
    throw invalidPrompt(
      {
        ...withoutLine(place),
        ...(known && { line: (place.line ?? 1) + line - 1 }),
        ...(typeof column === 'number' && { column: column + 1 }),
      },
      problemOf(message),
      error,
    );
  }
}

function problemOf(message: string): string {
  const helper = /unknown helper (\S+)/.exec(message)?.[1];
  if (helper !== undefined) return `Unknown helper ${helper}.`;
  // Handlebars adds its own line and column, which count from the start of the template.
  const said = message
    .replace(/^Parse error on line \d+:\n/, '')
    .replace(/ - \d+:\d+$/, '')
    .replace(/Expecting .*, got 'EOF'$/, 'Something that was opened is not closed.')
    .replace(/Expecting .*, got '\w+'$/, 'This does not belong here.');
  return `The template is broken: ${said}`;
}

// The partials that a template includes, and those that they include.
import { type Engine, loadEngine, type Program } from './engine.ts';
import { invalidPrompt, type Place } from './invalid-prompt.ts';
import { parseTemplate } from './template.ts';

/** A template's text and where it begins. */
export type PlacedTemplate = { readonly text: string; readonly place: Place };

export type PartialSource = {
  find(name: string): Promise<PlacedTemplate | undefined>;
  /** Every name that `find` finds. */
  names(): Promise<readonly string[]>;
};

/**
 * Checks the template and everything it includes. Throws `invalid-prompt` at the line that is broken or that includes
 * a missing partial.
 */
export async function collectPartials(
  template: PlacedTemplate,
  source: PartialSource | undefined,
): Promise<ReadonlyMap<string, string> | undefined> {
  const engine = await loadEngine();
  const partials = new Map<string, string>();

  async function follow({ text, place }: PlacedTemplate): Promise<void> {
    for (const include of includesOf(engine, parseTemplate(engine, text, place))) {
      // A name that is known only once the template is filled can be any.
      const names = include.name === undefined ? ((await source?.names()) ?? []) : [include.name];
      for (const name of names) {
        if (partials.has(name)) continue;
        const partial = await source?.find(name);
        if (partial) {
          partials.set(name, partial.text);
          await follow(partial);
        } else if (!include.optional) throw await missing(name, placeOf(include, place));
      }
    }
  }

  async function missing(name: string, place: Place) {
    const known = (await source?.names()) ?? [];
    const hint = known.length > 0 ? `There are: ${known.join(', ')}.` : 'There are none.';
    return invalidPrompt(place, `Partial ${name} not found (a file _${name}.prompt). ${hint}`);
  }

  await follow(template);
  return partials.size > 0 ? partials : undefined;
}

/** `optional`: a block that is used when the partial is missing comes with it. */
type Include = {
  readonly name?: string;
  readonly optional: boolean;
  readonly start: { readonly line: number; readonly column: number };
};

function includesOf({ Visitor }: Engine, program: Program): readonly Include[] {
  const includes: Include[] = [];
  const inline = new Set<string>();

  class Finder extends Visitor {
    override PartialStatement(partial: hbs.AST.PartialStatement): void {
      includes.push(includeOf(partial, false));
      super.PartialStatement(partial);
    }
    override PartialBlockStatement(partial: hbs.AST.PartialBlockStatement): void {
      includes.push(includeOf(partial, true));
      super.PartialBlockStatement(partial);
    }
    override DecoratorBlock(decorator: hbs.AST.DecoratorBlock): void {
      const [name] = decorator.params;
      if (name?.type === 'StringLiteral') inline.add((name as hbs.AST.StringLiteral).value);
      super.DecoratorBlock(decorator);
    }
  }

  new Finder().accept(program);
  return includes.filter(({ name }) => name === undefined || !(inline.has(name) || name === '@partial-block'));
}

function includeOf(partial: hbs.AST.PartialStatement | hbs.AST.PartialBlockStatement, optional: boolean): Include {
  const { start } = partial.loc;
  return 'original' in partial.name ? { name: String(partial.name.original), optional, start } : { optional, start };
}

function placeOf({ start }: Include, template: Place): Place {
  return { ...template, line: (template.line ?? 1) + start.line - 1, column: start.column + 1 };
}

// The prompts that are defined on an instance, and those in its folder.
import { UsageError } from '../core/errors.ts';
import type { SchemaInput } from '../loop/tool/schema.ts';
import { makePrompt, type Prompt, type PromptConfig, type PromptMeans, promptDefinition } from './callable.ts';
import type { PromptDefinition, PromptTemplate } from './definition.ts';
import type { PromptFolder } from './prompt-folder.ts';

export class PromptBook {
  readonly #means: PromptMeans;
  readonly #directory: string | undefined;
  readonly #defined = new Map<string, PromptDefinition>();
  #folder: Promise<PromptFolder> | undefined;

  constructor(directory: string | undefined, means: PromptMeans) {
    this.#directory = directory;
    this.#means = means;
  }

  define<I extends SchemaInput, O extends SchemaInput>(
    config: PromptConfig<I, O>,
    template: PromptTemplate<any> | undefined,
  ): Prompt {
    const definition = promptDefinition(config, template);
    const id = promptId(config.name, config.variant);
    if (this.#defined.has(id))
      throw new UsageError('invalid-options', { prompt: id }, `The prompt ${id} is defined already.`);
    this.#defined.set(id, definition);
    return makePrompt(id, async () => definition, this.#means);
  }

  find(name: string, options: { readonly variant?: string }): Prompt {
    const id = promptId(name, options.variant);
    return makePrompt(id, async () => this.#defined.get(id) ?? this.#fromFolder(name, options), this.#means);
  }

  async #fromFolder(name: string, options: { readonly variant?: string }): Promise<PromptDefinition> {
    const directory = this.#directory;
    if (directory === undefined) {
      const message = `No prompt ${name} is defined, and promptDir is not set.`;
      throw new UsageError('unknown-prompt', { prompt: name }, message);
    }
    this.#folder ??= import('./prompt-folder.ts').then(({ createPromptFolder }) => createPromptFolder(directory));
    return (await this.#folder).load(name, options);
  }
}

const promptId = (name: string, variant: string | undefined): string =>
  variant === undefined ? name : `${name}.${variant}`;

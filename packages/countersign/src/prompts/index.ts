// Prompts: defined in code or read from .prompt files, rendered into messages.
export type {
  PromptContent,
  PromptContext,
  PromptDefinition,
  PromptFunction,
  PromptTemplate,
} from './definition.ts';
export { promptInput } from './definition.ts';
export { type PromptFileOptions, parsePrompt } from './prompt-file.ts';
export { createPromptFolder, type PromptFolder, readPromptFile } from './prompt-folder.ts';
export { type RenderOptions, renderPrompt } from './render.ts';

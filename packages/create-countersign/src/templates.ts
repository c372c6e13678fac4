// The templates: what can be created, and their files on disk.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A project that can be created. */
export type TemplateName = 'server' | 'nextjs' | 'gate' | 'openai-agents' | 'langgraph' | 'mastra' | 'genkit';

/** Every template, with a line for the prompt and for the help, and the script that starts it. */
export const TEMPLATES: readonly {
  readonly name: TemplateName;
  readonly about: string;
  readonly script: string;
}[] = [
  { name: 'server', about: 'an agent, served with a chat and an inbox', script: 'dev' },
  { name: 'nextjs', about: 'a Next.js chat whose tools wait for approval', script: 'dev' },
  { name: 'gate', about: 'a gate around streamText of the AI SDK', script: 'start' },
  { name: 'openai-agents', about: 'a gate for tools of the OpenAI Agents SDK', script: 'start' },
  { name: 'langgraph', about: 'a gate for tools of LangGraph and LangChain', script: 'start' },
  { name: 'mastra', about: 'a gate for tools of Mastra', script: 'start' },
  { name: 'genkit', about: 'a gate for tools of Genkit', script: 'start' },
];

export const isTemplateName = (name: string): name is TemplateName => TEMPLATES.some((known) => known.name === name);

const folderOf = (template: TemplateName): string => join(import.meta.dirname, '../templates', template);

/** Paths relative to the project, with the contents. */
export function templateFiles(template: TemplateName): ReadonlyMap<string, string> {
  const paths = globSync('**/*', { cwd: folderOf(template), withFileTypes: true }).filter((entry) => entry.isFile());
  const files = paths.map(({ parentPath, name }) => {
    const path = join(parentPath, name).slice(folderOf(template).length + 1);
    // npm does not publish a file called .gitignore.
    return [path === '_gitignore' ? '.gitignore' : path, readFileSync(join(folderOf(template), path), 'utf8')] as const;
  });
  return new Map(files.sort(([a], [b]) => (a < b ? -1 : 1)));
}

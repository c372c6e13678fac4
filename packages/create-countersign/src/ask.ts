// The questions, for a person at a terminal.
import { isCancel, select, text } from '@clack/prompts';
import { Refusal } from './refusal.ts';
import { TEMPLATES, type TemplateName } from './templates.ts';

export async function askFolder(usual: string): Promise<string> {
  const answer = await text({ message: 'Where should the project go?', placeholder: usual, defaultValue: usual });
  return unlessCancelled(answer);
}

export async function askTemplate(): Promise<TemplateName> {
  const options = TEMPLATES.map(({ name, about }) => ({ value: name, label: name, hint: about }));
  return unlessCancelled(await select<TemplateName>({ message: 'What do you want to build?', options }));
}

function unlessCancelled<T>(answer: T): Exclude<T, symbol> {
  if (isCancel(answer)) throw new Refusal('Cancelled. Nothing was written.', 130);
  return answer as Exclude<T, symbol>;
}

// The headline of a request: a sentence for people. The name of the tool is the small print.
import type { RequestCard } from 'countersign/ui';

type Titled = Pick<RequestCard<string, any>, 'tool' | 'kind' | 'input' | 'payload'> & {
  /** The tool's own sentence, such as “Pay €950 to ACME”. */
  readonly title?: string | null | undefined;
};

/** Longer questions are shown as a message below the headline. */
const LONGEST = 160;

/** The tool's title, else the question itself, else the tool's name in words. Untrusted text: show it with `VisibleText`. */
export function titleOf(request: Titled): string {
  const { title, tool } = request;
  if (typeof title === 'string' && title.trim() !== '') return title;
  return shortQuestionOf(request) ?? inWords(tool);
}

/** The question, if it fits a headline. */
function shortQuestionOf({ kind, input, payload }: Titled): string | undefined {
  if (kind !== 'question') return undefined;
  const question = [input, payload].map(questionIn).find((text) => text !== undefined);
  return question !== undefined && question.length <= LONGEST && !/[\r\n]/.test(question) ? question : undefined;
}

function questionIn(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null || !('question' in value)) return undefined;
  return typeof value.question === 'string' && value.question.trim() !== '' ? value.question : undefined;
}

/** `payInvoice` → `Pay invoice`. A name with other characters than those of an identifier stays as it is. */
export function inWords(name: string): string {
  if (!/^[A-Za-z][\w.-]*$/.test(name)) return name;
  const words = name
    .replaceAll(/([a-z\d])([A-Z])/g, '$1 $2')
    .replaceAll(/([A-Z]+)([A-Z][a-z])/g, '$1 $2')
    .split(/[\s_.-]+/)
    .filter((word) => word !== '')
    .map((word) => (/^[A-Z\d]{2,}$/.test(word) ? word : word.toLowerCase()))
    .join(' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

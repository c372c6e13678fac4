// Renders the chart without Helm: the part of Go's templates that it uses. Anything else is an error.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';

const CHART = join(import.meta.dirname, 'chart');

type Data = Readonly<Record<string, unknown>>;
type Scope = { readonly dot: unknown; readonly root: unknown; readonly names: Data };
type Node = (scope: Scope) => string;
type Value = (scope: Scope) => unknown;

/** The manifests of each template, by file, as `helm template NAME` prints them. */
export function renderChart(values: Data = {}, name = 'approvals'): Readonly<Record<string, string>> {
  const usual = parse(readFileSync(join(CHART, 'values.yaml'), 'utf8')) as Data;
  const root = { Values: merged(usual, values), Release: { Name: name, Namespace: 'default' } };
  const defined = new Map<string, Node>();
  const files = globSync('templates/*', { cwd: CHART }).sort();
  const nodes = files.map((file) => new Template(readFileSync(join(CHART, file), 'utf8'), defined).node);
  const texts = nodes.map((node) => node({ dot: root, root, names: {} }));
  return Object.fromEntries(
    files.flatMap((file, index) => (file.endsWith('.tpl') ? [] : [[file, texts[index] ?? '']])),
  );
}

function merged(usual: unknown, given: unknown): unknown {
  if (!isMap(usual) || !isMap(given)) return given;
  const own = Object.entries(given).map(([key, value]) => [key, key in usual ? merged(usual[key], value) : value]);
  return { ...usual, ...Object.fromEntries(own) };
}

const isMap = (value: unknown): value is Data => typeof value === 'object' && value !== null && !Array.isArray(value);
const isTrue = (value: unknown): boolean =>
  Array.isArray(value) ? value.length > 0 : isMap(value) ? Object.keys(value).length > 0 : Boolean(value);

class Template {
  readonly node: Node;
  readonly #tokens: string[];
  readonly #defined: Map<string, Node>;

  constructor(text: string, defined: Map<string, Node>) {
    this.#tokens = text
      .replaceAll(/\s*\{\{-\s/g, '{{ ')
      .replaceAll(/\s-\}\}\s*/g, ' }}')
      .split(/(\{\{[\s\S]*?\}\})/);
    this.#defined = defined;
    this.node = this.#block();
    if (this.#tokens.length > 0) throw new Error(`${this.#tokens[0]} has no beginning.`);
  }

  /** Until the `end` or `else` that is not its own. */
  #block(): Node {
    const nodes: Node[] = [];
    for (;;) {
      const [token] = this.#tokens;
      if (token === undefined || /^\{\{ (end|else) \}\}$/.test(token)) break;
      this.#tokens.shift();
      nodes.push(token.startsWith('{{') ? this.#action(token.slice(2, -2).trim()) : () => token);
    }
    return (scope) => nodes.map((node) => node(scope)).join('');
  }

  #action(text: string): Node {
    const [, word = '', rest = ''] = /^(if|with|range|define)\s+(.*)$/.exec(text) ?? [];
    if (word === '') return (scope) => String(this.#pipeline(text)(scope) ?? '');
    const [, key, item, of = rest] = /^\$(\w+), \$(\w+) := (.*)$/.exec(rest) ?? [];
    const value = word === 'define' ? () => undefined : this.#pipeline(of);
    const body = this.#block();
    const hasElse = this.#tokens[0] === '{{ else }}';
    if (hasElse) this.#tokens.shift();
    const otherwise = hasElse ? this.#block() : () => '';
    if (this.#tokens.shift() !== '{{ end }}') throw new Error(`{{ ${text} }} has no end.`);
    if (word === 'define') this.#defined.set(JSON.parse(rest), body);
    if (word === 'define') return () => '';
    return (scope) => {
      const found = value(scope);
      if (!isTrue(found)) return otherwise(scope);
      if (word === 'if') return body(scope);
      if (word === 'with') return body({ ...scope, dot: found });
      return Object.entries(found as Data)
        .sort(([one], [other]) => (Array.isArray(found) ? 0 : one < other ? -1 : 1))
        .map(([name, dot]) =>
          body({ ...scope, dot, names: { ...scope.names, ...(key && item && { [key]: name, [item]: dot }) } }),
        )
        .join('');
    };
  }

  /** Each command gets the value of the one before as its last argument. */
  #pipeline(text: string): Value {
    const commands = text.split(' | ').map((command) => command.trim().match(/"[^"]*"|\S+/g) ?? []);
    return (scope) => {
      let value: unknown;
      for (const [index, [name = '', ...words]] of commands.entries()) {
        const args = [...words.map((word) => operand(word, scope)), ...(index > 0 ? [value] : [])];
        const called = FUNCTIONS[name];
        if (name === 'include') value = this.#include(args, scope);
        else value = called ? called(...args) : operand(name, scope);
      }
      return value;
    };
  }

  #include([name, dot]: readonly unknown[], { root }: Scope): string {
    const node = this.#defined.get(String(name));
    if (!node) throw new Error(`No template ${name} is defined.`);
    return node({ dot, root, names: {} });
  }
}

function operand(word: string, { dot, root, names }: Scope): unknown {
  if (/^["\d]/.test(word)) return JSON.parse(word);
  const [, start = '', path = ''] = /^(\$\w*|)((?:\.\w+)*)\.?$/.exec(word) ?? [];
  if (start === '' && !word.startsWith('.')) throw new Error(`The renderer does not know ${word}.`);
  let value = start === '' ? dot : start === '$' ? root : names[start.slice(1)];
  for (const key of path.split('.').slice(1)) value = isMap(value) ? value[key] : undefined;
  return value;
}

const FUNCTIONS: Readonly<Record<string, (...args: any[]) => unknown>> = {
  quote: (value) => JSON.stringify(String(value)),
  default: (usual, value) => (isTrue(value) ? value : usual),
  toYaml: (value) => stringify(value).trimEnd(),
  nindent: (count: number, text: string) => `\n${text.replaceAll(/^/gm, ' '.repeat(count))}`,
};

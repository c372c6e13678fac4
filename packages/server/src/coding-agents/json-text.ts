// Changes one place of a JSON text, with comments and commas as people write them. Every other character stays.
import { createScanner, findNodeAtLocation, type Node, parseTree } from 'jsonc-parser';

export type Path = readonly (string | number)[];

const TRAILING_COMMA = { allowTrailingComma: true };
const nodeAt = (text: string, path: Path): Node | undefined => {
  const root = parseTree(text, [], TRAILING_COMMA);
  return root && findNodeAtLocation(root, [...path]);
};

/** Adds a value at the end of what holds it: -1 stands for a new item of a list. Missing lists and objects are added with it. */
export function inserted(text: string, path: Path, value: unknown): string {
  const holder = path.slice(0, -1);
  const name = path.at(-1) ?? '';
  const node = nodeAt(text, holder);
  if (!node) return inserted(text, holder, name === -1 ? [value] : { [name]: value });
  const [, unit = '  '] = /\n([ \t]+)\S/.exec(text) ?? [];
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  const outer = indentAt(text, node.offset);
  const written = JSON.stringify(value, null, unit).replaceAll('\n', `${eol}${outer}${unit}`);
  const item = `${eol}${outer}${unit}${name === -1 ? '' : `${JSON.stringify(name)}: `}${written}`;
  const last = node.children?.at(-1);
  if (!last) {
    const from = node.offset + 1;
    const space = /^\s*/.exec(text.slice(from))?.[0].length ?? 0;
    return `${text.slice(0, from)}${item}${eol}${outer}${text.slice(from + space)}`;
  }
  const end = endOf(last);
  const comma = commaAfter(text, end);
  const at = endOfLineComment(text, comma === undefined ? end : comma + 1);
  if (comma !== undefined) return `${text.slice(0, at)}${item},${text.slice(at)}`;
  const close = /^[ \t]*(?=[}\]])/.exec(text.slice(at))?.[0];
  const after = close === undefined ? text.slice(at) : `${eol}${outer}${text.slice(at + close.length)}`;
  return `${text.slice(0, end)},${text.slice(end, at)}${item}${after}`;
}

/** Takes out a value, with the comma that it needed. */
export function removed(text: string, path: Path): string {
  const found = nodeAt(text, path);
  const node = found?.parent?.type === 'property' ? found.parent : found;
  const siblings = node?.parent?.children ?? [];
  if (!node) return text;
  const before = siblings[siblings.indexOf(node) - 1];
  const from = text.slice(0, node.offset).trimEnd().length;
  const comma = commaAfter(text, endOf(node)) ?? (before && commaAfter(text, endOf(before)));
  const cuts = [{ from, to: endOf(node) }, ...(comma === undefined ? [] : [{ from: comma, to: comma + 1 }])];
  return cuts
    .sort((a, b) => b.from - a.from)
    .reduce((rest, { from, to }) => rest.slice(0, from) + rest.slice(to), text);
}

const endOf = ({ offset, length }: Node): number => offset + length;

const indentAt = (text: string, offset: number): string =>
  /^[ \t]*/.exec(text.slice(text.lastIndexOf('\n', offset - 1) + 1))?.[0] ?? '';

/** The place of the comma that follows, if the next thing is one. */
function commaAfter(text: string, offset: number): number | undefined {
  const scanner = createScanner(text, true);
  scanner.setPosition(offset);
  scanner.scan();
  return text[scanner.getTokenOffset()] === ',' ? scanner.getTokenOffset() : undefined;
}

/** A comment on the same line belongs to what stands before it. */
function endOfLineComment(text: string, offset: number): number {
  const [comment = ''] = /^[ \t]*(?:\/\*[^\n]*?\*\/[ \t]*)*(?:\/\/[^\r\n]*)?/.exec(text.slice(offset)) ?? [];
  return offset + comment.trimEnd().length;
}

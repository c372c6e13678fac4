// The result of a server's tool as the output of ours.
import type { CallToolResult, ContentBlock, Tool as ServerTool } from '@modelcontextprotocol/client';

/**
 * The structured content if there is any, else the content: text alone as a string, anything else as a list of parts. Throws if
 * the server reports an error: it may have acted before.
 */
export function outputOf({ name, outputSchema }: ServerTool, result: CallToolResult): unknown {
  const { structuredContent, content, isError } = result;
  if (isError) throw new Error(textOf(content) || 'the server reported an error without a text');
  if (structuredContent !== undefined) return structuredContent;
  if (outputSchema) throw new Error(`${name} returned no structured content, which its output schema describes`);
  if (content.length === 0) return null;
  return content.every(isText) ? textOf(content) : content.map(partOf);
}

const isText = (block: ContentBlock): block is ContentBlock & { type: 'text' } => block.type === 'text';

const textOf = (content: readonly ContentBlock[]): string =>
  content
    .filter(isText)
    .map(({ text }) => text)
    .join('\n');

/** As parts of messages are written; a kind that a later protocol adds stays as it is. */
function partOf(block: ContentBlock): unknown {
  switch (block.type) {
    case 'text':
      return { text: block.text };
    case 'image':
    case 'audio':
      return { media: mediaOf(block.mimeType, block.data) };
    case 'resource': {
      const { resource } = block;
      const { uri, mimeType = 'application/octet-stream' } = resource;
      return 'blob' in resource ? { uri, media: mediaOf(mimeType, resource.blob) } : { uri, text: resource.text };
    }
    case 'resource_link':
      return { link: block.uri, name: block.name };
    default:
      return block;
  }
}

const mediaOf = (contentType: string, base64: string) => ({ url: `data:${contentType};base64,${base64}`, contentType });
